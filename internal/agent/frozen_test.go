package agent

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/storagebench/storagebench/internal/agentapi"
	"github.com/storagebench/storagebench/internal/process"
)

// These requests are from linux/fs.h; x/sys does not define them.
const (
	freezeFilesystem = 0xc0045877
	thawFilesystem   = 0xc0045878
)

// TestFileSystemThatDoesNotAnswer checks that the step and the agent end, and report what remains, even if the file
// system no longer answers. The test freezes it: writes block, and their processes stay even after SIGKILL, as on a
// share whose server is gone.
func TestFileSystemThatDoesNotAnswer(t *testing.T) {
	t.Parallel()
	withMounts(t, func() {
		directory := t.TempDir()
		image := filepath.Join(t.TempDir(), "image")
		must(t, os.WriteFile(image, nil, 0o600))
		must(t, os.Truncate(image, 64<<20))
		for _, words := range [][]string{{"mkfs.ext4", "-q", image}, {"mount", "-o", "loop", image, directory}} {
			if output, err := exec.CommandContext(t.Context(), words[0], words[1:]...).CombinedOutput(); err != nil {
				t.Skipf("no file system of our own here: %v: %s", err, output)
			}
		}
		t.Cleanup(func() { _ = unix.Unmount(directory, unix.MNT_DETACH) })
		root, err := os.Open(directory)
		must(t, err)
		defer func() { _ = root.Close() }()
		r := serveAt(t, directory, func(a *Agent) {
			a.env.Timeouts.Gone, a.env.Timeouts.Remove, a.env.Timeouts.Look = time.Second, time.Second, 20*time.Millisecond
		})
		load := request("a", endlessWrite)
		load.StallTimeoutNanoseconds = int64(2 * time.Second)
		r.load(load)
		r.start("a", noLimit)
		r.begun(1)
		must(t, unix.IoctlSetInt(int(root.Fd()), freezeFilesystem, 0))
		thaw := func() { _ = unix.IoctlSetInt(int(root.Fd()), thawFilesystem, 0) }
		defer thaw()

		ended, _ := r.finished("a")
		if ended.GetOutcome() != agentapi.Outcome_OUTCOME_FAILED || ended.GetReason() != "Hung" || !strings.Contains(ended.GetMessage(), "one job completed no I/O for 2s; still alive after SIGKILL: ") {
			t.Errorf("got %v", ended)
		}
		answer := r.finish(true)
		if answer.GetDataRemoved() || !strings.Contains(answer.GetProblem(), "did not answer within 1s") {
			t.Errorf("got %v", answer)
		}
		thaw()
		eventually(t, "the job lives on a file system that answers again", func() bool {
			below, err := process.Descendants(os.Getpid())
			return err == nil && len(below) == 0
		})
	})
}
