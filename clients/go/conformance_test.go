// Replays protocol/transcripts against the real sidecar: all of them through the client's own process and frames, and those
// that a client can say through its own connection too. What a line means is said in the README beside the transcripts.

package toolscout

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

const transcripts = "../../protocol/transcripts"

// knownFailures are transcripts that do not replay, and why. One that does replay must not be here.
var knownFailures = map[string]string{}

// notThroughConn are those that begin as a client does, and do not replay through its connection.
var notThroughConn = map[string]string{
	"duplicate-live-id": "a connection gives each call an id of its own",
}

func TestTranscripts(t *testing.T) {
	replayAll(t, knownFailures, func(p *player) bool { return true }, (*player).readFrames)
}

func TestTranscriptsThroughTheConnection(t *testing.T) {
	replayAll(t, notThroughConn, (*player).isAClients, (*player).connect)
}

// replayAll replays the transcripts that are chosen, each through what link makes of its process.
func replayAll(t *testing.T, known map[string]string, chosen func(*player) bool, link func(*player)) {
	paths, err := filepath.Glob(filepath.Join(transcripts, "*.jsonl"))
	if err != nil || len(paths) == 0 {
		t.Fatalf("no transcripts in %s: %v", transcripts, err)
	}
	binary := binary(t)
	left := maps.Clone(known)
	for _, path := range paths {
		name := strings.TrimSuffix(filepath.Base(path), ".jsonl")
		p := &player{name: name, lines: strings.Split(strings.TrimSpace(string(must(os.ReadFile(path)))), "\n"), link: link}
		if !chosen(p) {
			continue
		}
		delete(left, name)
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if err := verdict(p.replay(t, binary), known[name]); err != nil {
				t.Error(err)
			}
		})
	}
	for name := range left {
		t.Errorf("the known failure %s is no transcript that is replayed", name)
	}
}

// verdict is what is wrong with the outcome of a transcript that is known to fail for a reason, or for none.
func verdict(err error, known string) error {
	if known == "" {
		return err
	}
	if err == nil {
		return fmt.Errorf("it replays: take it from the known failures (%s)", known)
	}
	return nil
}

func TestAKnownFailureHasToFail(t *testing.T) {
	failed := errors.New("failed")
	if verdict(nil, "") != nil || verdict(failed, "") != failed || verdict(failed, "known") != nil {
		t.Error("an outcome that is as it should be is not taken")
	}
	if verdict(nil, "known") == nil {
		t.Error("a known failure that replays is taken")
	}
}

// line of a transcript, but for the first.
type line struct {
	Why         string
	Send        json.RawMessage
	SendRaw     *string
	Expect      json.RawMessage
	ExpectClose bool
	Close       bool
	Exit        *int
	Write       map[string]string
	Remove      string
}

type player struct {
	name    string
	lines   []string
	link    func(*player)
	dir     string
	bound   bindings
	lengths bool // frames have headers
	process *process
	// say sends one message in the frames of the transcript.
	say func(message json.RawMessage) error
	// received has the messages; it is closed when standard output ends.
	received chan []byte
	// broken is why reading ended, once received is closed.
	broken error
	// waiting are the expect lines that no message has matched.
	waiting []string
}

func (p *player) replay(t *testing.T, binary string) error {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		return err
	}
	p.dir, p.bound, p.received = dir, bindings{"dir": dir}, make(chan []byte)
	defer func() {
		if p.process != nil {
			go func() {
				for range p.received {
				}
			}()
			p.process.finish()
		}
	}()
	for number, line := range p.lines {
		if number == 0 {
			err = p.start(binary, line)
		} else {
			err = p.play(line)
		}
		if err != nil {
			return fmt.Errorf("line %d: %w\n  at %.200s", number+1, err, line)
		}
	}
	if err := p.settle(); err != nil {
		return err
	}
	p.process.stdin.Close()
	return p.expectClose()
}

type header struct {
	Transcript, Framing string
	Args                []string
	Files               map[string]string
}

func (p *player) start(binary, text string) error {
	var header header
	if err := strict(p.bound.substitute(text), &header); err != nil {
		return err
	}
	if header.Transcript != p.name {
		return fmt.Errorf("the transcript calls itself %q", header.Transcript)
	}
	switch header.Framing {
	case "lines":
	case "content-length":
		p.lengths = true
	default:
		return fmt.Errorf("no framing %q", header.Framing)
	}
	for _, folder := range []string{"config", "workspace"} {
		if err := os.Mkdir(filepath.Join(p.dir, folder), 0o755); err != nil {
			return err
		}
	}
	if err := p.write(header.Files); err != nil {
		return err
	}
	command := exec.Command(binary, header.Args...)
	command.Dir = filepath.Join(p.dir, "workspace")
	command.Env = append(os.Environ(), "XDG_CONFIG_HOME="+filepath.Join(p.dir, "config"))
	var err error
	if p.process, err = spawn(command, nil); err != nil {
		return err
	}
	p.link(p)
	return nil
}

