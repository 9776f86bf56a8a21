// Two peers on one shared sidecar. A peer is this test program, run once more.

package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
	"time"
)

const asPeer = "TOOLSCOUT_TEST_PEER"

func TestMain(m *testing.M) {
	if os.Getenv(asPeer) != "" {
		main()
		return
	}
	os.Exit(m.Run())
}

// line is what a peer prints.
type line struct {
	Ready   *struct{ PID, Names any }
	Changed *struct{ Added, Removed, Changed []string }
	Answer  *struct{ From, Text string }
	Matches []string
}

type running struct {
	t      *testing.T
	input  io.WriteCloser
	output *json.Decoder
}

func startPeer(t *testing.T, binary, workspace, name string, env []string) *running {
	t.Helper()
	command := exec.Command(os.Args[0], "--binary", binary, "--workspace", workspace, "--name", name)
	command.Env = append(env, asPeer+"=1")
	command.Stderr = os.Stderr
	input, err := command.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	output, err := command.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		input.Close()
		if err := command.Wait(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	})
	// What never comes is an end of its output.
	timer := time.AfterFunc(time.Minute, func() { _ = command.Process.Kill() })
	t.Cleanup(func() { timer.Stop() })
	return &running{t, input, json.NewDecoder(bufio.NewReader(output))}
}

func (r *running) next() line {
	r.t.Helper()
	var l line
	if err := r.output.Decode(&l); err != nil {
		r.t.Fatal(err)
	}
	return l
}

func (r *running) tell(text string) {
	if _, err := fmt.Fprintln(r.input, text); err != nil {
		r.t.Fatal(err)
	}
}

func TestPeersShareOneSidecarAndNothingElse(t *testing.T) {
	binary := os.Getenv("TOOLSCOUT_BIN")
	if binary == "" {
		t.Fatal("set TOOLSCOUT_BIN to the toolscout program to test against")
	}
	workspace := t.TempDir()
	env := append(os.Environ(), "XDG_CONFIG_HOME="+t.TempDir(), "XDG_RUNTIME_DIR="+t.TempDir())
	t.Cleanup(func() {
		stop := exec.Command(binary, "stop", "--all")
		stop.Env = env
		if text, err := stop.CombinedOutput(); err != nil {
			t.Errorf("%v: %s", err, text)
		}
	})
	peers := map[string]*running{}
	var pid any
	for _, name := range []string{"one", "two"} {
		peer := startPeer(t, binary, workspace, name, env)
		peers[name] = peer
		ready := peer.next().Ready
		if ready == nil || fmt.Sprint(ready.Names) != "[mcp__"+name+"__hello]" {
			t.Fatalf("%+v", ready)
		}
		if pid != nil && pid != ready.PID {
			t.Error("two sidecars", pid, ready.PID)
		}
		pid = ready.PID
	}
	for name, peer := range peers {
		peer.tell("call good day")
		if answer := peer.next().Answer; answer == nil || answer.From != name || answer.Text != "good day" {
			t.Errorf("%+v", answer)
		}
		peer.tell("search hello")
		if matches := peer.next().Matches; !slices.Equal(matches, []string{"mcp__" + name + "__hello"}) {
			t.Error(matches)
		}
	}
	registry := filepath.Join(workspace, ".toolscout", "registry")
	if err := os.MkdirAll(registry, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(registry, "new.json"), []byte(`[{"name": "add", "inputSchema": {}}]`), 0o644); err != nil {
		t.Fatal(err)
	}
	for name, peer := range peers {
		if changed := peer.next().Changed; changed == nil || !slices.Equal(changed.Added, []string{"mcp__new__add"}) {
			t.Errorf("%s: %+v", name, changed)
		}
	}
}
