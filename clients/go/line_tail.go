// The lines of a child's standard error: each is handed on, the last are kept.

package toolscout

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"
)

const (
	tailLines   = 20
	maxTailLine = 4096 // bytes; what is longer is handed on in pieces
)

// lineTail is an io.Writer that cuts what is written into lines.
type lineTail struct {
	each func(line string)

	mu    sync.Mutex
	open  []byte
	lines []string
}

func (t *lineTail) Write(text []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.open = append(t.open, text...)
	for len(t.open) > 0 {
		end := bytes.IndexByte(t.open, '\n')
		switch {
		case end >= 0 && end <= maxTailLine:
			t.line(t.open[:end])
			t.open = t.open[end+1:]
		case len(t.open) > maxTailLine:
			t.line(t.open[:maxTailLine])
			t.open = t.open[maxTailLine:]
		default:
			return len(text), nil
		}
	}
	return len(text), nil
}

// flush takes what has no line break as the last line.
func (t *lineTail) flush() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.open) > 0 {
		t.line(t.open)
		t.open = nil
	}
}

func (t *lineTail) line(text []byte) {
	text = bytes.TrimSuffix(text, []byte{'\r'})
	if len(t.lines) == tailLines {
		t.lines = t.lines[1:]
	}
	t.lines = append(t.lines, printable(text))
	if t.each != nil {
		t.each(strings.ToValidUTF8(string(text), "\uFFFD"))
	}
}

// printable is what a program wrote, with what no terminal should be given escaped.
func printable(text []byte) string {
	var out strings.Builder
	for len(text) > 0 {
		r, size := utf8.DecodeRune(text)
		switch {
		case r == utf8.RuneError && size == 1:
			fmt.Fprintf(&out, `\x%02x`, text[0])
		case r == '\t' || unicode.IsPrint(r):
			out.WriteRune(r)
		default:
			out.WriteString(strings.Trim(strconv.QuoteRune(r), "'"))
		}
		text = text[size:]
	}
	return out.String()
}

func (t *lineTail) last() []string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.lines
}
