// Plays a transcript through the client's own connection: its requests are calls, what it answers are answers of a handler,
// and what it cancels is a context that ends.

package toolscout

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
)

// isAClients says whether all that a transcript sends is what a client sends: messages in lines, initialize first.
func (p *player) isAClients() bool {
	var h header
	if strict(p.lines[0], &h) != nil || h.Framing != "lines" {
		return false
	}
	initialized := false
	for _, text := range p.lines[1:] {
		var l line
		if strict(text, &l) != nil || l.SendRaw != nil {
			return false
		}
		if l.Send == nil {
			continue
		}
		var m message
		if json.Unmarshal(l.Send, &m) != nil {
			return false
		}
		if !initialized && m.Method != string(MethodInitialize) {
			return false
		}
		initialized = true
	}
	return initialized
}

// connected makes of what a connection gives the messages that a transcript expects.
type connected struct {
	*conn
	received chan<- []byte
	wrote    <-chan struct{}
	// running are the calls and handlers that may give a message yet.
	running sync.WaitGroup

	mu sync.Mutex
	// over is set once there is nothing more to run.
	over bool
	// calls has what cancels the open calls, by the id that the transcript gives them.
	calls map[string]context.CancelFunc
	// asked has what the transcript answers to each request of the sidecar, by an id that is made up here.
	asked map[string]chan message
}

// tapped tells of each message that is written.
type tapped struct {
	*process
	wrote chan<- struct{}
}

func (t tapped) Write(text []byte) (int, error) {
	defer func() { t.wrote <- struct{}{} }()
	return t.process.Write(text)
}

// connect plays through a connection.
func (p *player) connect() {
	wrote := make(chan struct{}, 1)
	c := &connected{
		conn:     newConn(tapped{p.process, wrote}),
		received: p.received,
		wrote:    wrote,
		calls:    map[string]context.CancelFunc{},
		asked:    map[string]chan message{},
	}
	c.handle, c.notified = c.ask, func(method string, params json.RawMessage) { c.give(message{Method: method, Params: params}) }
	c.stray = func(why string, line []byte) { c.received <- line } // It fits nothing.
	p.say = c.say
	go c.write()
	go func() {
		defer close(p.received)
		err := c.read()
		if !isEnd(err) {
			p.broken = err
		}
		c.end(&ConnectionError{Reason: "ended"})
		c.mu.Lock()
		c.over = true
		c.mu.Unlock()
		c.running.Wait()
	}()
}

func (c *connected) give(m message) {
	m.Version = "2.0"
	c.received <- must(encode(m))
}

// say does what makes the connection send the message, and returns once it is written.
func (c *connected) say(text json.RawMessage) error {
	var m message
	if err := json.Unmarshal(text, &m); err != nil {
		return err
	}
	if m.Params == nil {
		m.Params = raw(`{}`)
	}
	c.mu.Lock()
	answered, isAnswer := c.asked[string(m.ID)]
	c.mu.Unlock()
	switch {
	case m.Method == "" && !isAnswer:
		return fmt.Errorf("nothing with the id %s was asked", m.ID)
	case m.Method == "":
		answered <- m
	case m.ID != nil:
		if c.runs() {
			go c.begin(m)
		}
	case m.Method == string(NotifyCancelRequest) && c.cancel(m.Params):
	default:
		if err := c.notify(context.Background(), m.Method, m.Params); err != nil {
			return err
		}
	}
	select {
	case <-c.wrote:
		return nil
	case <-c.ended:
		return c.reason
	}
}

// runs counts one more call or handler, unless the connection is over.
func (c *connected) runs() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.over {
		c.running.Add(1)
	}
	return !c.over
}

// begin makes a call, whose outcome is a message.
func (c *connected) begin(m message) {
	defer c.running.Done()
	ctx, cancel := context.WithCancel(context.Background())
	id := string(m.ID)
	c.mu.Lock()
	c.calls[id] = cancel
	c.mu.Unlock()
	result, err := c.call(ctx, m.Method, m.Params)
	c.mu.Lock()
	delete(c.calls, id)
	c.mu.Unlock()
	cancel()
	var refused *Error
	if errors.As(err, &refused) {
		c.give(message{ID: m.ID, Error: refused})
	} else if err == nil {
		c.give(message{ID: m.ID, Result: result})
	}
	// Otherwise the connection has ended, and there is no answer.
}

// cancel ends the context of a call, if it is open.
func (c *connected) cancel(params json.RawMessage) bool {
	var cancelled CancelParams
	if json.Unmarshal(params, &cancelled) != nil {
		return false
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	cancel, ok := c.calls[string(cancelled.ID)]
	if ok {
		cancel()
	}
	return ok
}

// ask is the handler of what the sidecar asks: the transcript answers.
func (c *connected) ask(ctx context.Context, method string, params json.RawMessage) (any, error) {
	if !c.runs() {
		return nil, c.reason
	}
	defer c.running.Done()
	answered := make(chan message, 1)
	c.mu.Lock()
	id := must(encode(fmt.Sprintf("asked %d", len(c.asked))))
	c.asked[string(id)] = answered
	c.mu.Unlock()
	c.give(message{ID: id, Method: method, Params: params})
	for cancelled := ctx.Done(); ; cancelled = nil {
		select {
		case m := <-answered:
			if m.Error != nil {
				return nil, m.Error
			}
			return m.Result, nil
		case <-c.ended:
			return nil, c.reason
		case <-cancelled:
			select {
			case <-c.ended: // It is the connection that has ended.
			default:
				c.give(message{Method: string(NotifyCancelRequest), Params: must(encode(CancelParams{ID: id}))})
			}
		}
	}
}
