// Named pipes, by which tests hear from the programs that they start. Their end is that of all processes that hold them.

//go:build unix

package toolscout

import (
	"io"
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

// pipes makes two.
func pipes(t *testing.T) (one, other string) {
	t.Helper()
	folder := t.TempDir()
	one, other = filepath.Join(folder, "one"), filepath.Join(folder, "other")
	for _, path := range []string{one, other} {
		if err := syscall.Mkfifo(path, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return one, other
}

// watched makes the sidecar of the options hold a pipe, and gives a channel that is closed once no process holds it. The
// pipe has to be opened by a sidecar, sooner or later.
func watched(t *testing.T, o *Options) <-chan struct{} {
	t.Helper()
	pipe, _ := pipes(t)
	o.Binary = script(t, `exec 9>"`+pipe+`"; exec "`+o.Binary+`" "$@"`)
	gone := make(chan struct{})
	go func() {
		defer close(gone)
		file, err := os.Open(pipe)
		if err != nil {
			return
		}
		defer file.Close()
		_, _ = io.Copy(io.Discard, file)
	}()
	return gone
}
