package docs_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/storagebench/storagebench/test/binaries"
)

// kubectlProgram builds kubectl once and returns its path.
var kubectlProgram = sync.OnceValues(func() (string, error) {
	programs, err := binaries.Build(context.Background(), os.Stderr, binaries.Kubectl)
	return programs[binaries.Kubectl], err
})

// nowhere is a kubeconfig for an API server that does not exist.
const nowhere = `apiVersion: v1
kind: Config
clusters: [{name: none, cluster: {server: "http://127.0.0.1:9"}}]
contexts: [{name: none, context: {cluster: none}}]
current-context: none
`

// ofKubernetes lists Kubernetes' own kinds that documented commands name.
var ofKubernetes = []string{
	"all", "configmap", "configmaps", "clusterrole", "clusterrolebinding", "crd", "crds", "customresourcedefinition", "deployment", "deploy", "events", "lease",
	"namespace", "ns", "node", "nodes", "networkpolicy", "pod", "pods", "persistentvolumeclaim", "pv", "pvc", "rolebinding", "secret", "secrets", "service", "storageclass", "sc",
	"validatingadmissionpolicy", "serviceaccount",
}

// checkKubectl runs a kubectl command line without a cluster. It must fail only when it contacts the API server.
func checkKubectl(t *testing.T, arguments []string) error {
	t.Helper()
	program, err := kubectlProgram()
	if err != nil {
		return err
	}
	config := filepath.Join(t.TempDir(), "kubeconfig")
	if err := os.WriteFile(config, []byte(nowhere), 0o600); err != nil {
		return err
	}
	command := exec.CommandContext(t.Context(), program, arguments...)
	command.Dir = root
	command.Env = append(os.Environ(), "KUBECONFIG="+config)
	output, err := command.CombinedOutput()
	// A file or an object of the reader may be missing, and standard input is empty.
	reached := regexp.MustCompile(`connection refused|was refused|no objects passed to`)
	if err != nil && !reached.Match(output) && !namesAFileOfTheReader(arguments, output) {
		return fmt.Errorf("%w: %s", err, output)
	}
	return checkNamed(t, arguments)
}

// namesAFileOfTheReader reports whether kubectl failed because of a missing file that is not in this repository.
func namesAFileOfTheReader(arguments []string, output []byte) bool {
	match := regexp.MustCompile(`the path "([^"]+)" does not exist|open ([^:]+): no such file`).FindSubmatch(output)
	if match == nil {
		return false
	}
	name := string(match[1]) + string(match[2])
	return slices.Contains(arguments, name) && !ourPath.MatchString(name)
}

// checkNamed checks the kinds and conditions that a command line names.
func checkNamed(t *testing.T, arguments []string) error {
	t.Helper()
	var positional []string
	for i, word := range arguments {
		switch {
		case strings.HasPrefix(word, "--for=condition="):
			name, _, _ := strings.Cut(strings.TrimPrefix(word, "--for=condition="), "=")
			if !slices.Contains(conditions(t), name) && !slices.Contains([]string{"Available", "Established"}, name) {
				return fmt.Errorf("there is no condition %s", name)
			}
		case strings.HasPrefix(word, "-"):
		case i > 0 && slices.Contains([]string{"-n", "--namespace", "-l", "-o", "--context", "-f", "-k", "--for", "--timeout", "--patch-file", "-p", "--patch", "--type"}, arguments[i-1]):
		default:
			positional = append(positional, word)
		}
	}
	if len(positional) < 2 || !slices.Contains([]string{"get", "describe", "delete", "wait", "annotate", "label", "edit", "patch"}, positional[0]) {
		return nil
	}
	for name := range strings.SplitSeq(positional[1], ",") {
		name, _, _ = strings.Cut(name, "/")
		if !slices.Contains(kinds(t), strings.ToLower(name)) && !slices.Contains(ofKubernetes, name) {
			return fmt.Errorf("no kind is called %s", name)
		}
	}
	return nil
}
