// The lines of a child's standard error: each is handed on, the last are kept.

package toolscout

import (
	"bytes"
	"strings"
	"sync"
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
	line := strings.ToValidUTF8(strings.TrimSuffix(string(text), "\r"), "�")
	if len(t.lines) == tailLines {
		t.lines = t.lines[1:]
	}
	t.lines = append(t.lines, line)
	if t.each != nil {
		t.each(line)
	}
}

func (t *lineTail) last() []string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.lines
}
