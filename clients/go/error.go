// Errors that the sidecar answers.

package toolscout

import (
	"encoding/json"
	"errors"
	"fmt"
)

// Error is an error that the sidecar answered to a request, or that a handler of the host answers to the sidecar.
type Error struct {
	// Code is one of the Code constants.
	Code int `json:"code"`
	// Message is for people; do not depend on its wording.
	Message string `json:"message"`
	// Data is what else is known, as the protocol says for each code; nil if nothing is.
	Data json.RawMessage `json:"data,omitempty"`
}

func (e *Error) Error() string {
	if len(e.Data) == 0 {
		return fmt.Sprintf("%s (%d)", e.Message, e.Code)
	}
	return fmt.Sprintf("%s (%d, %s)", e.Message, e.Code, e.Data)
}

// isRefusal says whether the sidecar refused what it was asked, and so did nothing.
func isRefusal(err error) bool {
	var answered *Error
	return errors.As(err, &answered) && answered.Code == CodeInvalidParams
}

// pointsAt says whether err is about the parameter at that JSON pointer.
func pointsAt(err error, pointer string) bool {
	var answered *Error
	if !errors.As(err, &answered) || answered.Code != CodeInvalidParams {
		return false
	}
	var data struct{ Pointer *string }
	return json.Unmarshal(answered.Data, &data) == nil && data.Pointer != nil && *data.Pointer == pointer
}

// ErrClosed is the error of every call after [Client.Close], and of those that Close ended.
var ErrClosed = errors.New("toolscout: the client is closed; make another with New")

// StartError says that no sidecar could be started, or that what was started is not one, and what to do.
type StartError struct {
	// Reason is what happened and what to do.
	Reason string
	// Err is the cause, if there is another error behind it.
	Err error
}

func (e *StartError) Error() string { return "toolscout: " + e.Reason }

func (e *StartError) Unwrap() error { return e.Err }

// VersionError says that the sidecar speaks another major version of the protocol.
type VersionError struct {
	// Supported are the versions that the sidecar speaks.
	Supported []string
}

func (e *VersionError) Error() string {
	return fmt.Sprintf("toolscout: this client speaks version %s of the protocol, the sidecar %q; install a toolscout and a client of one major version",
		ProtocolVersion, e.Supported)
}

// ConnectionError says that the connection ended while a request was open. Whether the request took effect is not known.
// The next call starts a new sidecar.
type ConnectionError struct {
	// Reason is how it ended: exit code or signal, and the last lines of standard error.
	Reason string
}

func (e *ConnectionError) Error() string { return "toolscout: " + e.Reason }

func isLost(err error) bool {
	var lost *ConnectionError
	return errors.As(err, &lost)
}
