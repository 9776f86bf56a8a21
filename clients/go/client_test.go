// The client with the real sidecar: calls, and its life.

//go:build unix

package toolscout

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

func TestEveryCall(t *testing.T) {
	ctx := within(t)
	c := client(t, options(t))
	registered := must(c.Register(ctx, weather))
	if registered.Accepted != 1 {
		t.Error(registered)
	}
	list := must(c.List(ctx, ListParams{Tools: true}))
	if len(list.Sources) != 1 || list.Sources[0].Tools[0].Name != forecast || !list.Sources[0].Tools[0].Deferred {
		t.Errorf("%+v", list)
	}
	assembled := must(c.Assemble(ctx, AssembleParams{Format: FormatAnthropic}))
	if !assembled.Activated || len(assembled.Tools) != 4 {
		t.Errorf("%+v", assembled)
	}
	if again := must(c.Assemble(ctx, AssembleParams{Format: FormatAnthropic, IfEtag: assembled.Etag})); !again.Unchanged || again.Tools != nil {
		t.Errorf("%+v", again)
	}
	if found := must(c.ToolSearch(ctx, Turn{}, 1, "weather forecast")); !strings.Contains(string(found.Content), forecast) || found.IsError {
		t.Errorf("%s", found.Content)
	}
	if described := must(c.ToolDescribe(ctx, Turn{}, forecast)); !strings.Contains(string(described.Content), `"days"`) {
		t.Errorf("%s", described.Content)
	}
	called := must(c.ToolCall(ctx, Turn{}, forecast, map[string]string{"city": "<Oslo>", "days": "2"}))
	if called.Dispatch == nil || called.Dispatch.Tool != "forecast" || string(called.Dispatch.Arguments) != `{"city":"<Oslo>","days":2}` {
		t.Errorf("%+v", called.Dispatch)
	}
	if mistaken := must(c.BridgeCall(ctx, BridgeParams{Name: forecast, Arguments: raw(`{}`)})); !mistaken.IsError {
		t.Errorf("%+v", mistaken)
	}
	resolved := must(c.Resolve(ctx, BridgeParams{Name: forecast, Arguments: raw(`{"city": "Oslo"}`)}))
	if len(resolved.Calls) != 1 || resolved.Calls[0].RunsIn != ResolvedCallRunsInHost {
		t.Errorf("%+v", resolved)
	}
	plan := must(c.Plan(ctx, PlanParams{Calls: []PlannedCall{{ID: raw(`"a"`), Name: "tool_search", Arguments: raw(`{"queries": ["x"]}`)}}}))
	if len(plan.Stages) != 1 || string(plan.Stages[0][0]) != `"a"` {
		t.Errorf("%+v", plan)
	}
	if explained := must(c.Explain(ctx, ExplainParams{Query: "forecast"})); len(explained.Hits) != 1 || explained.Gate == nil {
		t.Errorf("%+v", explained)
	}
	if config := must(c.Config(ctx)); len(config.Origins) == 0 {
		t.Errorf("%+v", config)
	}
	if status := must(c.Status(ctx)); !status.Probe.Ok || status.PID == 0 {
		t.Errorf("%+v", status)
	}
	if gone := must(c.Unregister(ctx, "weather")); !gone.Removed {
		t.Errorf("%+v", gone)
	}
}

func TestAScopeThatGrantsNothingIsNotOneThatGrantsAll(t *testing.T) {
	ctx := within(t)
	c := client(t, options(t))
	must(c.Register(ctx, weather))
	for _, scope := range []Scope{{Toolsets: &ScopeToolsets{Enabled: []string{}}}, {Tools: &ScopeTools{Allow: []string{}}}} {
		if result := must(c.ToolSearch(ctx, Turn{Scope: &scope}, 0, "forecast")); strings.Contains(string(result.Content), forecast) {
			t.Errorf("%s", result.Content)
		}
	}
	if result := must(c.ToolSearch(ctx, Turn{Scope: &Scope{Tools: &ScopeTools{}}}, 0, "forecast")); !strings.Contains(string(result.Content), forecast) {
		t.Errorf("%s", result.Content)
	}
}

