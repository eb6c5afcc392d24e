package binaries

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/storagebench/storagebench/test/output"
)

// TestVersionsAreThoseOfTheModules checks that the version constants match the modules in hack/kubernetes.
func TestVersionsAreThoseOfTheModules(t *testing.T) {
	root, err := RepositoryRoot()
	if err != nil {
		t.Fatal(err)
	}
	for want, file := range map[string]string{
		"k8s.io/kubernetes " + KubernetesVersion:                   "hack/kubernetes/go.mod",
		"github.com/coredns/coredns " + CoreDNSVersion:             "hack/kubernetes/coredns/go.mod",
		"go.etcd.io/etcd/server/v3 " + EtcdVersion:                 "hack/kubernetes/etcd/go.mod",
		"github.com/containerd/containerd/v2 " + ContainerdVersion: "hack/kubernetes/containerd/go.mod",
		"sigs.k8s.io/kwok " + KwokVersion:                          "hack/kubernetes/kwok/go.mod",
		"sigs.k8s.io/kube-network-policies " + PoliciesVersion:     "hack/kubernetes/policies/go.mod",
	} {
		data, err := os.ReadFile(filepath.Join(root, file))
		if err != nil {
			t.Fatal(err)
		}
		if !slices.ContainsFunc(strings.Split(string(data), "\n"), func(line string) bool { return strings.Contains(line+" ", want+" ") }) {
			t.Errorf("%s does not hold %q", file, want)
		}
	}
	for _, module := range []*module{kubernetesModule, containerdModule, kwokModule} {
		if !slices.ContainsFunc([]string{KubernetesVersion, ContainerdVersion, KwokVersion}, func(version string) bool {
			return strings.HasSuffix(module.linkerFlags, "="+version)
		}) {
			t.Errorf("the linker flags of %s are %q, without a version", module.folder, module.linkerFlags)
		}
	}
}

func TestAProgramIsCalledAsGoCallsIt(t *testing.T) {
	for mainPackage, want := range map[string]string{
		"go.etcd.io/etcd/server/v3":        "server",
		"k8s.io/kubernetes/cmd/kubelet":    "kubelet",
		"./local-provisioner":              "local-provisioner",
		"example.com/containerd/v2/v2tool": "v2tool",
	} {
		if got := (program{mainPackage: mainPackage}).outputName(); got != want {
			t.Errorf("%s is called %s, want %s", mainPackage, got, want)
		}
	}
}

// tinyModule creates a repository with two programs that compile quickly.
func tinyModule(t *testing.T) (builder, []program, *output.Buffer) {
	t.Helper()
	root := t.TempDir()
	for name, text := range map[string]string{
		"go.mod":       "module example.com/tiny\n\ngo 1.26.0\n",
		"one/main.go":  "package main\n\nfunc main() {}\n",
		"two/main.go":  "package main\n\nfunc main() {}\n",
		"two/other.go": "package main\n",
	} {
		path := filepath.Join(root, "hack", "tiny", name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	module := &module{folder: "tiny", linkerFlags: "-s -w", usual: "a moment"}
	progress := &output.Buffer{}
	return builder{root: root, cache: filepath.Join(root, "cache"), progress: progress},
		[]program{{"one", "v1", module, "./one"}, {"two", "v1", module, "example.com/tiny/two"}},
		progress
}

func TestSeveralWantOneBuild(t *testing.T) {
	builder, programs, progress := tinyModule(t)
	var group sync.WaitGroup
	for range 4 {
		group.Go(func() {
			paths, err := builder.get(t.Context(), programs)
			if err != nil {
				t.Error(err)
				return
			}
			for _, name := range []string{"one", "two"} {
				if !isProgram(paths[name]) {
					t.Errorf("no program at %s", paths[name])
				}
			}
		})
	}
	group.Wait()
	if count := strings.Count(progress.String(), "Building one v1, two v1"); count != 1 {
		t.Errorf("built %d times, want once:\n%s", count, progress)
	}
	left, err := filepath.Glob(filepath.Join(builder.cache, ".build-*"))
	if err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

func TestAProgramThatIsNamedTwiceIsBuiltOnce(t *testing.T) {
	builder, programs, progress := tinyModule(t)
	if _, err := builder.get(t.Context(), append(programs, programs[0])); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(progress.String(), "Building one v1, two v1 from") {
		t.Errorf("want one build of each program:\n%s", progress)
	}
}

func TestOurOwnSourcesArePartOfTheVersion(t *testing.T) {
	builder, programs, progress := tinyModule(t)
	first, err := builder.get(t.Context(), programs)
	if err != nil {
		t.Fatal(err)
	}
	changed := filepath.Join(builder.root, "hack", "tiny", "one", "main.go")
	if err := os.WriteFile(changed, []byte("package main\n\nfunc main() { println() }\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	second, err := builder.get(t.Context(), programs)
	if err != nil {
		t.Fatal(err)
	}
	if first["one"] == second["one"] || first["two"] != second["two"] {
		t.Errorf("one was %s and is %s, two was %s and is %s: only one was changed",
			first["one"], second["one"], first["two"], second["two"])
	}
	if !strings.Contains(progress.String(), "Building one v1 from") {
		t.Errorf("want only program one to be built again:\n%s", progress)
	}
}

func TestAFailedBuildLeavesNothingAndSaysWhy(t *testing.T) {
	builder, programs, _ := tinyModule(t)
	programs[1].mainPackage = "example.com/tiny/nowhere"
	_, err := builder.get(t.Context(), programs)
	if err == nil || !strings.Contains(err.Error(), "nowhere") {
		t.Errorf("%v: the error has to name what could not be built", err)
	}
	entries, err := filepath.Glob(filepath.Join(builder.cache, "*-v1-*"))
	if err != nil || len(entries) > 0 {
		t.Errorf("programs are in place: %v, %v", entries, err)
	}
}

func TestABuildCanBeStopped(t *testing.T) {
	builder, programs, _ := tinyModule(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := builder.get(ctx, programs); err == nil {
		t.Error("built after it was stopped")
	}
}

func TestAnUnknownProgramIsNamed(t *testing.T) {
	if _, err := Build(t.Context(), &output.Buffer{}, "vim"); err == nil || !strings.Contains(err.Error(), `"vim"`) {
		t.Errorf("%v: the error has to name the program", err)
	}
}

// TestProgressIsCounted checks that the output of go build -v is counted, except for errors, which are kept.
func TestProgressIsCounted(t *testing.T) {
	var messages bytes.Buffer
	counter := &counter{messages: &messages}
	for _, part := range []string{
		"go: downloading k8s.io/api v0.36.3\nk8s.io/a", "pi/core/v1\ngolang.org/x/sys/unix\n",
		"# k8s.io/api\n./main.go:3:4: undefined: x\n",
	} {
		if _, err := counter.Write([]byte(part)); err != nil {
			t.Fatal(err)
		}
	}
	if got, want := counter.String(), "1 modules downloaded, 2 packages compiled"; got != want {
		t.Errorf("progress is %q, want %q", got, want)
	}
	if got, want := messages.String(), "# k8s.io/api\n./main.go:3:4: undefined: x\n"; got != want {
		t.Errorf("kept %q, want %q", got, want)
	}
}
