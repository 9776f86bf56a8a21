// The patterns of transcripts, as protocol/transcripts/README.md has them.

package toolscout

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"math/big"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// bindings are names for strings that messages had.
type bindings map[string]string

// substitute puts in a line what its names stand for, as JSON writes it.
func (b bindings) substitute(line string) string {
	for name, text := range b {
		quoted, _ := encode(text) // A string can be written.
		line = strings.ReplaceAll(line, "${"+name+"}", string(quoted[1:len(quoted)-1]))
	}
	return line
}

// matcher compares values with patterns; the value is kept as text, which $text needs.
type matcher struct {
	bound bindings
	exact bool
}

// match gives the misfit, if there is one.
func (m *matcher) match(pattern any, value json.RawMessage, path string) error {
	switch pattern := pattern.(type) {
	case map[string]any:
		for name, operand := range pattern {
			if len(pattern) == 1 && strings.HasPrefix(name, "$") {
				return m.operator(name, operand, value, path)
			}
		}
		return m.object(pattern, value, path)
	case []any:
		items, err := array(value, path)
		if err != nil {
			return err
		}
		if len(items) != len(pattern) {
			return fmt.Errorf("%s: %d items expected, not %d", path, len(pattern), len(items))
		}
		for i, item := range items {
			if err := m.match(pattern[i], item, fmt.Sprintf("%s/%d", path, i)); err != nil {
				return err
			}
		}
		return nil
	default:
		if !equal(pattern, decoded(value)) {
			return fmt.Errorf("%s: %v expected, not %s", path, pattern, value)
		}
		return nil
	}
}

func (m *matcher) object(pattern map[string]any, value json.RawMessage, path string) error {
	if kind(value) != "object" {
		return fmt.Errorf("%s: an object expected, not %s", path, value)
	}
	var members map[string]json.RawMessage
	if err := json.Unmarshal(value, &members); err != nil {
		return err
	}
	for name, wanted := range pattern {
		member, there := members[name]
		if operator, ok := wanted.(map[string]any); ok && operator["$absent"] == true {
			if there {
				return fmt.Errorf("%s/%s: expected to be absent", path, name)
			}
			continue
		}
		if !there {
			return fmt.Errorf("%s/%s: is missing", path, name)
		}
		if err := m.match(wanted, member, path+"/"+name); err != nil {
			return err
		}
	}
	for name := range members {
		if _, named := pattern[name]; m.exact && !named {
			return fmt.Errorf("%s/%s: not expected", path, name)
		}
	}
	return nil
}

func (m *matcher) operator(name string, operand any, value json.RawMessage, path string) error {
	text, isText := decoded(value).(string)
	misfit := fmt.Errorf("%s: {%s: %v} expected, not %s", path, name, operand, value)
	fits := false
	switch name {
	case "$any":
		fits = true
	case "$type":
		fits = operand == kind(value)
	case "$regex":
		pattern, err := regexp.Compile(operand.(string))
		if err != nil {
			return err
		}
		fits = isText && pattern.MatchString(text)
	case "$text":
		fits = operand == string(value)
	case "$bind":
		if fits = isText; fits {
			m.bound[operand.(string)] = text
		}
	case "$exact":
		inner := matcher{m.bound, true}
		return inner.match(operand, value, path)
	case "$unordered":
		return m.unordered(operand.([]any), value, path)
	default:
		return fmt.Errorf("no operator %s", name)
	}
	if !fits {
		return misfit
	}
	return nil
}

func (m *matcher) unordered(patterns []any, value json.RawMessage, path string) error {
	items, err := array(value, path)
	if err != nil {
		return err
	}
	if len(items) != len(patterns) {
		return fmt.Errorf("%s: %d items expected, not %d", path, len(patterns), len(items))
	}
	for _, pattern := range patterns {
		at := slices.IndexFunc(items, func(item json.RawMessage) bool {
			attempt := matcher{maps.Clone(m.bound), m.exact}
			if attempt.match(pattern, item, path) != nil {
				return false
			}
			maps.Copy(m.bound, attempt.bound)
			return true
		})
		if at < 0 {
			return fmt.Errorf("%s: no item fits %v", path, pattern)
		}
		items = slices.Delete(items, at, at+1)
	}
	return nil
}

func array(value json.RawMessage, path string) ([]json.RawMessage, error) {
	if kind(value) != "array" {
		return nil, fmt.Errorf("%s: an array expected, not %s", path, value)
	}
	var items []json.RawMessage
	return items, json.Unmarshal(value, &items)
}

func kind(value json.RawMessage) string {
	switch decoded(value).(type) {
	case nil:
		return "null"
	case bool:
		return "boolean"
	case json.Number:
		return "number"
	case string:
		return "string"
	case []any:
		return "array"
	default:
		return "object"
	}
}

// decoded is the value with numbers as they were written.
func decoded(text []byte) any {
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	var value any
	if err := decoder.Decode(&value); err != nil {
		panic(fmt.Sprintf("%v in %s", err, text)) // It is part of a message that was read as JSON.
	}
	return value
}

// equal compares scalars; numbers by their value.
func equal(a, b any) bool {
	x, isX := a.(json.Number)
	y, isY := b.(json.Number)
	if !isX || !isY {
		return a == b
	}
	left, ok := new(big.Rat).SetString(x.String())
	right, okToo := new(big.Rat).SetString(y.String())
	return ok && okToo && left.Cmp(right) == 0
}

func TestPatterns(t *testing.T) {
	for _, c := range []struct {
		pattern, value string
		fits           bool
	}{
		{`{"a": 1}`, `{"a": 1.0, "b": 2}`, true},
		{`{"a": 1}`, `{"a": "1"}`, false},
		{`{"a": null}`, `{}`, false},
		{`{"a": {"$absent": true}}`, `{}`, true},
		{`{"a": {"$absent": true}}`, `{"a": null}`, false},
		{`[1]`, `[1, 2]`, false},
		{`{"$exact": {"a": {"b": 1}}}`, `{"a": {"b": 1, "c": 2}}`, false},
		{`{"$unordered": [{"$type": "string"}, 1]}`, `[1, "x"]`, true},
		{`{"$unordered": [1, 1]}`, `[1, 2]`, false},
		{`{"$text": "1.50"}`, `1.50`, true},
		{`{"$text": "1.50"}`, `1.5`, false},
		{`{"$regex": "b$"}`, `"ab"`, true},
		{`{"$regex": "b$"}`, `"ba"`, false},
		{`{"$type": "array"}`, `{}`, false},
		{`9007199254740993`, `9007199254740992`, false},
	} {
		m := matcher{bound: bindings{}}
		if err := m.match(decoded([]byte(c.pattern)), json.RawMessage(c.value), ""); (err == nil) != c.fits {
			t.Errorf("%s on %s: %v", c.pattern, c.value, err)
		}
	}
	m := matcher{bound: bindings{}}
	if err := m.match(decoded([]byte(`{"id": {"$bind": "it"}}`)), json.RawMessage(`{"id": "a\"b"}`), ""); err != nil {
		t.Error(err)
	}
	if line := m.bound.substitute(`"${it} ${other}"`); line != `"a\"b ${other}"` {
		t.Error(line)
	}
}
