// Programs that are no sidecar, or one that cannot be talked to: each gives an error that says what to do.

//go:build unix

package toolscout

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func TestProgramsThatAreNoSidecar(t *testing.T) {
	const advice = "Options.Binary or TOOLSCOUT_BIN"
	for _, c := range []struct {
		name, lines string
		says        []string
	}{
		{"ends at once", "exit 0", []string{"nothing answered initialize", "exit status 0", advice}},
		{"dies at once", "echo 'no such library' >&2; exit 3", []string{"exit status 3", "no such library", advice}},
		{"another program", "echo usage: program FILE; exit 2", []string{"does not speak the protocol", `"usage: program FILE"`, advice}},
		{"an echo", "cat", []string{"does not speak the protocol", advice}},
		{"closes its output", "exec 1>&-; cat >/dev/null", []string{"nothing answered initialize", advice}},
		{"hangs", "cat >/dev/null", []string{"no answer to initialize within", advice, "Options.StartTimeout"}},
		{"hangs and talks", "echo Welcome; cat >/dev/null", []string{"no answer to initialize within", `"Welcome"`, advice}},
		{"hears nothing", "sleep 600", []string{"no answer to initialize within", "signal: killed"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			// Written before others fork: a program that is open for writing cannot be run.
			o := Options{Binary: script(t, c.lines), StartTimeout: 10 * time.Second}
			t.Parallel()
			if strings.HasPrefix(c.name, "h") {
				o.StartTimeout = 100 * time.Millisecond
			}
			_, err := client(t, o).Status(within(t))
			var failed *StartError
			if !errors.As(err, &failed) {
				t.Fatalf("a StartError expected, not %v", err)
			}
			for _, words := range c.says {
				if !strings.Contains(err.Error(), words) {
					t.Errorf("%q is not in: %v", words, err)
				}
			}
		})
	}
}

func TestMissingProgram(t *testing.T) {
	missing := filepath.Join(t.TempDir(), "toolscout")
	unusable := filepath.Join(t.TempDir(), "toolscout")
	if err := os.WriteFile(unusable, []byte("no program"), 0o755); err != nil {
		t.Fatal(err)
	}
	for path, says := range map[string]string{missing: "no such file", unusable: "cannot be started"} {
		_, err := client(t, Options{Binary: path}).Status(within(t))
		var failed *StartError
		if !errors.As(err, &failed) || !strings.Contains(err.Error(), path) || !strings.Contains(err.Error(), says) ||
			!strings.Contains(err.Error(), "TOOLSCOUT_BIN") {
			t.Error(err)
		}
	}
}

func TestWhereTheProgramIsLookedFor(t *testing.T) {
	path := binary(t)
	folder := t.TempDir()
	if err := os.Symlink(path, filepath.Join(folder, "toolscout")); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", folder)
	t.Setenv("TOOLSCOUT_BIN", "")
	if found := must(findBinary("")); found != filepath.Join(folder, "toolscout") {
		t.Error("on PATH:", found)
	}
	t.Setenv("TOOLSCOUT_BIN", path)
	if found := must(findBinary("")); found != path {
		t.Error("in TOOLSCOUT_BIN:", found)
	}
	if _, err := findBinary("/nowhere"); err == nil {
		t.Error("the option goes first")
	}
}

// answers is a program that answers initialize so.
func answers(t *testing.T, answer string) Options {
	t.Helper()
	return Options{Binary: script(t, fmt.Sprintf(`read -r line; echo '{"jsonrpc":"2.0","id":1,%s}'; cat >/dev/null`, answer))}
}

func TestAnotherVersionOfTheProtocol(t *testing.T) {
	for _, answer := range []string{
		`"error":{"code":-32602,"message":"no","data":{"pointer":"/protocolVersion","supported":["7.0"]}}`,
		`"result":{"protocolVersion":"7.0","serverInfo":{"name":"x","version":"9"},"capabilities":{}}`,
	} {
		_, err := client(t, answers(t, answer)).Status(within(t))
		var version *VersionError
		if !errors.As(err, &version) || len(version.Supported) != 1 || version.Supported[0] != "7.0" {
			t.Fatalf("a VersionError expected, not %v", err)
		}
		if !strings.Contains(err.Error(), "7.0") || !strings.Contains(err.Error(), "install") {
			t.Error(err)
		}
	}
}

func TestAnswersToInitializeThatAreNone(t *testing.T) {
	for answer, says := range map[string]string{
		`"result":{}`:    "does not speak the protocol",
		`"result":[1]`:   "does not speak the protocol",
		`"result":"yes"`: "does not speak the protocol",
		`"error":{"code":-32601,"message":"what?"}`:                                          "does not speak the protocol",
		`"error":{"code":-32600,"message":"not ready"}`:                                      "not ready",
		`"error":{"code":-32602,"message":"not like this","data":{"pointer":"/settings/a"}}`: "/settings/a",
	} {
		_, err := client(t, answers(t, answer)).Status(within(t))
		var failed *StartError
		if !errors.As(err, &failed) || !strings.Contains(err.Error(), says) || !strings.Contains(err.Error(), "Options.Binary") {
			t.Errorf("%s: %v", answer, err)
		}
	}
}

