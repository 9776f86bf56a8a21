// What all tests share: the sidecar under test, and programs that stand in for it where it must misbehave.

package toolscout

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// binary is the sidecar under test.
func binary(t *testing.T) string {
	t.Helper()
	path := os.Getenv("TOOLSCOUT_BIN")
	if path == "" {
		t.Fatal("set TOOLSCOUT_BIN to the toolscout program to test against; in the repository, `cargo build` makes target/debug/toolscout")
	}
	full, err := filepath.Abs(path)
	if err != nil {
		t.Fatal(err)
	}
	return full
}

// options are for the sidecar under test in a workspace of its own.
func options(t *testing.T) Options {
	t.Helper()
	return Options{Binary: binary(t), Workspace: t.TempDir(), Env: []string{"XDG_CONFIG_HOME=" + t.TempDir()}}
}

// weather is a source whose one tool is deferred.
var weather = RegisterParams{
	Source: SourceParams{Name: "weather", Kind: SourceKindMCP},
	Tools: []json.RawMessage{raw(`{"name": "forecast", "description": "Weather forecast for a city.",
		"inputSchema": {"type": "object", "properties": {"city": {"type": "string"}, "days": {"type": "integer"}}, "required": ["city"]}}`)},
}

const forecast = "mcp__weather__forecast"

// client makes one that is closed with the test.
func client(t *testing.T, o Options) *Client {
	t.Helper()
	c := New(o)
	t.Cleanup(c.Close)
	return c
}

// within bounds what should never take long.
func within(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	t.Cleanup(cancel)
	return ctx
}

// script makes a program of a few lines of shell.
func script(t *testing.T, lines string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "program")
	if err := os.WriteFile(path, []byte("#!/bin/sh\n"+lines+"\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	return path
}

// must gives a value that there has to be.
func must[T any](value T, err error) T {
	if err != nil {
		panic(err)
	}
	return value
}

// raw is the JSON that a literal is.
func raw(text string) json.RawMessage { return json.RawMessage(text) }
