// A model's tool calls in the shapes of the providers, and their answers in the same shapes.

package toolscout

import (
	"bytes"
	"encoding/json"
	"fmt"
)

// toolCall is a call without its shape.
type toolCall struct {
	// id as the shape has it, for the tool that is run.
	id   string
	name string
	// arguments as the model gave them, be it text.
	arguments json.RawMessage
	// wrap puts the answer in the shape of the call.
	wrap func(BridgeResult) (any, error)
}

// parseToolCall reads a call of any provider.
func parseToolCall(call any) (toolCall, error) {
	text, err := rawCall(call)
	if err != nil {
		return toolCall{}, fmt.Errorf("toolscout: a tool call that cannot be written as JSON: %w", err)
	}
	var given struct {
		Type      string
		ID        json.RawMessage
		CallID    json.RawMessage `json:"call_id"`
		Name      *string
		Input     json.RawMessage
		Arguments json.RawMessage
		Function  struct {
			Name      *string
			Arguments json.RawMessage
		}
	}
	if err := json.Unmarshal(text, &given); err != nil {
		return toolCall{}, unknownShape(text)
	}
	var parsed toolCall
	name := given.Name
	switch given.Type {
	case "tool_use":
		parsed = toolCall{id: idText(given.ID), arguments: given.Input, wrap: anthropicAnswer(given.ID)}
	case "function":
		name = given.Function.Name
		parsed = toolCall{id: idText(given.ID), arguments: given.Function.Arguments, wrap: chatAnswer(given.ID)}
	case "function_call":
		parsed = toolCall{id: idText(given.CallID), arguments: given.Arguments, wrap: responsesAnswer(given.CallID)}
	case "":
		parsed = toolCall{arguments: given.Arguments, wrap: mcpAnswer}
	}
	if parsed.wrap == nil || name == nil || parsed.id == "" && given.Type != "" {
		return toolCall{}, unknownShape(text)
	}
	parsed.name = *name
	return parsed, nil
}

// rawCall is the JSON of a call. Some SDKs have a struct for all shapes together, which marshals as none of them, and keep
// what came beside it.
func rawCall(call any) (json.RawMessage, error) {
	if kept, ok := call.(interface{ RawJSON() string }); ok && kept.RawJSON() != "" {
		return json.RawMessage(kept.RawJSON()), nil
	}
	return encode(call)
}

// idText is an id as text. Some providers number their calls.
func idText(id json.RawMessage) string {
	var text string
	if json.Unmarshal(id, &text) != nil {
		return string(id)
	}
	return text
}

func unknownShape(text []byte) error {
	return fmt.Errorf("toolscout: a tool call of no known shape (known are tool_use, function and function_call, and {name, arguments} of MCP): %.200s", text)
}

func anthropicAnswer(id json.RawMessage) func(BridgeResult) (any, error) {
	return func(answer BridgeResult) (any, error) {
		content, err := asAnthropic(answer)
		return struct {
			Type      string          `json:"type"`
			ToolUseID json.RawMessage `json:"tool_use_id"`
			Content   any             `json:"content"`
			IsError   bool            `json:"is_error,omitempty"`
		}{"tool_result", id, content, answer.IsError}, err
	}
}

func chatAnswer(id json.RawMessage) func(BridgeResult) (any, error) {
	return func(answer BridgeResult) (any, error) {
		text, err := asText(answer)
		return struct {
			Role       string          `json:"role"`
			ToolCallID json.RawMessage `json:"tool_call_id"`
			Content    string          `json:"content"`
		}{"tool", id, text}, err
	}
}

func responsesAnswer(id json.RawMessage) func(BridgeResult) (any, error) {
	return func(answer BridgeResult) (any, error) {
		text, err := asText(answer)
		return struct {
			Type   string          `json:"type"`
			CallID json.RawMessage `json:"call_id"`
			Output string          `json:"output"`
		}{"function_call_output", id, text}, err
	}
}

func mcpAnswer(answer BridgeResult) (any, error) {
	content, err := asMCP(answer)
	return struct {
		Content           []json.RawMessage `json:"content"`
		StructuredContent json.RawMessage   `json:"structuredContent,omitempty"`
		IsError           bool              `json:"isError"`
		Meta              json.RawMessage   `json:"_meta,omitempty"`
	}{content, present(answer.StructuredContent), answer.IsError, present(answer.Meta)}, err
}

// answer gives the result in the shape of the call.
func (c toolCall) answer(result BridgeResult) (json.RawMessage, error) {
	shaped, err := c.wrap(result)
	if err != nil {
		return nil, err
	}
	return encode(shaped)
}

// object gives the arguments as an object, for a tool that is run without the bridge, or what the model is told in place of
// that, in the sidecar's words. OpenAI sends arguments as text.
func (c toolCall) object() (arguments json.RawMessage, problem string) {
	text, of := bytes.TrimSpace(c.arguments), ""
	var inner string
	if json.Unmarshal(text, &inner) == nil {
		text, of = bytes.TrimSpace([]byte(inner)), "JSON text of "
	}
	switch {
	case len(text) == 0 || string(text) == "null":
		return json.RawMessage("{}"), ""
	case !json.Valid(text):
		return nil, notAnObject("text that is not valid JSON")
	case text[0] != '{':
		return nil, notAnObject(of + kindOf(text))
	default:
		return text, ""
	}
}

func notAnObject(kind string) string {
	return "Nothing was invoked: `arguments` must be a JSON object, not " + kind + "."
}

// kindOf says what a JSON text is that is no object.
func kindOf(text []byte) string {
	switch text[0] {
	case '[':
		return "an array"
	case '"':
		return "a string"
	case 't', 'f':
		return "a boolean"
	default:
		return "a number"
	}
}
