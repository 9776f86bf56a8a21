// A client: at most one sidecar at a time, started when it is needed.

package toolscout

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"
)

// Client talks to one sidecar. It starts the sidecar on its first call, and a new one on the next call after one died,
// at most three processes a minute; what was registered is registered with the new one first. It may be used by many
// goroutines at once. [Client.Close] ends the sidecar.
type Client struct {
	options Options
	told    mailbox
	// closing ends a start that is under way.
	closing context.Context
	stop    context.CancelFunc
	// registering is held by who changes what is registered, so that memory and sidecar agree on the order.
	registering chan struct{}

	mu         sync.Mutex
	closed     bool
	current    *start
	starts     starts
	registered registrations
	inline     inline
}

// start is a session that is being made, or was.
type start struct {
	ready   chan struct{}
	session *session
	err     error
}

// New makes a client. Nothing is started until the first call.
func New(options Options) *Client {
	c := &Client{options: options, registering: make(chan struct{}, 1)}
	c.closing, c.stop = context.WithCancel(context.Background())
	if invoke := options.Handlers.Invoke; invoke != nil {
		c.options.Handlers.Invoke = checked(invoke, c.options.log)
	}
	return c
}

// Close asks the sidecar to end, and kills it after two seconds. Calls that are open, and later ones, fail. It may be
// called more than once.
func (c *Client) Close() {
	c.mu.Lock()
	c.closed = true
	current := c.current
	c.mu.Unlock()
	c.stop()
	if current == nil {
		return
	}
	if <-current.ready; current.session != nil {
		current.session.close()
	}
}

// Call sends a request by its method constant; the methods of [Client] are made of it.
func Call[P, R any](ctx context.Context, c *Client, method Method[P, R], params P) (R, error) {
	s, err := c.session(ctx)
	if err != nil {
		var none R
		return none, err
	}
	return callOn(ctx, c, s, method, params)
}

// callOn makes a call of one session.
func callOn[P, R any](ctx context.Context, c *Client, s *session, method Method[P, R], params P) (R, error) {
	var result R
	raw, err := s.call(ctx, string(method), params)
	if err != nil {
		if isLost(err) && c.isClosed() {
			err = ErrClosed
		}
		return result, err
	}
	if err := json.Unmarshal(raw, &result); err != nil {
		return result, fmt.Errorf("toolscout: the result of %s is not as the protocol has it: %w", method, err)
	}
	return result, nil
}

func (c *Client) isClosed() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.closed
}

// session gives the one that lives, or starts one. A start goes on for others if the context of one ends.
func (c *Client) session(ctx context.Context) (*session, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	current, err := c.startOnce()
	if err != nil {
		return nil, err
	}
	select {
	case <-current.ready:
		if current.err != nil && c.isClosed() {
			return nil, ErrClosed
		}
		return current.session, current.err
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// startOnce gives the start that is on its way or has led to a living session, or begins one.
func (c *Client) startOnce() (*start, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return nil, ErrClosed
	}
	if c.current != nil && c.current.serves() {
		return c.current, nil
	}
	if c.current != nil {
		c.starts.last = c.current.failure()
	}
	if c.options.starts() {
		if err := c.starts.refuse(time.Now()); err != nil {
			return nil, err
		}
	}
	next := &start{ready: make(chan struct{})}
	c.current = next
	go func() {
		defer close(next.ready)
		next.session, next.err = c.begin()
		if next.err != nil {
			return
		}
		if next.err = c.registerAgain(next.session); next.err != nil {
			next.session.close()
		}
	}()
	return next, nil
}

// begin opens a connection and initializes it, all within the time that a start may take.
func (c *Client) begin() (*session, error) {
	ctx, cancel := context.WithTimeout(c.closing, c.options.startTimeout())
	defer cancel()
	params, err := c.options.initialize()
	if err != nil {
		return nil, err
	}
	stream, err := open(ctx, &c.options)
	if err != nil {
		return nil, err
	}
	if c.options.starts() {
		c.mu.Lock()
		c.starts.note(time.Now())
		c.mu.Unlock()
	}
	return startSession(ctx, stream, params, &c.options, &c.told)
}

// serves says whether a call may wait for it: it is under way, or has a session that lives.
func (s *start) serves() bool {
	select {
	case <-s.ready:
	default:
		return true
	}
	if s.err != nil {
		return false
	}
	select {
	case <-s.session.ended:
		return false
	default:
		return true
	}
}

// failure is why it serves no more.
func (s *start) failure() error {
	if s.err != nil {
		return s.err
	}
	return s.session.reason
}

// registerAgain gives a new sidecar what the one before had.
func (c *Client) registerAgain(s *session) error {
	c.mu.Lock()
	sources := c.registered
	c.mu.Unlock()
	for _, source := range sources {
		_, err := s.call(c.closing, string(MethodRegistryRegister), source)
		var refused *Error
		if errors.As(err, &refused) {
			c.options.log(fmt.Sprintf("source %s was not registered again: %v", source.Source.Name, err))
		} else if err != nil {
			return err
		}
	}
	return nil
}
