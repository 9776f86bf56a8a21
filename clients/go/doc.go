// Package toolscout talks to Toolscout, the sidecar that decides what a model sees of a large tool catalog.
//
// An agent makes an [Agent], asks it for the tools of a turn with [Agent.ToolsFor], and hands every tool call of the
// model to [Agent.Answer]. A [Client] is the layer below: one typed method for each request of the protocol. Either
// starts the sidecar on its first call and starts it anew after it died.
package toolscout

//go:generate go run ./internal/generate ../../protocol/openrpc.json types_gen.go
