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
	mixed := HostTools([]any{coreSource.Tools.([]map[string]any)[0], weatherSource})
	if _, err := a.ToolsFor(ctx, mixed); err == nil || !strings.Contains(err.Error(), "item 1 ") {
		t.Error("a source among tools:", err)
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
		{`{"type":"tool_use","id":7,"name":"ask","input":{}}`, `{"type":"tool_result","tool_use_id":7,"content":"ask 7"}`},
		{`{"type":"tool_use","id":"t2","name":"mcp__weather__forecast","input":{"city":"Oslo"}}`,
			`{"type":"tool_result","tool_use_id":"t2","content":"mcp__weather__forecast t2"}`},
		{`{"type":"function","id":"c2","function":{"name":"tool_call","arguments":"{\"calls\":[{\"name\":\"forecast\",\"arguments\":{\"city\":\"Oslo\"}}]}"}}`,
			`{"role":"tool","tool_call_id":"c2","content":"mcp__weather__forecast c2"}`},
	} {
		if answer := must(a.Answer(ctx, raw(c.call))); string(answer) != c.answer {
			t.Errorf("%s: %s", c.call, answer)
		}
	}
	for _, odd := range []string{`null`, `{}`, `7`, `{"type":"text","text":"hi"}`, `{"type":"function","id":"c"}`, `{"type":"tool_use","name":"ask"}`} {
		if _, err := a.Answer(ctx, raw(odd)); err == nil || !strings.Contains(err.Error(), "no known shape") {
			t.Error(odd, err)
		}
	}
}

// kept is a call as some SDKs have it: a struct that marshals as nothing known, beside the text that came.
type kept struct {
	Whatever string
	text     string
}

func (k kept) RawJSON() string { return k.text }

