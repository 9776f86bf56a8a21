// What only another sidecar than today's would send: the test plays it, over a connection that the host brings.

package toolscout

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// played is the sidecar's end of a connection.
type played struct {
	t     *testing.T
	conn  net.Conn
	lines *bufio.Reader
}

// initializeResult is what a played sidecar answers to initialize.
const initializeResult = `{"protocolVersion":"1.9","serverInfo":{"name":"played","version":"9"},"capabilities":{"formats":[],"progress":true},"diagnostics":[],"new":{}}`

// playedClient makes a client whose sidecar is the test. The client's first call makes it connect.
func playedClient(t *testing.T, o Options) (*Client, <-chan *played) {
	t.Helper()
	o, connected := playedBy(t, o)
	return client(t, o), connected
}

// playedBy has a sidecar that is the test.
func playedBy(t *testing.T, o Options) (Options, <-chan *played) {
	connected := make(chan *played, 8)
	o.Dial = func(context.Context) (io.ReadWriteCloser, error) {
		host, sidecar := net.Pipe()
		p := &played{t, sidecar, bufio.NewReader(sidecar)}
		go func() {
			p.expect(string(MethodInitialize))
			p.send(`{"jsonrpc":"2.0","id":1,"result":` + initializeResult + `}`)
			p.expect(string(NotifyInitialized))
			connected <- p
		}()
		return host, nil
	}
	return o, connected
}

// answer answers a request.
func (p *played) answer(asked message, result string) {
	p.send(`{"jsonrpc":"2.0","id":` + string(asked.ID) + `,"result":` + result + `}`)
}

func (p *played) send(text string) {
	if _, err := fmt.Fprintln(p.conn, text); err != nil {
		p.t.Error(err)
	}
}

// expect reads a message, which must have that method, or be an answer if it is empty.
func (p *played) expect(method string) message {
	var m message
	text, err := readLine(p.lines)
	if err == nil {
		err = json.Unmarshal(text, &m)
	}
	if err != nil || m.Method != method {
		p.t.Errorf("%s expected, not %s, %v", method, text, err)
	}
	return m
}

// begin makes a call, for which the client connects, and gives its outcome later.
func begin(ctx context.Context, c *Client) <-chan error {
	outcome := make(chan error, 1)
	go func() {
		_, err := c.Status(ctx)
		outcome <- err
	}()
	return outcome
}

func TestInitializeSaysWhoAsksAndWhatItTakes(t *testing.T) {
	o := Options{
		Workspace: "some/where", Trust: true, Environment: map[string]string{"A": "b"}, Core: []string{"mine"},
		Handlers: Handlers{Invoke: func(context.Context, InvokeParams) (InvokeResult, error) { return InvokeResult{}, nil }},
	}
	params := must(o.initialize())
	if *params.ProcessID != uint32(os.Getpid()) || params.Cwd != must(os.Getwd()) || params.Workspace != filepath.Join(params.Cwd, "some/where") {
		t.Errorf("%+v", params)
	}
	if !params.Trusted || params.Environment["A"] != "b" || string(params.Core) != `["mine"]` || params.ProtocolVersion != ProtocolVersion {
		t.Errorf("%+v", params)
	}
	if *params.Capabilities != (HostCapabilities{Invoke: true}) || params.ProgressToken != nil {
		t.Errorf("%+v", params.Capabilities)
	}
}

func TestTrustIsNoArgument(t *testing.T) {
	o := Options{Workspace: "w", Shared: true}
	without := o.arguments()
	o.Trust = true
	if with := o.arguments(); !slices.Equal(with, without) {
		t.Errorf("sidecars are not shared by %q and %q", with, without)
	}
	if !must(o.initialize()).Trusted {
		t.Error("it is not said")
	}
}

func TestUnknownRequestsAreRefusedAndUnknownNotificationsLeft(t *testing.T) {
	c, connected := playedClient(t, Options{})
	begin(within(t), c)
	p := <-connected
	p.expect(string(MethodStatus))
	p.send(`{"jsonrpc":"2.0","method":"host/told","params":{}}`)
	for _, method := range []string{"host/new", "host/approve"} {
		p.send(`{"jsonrpc":"2.0","id":"toolscout:1.50","method":"` + method + `","params":{"name": "x", "arguments": {}}}`)
		answer := p.expect("")
		if string(answer.ID) != `"toolscout:1.50"` || answer.Error == nil || answer.Error.Code != CodeMethodNotFound {
			t.Errorf("%+v", answer)
		}
	}
	p.conn.Close()
}

