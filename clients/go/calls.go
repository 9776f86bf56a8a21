// The requests of the protocol, one method each.

package toolscout

import (
	"context"
	"encoding/json"
	"fmt"
)

// Register registers a source and its tools, in place of one of the same name. The client remembers it for the next
// sidecar. Tools that were refused, and why, are in the result.
func (c *Client) Register(ctx context.Context, params RegisterParams) (RegisterResult, error) {
	if params.Tools == nil {
		params.Tools = []json.RawMessage{}
	}
	return changing(ctx, c, MethodRegistryRegister, params, func(r registrations) registrations { return r.with(params) })
}

// Unregister takes back a source.
func (c *Client) Unregister(ctx context.Context, source string) (UnregisterResult, error) {
	return changing(ctx, c, MethodRegistryUnregister, UnregisterParams{Source: source}, func(r registrations) registrations { return r.without(source) })
}

// changing makes a call that changes what is registered. The change is remembered before it is sent, so that
// the next sidecar has it whenever this one dies, and forgotten if the call fails otherwise than with the connection.
func changing[P, R any](ctx context.Context, c *Client, method Method[P, R], params P, change func(registrations) registrations) (R, error) {
	var none R
	select {
	case c.registering <- struct{}{}:
		defer func() { <-c.registering }()
	case <-ctx.Done():
		return none, ctx.Err()
	}
	s, err := c.session(ctx)
	if err != nil {
		return none, err
	}
	before := c.remember(change)
	result, err := callOn(ctx, c, s, method, params)
	if err != nil && !isLost(err) {
		c.remember(func(registrations) registrations { return before })
	}
	return result, err
}

// remember changes what the next sidecar gets, and gives what it would have got.
func (c *Client) remember(change func(registrations) registrations) (before registrations) {
	c.mu.Lock()
	defer c.mu.Unlock()
	before = c.registered
	c.registered = change(before)
	return before
}

// Gave says whether this client gave the tool that Invoke is asked for, registered or inline; if not, a registry file did.
func (c *Client) Gave(params InvokeParams) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.registered.index(params.Source) >= 0 || c.inline.has(params.Name, params.Source)
}

// List lists the sources in scope, and their tools if asked for.
func (c *Client) List(ctx context.Context, params ListParams) (ListResult, error) {
	return Call(ctx, c, MethodRegistryList, params)
}

// Assemble makes the tool array of a turn.
func (c *Client) Assemble(ctx context.Context, params AssembleParams) (AssembleResult, error) {
	return Call(ctx, c, MethodAssemble, params)
}

// BridgeCall does what a model asked of a bridge tool, or of a deferred one under its own name. A model's mistake is a
// result with IsError. A call that is cancelled while its tool runs in the host is a result too, whose content has the code
// INTERRUPTED: the tool may have had its effect.
func (c *Client) BridgeCall(ctx context.Context, params BridgeParams) (BridgeResult, error) {
	c.mu.Lock()
	c.inline.add(params.Tools)
	c.mu.Unlock()
	return Call(ctx, c, MethodBridgeCall, params)
}

// Turn is what the assemble of a turn was asked with; the calls of that turn are asked with the same.
type Turn struct {
	// Scope is what is seen; nil is all.
	Scope *Scope
	// Tools are definitions that count as registered for the turn.
	Tools []json.RawMessage
	// CallID is the model's id of the call, passed on to the host.
	CallID string
}

// ToolSearch finds deferred tools: what a model gets from tool_search. At most limit are found for each query; 0 is the
// configured limit.
func (c *Client) ToolSearch(ctx context.Context, turn Turn, limit int, queries ...string) (BridgeResult, error) {
	return c.bridge(ctx, turn, "tool_search", struct {
		Queries []string `json:"queries"`
		Limit   int      `json:"limit,omitempty"`
	}{queries, limit})
}

// ToolDescribe gives the parameters of deferred tools: what a model gets from tool_describe.
func (c *Client) ToolDescribe(ctx context.Context, turn Turn, names ...string) (BridgeResult, error) {
	return c.bridge(ctx, turn, "tool_describe", struct {
		Names []string `json:"names"`
	}{names})
}

// ToolCall calls a deferred tool as a model does with tool_call. Arguments are any value that marshals to an object.
func (c *Client) ToolCall(ctx context.Context, turn Turn, name string, arguments any) (BridgeResult, error) {
	type call struct {
		Name      string `json:"name"`
		Arguments any    `json:"arguments"`
	}
	return c.bridge(ctx, turn, "tool_call", struct {
		Calls []call `json:"calls"`
	}{[]call{{name, arguments}}})
}

func (c *Client) bridge(ctx context.Context, turn Turn, name string, arguments any) (BridgeResult, error) {
	raw, err := encode(arguments)
	if err != nil {
		return BridgeResult{}, fmt.Errorf("toolscout: arguments of %s: %w", name, err)
	}
	return c.BridgeCall(ctx, BridgeParams{Name: name, Arguments: raw, Scope: turn.Scope, Tools: turn.Tools, CallID: turn.CallID})
}

// Resolve says which tools a BridgeCall would run, and runs none.
func (c *Client) Resolve(ctx context.Context, params BridgeParams) (ResolveResult, error) {
	return Call(ctx, c, MethodBridgeResolve, params)
}

// Plan says which calls of a model's batch may run together.
func (c *Client) Plan(ctx context.Context, params PlanParams) (PlanResult, error) {
	if params.Calls == nil {
		params.Calls = []PlannedCall{}
	}
	return Call(ctx, c, MethodBridgePlan, params)
}

// Explain says why a query finds what it finds, term by term.
func (c *Client) Explain(ctx context.Context, params ExplainParams) (Explanation, error) {
	return Call(ctx, c, MethodSearchExplain, params)
}

// Config gives the settings in effect and the layer each came from.
func (c *Client) Config(ctx context.Context) (ConfigResult, error) {
	return Call(ctx, c, MethodConfigGet, None{})
}

// Status says how the sidecar is.
func (c *Client) Status(ctx context.Context) (StatusResult, error) {
	return Call(ctx, c, MethodStatus, None{})
}
