package agent

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"sync/atomic"
	"testing"

	"golang.org/x/sys/unix"
)

// recordedRuns holds what a real fio has printed.
const recordedRuns = "../engine/fio/testdata/runs"

// setClock is a clock that says what it is told to.
type setClock struct{ monotonic, wall atomic.Int64 }

func (c *setClock) Monotonic() int64 { return c.monotonic.Load() }
func (c *setClock) Wall() int64      { return c.wall.Load() }

// at sets it to a time of day. The monotonic clock goes with it, but for the offset by which somebody has set the other.
func (c *setClock) at(milliseconds, offset int64) {
	const boot = 1795250000000
	c.monotonic.Store((milliseconds - boot) * 1e6)
	c.wall.Store((milliseconds + offset) * 1e6)
}

// dump is a document of fio's, with what it said before it, and the time in it.
type dump struct {
	text         []byte
	milliseconds int64
}

// dumpsOf are those of a recorded run.
func dumpsOf(t *testing.T, name string) []dump {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(recordedRuns, name+".stdout"))
	must(t, err)
	var all []dump
	for part := range bytes.SplitAfterSeq(text, []byte("\n}\n")) {
		match := stamp.FindSubmatch(part)
		if match == nil {
			continue
		}
		at, err := strconv.ParseInt(string(match[1]), 10, 64)
		must(t, err)
		all = append(all, dump{part, at})
	}
	return all
}

// scripted is a program in fio's place that prints what the test gives it, and ends when the test says so. Its time is the test's.
type scripted struct {
	t      *testing.T
	clock  *setClock
	folder string
	output *os.File
}

// serveScripted serves an agent with such a program.
func serveScripted(t *testing.T) (*rig, *scripted) {
	t.Helper()
	s := &scripted{t: t, clock: &setClock{}, folder: t.TempDir()}
	must(t, unix.Mkfifo(s.path("output"), 0o600))
	var err error
	// For both, so that it opens at once and no end comes before it is closed.
	s.output, err = os.OpenFile(s.path("output"), os.O_RDWR, 0)
	must(t, err)
	t.Cleanup(func() { _ = s.output.Close() })
	r := serve(t, func(a *Agent) {
		a.clock = s.clock
		a.config.FioPath = executable(t, fioVersion+fmt.Sprintf(`
trap 'echo > %[1]s/told' INT
echo > %[1]s/ready
cat > /dev/null
cat < %[1]s/output &
while :; do wait $!; [ $? -gt 128 ] || break; done
exit $(cat %[1]s/code)
`, s.folder))
	})
	return r, s
}

func (s *scripted) path(name string) string { return filepath.Join(s.folder, name) }

// says prints a dump at its time.
func (s *scripted) says(one dump) {
	s.t.Helper()
	s.clock.at(one.milliseconds, 0)
	_, err := s.output.Write(one.text)
	must(s.t, err)
}

// ready waits until it can be told to stop, and told until it was.
func (s *scripted) ready() { s.has("ready") }
func (s *scripted) told()  { s.has("told") }

func (s *scripted) has(name string) {
	s.t.Helper()
	eventually(s.t, "it is not "+name, func() bool {
		_, err := os.Stat(s.path(name))
		return err == nil
	})
}

// ends ends it with an exit code.
func (s *scripted) ends(code int) {
	s.t.Helper()
	must(s.t, os.WriteFile(s.path("code"), []byte(itoa(code)), 0o600))
	must(s.t, s.output.Close())
}
