package node

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

const (
	// pollStarting and pollReady are the intervals between probes of a component that is starting or ready.
	pollStarting = 50 * time.Millisecond
	pollReady    = time.Second
	// The delay before a restart doubles, from firstDelay to lastDelay, while a component keeps ending soon.
	firstDelay = 200 * time.Millisecond
	lastDelay  = 10 * time.Second
	// stable is the time that a component must run for its delay to be reset to firstDelay.
	stable = 30 * time.Second
)

// supervisor keeps the components running. A single goroutine owns it; the goroutines that probe components send it
// their results.
type supervisor struct {
	spec       Spec
	folder     *os.Root
	components []*running
	probed     chan probed
	written    Status
}

// running is a component with its current state.
type running struct {
	Component
	status ComponentStatus
	delay  time.Duration
	// notBefore is the earliest time of the next start.
	notBefore time.Time
	probing   bool
	nextProbe time.Time
}

// probed is the result of a probe.
type probed struct {
	name  string
	pid   int
	ready bool
}

func newSupervisor(spec Spec, folder *os.Root) *supervisor {
	s := &supervisor{spec: spec, folder: folder, probed: make(chan probed, len(spec.Components))}
	for _, component := range spec.Components {
		s.components = append(s.components, &running{
			Component: component,
			status:    ComponentStatus{Name: component.Name},
			delay:     firstDelay,
		})
	}
	return s
}

// run supervises the components until the context ends. For a node, it never ends.
func (s *supervisor) run(ctx context.Context) error {
	children := make(chan os.Signal, 1)
	signal.Notify(children, unix.SIGCHLD)
	defer signal.Stop(children)
	var probes sync.WaitGroup
	defer probes.Wait()
	for {
		s.reap()
		for _, component := range s.components {
			if err := s.startIfDue(component, time.Now()); err != nil {
				return err
			}
			s.probeIfDue(ctx, &probes, component, time.Now())
		}
		if err := s.report(); err != nil {
			return err
		}
		timer := time.NewTimer(pollStarting)
		select {
		case <-ctx.Done():
			timer.Stop()
			return ctx.Err()
		case <-children:
		case seen := <-s.probed:
			s.note(seen)
		case <-timer.C:
		}
		timer.Stop()
	}
}

// reap reaps all processes that have ended, both components and orphans.
func (s *supervisor) reap() {
	for {
		var state unix.WaitStatus
		pid, err := unix.Wait4(-1, &state, unix.WNOHANG, nil)
		if errors.Is(err, unix.EINTR) {
			continue
		}
		if err != nil || pid <= 0 {
			return
		}
		for _, component := range s.components {
			if component.status.PID == pid {
				component.ended(state, time.Now())
			}
		}
	}
}

func (c *running) ended(state unix.WaitStatus, now time.Time) {
	exit := fmt.Sprintf("exit code %d", state.ExitStatus())
	if state.Signaled() {
		exit = fmt.Sprintf("killed by signal %d (%s)", int(state.Signal()), unix.SignalName(state.Signal()))
	}
	if now.Sub(c.status.StartedAt) > stable {
		c.delay = firstDelay
	}
	c.notBefore = now.Add(c.delay)
	c.delay = min(2*c.delay, lastDelay)
	c.status.PID, c.status.Ready, c.status.LastExit = 0, false, exit
	c.status.Restarts++
}

func (s *supervisor) startIfDue(c *running, now time.Time) error {
	if c.status.PID != 0 || now.Before(c.notBefore) || !s.ready(c.After) {
		return nil
	}
	pid, err := s.start(c.Component)
	if err != nil {
		return err
	}
	c.status.PID, c.status.StartedAt = pid, now
	c.nextProbe = now
	return nil
}

// ready reports whether the named components are ready. Only the start of a component depends on it: a running
// component is not stopped when a component that it needs restarts, because it waits for that component itself.
func (s *supervisor) ready(names []string) bool {
	for _, component := range s.components {
		if slices.Contains(names, component.Name) && !component.status.Ready {
			return false
		}
	}
	return true
}

func (s *supervisor) start(c Component) (int, error) {
	log, err := os.OpenFile(filepath.Join(s.spec.LogFolder, c.Name+".log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return 0, fmt.Errorf("opening the log of %s: %w", c.Name, err)
	}
	defer log.Close() //nolint:errcheck // the component has its own
	null, err := os.Open(os.DevNull)
	if err != nil {
		return 0, fmt.Errorf("opening the input of %s: %w", c.Name, err)
	}
	defer null.Close() //nolint:errcheck // nothing was written
	path, err := exec.LookPath(c.Command[0])
	if err != nil {
		return 0, fmt.Errorf("finding %s: %w", c.Name, err)
	}
	child, err := os.StartProcess(path, c.Command, &os.ProcAttr{
		Dir: "/",
		// Pass no other variables: this machine's proxy settings must not apply to the cluster.
		Env:   []string{"PATH=" + SearchPath, "HOME=/root"},
		Files: []*os.File{null, log, log},
		Sys:   &unix.SysProcAttr{Setsid: true},
	})
	if err != nil {
		return 0, fmt.Errorf("starting %s: %w", c.Name, err)
	}
	pid := child.Pid
	// reap waits for it, as for all other processes.
	if err := child.Release(); err != nil {
		return 0, fmt.Errorf("letting go of %s: %w", c.Name, err)
	}
	return pid, nil
}

func (s *supervisor) probeIfDue(ctx context.Context, probes *sync.WaitGroup, c *running, now time.Time) {
	if c.probing || c.status.PID == 0 || now.Before(c.nextProbe) {
		return
	}
	c.probing = true
	name, pid, probe := c.Name, c.status.PID, c.Ready
	probes.Go(func() {
		s.probed <- probed{name: name, pid: pid, ready: probe.ready(ctx)}
	})
}

func (s *supervisor) note(seen probed) {
	for _, component := range s.components {
		if component.Name != seen.name {
			continue
		}
		component.probing = false
		component.nextProbe = time.Now().Add(pollStarting)
		if component.status.PID != seen.pid {
			continue // the probed process has ended since
		}
		component.status.Ready = seen.ready
		if seen.ready {
			component.nextProbe = time.Now().Add(pollReady)
		}
	}
}

// report writes the status if it has changed.
func (s *supervisor) report() error {
	var status Status
	for _, component := range s.components {
		status.Components = append(status.Components, component.status)
	}
	if slices.Equal(status.Components, s.written.Components) {
		return nil
	}
	s.written = status
	return status.write(s.folder, s.spec.StatusFile)
}
