package burstfs_test

import (
	"bytes"
	"encoding/csv"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/moby/sys/mountinfo"

	"github.com/storagebench/storagebench/test/burstfs"
	"github.com/storagebench/storagebench/test/hang"
)

// program is a running burstfs command.
type program struct {
	*exec.Cmd
	backing, mountPoint, config, truth string
	stderr                             string // path of a file
}

func start(t *testing.T, program *program, binary string) {
	t.Helper()
	program.Cmd = exec.CommandContext(t.Context(), binary, "--config", program.config, "--backing", program.backing,
		"--truth", program.truth, program.mountPoint)
	stderr, err := os.OpenFile(program.stderr, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	must(t, err)
	defer stderr.Close()
	program.Stderr = stderr
	before := len(content(t, program.stderr))
	must(t, program.Start())
	// burstfs prints this after it has accessed its own mount. If it were killed before that, it could not end: it would
	// wait for an answer that only its own threads could give.
	says := func() bool { return bytes.Contains(content(t, program.stderr)[before:], []byte("is mounted")) }
	for deadline := time.Now().Add(hang.Guard); !says() || !mounted(t, program.mountPoint) || !answers(program.mountPoint); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			_ = program.Process.Kill()
			_ = program.Wait()
			t.Fatalf("hung: not mounted after %s: %s", hang.Guard, content(t, program.stderr))
		}
	}
}

// answers reports whether the mount still has a server.
func answers(path string) bool {
	_, err := os.ReadDir(path)
	return err == nil
}

func mounted(t *testing.T, path string) bool {
	t.Helper()
	mounts, err := mountinfo.GetMounts(mountinfo.SingleEntryFilter(path))
	must(t, err)
	return len(mounts) > 0
}

func TestCommand(t *testing.T) {
	directory := t.TempDir()
	binary := filepath.Join(directory, "burstfs")
	if output, err := exec.CommandContext(t.Context(), "go", "build", "-o", binary, "./cmd/burstfs").CombinedOutput(); err != nil {
		t.Fatalf("building the command: %v\n%s", err, output)
	}
	p := &program{
		backing: filepath.Join(directory, "backing"), mountPoint: filepath.Join(directory, "mount"),
		config: filepath.Join(directory, "store.yaml"), truth: filepath.Join(directory, "truth.csv"), stderr: filepath.Join(directory, "stderr"),
	}
	must(t, os.Mkdir(p.backing, 0o755))
	must(t, os.Mkdir(p.mountPoint, 0o755))
	configure := func(perSecond int) {
		t.Helper()
		text := "buckets: [{name: volume, counts: operations, baselinePerSecond: " + strconv.Itoa(perSecond) + "}]\n"
		must(t, os.WriteFile(p.config+".new", []byte(text), 0o644))
		must(t, os.Rename(p.config+".new", p.config))
	}
	write := func(blocks int) {
		t.Helper()
		command := exec.CommandContext(t.Context(), "dd", "if=/dev/zero", "of="+filepath.Join(p.mountPoint, "file"), "bs=4k", "count="+strconv.Itoa(blocks))
		if output, err := command.CombinedOutput(); err != nil {
			t.Fatalf("writing: %v\n%s", err, output)
		}
	}

	configure(1)
	start(t, p, binary)
	write(2)
	configure(1000)
	write(500)
	must(t, os.WriteFile(p.config, []byte("bucket: []\n"), 0o644))
	hang.Until(t, "burstfs reports the faulty configuration", func() bool {
		return bytes.Contains(content(t, p.stderr), []byte("field bucket not found"))
	})
	time.Sleep(1100 * time.Millisecond) // the record contains only complete seconds

	must(t, p.Process.Signal(syscall.SIGTERM))
	if err := p.Wait(); err != nil || mounted(t, p.mountPoint) {
		t.Errorf("after SIGTERM: %v, mounted: %v", err, mounted(t, p.mountPoint))
	}
	if got := string(content(t, p.stderr)); !strings.Contains(got, "is not applied") || !strings.Contains(got, "field bucket not found") {
		t.Errorf("after a faulty configuration, stderr is %q", got)
	}
	lines, err := csv.NewReader(bytes.NewReader(content(t, p.truth))).ReadAll()
	must(t, err)
	if got := strings.Join(lines[0], ","); !strings.HasPrefix(got, "seconds,unix_seconds,read_bytes") || !strings.HasSuffix(got, "bins,credits_volume") {
		t.Errorf("header %q", got)
	}
	written := 0
	var writes []int // per second, without seconds that have none
	for i, line := range lines[1:] {
		if line[0] != strconv.Itoa(i) {
			t.Errorf("line %d is of second %s", i, line[0])
		}
		bytes, err := strconv.Atoi(line[4])
		must(t, err)
		written += bytes
		if operations, err := strconv.Atoi(line[5]); err != nil || operations > 0 {
			writes = append(writes, operations)
		}
	}
	if written != 502*4096 {
		t.Errorf("the truth has %d bytes, %d were written", written, 502*4096)
	}
	// At one write per second, a second contains one; at 1,000 per second, it contains more.
	if len(writes) < 2 || writes[0] != 1 || slices.Max(writes) == 1 {
		t.Errorf("writes per second: %v", writes)
	}

	// A killed process leaves a dead mount, which the next start removes.
	configure(1000)
	start(t, p, binary)
	must(t, p.Process.Kill())
	_ = p.Wait()
	if answers(p.mountPoint) {
		t.Error("the mount of a killed process still answers")
	}
	start(t, p, binary)
	if entries, err := os.ReadDir(p.mountPoint); err != nil || len(entries) != 1 {
		t.Errorf("mounted again: %v, %v", entries, err)
	}
	must(t, p.Process.Kill())
	_ = p.Wait()
	must(t, burstfs.RemoveDead())
	if mounted(t, p.mountPoint) {
		t.Error("the dead mount is still there")
	}
}
