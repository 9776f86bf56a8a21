// Where there are no process groups, the child alone is ended.

//go:build !unix

package toolscout

import "os/exec"

func ownGroup(*exec.Cmd) {}

func killGroup(command *exec.Cmd) {
	// It may have ended, which is what is wanted.
	_ = command.Process.Kill()
}
