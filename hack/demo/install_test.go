package main

import (
	"bytes"
	"slices"
	"strings"
	"testing"
)

// TestNoProxyToTheCluster checks that kubectl bypasses a configured proxy, because a proxy cannot reach the cluster on
// this machine. The commands that the demo prints must bypass it too.
func TestNoProxyToTheCluster(t *testing.T) {
	for _, name := range []string{"NO_PROXY", "no_proxy", "HTTPS_PROXY", "https_proxy"} {
		t.Setenv(name, "")
	}
	var out bytes.Buffer
	d := &demo{console: console{out: &out}, kubectl: "kubectl", kubeconfig: "/kubeconfig"}
	d.next("run", "benchmark")
	if strings.Contains(out.String(), "NO_PROXY") {
		t.Errorf("without a proxy, it says:\n%s", out.String())
	}
	t.Setenv("HTTPS_PROXY", "http://proxy.example:3128")
	t.Setenv("NO_PROXY", "localhost")
	environment := d.kubectlCommand(t.Context(), "get", "nodes").Environ()
	for _, want := range []string{"KUBECONFIG=/kubeconfig", "NO_PROXY=*", "no_proxy=*"} {
		if !slices.Contains(environment, want) {
			t.Errorf("kubectl runs without %s", want)
		}
	}
	d.next("run", "benchmark")
	if !strings.Contains(out.String(), "/bin:$PATH NO_PROXY='*'\n") {
		t.Errorf("with a proxy, it says:\n%s", out.String())
	}
}
