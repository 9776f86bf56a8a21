// Command generate writes the Go types of the protocol, as openrpc.json describes it.
//
//	go run ./internal/generate ../../protocol/openrpc.json types_gen.go
package main

import (
	"fmt"
	"os"
)

func main() {
	if len(os.Args) != 3 {
		fmt.Fprintln(os.Stderr, "usage: generate OPENRPC_JSON OUTPUT_GO")
		os.Exit(2)
	}
	if err := run(os.Args[1], os.Args[2]); err != nil {
		fmt.Fprintln(os.Stderr, "generate:", err)
		os.Exit(1)
	}
}

func run(input, output string) error {
	text, err := os.ReadFile(input)
	if err != nil {
		return err
	}
	source, err := generate(text)
	if err != nil {
		return fmt.Errorf("%s: %w", input, err)
	}
	return os.WriteFile(output, source, 0o644)
}
