// One JSON-RPC message, and its frame: a line.

package toolscout

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"unicode/utf8"
)

// message is a request, a notification or an answer. Ids are compared by their text.
type message struct {
	Version string          `json:"jsonrpc"`
	ID      json.RawMessage `json:"id,omitempty"`
	Method  string          `json:"method,omitempty"`
	Params  json.RawMessage `json:"params,omitempty"`
	Result  json.RawMessage `json:"result,omitempty"`
	Error   *Error          `json:"error,omitempty"`
}

// parseMessage tells a message from whatever else stands on a line.
func parseMessage(line []byte) (*message, error) {
	m := new(message)
	if err := json.Unmarshal(line, m); err != nil {
		return nil, err
	}
	if m.Version != "2.0" || (m.Method == "" && m.ID == nil) {
		return nil, errors.New("not a JSON-RPC message")
	}
	return m, nil
}

// encode gives the JSON of a value on one line, with < > & as they are, and in UTF-8 whatever raw JSON in it holds: a
// message that cannot be read would never be answered.
func encode(value any) (json.RawMessage, error) {
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(value); err != nil {
		return nil, err
	}
	text := bytes.TrimSuffix(out.Bytes(), []byte{'\n'})
	if !utf8.Valid(text) {
		text = bytes.ToValidUTF8(text, []byte("\uFFFD"))
	}
	return text, nil
}

// maxLine bounds what a program may write that never ends a line; a sidecar's answers are far below.
const maxLine = 256 << 20

// readLine gives the next line that is not blank, without its break.
func readLine(r *bufio.Reader) ([]byte, error) {
	var line []byte
	for {
		part, err := r.ReadSlice('\n')
		line = append(line, part...)
		switch {
		case len(line) > maxLine:
			return nil, fmt.Errorf("a line of more than %d bytes", maxLine)
		case errors.Is(err, bufio.ErrBufferFull):
			continue
		}
		if trimmed := bytes.TrimSpace(line); len(trimmed) > 0 {
			return trimmed, nil // The last line may lack its break.
		}
		if err != nil {
			return nil, err
		}
		line = line[:0]
	}
}
