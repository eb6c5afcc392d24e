package chart

import (
	"log"
	"net/http/httptest"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/registry"
)

// TestRegistry requires that the chart can be pushed to a registry and is found there by its version. It pushes to the
// address that the command in `make push-release` uses.
func TestRegistry(t *testing.T) {
	server := httptest.NewServer(registry.New(registry.Logger(log.New(t.Output(), "", 0))))
	defer server.Close()
	to := strings.TrimPrefix(server.URL, "http://") + "/team/storagebench"
	dry := exec.CommandContext(t.Context(), "make", "--no-print-directory", "-n", "push-release", "REGISTRY="+to)
	dry.Dir = root
	commands, err := dry.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, commands)
	}
	const pushed = `"$(hack/tool helm)" push bin/release/storagebench-*.tgz `
	_, rest, found := strings.Cut(string(commands), pushed)
	if !found {
		t.Fatalf("make push-release does not push the chart:\n%s", commands)
	}
	place, _, _ := strings.Cut(strings.TrimPrefix(rest, "'"), "'")

	made := t.TempDir()
	if _, problem, err := helm(t, "package", folder, "--version", "1.2.3", "--app-version", "v1.2.3", "--destination", made); err != nil {
		t.Fatalf("%v\n%s", err, problem)
	}
	out, problem, err := helm(t, "push", filepath.Join(made, "storagebench-1.2.3.tgz"), place, "--plain-http")
	if err != nil || !strings.Contains(out+problem, "\nDigest: sha256:") {
		t.Fatalf("%v\n%s%s", err, out, problem) // the release workflow reads the digest
	}
	out, problem, err = helm(t, "show", "chart", place+"/storagebench", "--version", "1.2.3", "--plain-http")
	if err != nil || !strings.Contains(out, "\nname: storagebench\n") || !strings.Contains(out, "\nappVersion: v1.2.3\n") {
		t.Errorf("%v\n%s%s", err, out, problem)
	}
}
