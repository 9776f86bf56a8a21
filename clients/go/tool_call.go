// A model's tool calls in the shapes of the providers, and their answers in the same shapes.

package toolscout

import (
	"bytes"
	"encoding/json"
	"fmt"
)

// toolCall is a call without its shape.
type toolCall struct {
	id   string
	name string
	// arguments as the model gave them, be it text.
	arguments json.RawMessage
	// wrap puts the answer in the shape of the call.
	wrap func(text string, isError bool) any
}

// parseToolCall reads a call of any provider.
func parseToolCall(call any) (toolCall, error) {
	text, err := encode(call)
	if err != nil {
		return toolCall{}, fmt.Errorf("toolscout: a tool call that cannot be written as JSON: %w", err)
	}
	var given struct {
		Type      string
		ID        string
		CallID    string `json:"call_id"`
		Name      string
		Input     json.RawMessage
		Arguments json.RawMessage
		Function  struct {
			Name      string
			Arguments json.RawMessage
		}
	}
	if err := json.Unmarshal(text, &given); err != nil {
		return toolCall{}, unknownShape(text)
	}
	var parsed toolCall
	switch given.Type {
	case "tool_use":
		parsed = toolCall{given.ID, given.Name, given.Input, anthropicAnswer(given.ID)}
	case "function":
		parsed = toolCall{given.ID, given.Function.Name, given.Function.Arguments, chatAnswer(given.ID)}
	case "function_call":
		parsed = toolCall{given.CallID, given.Name, given.Arguments, responsesAnswer(given.CallID)}
	case "":
		parsed = toolCall{"", given.Name, given.Arguments, mcpAnswer}
	}
	if parsed.name == "" {
		return toolCall{}, unknownShape(text)
	}
	return parsed, nil
}

func unknownShape(text []byte) error {
	return fmt.Errorf("toolscout: a tool call of no known shape (known are tool_use, function and function_call, and {name, arguments} of MCP): %.200s", text)
}

func anthropicAnswer(id string) func(string, bool) any {
	return func(text string, isError bool) any {
		return struct {
			Type      string `json:"type"`
			ToolUseID string `json:"tool_use_id"`
			Content   string `json:"content"`
			IsError   bool   `json:"is_error,omitempty"`
		}{"tool_result", id, text, isError}
	}
}

func chatAnswer(id string) func(string, bool) any {
	return func(text string, _ bool) any {
		return struct {
			Role       string `json:"role"`
			ToolCallID string `json:"tool_call_id"`
			Content    string `json:"content"`
		}{"tool", id, text}
	}
}

func responsesAnswer(id string) func(string, bool) any {
	return func(text string, _ bool) any {
		return struct {
			Type   string `json:"type"`
			CallID string `json:"call_id"`
			Output string `json:"output"`
		}{"function_call_output", id, text}
	}
}

func mcpAnswer(text string, isError bool) any {
	type block struct {
		Type string `json:"type"`
		Text string `json:"text"`
	}
	return struct {
		Content []block `json:"content"`
		IsError bool    `json:"isError"`
	}{[]block{{"text", text}}, isError}
}

// answer gives the content in the shape of the call. Text is given as text, anything else as its JSON.
func (c toolCall) answer(content json.RawMessage, isError bool) (json.RawMessage, error) {
	text := string(content)
	if len(content) == 0 {
		text = "null"
	} else if content[0] == '"' {
		if err := json.Unmarshal(content, &text); err != nil {
			return nil, err
		}
	}
	return encode(c.wrap(text, isError))
}

// object gives the arguments as an object, for a tool that is run without the bridge. OpenAI sends them as text.
func (c toolCall) object() (json.RawMessage, error) {
	text := bytes.TrimSpace(c.arguments)
	if len(text) > 0 && text[0] == '"' {
		var inner string
		if err := json.Unmarshal(text, &inner); err != nil {
			return nil, err
		}
		text = bytes.TrimSpace([]byte(inner))
	}
	if len(text) == 0 || string(text) == "null" {
		return json.RawMessage("{}"), nil
	}
	if text[0] != '{' || !json.Valid(text) {
		return nil, fmt.Errorf("%s was not run: its arguments are not a JSON object; call it again with one", c.name)
	}
	return text, nil
}
