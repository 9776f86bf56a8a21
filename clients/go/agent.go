// What an agent loop needs: the tools for the model, and an answer to each of its calls.

package toolscout

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
)

// AgentOptions are what an agent is made with.
type AgentOptions struct {
	// Options say how the sidecar is reached. Handlers.Invoke is Run.
	Options
	// Run runs one of the host's tools, whether the model called it itself or through the bridge. Its content is any JSON, see
	// Text and MCPResult; its error tells the model that the tool failed, and why.
	Run func(context.Context, InvokeParams) (InvokeResult, error)
	// RunOthers has Run asked also for tools that this agent did not give, which the user's and the workspace's registry files
	// add. Without it, the model is told that nothing runs them, with the code NOT_RUNNABLE.
	RunOthers bool
	// Format is the shape of the tools for the model; empty is FormatOpenAI.
	Format Format
	// ContextLength is that of the model, in tokens; 0 if it is not known. The listing of deferred tools takes a share of it.
	ContextLength float64
	// Scope is what the session was granted; nil is everything.
	Scope *Scope
}

// Agent is an agent's side of Toolscout. Make one for each conversation. It may be used by many goroutines at once.
type Agent struct {
	// Client is for what a loop does not need: searching, explaining, status.
	Client  *Client
	options AgentOptions

	// turn is held while the tools of a turn are made.
	turn chan struct{}
	// sent has the hash of each source that is registered, by name; it is zero, which no content has, where a call that failed
	// leaves open what is.
	sent map[string][sha256.Size]byte

	mu       sync.Mutex
	tools    []json.RawMessage
	etag     string
	revision uint64
	// host has what Run is asked for the tools that the model calls by themselves, but for the arguments, by visible name;
	// nil until they are listed.
	host map[string]InvokeParams
	// results has what the sidecar said of each source when it was registered, by name.
	results map[string]RegisterResult
}

// SourceProblem is a tool that the sidecar does not serve, or one that it serves and finds odd.
type SourceProblem struct {
	// Source is the name of its source.
	Source string
	ToolProblem
}

// NewAgent makes an agent. The sidecar is started by the first call.
func NewAgent(options AgentOptions) *Agent {
	a := &Agent{
		options: options,
		turn:    make(chan struct{}, 1),
		sent:    map[string][sha256.Size]byte{},
		results: map[string]RegisterResult{},
	}
	options.Handlers.Invoke = nil
	if options.Run != nil {
		options.Handlers.Invoke = a.invoke
	}
	a.Client = New(options.Options)
	return a
}

// invoke runs a tool for the model and for the sidecar alike.
func (a *Agent) invoke(ctx context.Context, params InvokeParams) (InvokeResult, error) {
	if !a.options.RunOthers && !a.Client.Gave(params) {
		a.options.log(fmt.Sprintf("tool `%s` of `%s`: not run, since a registry file gave it; see AgentOptions.RunOthers", params.Name, params.Source))
		return notRunnable(params.Name, params.Source)
	}
	return a.options.Run(ctx, params)
}

// Close ends the sidecar.
func (a *Agent) Close() { a.Client.Close() }

