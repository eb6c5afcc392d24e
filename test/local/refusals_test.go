package local

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/storagebench/storagebench/internal/report"
)

const jobFile = `apiVersion: storagebench.dev/v1alpha1
kind: StorageBenchmark
metadata: {name: job-file}
spec:
  run:
    targets: [{name: data, volumes: [{name: data, claimName: data}]}]
    clients: {count: 1, spread: Any}
    workload:
      fio:
        datasetSize: 8Mi
        jobFile: |
          [global]
          size=8m
          [job]
          rw=write
          OPTION
    phases:
    - {name: write, steady: {duration: 1s}}
`

// TestRefusedBeforeAnyHarm gives each check before a run one bad input. The error must name the cause, and neither the
// directory nor anything else may be touched. Each check's own test covers all of its cases.
func TestRefusedBeforeAnyHarm(t *testing.T) {
	t.Parallel()
	harm := filepath.Join(t.TempDir(), "harm")
	missing := filepath.Join(t.TempDir(), "missing")
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	job := func(option string) string {
		name := filepath.Join(t.TempDir(), "job.yaml")
		if err := os.WriteFile(name, []byte(strings.Replace(jobFile, "OPTION", option, 1)), 0o600); err != nil {
			t.Fatal(err)
		}
		return name
	}
	for name, test := range map[string]struct {
		file, directory string
		want            []string
	}{
		"missing directory": {file: Write(t), directory: missing, want: []string{missing, "does not exist"}},
		"file":              {file: Write(t), directory: file, want: []string{file, "is not a directory"}},
		"exec_prerun": {file: job("exec_prerun=touch " + harm),
			want: []string{"jobFile", "exec_prerun", "[job]", "may not run commands"}},
		"foreign filename": {file: job("filename=" + harm), want: []string{"jobFile", "filename", "[job]"}},
		"bad option":       {file: Write(t, "datasetSize: 8Mi", `datasetSize: 8Mi, options: {nonsense: "1"}`), want: []string{"nonsense"}},
		"bad value":        {file: Write(t, "datasetSize: 8Mi", `datasetSize: 8Mi, options: {iodepth_batch: "many"}`), want: []string{"iodepth_batch"}},
		"bad YAML":         {file: Write(t, "spec:", "spec: ["), want: []string{"line"}},
		"unknown":          {file: Write(t, "datasetSize", "datasetsize"), want: []string{"datasetsize", "datasetSize"}},
		"read of nothing": {file: Write(t, "    - {name: layout, prepare: {}}\n", ""),
			want: []string{"mixed", "prepare"}},
		"too large": {file: Write(t, "8Mi", "500Ti"), want: []string{"free space"}},
	} {
		t.Run(name, func(t *testing.T) {
			directory := test.directory
			if directory == "" {
				directory = t.TempDir()
			}
			got := Call(t, "run", "--local", "-f", test.file, "--target", "data="+directory)
			if got.Code != report.ExitFailed {
				t.Errorf("exit code %d", got.Code)
			}
			if !strings.HasPrefix(lastLines(got.Stderr), "error: ") {
				t.Errorf("there is no error: %q", got.Stderr)
			}
			for _, want := range test.want {
				if !strings.Contains(got.Stderr, want) {
					t.Errorf("the error does not say %q: %s", want, got.Stderr)
				}
			}
			if test.directory == "" {
				Empty(t, directory)
			}
			if _, err := os.Lstat(harm); !os.IsNotExist(err) {
				t.Error("a refused job file created the file harm")
			}
		})
	}
}

// lastLines returns the text from the error on.
func lastLines(text string) string {
	if at := strings.Index(text, "error: "); at >= 0 {
		return text[at:]
	}
	return text
}

