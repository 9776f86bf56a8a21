// An MCP server that is attached to the sidecar, which calls its tools itself. The server is this test program, run once
// more.

//go:build unix

package toolscout

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

const asServer = "TOOLSCOUT_TEST_SERVER"

// drawn is what the server's tool answers.
const drawn = `{"content":[{"type":"text","text":"A cat."},{"type":"image","data":"QUJD","mimeType":"image/png"}],"structuredContent":{"legs":4},"_meta":{"a":1}}`

// runServer serves MCP until its input closes.
func runServer() {
	lines := bufio.NewScanner(os.Stdin)
	for lines.Scan() {
		var asked message
		if json.Unmarshal(lines.Bytes(), &asked) != nil || asked.ID == nil {
			continue
		}
		var result string
		switch asked.Method {
		case "initialize":
			var params struct{ ProtocolVersion string }
			_ = json.Unmarshal(asked.Params, &params)
			result = fmt.Sprintf(`{"protocolVersion":%q,"serverInfo":{"name":"s","version":"1"},"capabilities":{"tools":{}}}`, params.ProtocolVersion)
		case "tools/list":
			result = `{"tools":[{"name":"draw","inputSchema":{"type":"object"}}]}`
		case "tools/call":
			result = drawn
		default:
			result = `{}`
		}
		fmt.Printf(`{"jsonrpc":"2.0","id":%s,"result":%s}`+"\n", asked.ID, result)
	}
}

func TestTheToolsOfAttachedServersAreTheSidecars(t *testing.T) {
	ctx := within(t)
	o := AgentOptions{Options: options(t), Run: func(_ context.Context, p InvokeParams) (InvokeResult, error) {
		t.Errorf("the host was asked to run %s", p.Name)
		return InvokeResult{}, nil
	}}
	o.Config = filepath.Join(t.TempDir(), "config.yaml")
	config := fmt.Sprintf("tools: {tool_search: {keep: [mcp__pictures__draw]}}\nmcpServers: {pictures: {command: %q, env: {%s: x}}}\n",
		must(os.Executable()), asServer)
	if err := os.WriteFile(o.Config, []byte(config), 0o644); err != nil {
		t.Fatal(err)
	}
	changes := make(chan DidChangeParams, 8)
	o.Handlers.CatalogChanged = func(change DidChangeParams) { changes <- change }
	a := NewAgent(o)
	t.Cleanup(a.Close)
	const draw = "mcp__pictures__draw"
	for tools := must(a.ToolsFor(ctx, weatherSource)); !slices.ContainsFunc(tools, func(tool json.RawMessage) bool { return strings.Contains(string(tool), `"`+draw+`"`) }); tools = must(a.ToolsFor(ctx, weatherSource)) {
		select {
		case <-changes:
		case <-ctx.Done():
			t.Fatalf("the server's tool is not among %s", tools)
		}
	}
	for call, answer := range map[string]string{
		`{"name":"` + draw + `"}`: `{"content":[{"type":"text","text":"A cat."},{"type":"image","data":"QUJD","mimeType":"image/png"}],"structuredContent":{"legs":4},"isError":false,"_meta":{"a":1}}`,
		`{"type":"tool_use","id":"t","name":"` + draw + `","input":{}}`:                    `{"type":"tool_result","tool_use_id":"t","content":[{"type":"text","text":"A cat."},{"type":"image","source":{"type":"base64","media_type":"image/png","data":"QUJD"}}]}`,
		`{"type":"function","id":"c","function":{"name":"` + draw + `","arguments":"{}"}}`: `{"role":"tool","tool_call_id":"c","content":"A cat.\n[image]"}`,
		`{"type":"function_call","call_id":"r","name":"` + draw + `","arguments":"{}"}`:    `{"type":"function_call_output","call_id":"r","output":"A cat.\n[image]"}`,
	} {
		if got := must(a.Answer(ctx, raw(call))); string(got) != answer {
			t.Errorf("%s: %s", call, got)
		}
	}
}