// ToolsFor gives the array for the model. Give it all sources there are, each turn: those that changed are registered, those
// that are gone are taken back. An array that stays the same is the same slice, so do not change it in place.
func (a *Agent) ToolsFor(ctx context.Context, sources ...Source) ([]json.RawMessage, error) {
	select {
	case a.turn <- struct{}{}:
		defer func() { <-a.turn }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	if err := a.register(ctx, sources); err != nil {
		return nil, err
	}
	params := AssembleParams{Scope: a.options.Scope, Format: a.options.Format, IfEtag: a.etag}
	if a.options.ContextLength > 0 {
		params.ContextLength = &a.options.ContextLength
	}
	result, err := a.Client.Assemble(ctx, params)
	if err != nil {
		return nil, err
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if !result.Unchanged {
		a.tools, a.etag = result.Tools, result.Etag
	}
	if !result.Unchanged || result.Revision != a.revision {
		a.host = nil
	}
	a.revision = result.Revision
	return a.tools, nil
}

// register makes the sidecar's sources those that are given.
func (a *Agent) register(ctx context.Context, sources []Source) error {
	given := map[string]bool{}
	for _, source := range sources {
		name := source.Source.Name
		if given[name] {
			return fmt.Errorf("toolscout: two sources are called %q; put their tools in one, or give them two names", name)
		}
		given[name] = true
		params, hash, err := source.params()
		if err != nil {
			return err
		}
		if sent, ok := a.sent[name]; ok && sent == hash {
			continue
		}
		result, err := a.Client.Register(ctx, params)
		if err != nil {
			if !isRefusal(err) {
				a.sent[name] = [sha256.Size]byte{}
			}
			return err
		}
		a.sent[name] = hash
		a.found(name, result)
		for _, problem := range slices.Concat(result.Rejected, result.Warnings) {
			a.options.log(fmt.Sprintf("tool `%s` of `%s`: %s", problem.Name, name, problem.Reason))
		}
	}
	for name := range a.sent {
		if !given[name] {
			// What cannot even be taken back was never there.
			if _, err := a.Client.Unregister(ctx, name); err != nil && !isRefusal(err) {
				a.sent[name] = [sha256.Size]byte{}
				return err
			}
			delete(a.sent, name)
			a.found(name, RegisterResult{})
		}
	}
	return nil
}

// found remembers what the sidecar said of a source's tools.
func (a *Agent) found(source string, result RegisterResult) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.results[source] = result
}

// Rejected are the tools of the last [Agent.ToolsFor] that the model does not get, and why, by source.
func (a *Agent) Rejected() []SourceProblem {
	return a.problems(func(result RegisterResult) []ToolProblem { return result.Rejected })
}

// Warnings are what is odd about the tools of the last [Agent.ToolsFor] that it does get, by source.
func (a *Agent) Warnings() []SourceProblem {
	return a.problems(func(result RegisterResult) []ToolProblem { return result.Warnings })
}

func (a *Agent) problems(of func(RegisterResult) []ToolProblem) []SourceProblem {
	a.mu.Lock()
	defer a.mu.Unlock()
	var all []SourceProblem
	for source, result := range a.results {
		for _, problem := range of(result) {
			all = append(all, SourceProblem{source, problem})
		}
	}
	slices.SortStableFunc(all, func(one, other SourceProblem) int { return strings.Compare(one.Source, other.Source) })
	return all
}

// Answer does what the model asked for with a tool call, and gives what to send back, in the shape of the call: a tool_use
// block of Anthropic's Messages, an item of tool_calls of OpenAI's Chat Completions, a function_call item of OpenAI's
// Responses, or {name, arguments} of MCP. The call is any value that marshals so, or has it as RawJSON. What went wrong with
// the call or in the tool is an answer for the model; an error is the host's to mend. A context that has ended is an error
// and runs nothing; if it ends while a tool runs, the answer has the code INTERRUPTED, and the tool is not waited for.
func (a *Agent) Answer(ctx context.Context, call any) (json.RawMessage, error) {
	if a.options.Run == nil {
		return nil, errors.New("toolscout: AgentOptions.Run is nil; set it, since an agent runs the host's tools with it")
	}
	parsed, err := parseToolCall(call)
	if err != nil {
		return nil, err
	}
	result, err := a.do(ctx, parsed)
	if err != nil {
		return nil, err
	}
	return parsed.answer(result)
}

// do sends the call where it belongs: a tool that the host runs to Run, anything else to the sidecar, which knows.
func (a *Agent) do(ctx context.Context, call toolCall) (BridgeResult, error) {
	tools, err := a.hostTools(ctx)
	if err != nil {
		return BridgeResult{}, err
	}
	if tool, ok := tools[call.name]; ok {
		return a.run(ctx, tool, call)
	}
	result, err := a.Client.BridgeCall(ctx, BridgeParams{Name: call.name, Arguments: call.arguments, Scope: a.options.Scope, CallID: call.id})
	if !pointsAt(err, "/name") {
		return result, err
	}
	// It may have become the host's own since the tools were listed.
	a.forgetHostTools()
	if tools, err = a.hostTools(ctx); err != nil {
		return BridgeResult{}, err
	}
	if tool, ok := tools[call.name]; ok {
		return a.run(ctx, tool, call)
	}
	return refusal(fmt.Sprintf("There is no tool `%s`. Call one of those you were given.", call.name), ""), nil
}

// run runs a tool that the model called by itself, and answers as the sidecar does for one that it asks the host to run.
func (a *Agent) run(ctx context.Context, params InvokeParams, call toolCall) (BridgeResult, error) {
	if err := ctx.Err(); err != nil {
		return BridgeResult{}, err
	}
	var problem string
	params.CallID = call.id
	if params.Arguments, problem = call.object(); problem != "" {
		return refusal(problem, ""), nil
	}
	raw, err := encode(params)
	if err != nil {
		return BridgeResult{}, err
	}
	ran := make(chan BridgeResult, 1)
	go func() {
		result, err := a.Client.options.Handlers.handle(ctx, string(MethodHostInvoke), raw)
		switch answer, ok := result.(InvokeResult); {
		case err == nil && ok:
			ran <- BridgeResult{Content: answer.Content, IsError: answer.IsError}
		case ctx.Err() != nil:
			ran <- interrupted(params.Name)
		default:
			ran <- refusal(fmt.Sprintf("`%s` failed: %s", params.Name, asError(err).Message), "")
		}
	}()
	select {
	case result := <-ran:
		return result, nil
	case <-ctx.Done():
		return interrupted(params.Name), nil
	}
}

func interrupted(tool string) BridgeResult {
	return refusal(fmt.Sprintf("`%s` was interrupted while it ran; it may have taken effect.", tool), "INTERRUPTED")
}

// notRunnable tells the model that nothing runs a tool, in the words of `toolscout mcp`.
func notRunnable(name, source string) (InvokeResult, error) {
	reason := fmt.Sprintf("`%s` was not invoked: only its definition of `%s` is known here, from a registry, and nothing that runs it. "+
		"Do not call it again; tell the user that the MCP server `%s` has to be configured under `mcpServers` in Toolscout's config.yaml.",
		name, source, source)
	content, err := encode(struct {
		Error  string `json:"error"`
		Code   string `json:"code"`
		Source string `json:"source"`
	}{reason, "NOT_RUNNABLE", source})
	return InvokeResult{Content: content, IsError: true}, err
}

// refusal tells the model what went wrong, in the form that the sidecar has for it.
func refusal(reason, code string) BridgeResult {
	content, _ := encode(struct { // Texts can be written.
		Error string `json:"error"`
		Code  string `json:"code,omitempty"`
	}{strings.ToValidUTF8(reason, "\uFFFD"), code})
	return BridgeResult{Content: content, IsError: true}
}

// hostTools lists the tools that the host runs when they are called by name, once for each array. Those of servers are the
// sidecar's, and so is whatever is deferred.
func (a *Agent) hostTools(ctx context.Context) (map[string]InvokeParams, error) {
	a.mu.Lock()
	host, etag, revision := a.host, a.etag, a.revision
	a.mu.Unlock()
	if host != nil {
		return host, nil
	}
	list, err := a.Client.List(ctx, ListParams{Scope: a.options.Scope, Tools: true})
	if err != nil {
		return nil, err
	}
	host = map[string]InvokeParams{}
	for _, source := range list.Sources {
		if source.Origin == ListedSourceOriginServer || source.Origin == ListedSourceOriginGateway {
			continue
		}
		for _, tool := range source.Tools {
			if !tool.Deferred {
				host[tool.Name] = InvokeParams{Name: tool.Name, Tool: tool.Tool, Source: source.Name, Toolset: source.Toolset}
			}
		}
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.etag == etag && a.revision == revision {
		a.host = host
	}
	return host, nil
}

func (a *Agent) forgetHostTools() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.host = nil
}
