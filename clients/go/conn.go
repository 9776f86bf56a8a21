// A connection: requests in both directions over one stream, until it ends.

package toolscout

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"sync"
	"time"
)

// cancelGrace is how long a cancelled call waits for what the sidecar answers; it does so at once if it lives.
const cancelGrace = 2 * time.Second

// conn is one connection. It ends once, with a reason; what is open then fails with it.
type conn struct {
	stream   transport
	handle   func(ctx context.Context, method string, params json.RawMessage) (any, error)
	notified func(method string, params json.RawMessage)
	// stray gets lines that are no use, and why.
	stray func(why string, line []byte)

	outgoing chan []byte
	ended    chan struct{}
	reason   error // set before ended is closed

	// handling is cancelled with the connection.
	handling context.Context
	stop     context.CancelFunc

	mu      sync.Mutex
	lastID  uint64
	pending map[string]chan<- *message
	// incoming has what cancels the sidecar's requests.
	incoming map[string]context.CancelFunc
}

func newConn(stream transport) *conn {
	c := &conn{
		stream:   stream,
		outgoing: make(chan []byte),
		ended:    make(chan struct{}),
		pending:  map[string]chan<- *message{},
		incoming: map[string]context.CancelFunc{},
	}
	c.handling, c.stop = context.WithCancel(context.Background())
	return c
}

// write sends what is handed over, in order. A call must not hang in a full pipe, so it does not write itself.
func (c *conn) write() {
	for {
		select {
		case line := <-c.outgoing:
			if _, err := c.stream.Write(line); err != nil {
				c.stream.finish() // Reading ends with it, and gives the reason.
				return
			}
		case <-c.ended:
			return
		}
	}
}

// read serves what comes until the stream ends, and gives the error that ended it.
func (c *conn) read() error {
	lines := bufio.NewReaderSize(c.stream, 64<<10)
	for {
		line, err := readLine(lines)
		if err != nil {
			return err
		}
		m, err := parseMessage(line)
		switch {
		case err != nil:
			c.stray("no message of the protocol", line)
		case m.Method == "":
			c.answered(m, line)
		case m.ID != nil:
			c.asked(m)
		case m.Method == string(NotifyCancelRequest):
			c.cancelIncoming(m.Params)
		default:
			c.notified(m.Method, m.Params)
		}
	}
}

// end fails everything that is open.
func (c *conn) end(reason error) {
	c.reason = reason
	close(c.ended)
	c.stop()
}

func (c *conn) answered(m *message, line []byte) {
	c.mu.Lock()
	waiting, ok := c.pending[string(m.ID)]
	delete(c.pending, string(m.ID))
	c.mu.Unlock()
	if !ok {
		c.stray("an answer that no call waits for", line)
		return
	}
	waiting <- m // Has room for one.
}

// asked runs a request of the sidecar's beside the others.
func (c *conn) asked(m *message) {
	ctx, cancel := context.WithCancel(c.handling)
	id := string(m.ID)
	c.mu.Lock()
	c.incoming[id] = cancel
	c.mu.Unlock()
	go func() {
		result, err := c.handle(ctx, m.Method, m.Params)
		c.mu.Lock()
		delete(c.incoming, id)
		c.mu.Unlock()
		cancel()
		c.reply(m.ID, result, err)
	}()
}

func (c *conn) reply(id json.RawMessage, result any, err error) {
	answer := message{ID: id}
	if err == nil {
		answer.Result, err = encode(result)
	}
	if err != nil {
		answer.Error = asError(err)
	}
	// The connection may have ended meanwhile; nobody waits for the answer then.
	_ = c.send(context.Background(), answer)
}

func (c *conn) cancelIncoming(params json.RawMessage) {
	var cancel CancelParams
	if json.Unmarshal(params, &cancel) != nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if stop, ok := c.incoming[string(cancel.ID)]; ok {
		stop()
	}
}

// send hands one message over to be written.
func (c *conn) send(ctx context.Context, m message) error {
	m.Version = "2.0"
	line, err := encode(m)
	if err != nil {
		return err
	}
	select {
	case c.outgoing <- append(line, '\n'):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	case <-c.ended:
		return c.reason
	}
}

func (c *conn) notify(ctx context.Context, method string, params any) error {
	raw, err := encode(params)
	if err != nil {
		return err
	}
	return c.send(ctx, message{Method: method, Params: raw})
}

// call sends a request and gives its result. Cancelled, it tells the sidecar, and gives what that answers.
func (c *conn) call(ctx context.Context, method string, params any) (json.RawMessage, error) {
	raw, err := encode(params)
	if err != nil {
		return nil, fmt.Errorf("toolscout: parameters of %s: %w", method, err)
	}
	answer := make(chan *message, 1)
	c.mu.Lock()
	c.lastID++
	id := strconv.FormatUint(c.lastID, 10)
	c.pending[id] = answer
	c.mu.Unlock()
	defer func() {
		c.mu.Lock()
		delete(c.pending, id)
		c.mu.Unlock()
	}()
	if err := c.send(ctx, message{ID: json.RawMessage(id), Method: method, Params: raw}); err != nil {
		return nil, err
	}
	select {
	case m := <-answer:
		return outcome(ctx, m)
	case <-c.ended:
		return c.lost(ctx, answer)
	case <-ctx.Done():
	}
	grace, cancel := context.WithTimeout(context.WithoutCancel(ctx), cancelGrace)
	defer cancel()
	if err := c.notify(grace, string(NotifyCancelRequest), CancelParams{ID: json.RawMessage(id)}); err != nil {
		return nil, ctx.Err()
	}
	select {
	case m := <-answer:
		return outcome(ctx, m)
	case <-c.ended:
		return c.lost(ctx, answer)
	case <-grace.Done():
		return nil, ctx.Err()
	}
}

// lost is the outcome once the connection has ended: the answer may have come with its last bytes.
func (c *conn) lost(ctx context.Context, answer <-chan *message) (json.RawMessage, error) {
	select {
	case m := <-answer:
		return outcome(ctx, m)
	default:
		return nil, c.reason
	}
}

// outcome of an answer. One that says cancelled is also the error of the context that asked for it.
func outcome(ctx context.Context, m *message) (json.RawMessage, error) {
	switch {
	case m.Error == nil:
		return m.Result, nil
	case m.Error.Code == CodeCancelled && ctx.Err() != nil:
		return nil, fmt.Errorf("%w: %w", ctx.Err(), m.Error)
	default:
		return nil, m.Error
	}
}
