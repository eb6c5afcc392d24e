package controlplane

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// What is said to be built is what the modules pin.
func TestVersionsAreThoseOfTheModules(t *testing.T) {
	root, err := repositoryRoot()
	if err != nil {
		t.Fatal(err)
	}
	for file, want := range map[string]string{
		"hack/kubernetes/go.mod":      "k8s.io/kubernetes " + KubernetesVersion,
		"hack/kubernetes/etcd/go.mod": "go.etcd.io/etcd/server/v3 " + EtcdVersion,
	} {
		data, err := os.ReadFile(filepath.Join(root, file))
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(string(data), "\t"+want+" ") {
			t.Errorf("%s does not hold %q", file, want)
		}
	}
	if !strings.HasSuffix(apiServerBinary.linkerFlags, "="+KubernetesVersion) {
		t.Errorf("the linker is told %q, not %s", apiServerBinary.linkerFlags, KubernetesVersion)
	}
}

// tinyModule makes a repository whose one program is built in a moment.
func tinyModule(t *testing.T) (builder, binary, *syncBuffer) {
	t.Helper()
	root := t.TempDir()
	folder := filepath.Join(root, "hack", "tiny")
	if err := os.MkdirAll(folder, 0o755); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{
		"go.mod":  "module example.com/tiny\n\ngo 1.26.0\n",
		"main.go": "package main\n\nfunc main() {}\n",
	} {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	progress := &syncBuffer{}
	return builder{root: root, cache: filepath.Join(root, "cache"), progress: progress},
		binary{name: "tiny", version: "v1", module: "tiny", mainPackage: ".", linkerFlags: "-s -w", usual: "a moment"},
		progress
}

func TestSeveralWantOneBuild(t *testing.T) {
	builder, program, progress := tinyModule(t)
	var group sync.WaitGroup
	for range 4 {
		group.Go(func() {
			path, err := builder.get(t.Context(), program)
			if err != nil {
				t.Error(err)
				return
			}
			if !isProgram(path) {
				t.Errorf("no program at %s", path)
			}
		})
	}
	group.Wait()
	if count := strings.Count(progress.String(), "Building tiny v1"); count != 1 {
		t.Errorf("built %d times, want once:\n%s", count, progress)
	}
	left, err := filepath.Glob(filepath.Join(builder.cache, ".build-*"))
	if err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

func TestAFailedBuildLeavesNothingAndSaysWhy(t *testing.T) {
	builder, program, _ := tinyModule(t)
	program.mainPackage = "./nowhere"
	path, err := builder.get(t.Context(), program)
	if err == nil || !strings.Contains(err.Error(), "nowhere") {
		t.Errorf("%q, %v: the error has to name what could not be built", path, err)
	}
	if isProgram(filepath.Join(builder.cache, program.fileName())) {
		t.Error("a program is in place")
	}
}

func TestABuildCanBeStopped(t *testing.T) {
	builder, program, _ := tinyModule(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := builder.get(ctx, program); err == nil {
		t.Error("built after it was stopped")
	}
}

type syncBuffer struct {
	mutex sync.Mutex
	text  bytes.Buffer
}

func (b *syncBuffer) Write(p []byte) (int, error) {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	return b.text.Write(p)
}

func (b *syncBuffer) String() string {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	return b.text.String()
}
