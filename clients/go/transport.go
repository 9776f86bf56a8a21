// The stream to a sidecar, whichever way it is reached.

package toolscout

import (
	"context"
	"fmt"
	"io"
	"net"
)

// transport is a stream that can be brought to its end.
type transport interface {
	io.ReadWriter
	// finish ends it and says, for people, how it ended. It may be called by many, at any time.
	finish() string
}

// open reaches a sidecar as the options say.
func open(ctx context.Context, o *Options) (transport, error) {
	switch {
	case o.starts():
		return startProcess(o)
	case o.Dial != nil:
		stream, err := o.Dial(ctx)
		if err != nil {
			return nil, &StartError{Reason: "Options.Dial: " + err.Error(), Err: err}
		}
		return dialled{stream, "the connection that Options.Dial opened"}, nil
	default:
		var dialer net.Dialer
		stream, err := dialer.DialContext(ctx, "unix", o.Socket)
		if err != nil {
			return nil, &StartError{
				Reason: fmt.Sprintf("no sidecar at the socket %s: %v; start one with `toolscout serve --listen unix:%s`", o.Socket, err, o.Socket),
				Err:    err,
			}
		}
		return dialled{stream, "the connection to the socket " + o.Socket}, nil
	}
}

// dialled is a connection to a sidecar that somebody else started.
type dialled struct {
	io.ReadWriteCloser
	name string
}

func (d dialled) finish() string {
	d.Close()
	return d.name + " ended"
}
