// A child and its children as one group, so that all end together and a Ctrl-C in the terminal is the host's alone.

//go:build unix

package toolscout

import (
	"os/exec"
	"syscall"
)

func ownGroup(command *exec.Cmd) {
	command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
}

func killGroup(command *exec.Cmd) {
	// The group may be gone, which is what is wanted.
	_ = syscall.Kill(-command.Process.Pid, syscall.SIGKILL)
}
