package chart

import (
	"bytes"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/storagebench/storagebench/config/render"
	"github.com/storagebench/storagebench/hack/schemas/strict"
	"github.com/storagebench/storagebench/test/binaries"
)

// schemas is the folder that hack/schemas generates. It has a folder for each release of Kubernetes, and one for the
// kinds of other projects.
const schemas = "testdata/schemas"

// releases returns the releases of Kubernetes that have schemas, oldest first.
func releases(t *testing.T) []string {
	t.Helper()
	found, err := filepath.Glob(schemas + "/v*")
	if err != nil || len(found) < 7 {
		t.Fatalf("%d releases of Kubernetes have schemas, want 1.30 to 1.36 at least (go run ./hack/schemas): %v", len(found), err)
	}
	for i := range found {
		found[i] = strings.TrimPrefix(filepath.Base(found[i]), "v")
	}
	return found
}

// conform is kubeconform's output.
type conform struct {
	Resources []struct{ Filename, Kind, Name, Status, Msg string }
	Summary   struct{ Valid, Invalid, Errors, Skipped int }
}

// kubeconform validates files by the schemas of a Kubernetes release, of other projects, and of our own kinds in own.
func kubeconform(t *testing.T, own, release string, files ...string) conform {
	t.Helper()
	here, err := filepath.Abs(schemas)
	if err != nil {
		t.Fatal(err)
	}
	const name = "{{.ResourceKind}}{{.KindSuffix}}.json"
	program, err := kubeconformPath()
	if err != nil {
		t.Fatal(err)
	}
	// #nosec G204 -- our own tool
	command := exec.CommandContext(t.Context(), program, append([]string{
		"-strict", "-output", "json", "-verbose", "-summary", "-kubernetes-version", release,
		"-schema-location", here + "/{{.NormalizedKubernetesVersion}}/" + name, "-schema-location", here + "/crds/" + name,
		"-schema-location", own + "/" + name}, files...)...)
	var out, problem bytes.Buffer
	command.Stdout, command.Stderr = &out, &problem
	err = command.Run()
	var exited *exec.ExitError
	if err != nil && !errors.As(err, &exited) {
		t.Fatal(err)
	}
	var said conform
	if err := json.Unmarshal(out.Bytes(), &said); err != nil {
		t.Fatalf("kubeconform printed %q %q: %v", out.String(), problem.String(), err)
	}
	return said
}

var kubeconformPath = sync.OnceValues(func() (string, error) { return binaries.Tool("kubeconform") })

// ours generates the schemas of our own kinds from config/crd, so they are never stale, and returns their folder.
func ours(t *testing.T) string {
	t.Helper()
	to := t.TempDir()
	found, err := filepath.Glob(root + "/config/crd/bases/*.yaml")
	if err != nil || len(found) == 0 {
		t.Fatalf("found no CRDs: %v", err)
	}
	for _, file := range found {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		made, err := strict.OfCRD(text)
		if err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		for name, schema := range made {
			text, err := json.Marshal(schema)
			if err != nil {
				t.Fatal(err)
			}
			write(t, filepath.Join(to, name), text)
		}
	}
	return to
}

func write(t *testing.T, file string, text []byte) {
	t.Helper()
	if err := os.WriteFile(file, text, 0o600); err != nil {
		t.Fatal(err)
	}
}

// rendered writes what the chart and config install to files, and returns their folder. It fails the test if the chart
// renders differently for the oldest and the newest release of Kubernetes.
func rendered(t *testing.T, releases []string) string {
	t.Helper()
	to := t.TempDir()
	chart := func(release string, values []string) string {
		arguments := []string{"template", "storagebench", folder, "--namespace", namespace, "--include-crds", "--kube-version", release}
		stdout, stderr, err := helm(t, append(arguments, set(values...)...)...)
		if err != nil {
			t.Fatalf("%v: %s", err, stderr)
		}
		return stdout
	}
	for name, values := range map[string][]string{"chart": nil, "chart-everything": slices.Concat(everything, filled),
		"chart-namespaced": {`watch.namespaces=["benchmarks"]`}} {
		oldest, newest := chart(releases[0], values), chart(releases[len(releases)-1], values)
		if diff := cmp.Diff(oldest, newest); diff != "" {
			t.Errorf("the chart renders differently for the oldest and the newest release of Kubernetes, and this test validates only one: %s", diff)
		}
		write(t, filepath.Join(to, name+".yaml"), []byte(newest))
	}
	for _, name := range []string{render.Default, render.Metrics, render.Monitoring, render.Namespaced} {
		text, err := render.Folder(os.DirFS(root+"/config"), name, "dev")
		if err != nil {
			t.Fatal(err)
		}
		write(t, filepath.Join(to, "config-"+name+".yaml"), text)
	}
	return to
}