// readFrames plays the frames as they are.
func (p *player) readFrames() {
	p.say = func(message json.RawMessage) error {
		frame := string(message) + "\n"
		if p.lengths {
			frame = fmt.Sprintf("Content-Length: %d\r\n\r\n%s", len(message), message)
		}
		_, err := io.WriteString(p.process, frame)
		return err
	}
	go p.read()
}

func (p *player) read() {
	defer close(p.received)
	input := bufio.NewReader(p.process)
	next := readLine
	if p.lengths {
		next = readLengthFrame
	}
	for {
		message, err := next(input)
		if err != nil {
			if !errors.Is(err, io.EOF) {
				p.broken = err
			}
			return
		}
		p.received <- message
	}
}

// readLengthFrame reads a frame as LSP has them.
func readLengthFrame(input *bufio.Reader) ([]byte, error) {
	length := -1
	for {
		header, err := input.ReadString('\n')
		if err != nil {
			return nil, err
		}
		header = strings.TrimSpace(header)
		if header == "" {
			break
		}
		if _, err := fmt.Sscanf(header, "Content-Length: %d", &length); err != nil {
			return nil, fmt.Errorf("header %q: %w", header, err)
		}
	}
	if length < 0 {
		return nil, errors.New("a frame without Content-Length")
	}
	message := make([]byte, length)
	_, err := io.ReadFull(input, message)
	return message, err
}

func (p *player) play(text string) error {
	var l line
	if err := strict(text, &l); err != nil {
		return err
	}
	if l.Expect != nil {
		p.waiting = append(p.waiting, text)
		return nil
	}
	if err := p.settle(); err != nil {
		return err
	}
	if err := strict(p.bound.substitute(text), &l); err != nil {
		return err
	}
	switch {
	case l.Send != nil:
		return p.say(l.Send)
	case l.SendRaw != nil:
		_, err := io.WriteString(p.process, *l.SendRaw)
		return err
	case l.ExpectClose:
		return p.expectClose()
	case l.Close:
		return p.process.stdin.Close()
	case l.Exit != nil:
		<-p.process.exited
		if code := p.process.command.ProcessState.ExitCode(); code != *l.Exit {
			return fmt.Errorf("exit code %d expected, not %d", *l.Exit, code)
		}
		return nil
	case l.Write != nil:
		return p.write(l.Write)
	case l.Remove != "":
		return os.Remove(filepath.Join(p.dir, l.Remove))
	default:
		return errors.New("the line says nothing to do")
	}
}

// settle reads until each waiting line has its message.
func (p *player) settle() error {
	for len(p.waiting) > 0 {
		message, err := p.receive()
		if err != nil {
			return err
		}
		if message == nil {
			return fmt.Errorf("standard output ended before %q", p.waiting)
		}
		var misfits []error
		at := slices.IndexFunc(p.waiting, func(text string) bool {
			m := matcher{bound: bindings{}}
			for name, value := range p.bound {
				m.bound[name] = value
			}
			pattern := decoded([]byte(p.bound.substitute(text))).(map[string]any)["expect"]
			err := m.match(pattern, message, "")
			if err == nil {
				p.bound = m.bound
			}
			misfits = append(misfits, err)
			return err == nil
		})
		if at < 0 {
			return fmt.Errorf("a message fits no line that waits: %s\n  %w", message, errors.Join(misfits...))
		}
		p.waiting = slices.Delete(p.waiting, at, at+1)
	}
	return nil
}

func (p *player) expectClose() error {
	message, err := p.receive()
	if message != nil {
		return fmt.Errorf("the end of standard output expected, not %s", message)
	}
	return err
}

// receive gives the next message, or nil at the end.
func (p *player) receive() ([]byte, error) {
	timeout := time.NewTimer(30 * time.Second)
	defer timeout.Stop()
	select {
	case message, ok := <-p.received:
		if !ok {
			return nil, p.broken
		}
		if !json.Valid(message) {
			return nil, fmt.Errorf("no JSON: %q", message)
		}
		return message, nil
	case <-timeout.C:
		return nil, errors.New("no message within 30 seconds")
	}
}

func (p *player) write(files map[string]string) error {
	for path, content := range files {
		if !filepath.IsLocal(path) {
			return fmt.Errorf("%s is not inside the folder", path)
		}
		target := filepath.Join(p.dir, path)
		if err := os.MkdirAll(filepath.Dir(target), 0o755); err != nil {
			return err
		}
		// Put there at once: a file that is empty for a moment is a message more.
		whole := filepath.Join(p.dir, "whole")
		if err := os.WriteFile(whole, []byte(content), 0o644); err != nil {
			return err
		}
		if err := os.Rename(whole, target); err != nil {
			return err
		}
	}
	return nil
}

// strict decodes a line and refuses members that the player does not know.
func strict(text string, value any) error {
	decoder := json.NewDecoder(strings.NewReader(text))
	decoder.DisallowUnknownFields()
	return decoder.Decode(value)
}