func TestArgumentsThatAreRefused(t *testing.T) {
	o := options(t)
	o.Args = []string{"--bogus"}
	_, err := client(t, o).Status(within(t))
	var failed *StartError
	if !errors.As(err, &failed) || !strings.Contains(err.Error(), "refused its arguments") || !strings.Contains(err.Error(), "unexpected argument '--bogus'") ||
		!strings.Contains(err.Error(), "Options.Args") {
		t.Error(err)
	}
}

func TestSettingsThatAreRefused(t *testing.T) {
	_, err := client(t, Options{Binary: binary(t), Settings: func() {}}).Status(within(t))
	if err == nil || !strings.Contains(err.Error(), "Options.Settings") {
		t.Error(err)
	}
}

func TestLinesThatAreNoMessagesAreTolerated(t *testing.T) {
	o := options(t)
	o.Binary = script(t, fmt.Sprintf(`echo "starting up"; echo "half of a {"; echo; exec "%s" "$@"`, o.Binary))
	var lines []string
	o.Log = func(line string) { lines = append(lines, line) }
	c := client(t, o)
	if _, err := c.Status(within(t)); err != nil {
		t.Fatal(err)
	}
	c.Close()
	if len(lines) != 2 || !strings.Contains(lines[0], "starting up") || !strings.Contains(lines[1], "half of a {") {
		t.Errorf("%q", lines)
	}
}

func TestThreeStartsAMinute(t *testing.T) {
	started := filepath.Join(t.TempDir(), "started")
	c := client(t, Options{Binary: script(t, fmt.Sprintf("echo x >>'%s'; echo out of luck >&2; exit 1", started))})
	for range maxStarts {
		if _, err := c.Status(within(t)); err == nil || strings.Contains(err.Error(), "within a minute") {
			t.Fatal(err)
		}
	}
	_, err := c.Status(within(t))
	if err == nil || !strings.Contains(err.Error(), "3 times within a minute") || !strings.Contains(err.Error(), "out of luck") {
		t.Error(err)
	}
	if text := must(os.ReadFile(started)); string(text) != "x\nx\nx\n" {
		t.Errorf("%q", text)
	}
}

func TestStartsOfMoreThanAMinuteAgoDoNotCount(t *testing.T) {
	var s starts
	now := time.Now()
	for second := range maxStarts {
		at := now.Add(time.Duration(second) * time.Second)
		if err := s.refuse(at); err != nil {
			t.Fatal(err)
		}
		s.note(at)
	}
	if s.refuse(now.Add(startWindow-time.Second)) == nil {
		t.Error("a fourth within a minute of the first")
	}
	if err := s.refuse(now.Add(startWindow)); err != nil {
		t.Error(err)
	}
	s.note(now.Add(startWindow))
	if s.refuse(now.Add(startWindow)) == nil {
		t.Error("a fourth within a minute of the second")
	}
}

func TestOnlyProcessesCountAsStarts(t *testing.T) {
	for name, o := range map[string]Options{
		"no program": {Binary: "/nowhere"},
		"no socket":  {Socket: filepath.Join(t.TempDir(), "none")},
		"no connection": {Dial: func(context.Context) (io.ReadWriteCloser, error) {
			return nil, errors.New("no connection")
		}},
		"a connection that ends": {Dial: func(context.Context) (io.ReadWriteCloser, error) {
			host, sidecar := net.Pipe()
			sidecar.Close()
			return host, nil
		}},
	} {
		c := client(t, o)
		for range maxStarts + 1 {
			if _, err := c.Status(within(t)); err == nil || strings.Contains(err.Error(), "within a minute") {
				t.Error(name, err)
			}
		}
	}
}

func TestWhatEndedAStartIsNoLostConnection(t *testing.T) {
	c := client(t, Options{Binary: script(t, "exit 1")})
	for range maxStarts + 1 {
		_, err := c.Status(within(t))
		var failed *StartError
		if !errors.As(err, &failed) || isLost(err) {
			t.Errorf("a StartError alone expected, not %v", err)
		}
	}
}

func TestBinaryOutputIsEscaped(t *testing.T) {
	o := Options{Binary: script(t, `printf '\033[31m\377\tä\n'; printf '\001b\n' >&2; exit 1`)}
	var logged []string
	o.Log = func(line string) { logged = append(logged, line) }
	_, err := client(t, o).Status(within(t))
	for _, words := range []string{"\\x1b[31m\\xff\tä", "\\x01b"} {
		if err == nil || !strings.Contains(err.Error(), words) {
			t.Errorf("%q is not in: %v", words, err)
		}
	}
	if len(logged) != 1 || !strings.Contains(logged[0], "\\x1b[31m") {
		t.Errorf("%q", logged)
	}
}

func TestAContextEndsWhileTheSidecarStarts(t *testing.T) {
	started, mayGoOn := pipes(t)
	o := options(t)
	o.Binary = script(t, fmt.Sprintf(`echo >'%s'; read -r line <'%s'; exec "%s" "$@"`, started, mayGoOn, o.Binary))
	c := client(t, o)
	ctx, cancel := context.WithCancel(context.Background())
	go func() {
		must(os.ReadFile(started))
		cancel()
	}()
	if _, err := c.Status(ctx); !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	if err := os.WriteFile(mayGoOn, []byte("\n"), 0); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Status(within(t)); err != nil {
		t.Error("the start goes on for others:", err)
	}
	if len(c.starts.times) != 1 {
		t.Error("it was started again")
	}
}
