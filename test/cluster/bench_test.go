package cluster

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"k8s.io/client-go/kubernetes"

	"github.com/storagebench/storagebench/test/hang"
)

// bench is a cluster of one test, separate from the cluster that other packages' tests share.
type bench struct {
	t       *testing.T
	state   State
	program string
	client  kubernetes.Interface
}

func newBench(t *testing.T) *bench {
	t.Helper()
	state, err := Open(filepath.Join(t.TempDir(), "state"))
	if err != nil {
		t.Fatal(err)
	}
	b := &bench{t: t, state: state, program: filepath.Join(t.TempDir(), "cluster")}
	b.build(b.program, "./cmd/cluster")
	t.Cleanup(func() {
		if err := state.Down(context.Background(), os.Stderr); err != nil {
			t.Error(err)
		}
	})
	return b
}

func (b *bench) build(output, folder string) {
	b.t.Helper()
	command := exec.CommandContext(b.t.Context(), "go", "build", "-o", output, folder)
	command.Env = append(os.Environ(), "CGO_ENABLED=0")
	if output, err := command.CombinedOutput(); err != nil {
		b.t.Fatalf("building %s: %v\n%s", folder, err, output)
	}
}

// run runs the program of cmd/cluster and returns its output. It fails the test unless the program succeeds or fails as
// expected.
func (b *bench) run(what string, succeeds bool, arguments ...string) string {
	b.t.Helper()
	output, err := exec.CommandContext(b.t.Context(), b.program, append([]string{"--state=" + b.state.Folder()}, arguments...)...).CombinedOutput()
	if (err == nil) != succeeds {
		b.t.Fatalf("%s: %v\n%s", what, err, output)
	}
	return string(output)
}

// ready waits until all components are ready. A component that answers a probe late is briefly not ready.
func (b *bench) ready(what string) (report Report) {
	b.t.Helper()
	hang.Until(b.t, what, func() bool {
		var err error
		if report, err = b.state.Status(b.t.Context()); err != nil {
			b.t.Fatal(err)
		}
		return report.Ready
	})
	return report
}

func (b *bench) up(what string) {
	b.t.Helper()
	b.t.Log(b.run(what, true, "up"))
	client, err := b.state.client()
	if err != nil {
		b.t.Fatal(err)
	}
	b.client = client
	b.ready("it is ready after " + what)
}

// kill kills the named components. At least one must be running.
func (b *bench) kill(names ...string) {
	b.t.Helper()
	report, err := b.state.Status(b.t.Context())
	if err != nil {
		b.t.Fatal(err)
	}
	killed := 0
	for _, component := range report.Components {
		if !slices.Contains(names, component.Name) {
			continue
		}
		b.end(component.PID)
		killed++
	}
	if killed == 0 || len(names) == 1 && killed != 1 {
		b.t.Fatalf("killed %d of %q in %+v", killed, names, report.Components)
	}
}

// end kills a process and waits until it is dead.
func (b *bench) end(pid int) {
	b.t.Helper()
	victim, err := identify(pid)
	if err != nil {
		b.t.Fatal(err)
	}
	if err := victim.kill(); err != nil {
		b.t.Fatal(err)
	}
	b.eventually("the process is dead", func(context.Context) bool { return !victim.alive() })
}

func (b *bench) probeArchive() string {
	b.t.Helper()
	folder := b.t.TempDir()
	program := filepath.Join(folder, "probe")
	b.build(program, "./testdata/probe")
	content, err := os.ReadFile(program)
	if err != nil {
		b.t.Fatal(err)
	}
	archive, err := ProgramImage(probeImage, "probe", content)
	if err != nil {
		b.t.Fatal(err)
	}
	again, err := ProgramImage(probeImage, "probe", content)
	if err != nil || !bytes.Equal(archive, again) {
		b.t.Errorf("the same image yields another archive (%v)", err)
	}
	path := filepath.Join(folder, "probe.tar")
	if err := os.WriteFile(path, archive, 0o600); err != nil {
		b.t.Fatal(err)
	}
	return path
}

func (b *bench) eventually(what string, holds func(context.Context) bool) {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.t.Context(), hang.Guard)
	defer cancel()
	for !holds(ctx) {
		select {
		case <-ctx.Done():
			output := b.run("kubectl describe", true, "kubectl", "--namespace="+probeNamespace, "describe", "pods,pvc")
			b.t.Fatalf("not in time: %s\n%s", what, output)
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// mustBeGone checks that nothing of the cluster is left.
func (b *bench) mustBeGone() {
	b.t.Helper()
	if entries, err := os.ReadDir(b.state.Folder()); err == nil {
		b.t.Errorf("the state folder is left with %v", entries)
	}
	if b.state.hasLink() {
		b.t.Errorf("the device %s is left", b.state.link())
	}
	trees, err := allHierarchies()
	if err != nil {
		b.t.Fatal(err)
	}
	for _, tree := range trees {
		if _, err := os.Stat(filepath.Join(tree.path, b.state.cgroup())); err == nil {
			b.t.Errorf("the control group %s is left in %s", b.state.cgroup(), tree.path)
		}
	}
	mounts, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		b.t.Fatal(err)
	}
	if left := mountsBelow(string(mounts), b.state.Folder()); len(left) > 0 {
		b.t.Errorf("mounts are left: %q", left)
	}
	// Every process of the node had the node's /var mounted.
	found, err := filepath.Glob("/proc/[0-9]*/mountinfo")
	if err != nil {
		b.t.Fatal(err)
	}
	for _, path := range found {
		if data, err := os.ReadFile(path); err == nil && strings.Contains(string(data), b.state.Folder()) {
			name, _ := os.ReadFile(filepath.Join(filepath.Dir(path), "cmdline"))
			b.t.Errorf("a process of the node is left: %s %q", path, name)
		}
	}
}
