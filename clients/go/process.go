// A sidecar as a child process.

package toolscout

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"time"
)

// endGrace is how long a child may take to end once its input is closed, before it is killed. With shutdownGrace it makes
// two seconds. The sidecar itself gives open requests one.
const endGrace = 1500 * time.Millisecond

// drainGrace is how long what a child left in its pipes is waited for once it ended; a grandchild may hold them open.
const drainGrace = 500 * time.Millisecond

// process is a running child; it reads as its standard output and writes to its standard input.
type process struct {
	stdin   io.WriteCloser
	stdout  *os.File
	stderr  *lineTail
	command *exec.Cmd
	exited  chan struct{}
	end     sync.Once
}

func (p *process) Read(buffer []byte) (int, error) { return p.stdout.Read(buffer) }

func (p *process) Write(text []byte) (int, error) { return p.stdin.Write(text) }

func startProcess(o *Options) (*process, error) {
	path, err := findBinary(o.Binary)
	if err != nil {
		return nil, err
	}
	command := exec.Command(path, o.arguments()...)
	command.Env = append(os.Environ(), o.Env...)
	return spawn(command, o.Stderr)
}

// spawn starts a command and follows it to its end.
func spawn(command *exec.Cmd, stderr func(line string)) (*process, error) {
	p := &process{stderr: &lineTail{each: stderr}, command: command, exited: make(chan struct{})}
	ownGroup(command)
	stdout, childsOut, err := os.Pipe()
	if err != nil {
		return nil, noPipe(command, err)
	}
	defer childsOut.Close() // The child has its own.
	stderrPipe, childsErr, err := os.Pipe()
	if err != nil {
		stdout.Close()
		return nil, noPipe(command, err)
	}
	defer childsErr.Close()
	p.stdout, command.Stdout, command.Stderr = stdout, childsOut, childsErr
	if p.stdin, err = command.StdinPipe(); err != nil {
		err = noPipe(command, err)
	} else if err = command.Start(); err != nil {
		err = &StartError{
			Reason: fmt.Sprintf("%s cannot be started: %v; Options.Binary or TOOLSCOUT_BIN must name the toolscout program", command.Path, err),
			Err:    err,
		}
	}
	if err != nil {
		stdout.Close()
		stderrPipe.Close()
		return nil, err
	}
	told := make(chan struct{})
	go func() {
		defer close(told)
		_, _ = io.Copy(p.stderr, stderrPipe) // It ends with the pipe.
		p.stderr.flush()
	}()
	go func() {
		_ = command.Wait() // How it ended is in ProcessState.
		time.AfterFunc(drainGrace, func() {
			stdout.Close()
			stderrPipe.Close()
		})
		<-told
		close(p.exited)
	}()
	return p, nil
}

func noPipe(command *exec.Cmd, err error) error {
	return &StartError{Reason: fmt.Sprintf("no pipe for %s: %v", command.Path, err), Err: err}
}

// findBinary looks where the options say, then in TOOLSCOUT_BIN, then on PATH.
func findBinary(path string) (string, error) {
	from := "Options.Binary"
	if path == "" {
		path, from = os.Getenv("TOOLSCOUT_BIN"), "TOOLSCOUT_BIN"
	}
	if path == "" {
		path, from = "toolscout", "no option"
	}
	found, err := exec.LookPath(path)
	if err != nil {
		var reason error = err
		var lookup *exec.Error
		if errors.As(err, &lookup) {
			reason = lookup.Err
		}
		return "", &StartError{
			Reason: fmt.Sprintf("no program %q (named by %s): %v; install toolscout, or say where it is with Options.Binary or TOOLSCOUT_BIN", path, from, reason),
			Err:    err,
		}
	}
	return absolute(found), nil
}

// finish closes standard input and sees to it that the child ends, with whatever it started.
func (p *process) finish() string {
	p.end.Do(func() {
		p.stdin.Close()
		timer := time.NewTimer(endGrace)
		defer timer.Stop()
		select {
		case <-p.exited:
		case <-timer.C:
		}
		// Of the group too, if the program was a script whose children outlive it.
		killGroup(p.command)
		<-p.exited
	})
	reason := fmt.Sprintf("the sidecar (%s) ended: %s", p.command.Path, p.command.ProcessState)
	if tail := p.stderr.last(); len(tail) > 0 {
		reason += "; it wrote to standard error:\n  " + strings.Join(tail, "\n  ")
	}
	return reason
}
