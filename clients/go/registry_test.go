// Agents in whose view registry files of the user and of the workspace have joined.

package toolscout

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// others are the tools that registry files give in withRegistries, one deferred and one shown, and their sources.
var others = map[string]string{"mcp__alarms__set_alarm": "alarms", "add_note": "notes"}

// withRegistries are options with a registry file each of the user and of the workspace.
func withRegistries(t *testing.T) Options {
	t.Helper()
	o, user := options(t), t.TempDir()
	o.Env = []string{"XDG_CONFIG_HOME=" + user}
	for path, text := range map[string]string{
		filepath.Join(user, "toolscout", "registry", "alarms.json"):        `{"tools": [{"name": "set_alarm"}]}`,
		filepath.Join(o.Workspace, ".toolscout", "registry", "notes.json"): `{"sources": [{"name": "notes", "kind": "core", "tools": [{"name": "add_note"}]}]}`,
	} {
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return o
}

// agentOf has tools that answer with their visible name.
func agentOf(t *testing.T, o AgentOptions) *Agent {
	t.Helper()
	o.Run = func(_ context.Context, p InvokeParams) (InvokeResult, error) {
		return InvokeResult{Content: Text("ran " + p.Name)}, nil
	}
	a := NewAgent(o)
	t.Cleanup(a.Close)
	return a
}

func TestAToolOfARegistryFileIsNotRunAndTheModelIsToldWhatToDo(t *testing.T) {
	ctx := within(t)
	logged := make(chan string, 8)
	o := AgentOptions{Options: withRegistries(t)}
	o.Log = func(line string) { logged <- line }
	a := agentOf(t, o)
	must(a.ToolsFor(ctx, weatherSource))
	for name, source := range others {
		wanted := "{\"error\":\"`" + name + "` was not invoked: only its definition of `" + source + "` is known here, from a registry, and nothing that runs it. " +
			"Do not call it again; tell the user that the MCP server `" + source + "` has to be configured under `mcpServers` in Toolscout's config.yaml.\"," +
			"\"code\":\"NOT_RUNNABLE\",\"source\":\"" + source + "\"}"
		if text, isError := answered(t, a, `{"name":"`+name+`"}`); !isError || text != wanted {
			t.Errorf("%s: %s", name, text)
		}
		select {
		case line := <-logged:
			if !strings.Contains(line, name) || !strings.Contains(line, "RunOthers") {
				t.Error(line)
			}
		case <-ctx.Done():
			t.Error(name, "is not logged")
		}
	}
}

func TestAnAgentThatRunsOthersIsAskedForThem(t *testing.T) {
	a := agentOf(t, AgentOptions{Options: withRegistries(t), RunOthers: true})
	must(a.ToolsFor(within(t), weatherSource))
	for name := range others {
		if text, isError := answered(t, a, `{"name":"`+name+`"}`); isError || text != "ran "+name {
			t.Errorf("%s: %s", name, text)
		}
	}
}

func TestASourceThatTheAgentGivesIsItsOwnUntilItIsTakenBack(t *testing.T) {
	a := agentOf(t, AgentOptions{Options: withRegistries(t)})
	own := []Source{
		{Source: SourceParams{Name: "alarms", Kind: SourceKindMCP}, Tools: []json.RawMessage{raw(`{"name": "set_alarm"}`)}},
		{Source: SourceParams{Name: "notes", Kind: SourceKindCore}, Tools: []json.RawMessage{raw(`{"name": "add_note"}`)}},
	}
	for turn, sources := range [][]Source{own, nil, own} {
		must(a.ToolsFor(within(t), sources...))
		for name := range others {
			if text, isError := answered(t, a, `{"name":"`+name+`"}`); isError != (sources == nil) {
				t.Errorf("turn %d, %s: %s", turn, name, text)
			}
		}
	}
}

func TestAToolThatIsGivenInlineIsRun(t *testing.T) {
	a := agent(t, AgentOptions{})
	for name, definition := range map[string]string{
		"mcp__lights__dim": `{"name": "mcp__lights__dim", "inputSchema": {"type": "object"}}`,
		"mcp__lamps__dim":  `{"type": "function", "function": {"name": "mcp__lamps__dim"}}`,
		"brew":             `{"name": "brew", "source": {"name": "kitchen", "kind": "plugin"}}`,
	} {
		result := must(a.Client.ToolCall(within(t), Turn{Tools: []json.RawMessage{raw(definition), raw("null"), raw("7")}}, name, struct{}{}))
		if result.IsError || !strings.Contains(string(result.Content), `"tool":"`+name+`"`) {
			t.Errorf("%s: %s", name, result.Content)
		}
	}
}

func TestAnAgentCanBeAloneWithItsTools(t *testing.T) {
	apart := withRegistries(t)
	apart.Workspace, apart.Env = t.TempDir(), []string{"XDG_CONFIG_HOME=" + t.TempDir()}
	for how, o := range map[string]AgentOptions{
		"by its folders": {Options: apart},
		"by its scope":   {Options: withRegistries(t), Scope: &Scope{Toolsets: &ScopeToolsets{Enabled: []string{"weather", "connections"}}}},
	} {
		a := agentOf(t, o)
		must(a.ToolsFor(within(t), weatherSource))
		for name := range others {
			if text, _ := answered(t, a, `{"name":"`+name+`"}`); !strings.Contains(text, "There is no tool `"+name+"`.") {
				t.Errorf("%s, %s: %s", how, name, text)
			}
		}
		if text, isError := answered(t, a, `{"name":"`+forecast+`","arguments":{"city":"Oslo"}}`); isError {
			t.Errorf("%s: %s", how, text)
		}
	}
}
