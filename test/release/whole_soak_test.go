package release

import (
	"bytes"
	"debug/macho"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/storagebench/storagebench/images/image/imagetest"
	"github.com/storagebench/storagebench/test/soak"
)

// TestAllPlatforms checks a release for all platforms as `make test` checks one for this machine.
func TestAllPlatforms(t *testing.T) {
	soak.Only(t)
	for name, test := range map[string]func(*testing.T){
		"sums": TestSums, "krew": TestKrew, "chart": TestChart, "install.yaml": TestInstall, "images": TestImages,
		"push": TestPush, "bills of archives": TestBillsOfArchives, "bills of images": TestBillsOfImages,
	} {
		t.Run(name, test)
	}
}

// TestDarwin checks that the archives for darwin contain programs for darwin, for the right processor and with the
// version. They cannot run here.
func TestDarwin(t *testing.T) {
	soak.Only(t)
	for architecture, want := range map[string]macho.Cpu{"amd64": macho.CpuAmd64, "arm64": macho.CpuArm64} {
		program := files(t, filepath.Join(made(t), archiveOf("darwin/"+architecture)))["kubectl-storagebench"]
		read, err := macho.NewFile(bytes.NewReader(program))
		if err != nil {
			t.Errorf("%s: %v", architecture, err)
			continue
		}
		if read.Cpu != want || read.Type != macho.TypeExec {
			t.Errorf("the program for %s is of type %v for %v", architecture, read.Type, read.Cpu)
		}
		if !bytes.Contains(program, []byte(version)) {
			t.Errorf("the program for %s does not hold its version", architecture)
		}
	}
}

// TestOtherProcessor runs the programs for arm64 on a simulated processor. Only the processor is simulated: system
// calls go to this machine's kernel.
func TestOtherProcessor(t *testing.T) {
	soak.Only(t)
	if runtime.GOARCH != "amd64" {
		t.Skip("this test is for machines of amd64, which simulate arm64")
	}
	simulator, err := exec.LookPath("qemu-aarch64-static")
	if err != nil {
		t.Fatalf("hack/ensure-packages qemu-user-static: %v", err)
	}
	// run runs a program inside an image.
	run := func(folder string, arguments ...string) string {
		if err := os.WriteFile(filepath.Join(folder, "simulator"), readFile(t, simulator), 0o755); err != nil {
			t.Fatal(err)
		}
		return imagetest.Run(t, folder, append([]string{"/simulator"}, arguments...)...)
	}
	operator := content(t, forArchitecture(t, "operator", "arm64")).Unpack(t)
	for _, program := range []string{"/storagebench-operator", "/storagebench-agent"} {
		if out := run(operator, program, "-version"); out != version+"\n" {
			t.Errorf("%s -version prints %q", program, out)
		}
	}
	fio := content(t, forArchitecture(t, "fio", "arm64")).Unpack(t)
	if out := run(fio, "/usr/bin/fio", "--version"); !strings.HasPrefix(out, "fio-") {
		t.Errorf("fio --version prints %q", out)
	}
	out := run(fio, "/usr/bin/fio", "--name=try", "--ioengine=psync", "--rw=write", "--bs=4k", "--size=64k", "--directory=/tmp", "--output-format=json")
	if !strings.Contains(out, `"io_bytes" : 65536`) {
		t.Errorf("fio wrote something else than 64 KiB:\n%s", out)
	}
	archive := files(t, filepath.Join(made(t), archiveOf("linux/arm64")))
	plugin := filepath.Join(t.TempDir(), "kubectl-storagebench")
	if err := os.WriteFile(plugin, archive["kubectl-storagebench"], 0o755); err != nil {
		t.Fatal(err)
	}
	printed, err := exec.CommandContext(t.Context(), simulator, plugin, "--version").CombinedOutput()
	if err != nil || !strings.Contains(string(printed), version) {
		t.Errorf("the command line prints %q: %v", printed, err)
	}
}

// TestReproducible checks that a release of the same source has the same bytes if it is made in another directory and
// with another user's settings.
func TestReproducible(t *testing.T) {
	soak.Only(t)
	tree := filepath.Join(t.TempDir(), "elsewhere")
	copyTree(t, tree)
	t.Setenv("GOFLAGS", "-buildvcs=true")
	t.Setenv("GOAMD64", "v2")
	t.Setenv("TZ", "Asia/Kathmandu")
	t.Setenv("LC_ALL", "C")
	first := readFile(t, filepath.Join(made(t), "SHA256SUMS"))
	if err := makeIn(tree, "-registry", registry); err != nil {
		t.Fatal(err)
	}
	if second := readFile(t, filepath.Join(tree, "bin/release/SHA256SUMS")); !bytes.Equal(first, second) {
		t.Errorf("the two differ:\n%s\n%s", first, second)
	}
}

// copyTree copies the files that Git tracks or would add, in their current state.
func copyTree(t *testing.T, to string) {
	t.Helper()
	command := exec.CommandContext(t.Context(), "git", "ls-files", "-z", "--cached", "--others", "--exclude-standard")
	command.Dir = root
	list, err := command.Output()
	if err != nil {
		t.Fatal(err)
	}
	for name := range strings.SplitSeq(strings.TrimSuffix(string(list), "\x00"), "\x00") {
		from := filepath.Join(root, name)
		info, err := os.Lstat(from)
		if os.IsNotExist(err) {
			continue // removed, but still in Git's index
		}
		if err != nil {
			t.Fatal(err)
		}
		where := filepath.Join(to, name)
		if err := os.MkdirAll(filepath.Dir(where), 0o755); err != nil {
			t.Fatal(err)
		}
		if info.Mode().IsRegular() {
			if err := os.WriteFile(where, readFile(t, from), info.Mode().Perm()); err != nil {
				t.Fatal(err)
			}
		}
	}
}