func TestHandlersAnswer(t *testing.T) {
	o := Options{Handlers: Handlers{
		Approve: func(_ context.Context, p ApproveParams) (ApproveResult, error) {
			if p.Name == "odd" {
				return ApproveResult{}, &Error{Code: 7, Message: "mine", Data: raw(`[1]`)}
			}
			return ApproveResult{Decision: DecisionDeny, Reason: "no"}, nil
		},
		ShowConnections: func(context.Context, ShowConnectionsParams) (ShowConnectionsResult, error) {
			return ShowConnectionsResult{Skipped: []string{"mail"}}, nil
		},
	}}
	c, connected := playedClient(t, o)
	begin(within(t), c)
	p := <-connected
	p.expect(string(MethodStatus))
	for _, exchange := range []struct{ asked, answer string }{
		{`"method":"host/approve","params":{"name":"workspace","arguments":{}}`, `"result":{"decision":"deny","reason":"no"}`},
		{`"method":"host/approve","params":{"name":"odd","arguments":{}}`, `"error":{"code":7,"message":"mine","data":[1]}`},
		{`"method":"host/approve","params":[]`, `"error":{"code":-32602,`},
		{`"method":"host/showConnections","params":{"connections":[]}`, `"result":{"skipped":["mail"]}`},
	} {
		p.send(`{"jsonrpc":"2.0","id":"a",` + exchange.asked + `}`)
		text, err := readLine(p.lines)
		if err != nil || !strings.HasPrefix(string(text), `{"jsonrpc":"2.0","id":"a",`+exchange.answer) {
			t.Errorf("%s: %s, %v", exchange.asked, text, err)
		}
	}
	p.conn.Close()
}

func TestTheSidecarTakesARequestBack(t *testing.T) {
	o := Options{}
	o.Handlers.Invoke = func(ctx context.Context, _ InvokeParams) (InvokeResult, error) {
		<-ctx.Done()
		return InvokeResult{}, ctx.Err()
	}
	c, connected := playedClient(t, o)
	begin(within(t), c)
	p := <-connected
	p.expect(string(MethodStatus))
	p.send(`{"jsonrpc":"2.0","id":"x","method":"host/invoke","params":{}}`)
	p.send(`{"jsonrpc":"2.0","method":"$/cancelRequest","params":{"id":"y"}}`)
	p.send(`{"jsonrpc":"2.0","method":"$/cancelRequest","params":{"id":"x"}}`)
	if answer := p.expect(""); answer.Error == nil || answer.Error.Message != context.Canceled.Error() {
		t.Errorf("%+v", answer)
	}
	p.conn.Close()
}

func TestACancelledCallGivesWhatTheSidecarAnswers(t *testing.T) {
	c, connected := playedClient(t, Options{})
	var p *played
	cancelled := func(answer string) error {
		ctx, cancel := context.WithCancel(within(t))
		outcome := begin(ctx, c)
		if p == nil {
			p = <-connected
		}
		asked := p.expect(string(MethodStatus))
		cancel()
		told := p.expect(string(NotifyCancelRequest))
		if string(told.Params) != `{"id":`+string(asked.ID)+`}` {
			t.Errorf("%s of %s", told.Params, asked.ID)
		}
		p.send(`{"jsonrpc":"2.0","id":` + string(asked.ID) + `,` + answer + `}`)
		return <-outcome
	}
	var answered *Error
	err := cancelled(`"error":{"code":-32800,"message":"cancelled"}`)
	if !errors.Is(err, context.Canceled) || !errors.As(err, &answered) || answered.Code != CodeCancelled {
		t.Error(err)
	}
	if err := cancelled(`"result":{"pid":1}`); err != nil {
		t.Error("it was done all the same:", err)
	}
	p.conn.Close()
}

