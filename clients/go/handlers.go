// What the sidecar asks of the host and tells it.

package toolscout

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
)

// Handlers are what the sidecar can ask and tell; those that are nil it does not ask. A context is cancelled when the
// sidecar takes its request back, or is gone. An error, or a panic, is answered as an error with its message.
// Requests run beside each other. What is told comes one after the other, in order, and may come after an answer that the
// sidecar sent later. Handlers may use the client.
type Handlers struct {
	// Invoke runs a tool of the host. Its content is any JSON, see Text and MCPResult; none, or no JSON, is answered as an
	// error. Without it, BridgeCall answers with Dispatch, for the caller to run.
	Invoke func(context.Context, InvokeParams) (InvokeResult, error)
	// Approve asks a person.
	Approve func(context.Context, ApproveParams) (ApproveResult, error)
	// ShowConnections shows accounts to connect, and returns once the person is done.
	ShowConnections func(context.Context, ShowConnectionsParams) (ShowConnectionsResult, error)
	// CatalogChanged hears that files changed, and with them the tools.
	CatalogChanged func(DidChangeParams)
	// ConnectionsChanged hears that an account on the card of ShowConnections stands otherwise than before.
	ConnectionsChanged func(ConnectionsChanged)
	// Diagnostics hears what is wrong with one file, in place of what was said of it before.
	Diagnostics func(FileDiagnostics)
	// Progress hears where a request with a ProgressToken stands; that of a start is StartToken.
	Progress func(ProgressParams)
}

func (h *Handlers) capabilities() *HostCapabilities {
	return &HostCapabilities{
		Invoke:          h.Invoke != nil,
		Approve:         h.Approve != nil,
		ShowConnections: h.ShowConnections != nil,
		Progress:        h.Progress != nil,
	}
}

// handle answers a request of the sidecar's.
func (h *Handlers) handle(ctx context.Context, method string, params json.RawMessage) (result any, err error) {
	defer func() {
		if panicked := recover(); panicked != nil {
			err = fmt.Errorf("the handler of %s panicked: %v", method, panicked)
		}
	}()
	switch method {
	case string(MethodHostInvoke):
		return answer(ctx, h.Invoke, method, params)
	case string(MethodHostApprove):
		return answer(ctx, h.Approve, method, params)
	case string(MethodHostShowConnections):
		return answer(ctx, h.ShowConnections, method, params)
	default:
		return nil, notFound(method)
	}
}

func answer[P, R any](ctx context.Context, handler func(context.Context, P) (R, error), method string, params json.RawMessage) (any, error) {
	if handler == nil {
		return nil, notFound(method)
	}
	var p P
	if err := json.Unmarshal(params, &p); err != nil {
		return nil, &Error{Code: CodeInvalidParams, Message: fmt.Sprintf("%s: %v", method, err)}
	}
	return handler(ctx, p)
}

// tell hands a notification on. Those that nobody knows are left, as the protocol asks.
func (h *Handlers) tell(method string, params json.RawMessage) error {
	switch method {
	case string(NotifyCatalogDidChange):
		return told(h.CatalogChanged, params)
	case string(NotifyConnectionsDidChange):
		return told(h.ConnectionsChanged, params)
	case string(NotifyDiagnosticsPublish):
		return told(h.Diagnostics, params)
	case string(NotifyProgress):
		return told(h.Progress, params)
	default:
		return nil
	}
}

func told[P any](handler func(P), params json.RawMessage) (err error) {
	if handler == nil {
		return nil
	}
	defer func() {
		if panicked := recover(); panicked != nil {
			err = fmt.Errorf("the handler panicked: %v", panicked)
		}
	}()
	var p P
	if err := json.Unmarshal(params, &p); err != nil {
		return err
	}
	handler(p)
	return nil
}

// checked is an Invoke that gives nothing but results: all tools of the host are run through it.
func checked(invoke func(context.Context, InvokeParams) (InvokeResult, error), log func(string)) func(context.Context, InvokeParams) (InvokeResult, error) {
	return func(ctx context.Context, params InvokeParams) (InvokeResult, error) {
		result, err := invoke(ctx, params)
		if err != nil {
			return result, err
		}
		if len(result.Content) == 0 || !json.Valid(result.Content) {
			log(fmt.Sprintf("tool %s: its content is no JSON, which Text makes of a text: %.*q", params.Name, maxShown, result.Content))
			return result, errors.New("the host's answer is not `{content, isError?}`")
		}
		result.Content, err = encode(result.Content) // On one line, as it is sent.
		return result, err
	}
}

func notFound(method string) *Error {
	return &Error{Code: CodeMethodNotFound, Message: "this host does not answer " + method}
}

// asError makes a JSON-RPC error of a handler's.
func asError(err error) *Error {
	var chosen *Error
	if errors.As(err, &chosen) {
		return chosen
	}
	return &Error{Code: CodeInternalError, Message: err.Error()}
}
