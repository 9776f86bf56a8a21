// The end of the host is the end of the sidecar. The host is this test program, run once more.

//go:build unix

package toolscout

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"testing"
)

const asHost = "TOOLSCOUT_TEST_HOST"

func TestMain(m *testing.M) {
	switch {
	case os.Getenv(asHost) != "":
		runHost()
		return
	case os.Getenv(asServer) != "":
		runServer()
		return
	}
	os.Exit(m.Run())
}

// runHost starts a sidecar, says so, and lives until its input closes.
func runHost() {
	c := New(Options{Workspace: os.Getenv(asHost)})
	if _, err := c.Status(context.Background()); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	fmt.Println("ready")
	bufio.NewScanner(os.Stdin).Scan()
}

func TestNothingIsLeftWhenTheHostEnds(t *testing.T) {
	for _, c := range []struct {
		name string
		end  func(host *exec.Cmd, input *os.File)
	}{
		{"killed", func(host *exec.Cmd, _ *os.File) { _ = host.Process.Kill() }},
		{"without Close", func(_ *exec.Cmd, input *os.File) { input.Close() }},
	} {
		t.Run(c.name, func(t *testing.T) {
			o := options(t)
			gone := watched(t, &o)
			host := exec.Command(must(os.Executable()))
			host.Env = append(os.Environ(), asHost+"="+o.Workspace, "TOOLSCOUT_BIN="+o.Binary, o.Env[0])
			host.Stderr = os.Stderr
			reader, input, err := os.Pipe()
			if err != nil {
				t.Fatal(err)
			}
			defer input.Close()
			host.Stdin = reader
			output := must(host.StdoutPipe())
			if err := host.Start(); err != nil {
				t.Fatal(err)
			}
			reader.Close()
			if !bufio.NewScanner(output).Scan() {
				t.Fatal("the host did not start its sidecar")
			}
			c.end(host, input)
			_ = host.Wait()
			<-gone
		})
	}
}
