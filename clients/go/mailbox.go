// What the sidecar tells, in order, without letting a slow listener hold up answers.

package toolscout

import "sync"

// mailbox runs what is put in it, one after the other, on a goroutine that lives while there is something to run.
type mailbox struct {
	mu      sync.Mutex
	waiting []func()
	running bool
}

func (m *mailbox) put(job func()) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.waiting = append(m.waiting, job)
	if !m.running {
		m.running = true
		go m.run()
	}
}

func (m *mailbox) run() {
	for {
		m.mu.Lock()
		if len(m.waiting) == 0 {
			m.running = false
			m.mu.Unlock()
			return
		}
		job := m.waiting[0]
		m.waiting = m.waiting[1:]
		m.mu.Unlock()
		job()
	}
}
