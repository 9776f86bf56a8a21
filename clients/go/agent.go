// What an agent loop needs: the tools for the model, and an answer to each of its calls.

package toolscout

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
)

// AgentOptions are what an agent is made with.
type AgentOptions struct {
	// Options say how the sidecar is reached. Handlers.Invoke is Run.
	Options
	// Run runs one of the host's tools, whether the model called it itself or through the bridge. Its error tells the model
	// that the tool failed, and why.
	Run func(context.Context, InvokeParams) (InvokeResult, error)
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
	// sent has the hash of each source that is registered, by name.
	sent map[string][sha256.Size]byte

	mu       sync.Mutex
	tools    []json.RawMessage
	etag     string
	revision uint64
	// host has the host's tools by visible name; nil until they are listed.
	host map[string]hostTool
}

type hostTool struct {
	params   InvokeParams // without arguments
	deferred bool
}

// NewAgent makes an agent. The sidecar is started by the first call.
func NewAgent(options AgentOptions) *Agent {
	options.Handlers.Invoke = options.Run
	return &Agent{
		Client:  New(options.Options),
		options: options,
		turn:    make(chan struct{}, 1),
		sent:    map[string][sha256.Size]byte{},
	}
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
			return err
		}
		a.sent[name] = hash
		for _, tool := range result.Rejected {
			a.options.log(fmt.Sprintf("source %s: tool %s was refused: %s", name, tool.Name, tool.Reason))
		}
	}
	for name := range a.sent {
		if !given[name] {
			if _, err := a.Client.Unregister(ctx, name); err != nil {
				return err
			}
			delete(a.sent, name)
		}
	}
	return nil
}

// Answer does what the model asked for with a tool call, and gives what to send back, in the shape of the call: a tool_use
// block of Anthropic's Messages, an item of tool_calls of OpenAI's Chat Completions, a function_call item of OpenAI's
// Responses, or {name, arguments} of MCP. The call is any value that marshals so. What went wrong with the call or in the
// tool is an answer for the model; an error is the host's to mend.
func (a *Agent) Answer(ctx context.Context, call any) (json.RawMessage, error) {
	if a.options.Run == nil {
		return nil, errors.New("toolscout: AgentOptions.Run is nil; set it, since an agent runs the host's tools with it")
	}
	parsed, err := parseToolCall(call)
	if err != nil {
		return nil, err
	}
	content, isError, err := a.do(ctx, parsed)
	if err != nil {
		return nil, err
	}
	return parsed.answer(content, isError)
}

// do sends the call where it belongs. Which tools are visible is the sidecar's to say, and so is all about the others.
func (a *Agent) do(ctx context.Context, call toolCall) (content json.RawMessage, isError bool, err error) {
	host, err := a.hostTools(ctx)
	if err != nil {
		return nil, false, err
	}
	tool, known := host[call.name]
	if known && !tool.deferred {
		return a.run(ctx, tool.params, call)
	}
	result, err := a.Client.BridgeCall(ctx, BridgeParams{Name: call.name, Arguments: call.arguments, Scope: a.options.Scope, CallID: call.id})
	if pointsAt(err, "/name") {
		if !known {
			tool.params = InvokeParams{Name: call.name, Tool: call.name}
		}
		return a.run(ctx, tool.params, call)
	}
	return result.Content, result.IsError, err
}

// run runs a tool that the model called by itself.
func (a *Agent) run(ctx context.Context, params InvokeParams, call toolCall) (content json.RawMessage, isError bool, err error) {
	params.CallID = call.id
	if params.Arguments, err = call.object(); err != nil {
		return failure(err)
	}
	raw, err := encode(params)
	if err != nil {
		return nil, false, err
	}
	result, err := a.Client.options.Handlers.handle(ctx, string(MethodHostInvoke), raw)
	switch {
	case err != nil && ctx.Err() != nil:
		return nil, false, ctx.Err()
	case err != nil:
		return failure(err)
	}
	answer := result.(InvokeResult)
	return answer.Content, answer.IsError, nil
}

// failure is a result that tells the model what went wrong.
func failure(reason error) (content json.RawMessage, isError bool, err error) {
	content, err = encode(map[string]string{"error": reason.Error()})
	return content, true, err
}

// hostTools lists the host's tools, once for each array.
func (a *Agent) hostTools(ctx context.Context) (map[string]hostTool, error) {
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
	host = map[string]hostTool{}
	for _, source := range list.Sources {
		for _, tool := range source.Tools {
			params := InvokeParams{Name: tool.Name, Tool: tool.Tool, Source: source.Name, Toolset: source.Toolset}
			host[tool.Name] = hostTool{params, tool.Deferred}
		}
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.etag == etag && a.revision == revision {
		a.host = host
	}
	return host, nil
}
