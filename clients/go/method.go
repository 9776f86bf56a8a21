// What ties the name of a message to the types that it carries. The messages themselves are in types_gen.go.

package toolscout

// Method is the name of a request with parameters P and result R. [Call] sends one to the sidecar.
type Method[P, R any] string

// Notification is the name of a message with parameters P that nobody answers.
type Notification[P any] string

// None stands for parameters or a result that a message does not have.
type None struct{}
