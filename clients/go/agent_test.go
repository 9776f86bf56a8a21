// The agent adapter with the real sidecar.

package toolscout

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
)

// agent is one whose tools answer with what they were asked.
func agent(t *testing.T, o AgentOptions) *Agent {
	t.Helper()
	o.Options = options(t)
	if o.Run == nil {
		o.Run = func(_ context.Context, p InvokeParams) (InvokeResult, error) {
			content, err := encode(p)
			return InvokeResult{Content: content}, err
		}
	}
	a := NewAgent(o)
	t.Cleanup(a.Close)
	return a
}

var (
	weatherSource = Source{Source: weather.Source, Tools: weather.Tools}
	coreSource    = Source{Source: SourceParams{Name: "own", Kind: SourceKindCore}, Tools: []map[string]any{{"name": "ask", "inputSchema": map[string]any{}}}}
)

// registered is how often the sidecar was given a source.
func registered(t *testing.T, a *Agent) uint64 {
	t.Helper()
	return must(a.Client.Status(within(t))).Counters[string(MethodRegistryRegister)]
}

func TestOnlyWhatChangedIsSentAgain(t *testing.T) {
	ctx := within(t)
	a := agent(t, AgentOptions{Format: FormatMCP, ContextLength: 100_000})
	first := must(a.ToolsFor(ctx, weatherSource, coreSource))
	again := must(a.ToolsFor(ctx, weatherSource, coreSource))
	if len(first) != 5 || &first[0] != &again[0] {
		t.Errorf("%s, %s", first, again)
	}
	if count := registered(t, a); count != 2 {
		t.Error(count, "registrations of two sources")
	}
	changed := Source{Source: weather.Source, Tools: []json.RawMessage{raw(`{"name": "other", "inputSchema": {}}`)}}
	if third := must(a.ToolsFor(ctx, changed, coreSource)); &third[0] == &first[0] {
		t.Error("the array shows another tool, and is the same")
	}
	if count := registered(t, a); count != 3 {
		t.Error(count, "registrations, after one source changed")
	}
	if last := must(a.ToolsFor(ctx, coreSource)); len(last) != 2 {
		t.Errorf("a source that is gone is still there: %s", last)
	}
	if _, err := a.ToolsFor(ctx, coreSource, coreSource); err == nil || !strings.Contains(err.Error(), `"own"`) {
		t.Error("two sources of one name:", err)
	}
	if _, err := a.ToolsFor(ctx, Source{Source: weather.Source, Tools: "none"}); err == nil || !strings.Contains(err.Error(), `"weather"`) {
		t.Error("no array:", err)
	}
}

func TestAFlatListIsAPlugins(t *testing.T) {
	ctx := within(t)
	a := agent(t, AgentOptions{})
	tools := must(a.ToolsFor(ctx, HostTools([]map[string]any{
		{"type": "function", "function": map[string]any{"name": "translate", "parameters": map[string]any{}}},
		{"type": "function", "function": map[string]any{"name": "terminal", "parameters": map[string]any{}}},
	})))
	if len(tools) != 5 || !strings.Contains(string(tools[0]), `"terminal"`) {
		t.Errorf("%s", tools)
	}
}

func TestAnswersHaveTheShapeOfTheCall(t *testing.T) {
	ctx := within(t)
	a := agent(t, AgentOptions{Run: func(_ context.Context, p InvokeParams) (InvokeResult, error) {
		return InvokeResult{Content: raw(`"` + p.Name + ` ` + p.CallID + `"`)}, nil
	}})
	must(a.ToolsFor(ctx, weatherSource, coreSource))
	for _, c := range []struct{ call, answer string }{
		{`{"type":"tool_use","id":"t1","name":"ask","input":{}}`, `{"type":"tool_result","tool_use_id":"t1","content":"ask t1"}`},
		{`{"type":"function","id":"c1","function":{"name":"ask","arguments":"{}"}}`, `{"role":"tool","tool_call_id":"c1","content":"ask c1"}`},
		{`{"type":"function_call","call_id":"r1","name":"ask","arguments":""}`, `{"type":"function_call_output","call_id":"r1","output":"ask r1"}`},
		{`{"name":"ask","arguments":{}}`, `{"content":[{"type":"text","text":"ask "}],"isError":false}`},
		{`{"type":"tool_use","id":"t2","name":"mcp__weather__forecast","input":{"city":"Oslo"}}`,
			`{"type":"tool_result","tool_use_id":"t2","content":"mcp__weather__forecast t2"}`},
		{`{"type":"function","id":"c2","function":{"name":"tool_call","arguments":"{\"calls\":[{\"name\":\"forecast\",\"arguments\":{\"city\":\"Oslo\"}}]}"}}`,
			`{"role":"tool","tool_call_id":"c2","content":"mcp__weather__forecast c2"}`},
	} {
		if answer := must(a.Answer(ctx, raw(c.call))); string(answer) != c.answer {
			t.Errorf("%s: %s", c.call, answer)
		}
	}
	for _, odd := range []string{`{}`, `7`, `{"type":"text","text":"hi"}`, `{"type":"function","id":"c"}`} {
		if _, err := a.Answer(ctx, raw(odd)); err == nil || !strings.Contains(err.Error(), "no known shape") {
			t.Error(odd, err)
		}
	}
}

