// How a client reaches a sidecar, and what it says to it first.

package toolscout

import (
	"context"
	"io"
	"os"
	"path/filepath"
	"time"
)

// Options of a client. The zero value starts the toolscout that TOOLSCOUT_BIN names, or else the one on PATH, for the
// working directory.
type Options struct {
	// Binary is the program to start, a path or a name on PATH.
	Binary string
	// Shared uses one sidecar with all processes of the workspace; it is started if there is none.
	Shared bool
	// Workspace is the folder whose .toolscout is read; empty is the working directory.
	Workspace string
	// Trust lets what the workspace's own settings say of core tools, servers and gateway take effect, for this client alone
	// where a sidecar is shared.
	Trust bool
	// Config is a configuration file over those of user and workspace.
	Config string
	// Registry are files and folders with tools.
	Registry []string
	// Args are further arguments of the program, after `serve`.
	Args []string
	// Env are variables as os.Environ has them, over those of this process.
	Env []string

	// Socket is the path of a Unix socket on which a sidecar listens. Nothing is started then, and Binary, Shared,
	// Config, Registry, Args and Env have no use.
	Socket string
	// Dial opens a connection of any other kind, one JSON message a line. It goes before Socket and Binary.
	Dial func(context.Context) (io.ReadWriteCloser, error)

	// StartTimeout bounds a start, up to the answer to initialize; 0 is 10 seconds.
	StartTimeout time.Duration
	// ClientInfo names the host in the sidecar's log; nil is this client.
	ClientInfo *ClientInfo
	// Settings are the top layer of configuration, in the shape of the config file: any value that marshals so.
	Settings any
	// Core replaces or extends the core set, {replace, extend}, or is a list that extends it.
	Core any
	// Environment has variables that configuration may name; a sidecar that is started has those of this process.
	Environment map[string]string

	// Handlers answer the sidecar.
	Handlers Handlers
	// Stderr gets each line that the sidecar writes to standard error; it must not wait for the client.
	Stderr func(line string)
	// Log gets what the client notices and goes on after, such as a line on standard output that is no message. It may be
	// called by several goroutines at once, and must not wait for the client.
	Log func(line string)
}

// StartToken is the token of the progress of a start, which is told if Handlers.Progress is there.
var StartToken = ProgressToken(`"initialize"`)

func (o *Options) startTimeout() time.Duration {
	if o.StartTimeout > 0 {
		return o.StartTimeout
	}
	return 10 * time.Second
}

func (o *Options) log(line string) {
	if o.Log != nil {
		o.Log(line)
	}
}

// starts says whether a process is started; otherwise a sidecar that runs already is dialled.
func (o *Options) starts() bool { return o.Dial == nil && o.Socket == "" }

// advice says what to do where something else than a sidecar was reached.
func (o *Options) advice() string {
	switch {
	case o.starts():
		return "; Options.Binary or TOOLSCOUT_BIN must name the toolscout program"
	case o.Dial != nil:
		return "; Options.Dial must open a connection to a toolscout"
	default:
		return "; Options.Socket must be that of a `toolscout serve --listen`"
	}
}

// arguments of the program. Trust is not among them but in initialize alone: sidecars are shared by those who give the same
// arguments, and each connection is trusted for itself.
func (o *Options) arguments() []string {
	args := []string{"serve"}
	if o.Shared {
		args = append(args, "--shared")
	}
	if o.Workspace != "" {
		args = append(args, "--workspace", absolute(o.Workspace))
	}
	if o.Config != "" {
		args = append(args, "--config", o.Config)
	}
	for _, path := range o.Registry {
		args = append(args, "--registry", path)
	}
	return append(args, o.Args...)
}

// initialize gives the first message. A sidecar behind a socket has no flags of this client, so it says all again.
func (o *Options) initialize() (InitializeParams, error) {
	process := uint32(os.Getpid())
	params := InitializeParams{
		ProtocolVersion: ProtocolVersion,
		ClientInfo:      o.ClientInfo,
		ProcessID:       &process,
		Trusted:         o.Trust,
		Capabilities:    o.Handlers.capabilities(),
		Environment:     o.Environment,
	}
	if params.ClientInfo == nil {
		params.ClientInfo = &ClientInfo{Name: "toolscout-go"}
	}
	if params.Capabilities.Progress {
		params.ProgressToken = StartToken
	}
	if o.Workspace != "" {
		params.Workspace = absolute(o.Workspace)
	}
	if cwd, err := os.Getwd(); err == nil {
		params.Cwd = cwd
	}
	var err error
	if o.Settings != nil {
		if params.Settings, err = encode(o.Settings); err != nil {
			return params, &StartError{Reason: "Options.Settings cannot be written as JSON: " + err.Error(), Err: err}
		}
	}
	if o.Core != nil {
		if params.Core, err = encode(o.Core); err != nil {
			return params, &StartError{Reason: "Options.Core cannot be written as JSON: " + err.Error(), Err: err}
		}
	}
	return params, nil
}

// absolute is the path for a program that may have another working directory.
func absolute(path string) string {
	if full, err := filepath.Abs(path); err == nil {
		return full
	}
	return path
}