func TestTheConnectionEndsWhileARequestIsOpen(t *testing.T) {
	c, connected := playedClient(t, Options{})
	outcome := begin(within(t), c)
	p := <-connected
	p.expect(string(MethodStatus))
	p.conn.Close()
	var lost *ConnectionError
	if err := <-outcome; !errors.As(err, &lost) || !strings.Contains(err.Error(), "Options.Dial") {
		t.Error(err)
	}
	// Another call connects again.
	outcome = begin(within(t), c)
	p = <-connected
	asked := p.expect(string(MethodStatus))
	p.send(`{"jsonrpc":"2.0","id":` + string(asked.ID) + `,"result":{}}`)
	if err := <-outcome; err != nil {
		t.Error(err)
	}
	p.conn.Close()
}

func TestClosingFailsWhatIsOpen(t *testing.T) {
	c, connected := playedClient(t, Options{})
	outcome := begin(within(t), c)
	p := <-connected
	p.expect(string(MethodStatus))
	c.Close()
	if err := <-outcome; !errors.Is(err, ErrClosed) {
		t.Error(err)
	}
	p.conn.Close()
}

func TestWhatIsToldComesInOrder(t *testing.T) {
	revisions := make(chan uint64, 100)
	tokens := make(chan string, 1)
	o := Options{}
	o.Handlers.CatalogChanged = func(p DidChangeParams) { revisions <- p.Revision }
	o.Handlers.Progress = func(p ProgressParams) {
		if p.Value.Kind == ProgressKindEnd {
			panic("the next is told all the same")
		}
		tokens <- string(p.Token)
	}
	c, connected := playedClient(t, o)
	begin(within(t), c)
	p := <-connected
	p.expect(string(MethodStatus))
	p.send(`{"jsonrpc":"2.0","method":"$/progress","params":{"token":"t","value":{"kind":"begin","message":""}}}`)
	p.send(`{"jsonrpc":"2.0","method":"$/progress","params":{"token":"t","value":{"kind":"end","message":""}}}`)
	for revision := range cap(revisions) {
		p.send(fmt.Sprintf(`{"jsonrpc":"2.0","method":"catalog/didChange","params":{"revision":%d}}`, revision))
	}
	if token := <-tokens; token != `"t"` {
		t.Error(token)
	}
	for revision := range cap(revisions) {
		if told := <-revisions; told != uint64(revision) {
			t.Fatal(told, "in place of", revision)
		}
	}
	p.conn.Close()
}

func TestASourceIsSentAgainWhereItIsOpenWhatTheSidecarHas(t *testing.T) {
	o, connected := playedBy(t, Options{})
	a := NewAgent(AgentOptions{Options: o})
	t.Cleanup(a.Close)
	outcome := make(chan error, 1)
	turn := func(source Source) {
		go func() {
			_, err := a.ToolsFor(within(t), source)
			outcome <- err
		}()
	}
	one := Source{Source: coreSource.Source, Tools: []string{"one"}}
	other := Source{Source: coreSource.Source, Tools: []string{"other"}}
	const registered, assembled = `{"rejected":[]}`, `{"tools":[],"etag":"e"}`
	turn(one)
	p := <-connected
	p.answer(p.expect(string(MethodRegistryRegister)), registered)
	p.answer(p.expect(string(MethodAssemble)), assembled)
	if err := <-outcome; err != nil {
		t.Fatal(err)
	}
	turn(other)
	p.expect(string(MethodRegistryRegister))
	p.conn.Close()
	if err := <-outcome; !isLost(err) {
		t.Fatal(err)
	}
	turn(one)
	p = <-connected
	for _, tools := range []string{`["other"]`, `["one"]`} {
		asked := p.expect(string(MethodRegistryRegister))
		if !strings.Contains(string(asked.Params), `"tools":`+tools) {
			t.Errorf("%s expected, not %s", tools, asked.Params)
		}
		p.answer(asked, registered)
	}
	p.answer(p.expect(string(MethodAssemble)), assembled)
	if err := <-outcome; err != nil {
		t.Error(err)
	}
	// A name that cannot be taken back is not tried again in every turn.
	for _, unregisters := range []bool{true, false} {
		go func() {
			_, err := a.ToolsFor(within(t))
			outcome <- err
		}()
		if unregisters {
			asked := p.expect(string(MethodRegistryUnregister))
			p.send(`{"jsonrpc":"2.0","id":` + string(asked.ID) + `,"error":{"code":-32602,"message":"no"}}`)
		}
		p.answer(p.expect(string(MethodAssemble)), assembled)
		if err := <-outcome; err != nil {
			t.Error(err)
		}
	}
	p.conn.Close()
}