// answered is the answer to a call of MCP's shape.
func answered(t *testing.T, a *Agent, call string) (text string, isError bool) {
	t.Helper()
	var answer struct {
		Content []struct{ Text string }
		IsError bool
	}
	if err := json.Unmarshal(must(a.Answer(within(t), raw(call))), &answer); err != nil {
		t.Fatal(err)
	}
	return answer.Content[0].Text, answer.IsError
}

func TestToolsAreRunWithWhatIsKnownOfThem(t *testing.T) {
	a := agent(t, AgentOptions{})
	must(a.ToolsFor(within(t), weatherSource, coreSource))
	for call, run := range map[string]string{
		`{"name":"ask","arguments":{"b":1.50,"a":"<"}}`:                            `{"name":"ask","tool":"ask","arguments":{"b":1.50,"a":"<"},"toolset":"own","source":"own"}`,
		`{"name":"mcp__weather__forecast","arguments":{"city":"Oslo","days":"2"}}`: `{"name":"mcp__weather__forecast","tool":"forecast","arguments":{"city":"Oslo","days":2},"toolset":"mcp-weather","source":"weather"}`,
		`{"name":"nobody_has_it"}`:                                                 `{"name":"nobody_has_it","tool":"nobody_has_it","arguments":{},"toolset":"","source":""}`,
	} {
		if text, isError := answered(t, a, call); isError || text != run {
			t.Errorf("%s: %s", call, text)
		}
	}
	// What is known to be visible does not go through the sidecar; of the others, one was a call, and one the host's own.
	if count := must(a.Client.Status(within(t))).Counters[string(MethodBridgeCall)]; count != 2 {
		t.Error(count, "calls of the bridge")
	}
}

func TestWhatGoesWrongIsAnAnswerForTheModel(t *testing.T) {
	ran := false
	a := agent(t, AgentOptions{Run: func(_ context.Context, p InvokeParams) (InvokeResult, error) {
		ran = true
		if p.Tool == "ask" {
			return InvokeResult{}, errors.New("nobody answers")
		}
		panic("a leak")
	}})
	must(a.ToolsFor(within(t), weatherSource, coreSource))
	for call, says := range map[string]string{
		`{"name":"ask"}`: "nobody answers",
		`{"name":"mcp__weather__forecast","arguments":{"city":"Oslo"}}`: "a leak",
	} {
		if text, isError := answered(t, a, call); !isError || !strings.Contains(text, says) {
			t.Errorf("%s: %s", call, text)
		}
	}
	ran = false
	for _, call := range []string{`{"name":"ask","arguments":"{"}`, `{"name":"ask","arguments":[1]}`, `{"name":"mcp__weather__forecast","arguments":{}}`} {
		if text, isError := answered(t, a, call); !isError || !strings.Contains(text, "arguments") || ran {
			t.Errorf("%s: %s", call, text)
		}
	}
}

func TestAnAgentThatCanRunNothingSaysSo(t *testing.T) {
	a := NewAgent(AgentOptions{Options: options(t)})
	t.Cleanup(a.Close)
	if _, err := a.Answer(within(t), raw(`{"name":"ask"}`)); err == nil || !strings.Contains(err.Error(), "AgentOptions.Run") {
		t.Error(err)
	}
}

func TestAnAgentsScopeHoldsForItsCallsToo(t *testing.T) {
	a := agent(t, AgentOptions{Scope: &Scope{Toolsets: &ScopeToolsets{Disabled: []string{"weather"}}}})
	if tools := must(a.ToolsFor(within(t), weatherSource, coreSource)); len(tools) != 2 {
		t.Errorf("%s", tools)
	}
	if text, _ := answered(t, a, `{"name":"tool_search","arguments":{"queries":["forecast"]}}`); strings.Contains(text, "mcp__weather") {
		t.Error(text)
	}
	if text, isError := answered(t, a, `{"name":"tool_call","arguments":{"calls":[{"name":"forecast","arguments":{"city":"Oslo"}}]}}`); !isError {
		t.Error(text)
	}
}
