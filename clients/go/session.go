// A session: one connection, from its start until it ends.

package toolscout

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"sync"
	"time"
)

// session is a connection that has been initialized, or is about to be.
type session struct {
	*conn
	options *Options
	told    *mailbox
	// done is closed when nothing is left of it.
	done chan struct{}

	mu sync.Mutex
	// firstLine is what came first, to show what kind of program it is.
	firstLine string
}

// maxShown bounds how much of a line that is no message is shown, in bytes.
const maxShown = 200

// startSession initializes a connection. Of a session that fails nothing is left.
func startSession(ctx context.Context, stream transport, params InitializeParams, o *Options, told *mailbox) (*session, error) {
	s := &session{conn: newConn(stream), options: o, told: told, done: make(chan struct{})}
	s.conn.handle = o.Handlers.handle
	s.conn.notified = s.notified
	s.conn.stray = s.stray
	go s.conn.write()
	go s.run()

	// What hangs is ended, and the call fails with it.
	inTime := context.AfterFunc(ctx, func() { stream.finish() })
	raw, err := s.call(context.Background(), string(MethodInitialize), params)
	var result InitializeResult
	if err == nil {
		result, err = s.initialized(raw)
	}
	if late := !inTime(); late || err != nil {
		err = s.explain(err, late)
		stream.finish()
		<-s.done
		return nil, err
	}
	for _, file := range result.Diagnostics {
		s.told.put(func() {
			if o.Handlers.Diagnostics != nil {
				o.Handlers.Diagnostics(file)
			}
		})
	}
	return s, s.notify(ctx, string(NotifyInitialized), None{})
}

// initialized reads the answer to initialize.
func (s *session) initialized(raw json.RawMessage) (InitializeResult, error) {
	var result InitializeResult
	if err := json.Unmarshal(raw, &result); err != nil || result.ProtocolVersion == "" {
		return result, &StartError{Reason: fmt.Sprintf("what was reached does not speak the protocol: it answered initialize with %.*s%s",
			maxShown, raw, s.options.advice()), Err: err}
	}
	if major(result.ProtocolVersion) != major(ProtocolVersion) {
		return result, &VersionError{Supported: []string{result.ProtocolVersion}}
	}
	return result, nil
}

func major(version string) string {
	number, _, _ := strings.Cut(version, ".")
	return number
}

// run serves the connection, then ends what is behind it and fails what is open.
func (s *session) run() {
	defer close(s.done)
	err := s.read()
	reason := s.stream.finish()
	if !isEnd(err) {
		reason += fmt.Sprintf(" (%v)", err)
	}
	s.end(&ConnectionError{Reason: reason})
}

func (s *session) notified(method string, params json.RawMessage) {
	s.told.put(func() {
		if err := s.options.Handlers.tell(method, params); err != nil {
			s.options.log(fmt.Sprintf("%s: %v", method, err))
		}
	})
}

func (s *session) stray(why string, line []byte) {
	shown := printable(line[:min(len(line), maxShown)])
	s.mu.Lock()
	if s.firstLine == "" {
		s.firstLine = shown
	}
	s.mu.Unlock()
	s.options.log(fmt.Sprintf("the sidecar wrote %s: %s", why, shown))
}

// explain says what a failed initialize means, and what to do. How the connection ended is said, and not wrapped: starting
// again does not mend it, and who does so after a ConnectionError would.
func (s *session) explain(err error, late bool) error {
	var answered *Error
	var lost *ConnectionError
	advice := s.options.advice()
	ended := errors.As(err, &lost)
	switch {
	case late && (ended || err == nil):
		reason := fmt.Sprintf("no answer to initialize within %v%s%s, or Options.StartTimeout allow more", s.options.startTimeout(), s.said(), advice)
		if ended {
			reason += "\n" + lost.Reason
		}
		return &StartError{Reason: reason}
	case ended && s.refusedArguments():
		return &StartError{Reason: fmt.Sprintf("the program refused its arguments, %q: see Options.Args; or it is another program%s%s\n%s",
			s.options.arguments(), s.said(), advice, lost.Reason)}
	case ended:
		return &StartError{Reason: "nothing answered initialize" + s.said() + advice + "\n" + lost.Reason}
	case !errors.As(err, &answered):
		return err
	case answered.Code == CodeMethodNotFound:
		return &StartError{Reason: "what was reached does not speak the protocol: it knows no initialize" + s.said() + advice, Err: err}
	}
	var data struct{ Supported []string }
	if answered.Code == CodeInvalidParams && json.Unmarshal(answered.Data, &data) == nil && len(data.Supported) > 0 {
		return &VersionError{Supported: data.Supported}
	}
	return &StartError{Reason: fmt.Sprintf("initialize was refused: %v; mend the option that it names%s", answered, advice), Err: err}
}

// refusedArguments says whether the program ended with the code that programs have for arguments they do not take.
func (s *session) refusedArguments() bool {
	p, ok := s.stream.(*process)
	return ok && p.command.ProcessState.ExitCode() == 2
}

// isEnd tells the plain end of a stream from one that something broke.
func isEnd(err error) bool {
	return errors.Is(err, io.EOF) || errors.Is(err, os.ErrClosed) || errors.Is(err, io.ErrClosedPipe) || errors.Is(err, net.ErrClosed)
}

// said is what the program wrote in place of messages.
func (s *session) said() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.firstLine == "" {
		return ""
	}
	return fmt.Sprintf("; it does not speak the protocol, its first line is \"%s\"", s.firstLine)
}

// shutdownGrace is how long the answer to shutdown may take. Asking is a courtesy: what does not listen is ended all the
// same.
const shutdownGrace = 500 * time.Millisecond

// close asks the sidecar to end, and sees to it.
func (s *session) close() {
	ctx, cancel := context.WithTimeout(context.Background(), shutdownGrace)
	defer cancel()
	context.AfterFunc(ctx, func() { s.stream.finish() })
	if _, err := s.call(context.Background(), string(MethodShutdown), None{}); err == nil {
		_ = s.notify(ctx, string(NotifyExit), None{})
	}
	s.stream.finish()
	<-s.done
}
