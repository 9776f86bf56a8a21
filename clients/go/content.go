// What a tool answered: as the host gives it, and as each provider takes it.

package toolscout

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// Text is a text as the content of an [InvokeResult], which is any JSON.
func Text(text string) json.RawMessage {
	content, _ := encode(text) // A string can be written.
	return content
}

// MCPResult is what an MCP server answered to tools/call as an [InvokeResult]: any value that marshals so, such as the
// CallToolResult of an SDK. Its structuredContent is for the model only where there is no text.
func MCPResult(result any) (InvokeResult, error) {
	text, err := encode(result)
	if err != nil {
		return InvokeResult{}, fmt.Errorf("a result that cannot be written as JSON: %w", err)
	}
	var answered BridgeResult
	if err := json.Unmarshal(text, &answered); err != nil {
		return InvokeResult{}, fmt.Errorf("no result of MCP: %w", err)
	}
	return InvokeResult{Content: withStructured(answered), IsError: answered.IsError}, nil
}

// withStructured is the content of an answer, or the structured content of one that has no text.
func withStructured(answer BridgeResult) json.RawMessage {
	structured := present(answer.StructuredContent)
	if structured == nil {
		return answer.Content
	}
	if blocks, ok := blocksOf(answer.Content); ok {
		if slices.ContainsFunc(blocks, func(text json.RawMessage) bool { return readBlock(text).Type == "text" }) {
			return answer.Content
		}
		content, _ := encode(append(blocks, textBlock(string(structured)))) // They were JSON.
		return content
	}
	if len(answer.Content) == 0 || string(answer.Content) == "[]" {
		return structured
	}
	return answer.Content
}

// present is a value, or nil where it is absent or null.
func present(value json.RawMessage) json.RawMessage {
	if string(value) == "null" {
		return nil
	}
	return value
}

// block is one of MCP's content blocks, as far as a model is shown it.
type block struct {
	Type     string `json:"type"`
	Text     string `json:"text"`
	Data     string `json:"data"`
	MimeType string `json:"mimeType"`
	URI      string `json:"uri"`
	Resource struct {
		URI  string `json:"uri"`
		Text string `json:"text"`
	} `json:"resource"`
}

// blockTypes are all that MCP has.
var blockTypes = []string{"text", "image", "audio", "resource", "resource_link"}

// blocksOf gives the blocks of content that is an array of nothing else. An empty array is content like any other.
func blocksOf(content json.RawMessage) ([]json.RawMessage, bool) {
	var texts []json.RawMessage
	if json.Unmarshal(content, &texts) != nil || len(texts) == 0 {
		return nil, false
	}
	for _, text := range texts {
		var b block
		if json.Unmarshal(text, &b) != nil || !slices.Contains(blockTypes, b.Type) {
			return nil, false
		}
	}
	return texts, true
}

func readBlock(text json.RawMessage) block {
	var b block
	_ = json.Unmarshal(text, &b) // It was read before.
	return b
}

// text of a block, or what stands for what a text cannot show.
func (b block) text() string {
	switch {
	case b.Type == "text":
		return b.Text
	case b.Resource.Text != "":
		return b.Resource.Text
	case b.URI+b.Resource.URI != "":
		return fmt.Sprintf("[%s %s]", b.Type, b.URI+b.Resource.URI)
	default:
		return "[" + b.Type + "]"
	}
}

// asText is an answer as text: texts as they are, anything else as its JSON.
func asText(answer BridgeResult) (string, error) {
	content := withStructured(answer)
	if blocks, ok := blocksOf(content); ok {
		var lines []string
		for _, b := range blocks {
			lines = append(lines, readBlock(b).text())
		}
		return strings.Join(lines, "\n"), nil
	}
	if len(content) == 0 {
		return "null", nil
	}
	if content[0] != '"' {
		return string(content), nil
	}
	var text string
	err := json.Unmarshal(content, &text)
	return text, err
}

// anthropicImages are the images that Anthropic's models see.
var anthropicImages = []string{"image/jpeg", "image/png", "image/gif", "image/webp"}

// asAnthropic is the content of a tool_result: a text, or blocks. Anthropic takes no text that is empty, and nothing but
// text with an error.
func asAnthropic(answer BridgeResult) (any, error) {
	blocks, ok := blocksOf(withStructured(answer))
	if !ok {
		return asText(answer)
	}
	given := []json.RawMessage{}
	for _, text := range blocks {
		switch b := readBlock(text); {
		case b.Type == "image" && !answer.IsError && slices.Contains(anthropicImages, b.MimeType):
			given = append(given, imageBlock(b))
		case b.text() != "":
			given = append(given, textBlock(b.text()))
		}
	}
	return given, nil
}

// asMCP is the content of an MCP result.
func asMCP(answer BridgeResult) ([]json.RawMessage, error) {
	if texts, ok := blocksOf(answer.Content); ok {
		return texts, nil
	}
	text, err := asText(answer)
	return []json.RawMessage{textBlock(text)}, err
}

func textBlock(text string) json.RawMessage {
	raw, _ := encode(struct { // Texts can be written.
		Type string `json:"type"`
		Text string `json:"text"`
	}{"text", text})
	return raw
}

func imageBlock(b block) json.RawMessage {
	type source struct {
		Type      string `json:"type"`
		MediaType string `json:"media_type"`
		Data      string `json:"data"`
	}
	raw, _ := encode(struct { // Texts can be written.
		Type   string `json:"type"`
		Source source `json:"source"`
	}{"image", source{"base64", b.MimeType, b.Data}})
	return raw
}