// examples returns the files that users copy.
func examples(t *testing.T) []string {
	t.Helper()
	var found []string
	for _, folder := range []string{"config/gitops/argocd", "config/gitops/flux", "config/samples"} {
		err := filepath.WalkDir(filepath.Join(root, folder), func(file string, _ fs.DirEntry, err error) error {
			if err == nil && strings.HasSuffix(file, ".yaml") && filepath.Base(file) != "kustomization.yaml" || strings.HasSuffix(file, "flux/kustomization.yaml") {
				found = append(found, file)
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return found
}

// bounds returns the oldest and the newest release. TestEachRelease covers the others.
func bounds(all []string) []string { return []string{all[0], all[len(all)-1]} }

// TestKubeconform requires that what chart and config install, and the files that users copy, are valid for the oldest
// and the newest release of Kubernetes.
func TestKubeconform(t *testing.T) {
	t.Parallel()
	all := releases(t)
	conforms(t, all, bounds(all))
}

// conforms requires that the installed objects and the examples are valid for the releases in some. all lists all
// releases.
func conforms(t *testing.T, all, some []string) {
	t.Helper()
	own := ours(t)
	files := append(examples(t), rendered(t, all))
	for _, release := range some {
		t.Run(release, func(t *testing.T) {
			t.Parallel()
			said := kubeconform(t, own, release, files...)
			for _, resource := range said.Resources {
				// A document without a kind is empty. Helm leaves such documents.
				if resource.Status != "statusValid" && (resource.Kind != "" || resource.Status != "") {
					t.Errorf("%s, %s %s: %s %s", filepath.Base(resource.Filename), resource.Kind, resource.Name, resource.Status, resource.Msg)
				}
			}
			if said.Summary.Valid < 100 || said.Summary.Skipped != 0 {
				t.Errorf("%d objects are valid and %d were skipped: files are missing", said.Summary.Valid, said.Summary.Skipped)
			}
		})
	}
}

// TestKubeconformRefuses checks that TestKubeconform would find invalid objects.
func TestKubeconformRefuses(t *testing.T) {
	t.Parallel()
	refuses(t, bounds(releases(t)))
}

// refuses requires that kubeconform refuses broken objects for each of the releases.
func refuses(t *testing.T, releases []string) {
	t.Helper()
	const deployment = `{apiVersion: apps/v1, kind: Deployment, metadata: {name: x}, spec: {selector: {}, template: {spec: {containers: [{name: x, %s}]}}}}`
	broken := map[string]struct{ text, want string }{
		"a field of a container that there is not": {strings.ReplaceAll(deployment, "%s", "imagePulPolicy: Always"), "imagePulPolicy"},
		"a string in the place of a number":        {strings.ReplaceAll(deployment, "%s", "ports: [{containerPort: http}]"), "want integer"},
		"a field that is missing":                  {"{apiVersion: apps/v1, kind: Deployment, metadata: {name: x}, spec: {template: {}}}", "missing property 'selector'"},
		"a kind that no schema is for":             {"{apiVersion: apps/v1beta1, kind: Deployment, metadata: {name: x}}", "could not find schema"},
		"a field of ours that there is not": {
			"{apiVersion: storagebench.dev/v1alpha1, kind: StorageBenchmark, metadata: {name: x}, spec: {run: {target: []}}}", "'target'"},
		"a field of Prometheus that there is not": {
			"{apiVersion: monitoring.coreos.com/v1, kind: ServiceMonitor, metadata: {name: x}, spec: {selector: {}, endpoints: [], jobLable: x}}", "jobLable"},
	}
	own, folder := ours(t), t.TempDir()
	for name, test := range broken {
		write(t, filepath.Join(folder, strings.ReplaceAll(name, " ", "-")+".yaml"), []byte(test.text))
	}
	for _, release := range releases {
		messages := map[string]string{}
		for _, resource := range kubeconform(t, own, release, folder).Resources {
			if resource.Status != "statusValid" {
				messages[filepath.Base(resource.Filename)] = resource.Msg
			}
		}
		for name, test := range broken {
			if got := messages[strings.ReplaceAll(name, " ", "-")+".yaml"]; !strings.Contains(got, test.want) {
				t.Errorf("%s, %s: %q, want %q", release, name, got, test.want)
			}
		}
	}
}
