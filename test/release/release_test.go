package release

import (
	"archive/tar"
	"compress/gzip"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/storagebench/storagebench/test/binaries"
	"github.com/storagebench/storagebench/test/soak"
)

const (
	root    = "../.."
	version = "v0.1.0-rc.7"
	// registry is the registry to which the images of the release would be published.
	registry = "registry.example/storagebench"
)

// here is the only platform of a release that `make test` makes.
var here = "linux/" + runtime.GOARCH

var scratch string

func TestMain(m *testing.M) {
	os.Exit(func() int {
		var err error
		if scratch, err = os.MkdirTemp("", "release-"); err != nil {
			panic(err)
		}
		defer os.RemoveAll(scratch)
		return m.Run()
	}())
}

// made returns the directory of the release.
func made(t *testing.T) string {
	t.Helper()
	folder, err := once()
	if err != nil {
		t.Fatal(err)
	}
	return folder
}

var once = sync.OnceValues(func() (string, error) {
	folder := filepath.Join(scratch, "made")
	arguments := []string{"-output", folder, "-registry", registry}
	if !soak.Enabled() {
		// Debian's mirrors keep the newest packages only, and a test must not fail because one was replaced.
		arguments = append(arguments, "-platforms", here, "-locked=false")
	}
	return folder, makeIn(root, arguments...)
})

// makeIn makes a release of the source in a directory.
func makeIn(tree string, arguments ...string) error {
	command := exec.Command("go", append([]string{"run", "./hack/release", "-version", version}, arguments...)...)
	command.Dir = tree
	if out, err := command.CombinedOutput(); err != nil {
		return fmt.Errorf("make a release: %w\n%s", err, out)
	}
	return nil
}

// platforms returns the platforms of the archives.
func platforms() []string {
	if soak.Enabled() {
		return []string{"linux/amd64", "linux/arm64", "darwin/amd64", "darwin/arm64"}
	}
	return []string{here}
}

func archiveOf(platform string) string {
	return "kubectl-storagebench_" + version + "_" + strings.ReplaceAll(platform, "/", "_") + ".tar.gz"
}

func readFile(t *testing.T, name string) []byte {
	t.Helper()
	data, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// files returns the files of an archive by name.
func files(t *testing.T, name string) map[string][]byte {
	t.Helper()
	file, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	var content io.Reader = file
	if !strings.HasSuffix(name, ".tar") {
		if content, err = gzip.NewReader(file); err != nil {
			t.Fatal(err)
		}
	}
	found := map[string][]byte{}
	archive := tar.NewReader(content)
	for {
		header, err := archive.Next()
		if errors.Is(err, io.EOF) {
			return found
		}
		if err != nil {
			t.Fatal(err)
		}
		if header.Uid != 0 || header.Uname != "" || header.ModTime.Unix() != 0 {
			t.Errorf("%s of %s reveals the machine that it was made on: %+v", header.Name, name, header)
		}
		if found[header.Name], err = io.ReadAll(archive); err != nil {
			t.Fatal(err)
		}
	}
}

// TestSums checks that all files exist and that SHA256SUMS has the checksum of each.
func TestSums(t *testing.T) {
	folder := made(t)
	want := []string{"install.yaml", "storagebench.yaml", "images.txt", "storagebench-" + strings.TrimPrefix(version, "v") + ".tgz",
		"operator_" + version + ".oci.tar", "fio_" + version + ".oci.tar"}
	for _, platform := range platforms() {
		want = append(want, archiveOf(platform), archiveOf(platform)+".cdx.json")
		if name := strings.ReplaceAll(platform, "/", "_"); strings.HasPrefix(name, "linux") {
			want = append(want, "operator_"+version+"_"+name+".cdx.json", "fio_"+version+"_"+name+".cdx.json")
		}
	}
	sums := string(readFile(t, filepath.Join(folder, "SHA256SUMS")))
	for _, name := range want {
		if line := fmt.Sprintf("%x  %s\n", sha256.Sum256(readFile(t, filepath.Join(folder, name))), name); !strings.Contains(sums, line) {
			t.Errorf("SHA256SUMS has no line %q", line)
		}
	}
	if there, err := os.ReadDir(folder); err != nil || len(there) != len(want)+1 || strings.Count(sums, "\n") != len(want) {
		t.Errorf("there are %d files, %d sums, want %d files: %v", len(there), strings.Count(sums, "\n"), len(want), err)
	}
}

// TestPlugin checks that the archive for this machine, unpacked into a directory of PATH, works as a kubectl plugin.
func TestPlugin(t *testing.T) {
	content := files(t, filepath.Join(made(t), archiveOf(here)))
	for _, name := range []string{"LICENSE", "cli.md", "licenses/go/LICENSE", "licenses/k8s.io/client-go/LICENSE"} {
		if len(content[name]) == 0 {
			t.Errorf("the archive has no %s", name)
		}
	}
	folder := t.TempDir()
	plugin := filepath.Join(folder, "kubectl-storagebench")
	if err := os.WriteFile(plugin, content["kubectl-storagebench"], 0o755); err != nil {
		t.Fatal(err)
	}
	built, err := binaries.Build(t.Context(), os.Stderr, binaries.Kubectl)
	if err != nil {
		t.Fatal(err)
	}
	kubectl := func(arguments ...string) string {
		command := exec.CommandContext(t.Context(), built[binaries.Kubectl], arguments...)
		command.Env = append(os.Environ(), "PATH="+folder, "KUBECONFIG="+folder+"/none", "HOME="+folder)
		out, err := command.CombinedOutput()
		if err != nil {
			t.Errorf("kubectl %v: %v\n%s", arguments, err, out)
		}
		return string(out)
	}
	if out := kubectl("plugin", "list"); !strings.Contains(out, plugin) {
		t.Errorf("kubectl knows the plugins %s", out)
	}
	if out := kubectl("storagebench", "--version"); !strings.Contains(out, version) {
		t.Errorf("kubectl storagebench --version prints %q", out)
	}
	sample, err := filepath.Abs(root + "/config/samples/quickstart.yaml")
	if err != nil {
		t.Fatal(err)
	}
	if out := kubectl("storagebench", "plan", "-f", sample); !strings.Contains(out, "layout") {
		t.Errorf("the plan of the sample is %s", out)
	}
}

// TestVersionIsRefused checks that an invalid version is refused before anything is made or removed.
func TestVersionIsRefused(t *testing.T) {
	for _, bad := range []string{"", "0.1.0", "v1", "v1.2", "v01.2.3", "v1.2.3+dirty", "1f2e3d-dirty"} {
		kept := t.TempDir()
		command := exec.CommandContext(t.Context(), "go", "run", "./hack/release", "-version", bad, "-output", kept)
		command.Dir = root
		if out, err := command.CombinedOutput(); err == nil || !strings.Contains(string(out), "make release VERSION=") {
			t.Errorf("version %q: %v %s", bad, err, out)
		}
		if _, err := os.Stat(kept); err != nil {
			t.Errorf("version %q: %v", bad, err)
		}
	}
}
