// The agent prints what the clients of all languages print, to the byte.

package main

import (
	"bytes"
	"context"
	"os"
	"strings"
	"testing"
	"time"
)

const folder = "../../../examples/agent/"

func TestTheTranscript(t *testing.T) {
	if os.Getenv("TOOLSCOUT_BIN") == "" {
		t.Fatal("set TOOLSCOUT_BIN to the toolscout program to test against")
	}
	wanted, err := os.ReadFile(folder + "transcript.txt")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	var printed bytes.Buffer
	if err := play(ctx, folder+"scenario.json", &printed); err != nil {
		t.Fatalf("%v, after\n%s", err, &printed)
	}
	if printed.String() == string(wanted) {
		return
	}
	lines := strings.SplitAfter(printed.String(), "\n")
	for i, line := range strings.SplitAfter(string(wanted), "\n") {
		if i >= len(lines) || lines[i] != line {
			t.Fatalf("line %d is not %q; printed was\n%s", i+1, line, &printed)
		}
	}
	t.Fatalf("more than the transcript was printed:\n%s", &printed)
}
