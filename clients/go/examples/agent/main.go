// Command agent is a small agent loop with a scripted model in place of a paid one. It prints what happens.
//
//	go run ./examples/agent ../examples/agent/scenario.json
//
// The sidecar is the one that TOOLSCOUT_BIN names, or else toolscout on PATH.
package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: agent SCENARIO_JSON")
		os.Exit(2)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := play(ctx, os.Args[1], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "agent:", err)
		os.Exit(1)
	}
}

// play runs the agent in a folder of its own, which is removed afterwards.
func play(ctx context.Context, path string, out io.Writer) error {
	scenario, err := readScenario(path)
	if err != nil {
		return err
	}
	folder, err := os.MkdirTemp("", "toolscout-agent-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(folder)
	loop, err := newLoop(scenario, folder, out)
	if err != nil {
		return err
	}
	defer loop.agent.Close()
	return loop.run(ctx)
}
