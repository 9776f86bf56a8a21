// How often a sidecar's process is started.

package toolscout

import (
	"fmt"
	"time"
)

const (
	maxStarts   = 3
	startWindow = time.Minute
)

// starts remembers the processes that were started last, and why the last session ended or could not start.
type starts struct {
	times []time.Time
	last  error
}

// refuse says that one more start would be one too many, if it would.
func (s *starts) refuse(now time.Time) error {
	if len(s.times) < maxStarts {
		return nil
	}
	wait := s.times[0].Add(startWindow).Sub(now)
	if wait <= 0 {
		return nil
	}
	// The last error is told, and not wrapped: this one is not about a call that may be made again.
	return &StartError{Reason: fmt.Sprintf("the sidecar was started %d times within a minute and is not started again for %v; see why it ended, and mend that. The last time: %v",
		maxStarts, wait.Round(time.Second), s.last)}
}

// note remembers a start.
func (s *starts) note(now time.Time) {
	s.times = append(s.times, now)
	if len(s.times) > maxStarts {
		s.times = s.times[1:]
	}
}