// tmpfs mounts a small file system. It skips the test without root.
func tmpfs(t *testing.T, options string, flags uintptr) string {
	t.Helper()
	directory := t.TempDir()
	if err := syscall.Mount("tmpfs", directory, "tmpfs", flags, options); err != nil {
		t.Skip("mounting a tmpfs needs root: ", err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(directory, syscall.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
	return directory
}

func TestReadOnlyDirectory(t *testing.T) {
	t.Parallel()
	directory := tmpfs(t, "", syscall.MS_RDONLY)
	got := Call(t, "run", "--local", "-f", Write(t), "--target", "data="+directory)
	if got.Code != report.ExitFailed || !strings.Contains(got.Stderr, directory) || !strings.Contains(got.Stderr, "read-only") {
		t.Errorf("exit code %d, said %q", got.Code, got.Stderr)
	}
}

func TestFullDiskBeforehand(t *testing.T) {
	t.Parallel()
	directory := tmpfs(t, "size=12m", 0)
	got := Call(t, "run", "--local", "-f", Write(t), "--target", "data="+directory)
	if got.Code != report.ExitFailed || !strings.Contains(got.Stderr, "16777216 bytes") || !strings.Contains(got.Stderr, "free") {
		t.Errorf("exit code %d, said %q", got.Code, got.Stderr)
	}
	Empty(t, directory)
}

// TestFullDiskOfTwoTargetsBeforehand checks that a run is refused if each of its targets fits, but not both, because
// they share a file system.
func TestFullDiskOfTwoTargetsBeforehand(t *testing.T) {
	t.Parallel()
	shared := tmpfs(t, "size=24m", 0)
	file := Write(t, "targets: [",
		"targets: [{name: more, volumes: [{name: data, claimName: more}], dataPolicy: Delete}, ")
	for name, directories := range map[string][2]string{"two directories": {"a", "b"}, "one directory": {"c", "c"}} {
		var flags []string
		for i, target := range []string{"data", "more"} {
			directory := filepath.Join(shared, directories[i])
			if err := os.MkdirAll(directory, 0o700); err != nil {
				t.Fatal(err)
			}
			flags = append(flags, "--target", target+"="+directory)
		}
		got := Call(t, append([]string{"run", "--local", "-f", file}, flags...)...)
		if got.Code != report.ExitFailed || !strings.Contains(got.Stderr, "33554432 bytes") {
			t.Errorf("%s: exit code %d, said %q", name, got.Code, got.Stderr)
		}
		for _, directory := range directories {
			Empty(t, filepath.Join(shared, directory))
		}
	}
}

// TestFullDiskMeanwhile fills the file system after the check and before fio writes. A gate holds fio back until then.
func TestFullDiskMeanwhile(t *testing.T) {
	t.Parallel()
	directory, gate := tmpfs(t, "size=400m", 0), filepath.Join(t.TempDir(), "open")
	script := filepath.Join(t.TempDir(), "fio")
	held := "#!/bin/sh\ncase \"$*\" in *--status-interval*) touch '" + gate + ".waits'; until test -e '" + gate + "'; do sleep 0.02; done;; esac\nexec fio \"$@\"\n"
	if err := os.WriteFile(script, []byte(held), 0o700); err != nil {
		t.Fatal(err)
	}
	run := Start(t, "run", "--local", "-f", Write(t, "8Mi", "150Mi"), "--target", "data="+directory, "--fio", script, "-o", "json")
	run.UntilFact(t, "fio waits", func() bool { _, err := os.Stat(gate + ".waits"); return err == nil })
	filler := filepath.Join(directory, "filler")
	file, err := os.Create(filler)
	if err != nil {
		t.Fatal(err)
	}
	for piece := int64(0); piece < 350 && err == nil; piece++ { // in pieces, because a call that fails allocates nothing
		err = unix.Fallocate(int(file.Fd()), 0, piece<<20, 1<<20)
	}
	if err := errors.Join(err, file.Close()); err != nil && !errors.Is(err, unix.ENOSPC) {
		t.Fatal(err)
	}
	open(t, gate)
	got := run.Wait(t)
	document := got.Document(t)
	if got.Code != report.ExitFailed || !strings.Contains(document.Message, "full") && !strings.Contains(document.Message, "free space") {
		t.Errorf("exit code %d, said %q", got.Code, document.Message)
	}
	if err := os.Remove(filler); err != nil {
		t.Fatal(err)
	}
	Empty(t, directory)
}

// TestNoFio checks that the message of a run without fio says what is missing.
func TestNoFio(t *testing.T) {
	t.Parallel()
	directory := t.TempDir()
	got := Call(t, "run", "--local", "-f", Write(t), "--target", "data="+directory, "--fio", "/nonexistent/fio", "-o", "json")
	document := got.Document(t)
	if got.Code != report.ExitFailed || !strings.Contains(document.Message, "fio") || !strings.Contains(document.Message, "install") {
		t.Errorf("exit code %d, said %q", got.Code, document.Message)
	}
	Empty(t, directory)
}

// TestRelativeFio gives fio as a path relative to the working directory, which the clients do not share.
func TestRelativeFio(t *testing.T) {
	path, err := exec.LookPath("fio")
	if err != nil {
		t.Fatal(err)
	}
	t.Chdir(t.TempDir())
	if err := os.Symlink(path, "fio"); err != nil {
		t.Fatal(err)
	}
	got := Call(t, "run", "--local", "-f", Write(t), "--target", "data="+t.TempDir(), "--fio", "./fio", "-o", "json")
	ValidButForLoad(t, got)
}
