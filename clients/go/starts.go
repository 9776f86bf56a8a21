// How often a sidecar is started.

package toolscout

import (
	"fmt"
	"time"
)

const (
	maxStarts   = 3
	startWindow = time.Minute
)

// starts remembers the last starts, and why the last session ended or could not start.
type starts struct {
	times []time.Time
	last  error
}

// begin notes a start, or says that it would be one too many.
func (s *starts) begin(now time.Time) error {
	if len(s.times) == maxStarts {
		if wait := s.times[0].Add(startWindow).Sub(now); wait > 0 {
			return &StartError{
				Reason: fmt.Sprintf("the sidecar was started %d times within a minute and is not started again for %v; see why it ended, and mend that. The last time: %v",
					maxStarts, wait.Round(time.Second), s.last),
				Err: s.last,
			}
		}
		s.times = s.times[1:]
	}
	s.times = append(s.times, now)
	return nil
}
