package operator_test

import (
	"crypto/x509"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/storagebench/storagebench/images/image"
	"github.com/storagebench/storagebench/images/image/imagetest"
	"github.com/storagebench/storagebench/images/operator"
	"github.com/storagebench/storagebench/images/packaged"
)

// built is the folder of the operator and the agent that all tests use.
var built string

func TestMain(m *testing.M) {
	os.Exit(func() int {
		folder, err := os.MkdirTemp("", "programs-")
		if err == nil {
			defer os.RemoveAll(folder)
			err = build(folder)
		}
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		built = folder
		return m.Run()
	}())
}

// build builds the operator and the agent as `make build` does.
func build(folder string) error {
	for _, name := range []string{"operator", "agent"} {
		command := exec.Command("go", "build", "-trimpath", "-ldflags",
			"-s -w -X github.com/storagebench/storagebench/internal/version.stamped=v1.2.3",
			"-o", filepath.Join(folder, name), "../../cmd/"+name)
		command.Env = append(os.Environ(), "CGO_ENABLED=0")
		if out, err := command.CombinedOutput(); err != nil {
			return fmt.Errorf("build %s: %w\n%s", name, err, out)
		}
	}
	return nil
}

func options(t *testing.T, programs string) operator.Options {
	t.Helper()
	cache, err := image.CacheFolder()
	if err != nil {
		t.Fatal(err)
	}
	return operator.Options{Programs: programs, Licence: []byte("Apache"), Options: packaged.Options{
		Version: "v1.2.3", Cache: cache, Progress: os.Stderr, Created: time.Unix(1700000000, 0)}}
}

func opened(t *testing.T, programs string) imagetest.Opened {
	t.Helper()
	made, err := operator.Make(t.Context(), options(t, programs))
	if err != nil {
		t.Fatal(err)
	}
	return imagetest.Open(t, made)
}

func TestImage(t *testing.T) {
	got := opened(t, built)
	got.CheckFiles(t)
	var names []string
	for _, file := range got.Files {
		if !strings.HasSuffix(file.Name, "/") && !strings.HasPrefix(file.Name, "licenses/") {
			names = append(names, file.Name)
		}
	}
	want := []string{"etc/group", "etc/passwd", operator.Certificates, operator.Agent, operator.Program,
		"usr/share/doc/ca-certificates/copyright", packaged.PackagesFile, "var/lib/dpkg/status.d/ca-certificates"}
	slices.Sort(want)
	if diff := cmp.Diff(want, names); diff != "" {
		t.Errorf("files (-want +got):\n%s", diff)
	}
	config := got.Config.Config
	if config.User != "65532:65532" {
		t.Errorf("user %q", config.User)
	}
	if diff := cmp.Diff([]string{"/storagebench-operator"}, config.Entrypoint); diff != "" {
		t.Error(diff)
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(got.Data(t, operator.Certificates)) {
		t.Error("there is no certificate in " + operator.Certificates)
	}
	for _, module := range []string{"LICENSE", "go/LICENSE", "google.golang.org/grpc/LICENSE", "sigs.k8s.io/controller-runtime/LICENSE"} {
		if len(got.Data(t, "licenses/"+module)) == 0 {
			t.Errorf("licenses/%s is empty", module)
		}
	}
	folder := got.Unpack(t)
	for _, program := range config.Entrypoint {
		if out := imagetest.Run(t, folder, program, "-version"); out != "v1.2.3\n" {
			t.Errorf("%s -version prints %q", program, out)
		}
	}
	if out := imagetest.Run(t, folder, "/"+operator.Agent, "-version"); out != "v1.2.3\n" {
		t.Errorf("the agent -version prints %q", out)
	}
}

// TestOperatorAsksForTheseImages checks that the operator's default images have the names of the built images.
func TestOperatorAsksForTheseImages(t *testing.T) {
	help, err := exec.CommandContext(t.Context(), filepath.Join(built, "operator"), "--help").CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, help)
	}
	for _, name := range []string{"operator", "fio"} {
		want := image.Image{Name: name, Version: "v1.2.3"}.Reference()
		if !strings.Contains(string(help), want) {
			t.Errorf("the operator has no default %s:\n%s", want, help)
		}
	}
}

// TestReproducible checks that two builds of the same sources yield the same image.
func TestReproducible(t *testing.T) {
	again := t.TempDir()
	if err := build(again); err != nil {
		t.Fatal(err)
	}
	if first, second := opened(t, built), opened(t, again); first.ID != second.ID {
		t.Errorf("the images of two builds differ: %s and %s", first.ID, second.ID)
	}
}

func TestRefusesWhatWouldNotRun(t *testing.T) {
	shell, err := os.ReadFile("/bin/sh")
	if err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]struct {
		program []byte
		want    string
	}{
		"a program that needs libraries": {shell, "needs shared libraries"},
		"a script":                       {[]byte("#!/bin/sh\n"), "is not a program for Linux"},
	} {
		t.Run(name, func(t *testing.T) {
			folder := t.TempDir()
			for _, file := range []string{"operator", "agent"} {
				if err := os.WriteFile(filepath.Join(folder, file), test.program, 0o755); err != nil {
					t.Fatal(err)
				}
			}
			_, err := operator.Make(t.Context(), options(t, folder))
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %v, want it to say %q", err, test.want)
			}
		})
	}
	other := options(t, built)
	if other.Architecture = "arm64"; runtime.GOARCH == "arm64" {
		other.Architecture = "amd64"
	}
	if _, err := operator.Make(t.Context(), other); err == nil || !strings.Contains(err.Error(), "build it with GOARCH="+other.Architecture) {
		t.Errorf("with programs of another machine: %v", err)
	}
	if _, err := operator.Make(t.Context(), options(t, t.TempDir())); err == nil || !strings.Contains(err.Error(), "make build") {
		t.Errorf("without programs: %v", err)
	}
}
