// The script: what tools there are, what the model does, what the tools answer.

package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"

	"github.com/toolscout/toolscout/clients/go"
)

type scenario struct {
	Files         map[string]json.RawMessage
	Sources       []toolscout.Source
	NeedsApproval []string
	Decisions     []toolscout.Decision
	Results       map[string]json.RawMessage
	Turns         []turn
}

// turn is one of these.
type turn struct {
	calls []call
	Write map[string]json.RawMessage
	text  string
}

// call is a tool call of the model's, in MCP's shape: unlike OpenAI's, its answers say whether they are errors.
type call struct {
	Name      string          `json:"name"`
	Arguments json.RawMessage `json:"arguments"`
}

func (t *turn) UnmarshalJSON(text []byte) error {
	switch text[0] {
	case '[':
		return json.Unmarshal(text, &t.calls)
	case '"':
		return json.Unmarshal(text, &t.text)
	default:
		type plain turn
		return json.Unmarshal(text, (*plain)(t))
	}
}

func readScenario(path string) (scenario, error) {
	var s scenario
	text, err := os.ReadFile(path)
	if err == nil {
		err = json.Unmarshal(text, &s)
	}
	return s, err
}

// writeFiles writes each file, and the folders it needs.
func writeFiles(folder string, files map[string]json.RawMessage) error {
	for path, content := range files {
		target := filepath.Join(folder, filepath.FromSlash(path))
		if err := os.MkdirAll(filepath.Dir(target), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(target, content, 0o644); err != nil {
			return err
		}
	}
	return nil
}

// sorted writes JSON without spaces, the keys in order. What is no JSON is a text.
func sorted(text []byte) string {
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	var value any
	if err := decoder.Decode(&value); err != nil || decoder.More() {
		value = string(text)
	}
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	// What was read from JSON can be written as JSON.
	_ = encoder.Encode(value)
	return string(bytes.TrimSpace(out.Bytes()))
}