func TestErrorsKeepCodeAndData(t *testing.T) {
	_, err := client(t, options(t)).BridgeCall(within(t), BridgeParams{Name: "terminal"})
	var answered *Error
	if !errors.As(err, &answered) || answered.Code != CodeInvalidParams || !strings.Contains(string(answered.Data), `"/name"`) {
		t.Error(err)
	}
}

func TestOptionsReachTheSidecar(t *testing.T) {
	ctx := within(t)
	o := options(t)
	folder := t.TempDir()
	config, registry := filepath.Join(folder, "config.yaml"), filepath.Join(folder, "notes.json")
	for path, text := range map[string]string{
		config:   "tools: {tool_search: {listing: off}}",
		registry: `{"tools": [{"name": "add", "inputSchema": {"type": "object"}}]}`,
		filepath.Join(o.Workspace, ".toolscout", "config.yaml"): "core: [mine]",
	} {
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	diagnosed := make(chan FileDiagnostics, 8)
	o.Handlers.Diagnostics = func(file FileDiagnostics) { diagnosed <- file }
	o.Config, o.Registry, o.Trust = config, []string{registry}, true
	o.Settings = map[string]any{"tools": map[string]any{"tool_search": map[string]any{"search_default_limit": 3, "max_search_limit": 9999}}}
	c := client(t, o)
	settings := string(must(c.Config(ctx)).Settings)
	for _, words := range []string{`"search_default_limit":3`, `"mine"`, `"listing":"off"`} {
		if !strings.Contains(settings, words) {
			t.Errorf("%s is not in %s", words, settings)
		}
	}
	if list := must(c.List(ctx, ListParams{})); len(list.Sources) != 1 || list.Sources[0].Name != "notes" {
		t.Errorf("%+v", list)
	}
	select {
	case file := <-diagnosed:
		if !strings.Contains(file.Diagnostics[0].Pointer, "max_search_limit") {
			t.Errorf("%+v", file)
		}
	case <-ctx.Done():
		t.Error("what initialize says of the settings is not told")
	}
}

func TestTheProgressOfAStartIsTold(t *testing.T) {
	o := options(t)
	kinds := make(chan ProgressKind, 2)
	o.Handlers.Progress = func(p ProgressParams) {
		if string(p.Token) == string(StartToken) {
			kinds <- p.Value.Kind
		}
	}
	must(client(t, o).Status(within(t)))
	if begin, end := <-kinds, <-kinds; begin != ProgressKindBegin || end != ProgressKindEnd {
		t.Error(begin, end)
	}
}

func TestToolsOfTheHostAreRunThroughInvoke(t *testing.T) {
	ctx := within(t)
	o := options(t)
	o.Handlers.Invoke = func(_ context.Context, p InvokeParams) (InvokeResult, error) {
		switch p.CallID {
		case "fails":
			return InvokeResult{}, errors.New("no such city")
		case "panics":
			panic("at the disco")
		}
		return InvokeResult{Content: p.Arguments}, nil
	}
	c := client(t, o)
	must(c.Register(ctx, weather))
	call := func(id string) BridgeResult {
		return must(c.ToolCall(ctx, Turn{CallID: id}, forecast, map[string]string{"city": "Oslo"}))
	}
	if result := call("well"); result.IsError || string(result.Content) != `{"city":"Oslo"}` {
		t.Errorf("%+v", result)
	}
	if result := call("fails"); !result.IsError || !strings.Contains(string(result.Content), "no such city") {
		t.Errorf("%s", result.Content)
	}
	if result := call("panics"); !result.IsError || !strings.Contains(string(result.Content), "at the disco") {
		t.Errorf("%s", result.Content)
	}
}

// blocked is a client whose tool runs until its context ends, and a channel that says that it runs.
func blocked(t *testing.T, o Options) (c *Client, running <-chan struct{}, stopped <-chan struct{}) {
	t.Helper()
	started, ended := make(chan struct{}, 1), make(chan struct{}, 1)
	o.Handlers.Invoke = func(ctx context.Context, _ InvokeParams) (InvokeResult, error) {
		started <- struct{}{}
		<-ctx.Done()
		ended <- struct{}{}
		return InvokeResult{}, ctx.Err()
	}
	c = client(t, o)
	must(c.Register(within(t), weather))
	return c, started, ended
}

func TestACancelledToolIsInterrupted(t *testing.T) {
	c, running, stopped := blocked(t, options(t))
	ctx, cancel := context.WithCancel(within(t))
	go func() {
		<-running
		cancel()
	}()
	result, err := c.ToolCall(ctx, Turn{}, forecast, map[string]string{"city": "Oslo"})
	if err != nil || !result.IsError || !strings.Contains(string(result.Content), "INTERRUPTED") {
		t.Errorf("%s, %v", result.Content, err)
	}
	<-stopped
}

func TestTheSidecarIsKilledWhileARequestIsOpen(t *testing.T) {
	ctx := within(t)
	c, running, stopped := blocked(t, options(t))
	pid := int(must(c.Status(ctx)).PID)
	go func() {
		<-running
		_ = syscall.Kill(pid, syscall.SIGKILL)
	}()
	_, err := c.ToolCall(ctx, Turn{}, forecast, map[string]string{"city": "Oslo"})
	var lost *ConnectionError
	if !errors.As(err, &lost) || !strings.Contains(err.Error(), "killed") {
		t.Errorf("a ConnectionError expected, not %v", err)
	}
	<-stopped
	// The next call starts another, which has what was registered.
	list := must(c.List(ctx, ListParams{}))
	if len(list.Sources) != 1 || list.Sources[0].Name != "weather" {
		t.Errorf("%+v", list)
	}
	if again := int(must(c.Status(ctx)).PID); again == pid {
		t.Error("it is the same process")
	}
}

func TestASidecarThatDiesThreeTimesAMinuteIsNotStartedAgain(t *testing.T) {
	ctx := within(t)
	c := client(t, options(t))
	for range maxStarts {
		if err := syscall.Kill(int(must(c.Status(ctx)).PID), syscall.SIGKILL); err != nil {
			t.Fatal(err)
		}
		<-c.current.session.done
	}
	_, err := c.Status(ctx)
	if err == nil || !strings.Contains(err.Error(), "3 times within a minute") || !strings.Contains(err.Error(), "signal: killed") {
		t.Error(err)
	}
}

func TestOnlyWhatIsRegisteredIsRegisteredAgain(t *testing.T) {
	ctx := within(t)
	o := options(t)
	o.Log = func(line string) { t.Error(line) }
	c := client(t, o)
	must(c.Register(ctx, RegisterParams{Source: SourceParams{Name: "gone", Kind: SourceKindMCP}}))
	must(c.Register(ctx, weather))
	must(c.Unregister(ctx, "gone"))
	if _, err := c.Register(ctx, RegisterParams{Source: SourceParams{Name: "odd", Kind: "no kind"}}); err == nil {
		t.Error("a kind that does not exist was taken")
	}
	if err := syscall.Kill(int(must(c.Status(ctx)).PID), syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	<-c.current.session.done
	if list := must(c.List(ctx, ListParams{})); len(list.Sources) != 1 || list.Sources[0].Name != "weather" {
		t.Errorf("%+v", list)
	}
}

func TestClosing(t *testing.T) {
	o := options(t)
	gone := watched(t, &o)
	c, running, _ := blocked(t, o)
	failed := make(chan error, 1)
	go func() {
		_, err := c.ToolCall(within(t), Turn{}, forecast, map[string]string{"city": "Oslo"})
		failed <- err
	}()
	<-running
	c.Close()
	<-gone
	<-failed // With whatever the sidecar answered last.
	if _, err := c.Status(within(t)); !errors.Is(err, ErrClosed) {
		t.Error(err)
	}
	c.Close()
}

func TestClosingEndsWithCodeZero(t *testing.T) {
	c := client(t, options(t))
	must(c.Status(within(t)))
	c.Close()
	if code := c.current.session.stream.(*process).command.ProcessState.ExitCode(); code != 0 {
		t.Error("exit code", code)
	}
}

func TestClosingBeforeTheFirstCallStartsNothing(t *testing.T) {
	c := New(Options{Binary: "/nowhere"})
	c.Close()
	if _, err := c.Status(within(t)); !errors.Is(err, ErrClosed) {
		t.Error(err)
	}
}

// initialized is what a script does to be taken for a sidecar.
const initialized = `read -r line; echo '{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"1.0","serverInfo":{"name":"script","version":"1"},"capabilities":{"formats":[],"progress":false},"diagnostics":[]}}'; `

func TestAScriptsChildrenEndWithIt(t *testing.T) {
	o := Options{Binary: script(t, initialized+"sleep 600 & sleep 600")}
	gone := watched(t, &o)
	c := client(t, o)
	must(c.session(within(t)))
	c.Close()
	<-gone
}

func TestAGrandchildThatHoldsThePipesIsNotWaitedFor(t *testing.T) {
	o := Options{Binary: script(t, initialized+"sleep 600 & echo dying >&2; exit 3")}
	gone := watched(t, &o)
	c := client(t, o)
	ctx := within(t)
	s := must(c.session(ctx))
	select {
	case <-s.done:
	case <-ctx.Done():
		t.Fatal("it is waited for")
	}
	if reason := s.reason.Error(); !strings.Contains(reason, "exit status 3") || !strings.Contains(reason, "dying") {
		t.Error(reason)
	}
	<-gone
}

func TestAProgramThatClosesItsInputIsEnded(t *testing.T) {
	closed := make(chan struct{})
	c := client(t, Options{
		Binary: script(t, initialized+"exec 0<&-; echo closed >&2; sleep 600"),
		Stderr: func(string) { close(closed) },
	})
	must(c.session(within(t)))
	<-closed
	if _, err := c.Status(within(t)); !isLost(err) {
		t.Error(err)
	}
}

func TestAProgramThatStopsListeningIsKilled(t *testing.T) {
	c := client(t, Options{Binary: script(t, initialized+"sleep 600")})
	big := RegisterParams{Source: SourceParams{Name: "big", Kind: SourceKindMCP}, Tools: []json.RawMessage{raw(`"` + strings.Repeat("x", 1<<20) + `"`)}}
	ctx, cancel := context.WithTimeout(context.Background(), 200*time.Millisecond)
	defer cancel()
	if _, err := c.Register(ctx, big); !errors.Is(err, context.DeadlineExceeded) {
		t.Error(err)
	}
	c.Close()
	<-c.current.session.done
}

func TestStandardErrorIsHandedOn(t *testing.T) {
	o := options(t)
	o.Binary = script(t, `echo "first words" >&2; printf "no break" >&2; exec "`+o.Binary+`" "$@"`)
	var lines []string
	o.Stderr = func(line string) { lines = append(lines, line) }
	c := client(t, o)
	must(c.Status(within(t)))
	c.Close()
	if text := strings.Join(lines, "|"); !strings.HasPrefix(text, "first words|no break") {
		t.Errorf("%q", lines)
	}
}

func TestManyCallsAtOnceStartOneSidecar(t *testing.T) {
	c := client(t, options(t))
	var all sync.WaitGroup
	pids := make(chan uint32, 20)
	for range cap(pids) {
		all.Add(1)
		go func() {
			defer all.Done()
			pids <- must(c.Status(within(t))).PID
		}()
	}
	all.Wait()
	close(pids)
	first := <-pids
	for pid := range pids {
		if pid != first {
			t.Error("two sidecars")
		}
	}
}

func TestASocketOnWhichASidecarListens(t *testing.T) {
	ctx := within(t)
	socket := filepath.Join(must(os.MkdirTemp("", "ts")), "s") // A socket's path must be short.
	t.Cleanup(func() { os.RemoveAll(filepath.Dir(socket)) })
	_, err := client(t, Options{Socket: socket}).Status(ctx)
	if err == nil || !strings.Contains(err.Error(), "serve --listen unix:"+socket) {
		t.Error(err)
	}
	server := exec.Command(binary(t), "serve", "--listen", "unix:"+socket)
	server.Env = append(os.Environ(), "XDG_CONFIG_HOME="+t.TempDir())
	server.Dir = t.TempDir()
	errors := must(server.StderrPipe())
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = server.Process.Kill()
		_ = server.Wait()
	})
	if !bufio.NewScanner(errors).Scan() {
		t.Fatal("it does not say that it is ready")
	}
	c := client(t, Options{Socket: socket, Workspace: server.Dir})
	must(c.Register(ctx, weather))
	if pid := must(c.Status(ctx)).PID; int(pid) != server.Process.Pid {
		t.Error("another process", pid)
	}
	c.Close()
	other := client(t, Options{Socket: socket, Workspace: server.Dir})
	if status := must(other.Status(ctx)); status.Connections != 1 {
		t.Errorf("%+v", status)
	}
}
