// Answers of tools, as each provider takes them.

package toolscout

import (
	"strings"
	"testing"
)

func TestBlocksOfMCPAreShownAsTheProviderTakesThem(t *testing.T) {
	const (
		png = `{"type":"image","mimeType":"image/png","data":"QQ=="}`
		svg = `{"type":"image","mimeType":"image/svg+xml","data":"QQ=="}`
	)
	for _, c := range []struct{ result, anthropic, text, mcp string }{
		{`{"content":[{"type":"text","text":"a"},{"type":"text","text":""},{"type":"text","text":"b"}],"structuredContent":{"c":1}}`,
			`[{"type":"text","text":"a"},{"type":"text","text":"b"}]`, "a\n\nb",
			`[{"type":"text","text":"a"},{"type":"text","text":""},{"type":"text","text":"b"}]`},
		{`{"content":[` + png + `,` + svg + `]}`,
			`[{"type":"image","source":{"type":"base64","media_type":"image/png","data":"QQ=="}},{"type":"text","text":"[image]"}]`,
			"[image]\n[image]", `[` + png + `,` + svg + `]`},
		{`{"content":[` + png + `],"isError":true}`, `[{"type":"text","text":"[image]"}]`, "[image]", `[` + png + `]`},
		{`{"content":[` + png + `],"structuredContent":{"c":1}}`,
			`[{"type":"image","source":{"type":"base64","media_type":"image/png","data":"QQ=="}},{"type":"text","text":"{\"c\":1}"}]`,
			"[image]\n{\"c\":1}", `[` + png + `]`},
		{`{"content":[],"structuredContent":{"c":1}}`, `"{\"c\":1}"`, `{"c":1}`, `[{"type":"text","text":"{\"c\":1}"}]`},
		{`{"content":[{"type":"resource","resource":{"uri":"file:///a","text":"A"}},{"type":"resource_link","uri":"file:///b","name":"b"},{"type":"audio","data":"QQ==","mimeType":"audio/wav"}]}`,
			`[{"type":"text","text":"A"},{"type":"text","text":"[resource_link file:///b]"},{"type":"text","text":"[audio]"}]`,
			"A\n[resource_link file:///b]\n[audio]",
			`[{"type":"resource","resource":{"uri":"file:///a","text":"A"}},{"type":"resource_link","uri":"file:///b","name":"b"},{"type":"audio","data":"QQ==","mimeType":"audio/wav"}]`},
		// What is no array of blocks is JSON.
		{`{"content":[]}`, `"[]"`, `[]`, `[{"type":"text","text":"[]"}]`},
		{`{"content":[{"type":"text","text":"a"},{"type":"issue"}]}`, `"[{\"type\":\"text\",\"text\":\"a\"},{\"type\":\"issue\"}]"`,
			`[{"type":"text","text":"a"},{"type":"issue"}]`, `[{"type":"text","text":"[{\"type\":\"text\",\"text\":\"a\"},{\"type\":\"issue\"}]"}]`},
		{`{"content":"words"}`, `"words"`, "words", `[{"type":"text","text":"words"}]`},
	} {
		var answer BridgeResult
		if err := strict(c.result, &answer); err != nil {
			t.Fatal(err)
		}
		if got := string(must(encode(must(asAnthropic(answer))))); got != c.anthropic {
			t.Errorf("%s for Anthropic: %s", c.result, got)
		}
		if got := must(asText(answer)); got != c.text {
			t.Errorf("%s as text: %s", c.result, got)
		}
		if got := string(must(encode(must(asMCP(answer))))); got != c.mcp {
			t.Errorf("%s for MCP: %s", c.result, got)
		}
	}
}

func TestAResultOfMCPIsWhatRunGives(t *testing.T) {
	type result map[string]any
	type block map[string]any
	text := []block{{"type": "text", "text": "<a>"}}
	for _, c := range []struct {
		given   any
		content string
		isError bool
	}{
		{result{"content": text, "isError": true, "structuredContent": block{"a": 1}, "_meta": block{}}, `[{"text":"<a>","type":"text"}]`, true},
		{result{"content": []block{}, "structuredContent": block{"a": 1}}, `{"a":1}`, false},
		{result{"content": []block{{"type": "image"}}, "structuredContent": block{"a": 1}}, `[{"type":"image"},{"type":"text","text":"{\"a\":1}"}]`, false},
		{result{"content": text, "structuredContent": nil}, `[{"text":"<a>","type":"text"}]`, false},
	} {
		got := must(MCPResult(c.given))
		if string(got.Content) != c.content || got.IsError != c.isError {
			t.Errorf("%v: %s, %v", c.given, got.Content, got.IsError)
		}
	}
	for _, odd := range []any{func() {}, 7, result{"isError": "no"}} {
		if _, err := MCPResult(odd); err == nil || !strings.Contains(err.Error(), "result") {
			t.Error(odd, err)
		}
	}
}