func TestACallThatKeepsItsTextIsReadFromThat(t *testing.T) {
	a := agent(t, AgentOptions{Run: func(_ context.Context, p InvokeParams) (InvokeResult, error) {
		return InvokeResult{Content: Text(p.CallID)}, nil
	}})
	must(a.ToolsFor(within(t), coreSource))
	call := kept{text: `{"type":"function","id":"c1","function":{"name":"ask","arguments":"{}"}}`}
	if answer := must(a.Answer(within(t), call)); string(answer) != `{"role":"tool","tool_call_id":"c1","content":"c1"}` {
		t.Errorf("%s", answer)
	}
	if _, err := a.Answer(within(t), kept{Whatever: "built by hand"}); err == nil || !strings.Contains(err.Error(), "built by hand") {
		t.Error(err)
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
	} {
		if text, isError := answered(t, a, call); isError || text != run {
			t.Errorf("%s: %s", call, text)
		}
	}
	// What is known to be visible does not go through the sidecar.
	if count := must(a.Client.Status(within(t))).Counters[string(MethodBridgeCall)]; count != 1 {
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

func TestWhatIsNotThereIsNotRun(t *testing.T) {
	ctx := within(t)
	both := Source{Source: SourceParams{Name: "plug", Kind: SourceKindPlugin}, Tools: []map[string]any{
		{"name": "terminal", "inputSchema": map[string]any{}}, {"name": "wipe", "inputSchema": map[string]any{}},
	}}
	a := agent(t, AgentOptions{
		Scope: &Scope{Tools: &ScopeTools{Deny: []string{"terminal", "wipe", forecast}}},
		Run: func(_ context.Context, p InvokeParams) (InvokeResult, error) {
			t.Errorf("%s was run", p.Name)
			return InvokeResult{}, nil
		},
	})
	must(a.ToolsFor(ctx, both, weatherSource))
	for _, name := range []string{"terminal", "wipe", forecast, "forecast", "nobody_has_it", ""} {
		text, isError := answered(t, a, `{"name":"`+name+`"}`)
		if !isError || !strings.Contains(text, "There is no tool `"+name+"`.") {
			t.Errorf("%s: %s", name, text)
		}
	}
}

func TestAToolThatBecameVisibleSinceIsRun(t *testing.T) {
	ctx := within(t)
	a := agent(t, AgentOptions{})
	must(a.ToolsFor(ctx, weatherSource))
	if _, isError := answered(t, a, `{"name":"ask"}`); !isError {
		t.Error("a tool that is not there was run")
	}
	must(a.Client.Register(ctx, RegisterParams{Source: coreSource.Source, Tools: []json.RawMessage{raw(`{"name": "ask"}`)}}))
	if text, isError := answered(t, a, `{"name":"ask"}`); isError {
		t.Error(text)
	}
}

// alike calls a tool of the host by its name and through the bridge, and gives both answers.
func alike(t *testing.T, a *Agent, ctx context.Context) map[string]string {
	t.Helper()
	answers := map[string]string{}
	for _, name := range []string{"ask", "mcp__far__ask"} {
		answer, err := a.Answer(ctx, raw(`{"type":"tool_use","id":"i","name":"`+name+`","input":{}}`))
		if err != nil {
			t.Fatal(name, err)
		}
		answers[name] = strings.Replace(string(answer), "`mcp__far__ask`", "`ask`", 1)
	}
	return answers
}

// far has the tool of coreSource behind the bridge.
var far = Source{Source: SourceParams{Name: "far", Kind: SourceKindMCP}, Tools: coreSource.Tools}

func TestToolsAnswerAlikeWithAndWithoutTheBridge(t *testing.T) {
	noResult := "{\"type\":\"tool_result\",\"tool_use_id\":\"i\",\"content\":\"{\\\"error\\\":\\\"`ask` failed: the host's answer is not `{content, isError?}`\\\"}\",\"is_error\":true}"
	failed := "{\"type\":\"tool_result\",\"tool_use_id\":\"i\",\"content\":\"{\\\"error\\\":\\\"`ask` failed: no\\\"}\",\"is_error\":true}"
	for _, c := range []struct {
		content string
		err     error
		answer  string
	}{
		{content: "", answer: noResult},
		{content: "It is sunny", answer: noResult},
		{content: "{oops", answer: noResult},
		{err: errors.New("no"), answer: failed},
		{err: &Error{Code: 7, Message: "no"}, answer: failed},
		{content: string(Text("It is \"sunny\"")), answer: `{"type":"tool_result","tool_use_id":"i","content":"It is \"sunny\""}`},
		{content: "{\n \"a\": 1.50 }", answer: `{"type":"tool_result","tool_use_id":"i","content":"{\"a\":1.50}"}`},
		{content: "\"\xff\"", answer: `{"type":"tool_result","tool_use_id":"i","content":"` + "\uFFFD" + `"}`},
		{content: "null", answer: `{"type":"tool_result","tool_use_id":"i","content":"null"}`},
		{content: `[{"type":"text","text":"a"},{"type":"image","mimeType":"image/png","data":"QUJD"}]`,
			answer: `{"type":"tool_result","tool_use_id":"i","content":[{"type":"text","text":"a"},{"type":"image","source":{"type":"base64","media_type":"image/png","data":"QUJD"}}]}`},
	} {
		a := agent(t, AgentOptions{Run: func(context.Context, InvokeParams) (InvokeResult, error) {
			return InvokeResult{Content: raw(c.content)}, c.err
		}})
		must(a.ToolsFor(within(t), coreSource, far))
		for name, answer := range alike(t, a, within(t)) {
			if answer != c.answer {
				t.Errorf("%q, %v, of %s: %s", c.content, c.err, name, answer)
			}
		}
	}
}

func TestAContextThatEndsBeforeTheToolRunsNothing(t *testing.T) {
	a := agent(t, AgentOptions{Run: func(context.Context, InvokeParams) (InvokeResult, error) {
		t.Error("it was run")
		return InvokeResult{}, nil
	}})
	must(a.ToolsFor(within(t), coreSource, far))
	must(a.hostTools(within(t)))
	ctx, cancel := context.WithCancel(within(t))
	cancel()
	for _, name := range []string{"ask", "mcp__far__ask"} {
		if answer, err := a.Answer(ctx, raw(`{"name":"`+name+`"}`)); !errors.Is(err, context.Canceled) {
			t.Errorf("%s: %s, %v", name, answer, err)
		}
	}
}

func TestAContextThatEndsWhileAToolRunsInterruptsIt(t *testing.T) {
	for name, deaf := range map[string]bool{"hears it": false, "is deaf": true} {
		t.Run(name, func(t *testing.T) {
			running := make(chan struct{}, 1)
			over := make(chan struct{})
			t.Cleanup(func() { close(over) })
			a := agent(t, AgentOptions{Run: func(ctx context.Context, _ InvokeParams) (InvokeResult, error) {
				running <- struct{}{}
				if deaf {
					<-over
				} else {
					<-ctx.Done()
				}
				return InvokeResult{}, ctx.Err()
			}})
			must(a.ToolsFor(within(t), coreSource, far))
			for _, tool := range []string{"ask", "mcp__far__ask"} {
				ctx, cancel := context.WithCancel(within(t))
				go func() {
					<-running
					cancel()
				}()
				answer := must(a.Answer(ctx, raw(`{"name":"`+tool+`"}`)))
				wanted := string(must(encode("{\"error\":\"`" + tool + "` was interrupted while it ran; it may have taken effect.\",\"code\":\"INTERRUPTED\"}")))
				if string(answer) != `{"content":[{"type":"text","text":`+wanted+`}],"isError":true}` {
					t.Errorf("%s", answer)
				}
			}
		})
	}
}

func TestWhatTheSidecarRefusesIsThereToSee(t *testing.T) {
	ctx := within(t)
	var lines []string
	o := AgentOptions{Options: options(t), Run: func(context.Context, InvokeParams) (InvokeResult, error) { return InvokeResult{}, nil }}
	o.Log = func(line string) { lines = append(lines, line) }
	a := NewAgent(o)
	t.Cleanup(a.Close)
	odd := Source{Source: SourceParams{Name: "odd", Kind: SourceKindMCP}, Tools: []map[string]any{{"title": "nameless"}, {"name": "ok", "inputSchema": "none"}}}
	must(a.ToolsFor(ctx, odd, weatherSource))
	must(a.ToolsFor(ctx, odd, weatherSource)) // It is not sent again, and still refused.
	rejected := a.Rejected()
	if len(rejected) == 0 || rejected[0].Source != "odd" || !strings.Contains(rejected[0].Reason, "name") {
		t.Errorf("%+v", rejected)
	}
	if len(lines) < len(rejected) || !strings.Contains(lines[0], rejected[0].Reason) {
		t.Errorf("%q", lines)
	}
	if warnings := a.Warnings(); len(warnings) == 0 || warnings[0].Source != "odd" {
		t.Errorf("%+v", warnings)
	}
	must(a.ToolsFor(ctx, weatherSource))
	if problems := append(a.Rejected(), a.Warnings()...); len(problems) != 0 {
		t.Errorf("%+v of a source that is gone", problems)
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
