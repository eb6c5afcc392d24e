package admission_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/storagebench/storagebench/internal/admission"
	"github.com/storagebench/storagebench/test/golden"
)

const goodFile = `# a comment first
---
apiVersion: storagebench.dev/v1alpha1
kind: StorageBenchmark
metadata: {name: quick}
spec:
  run:
    targets:
    - name: disk
      volumes: [{name: data, claimName: scratch}]
    workload: {profileRef: {name: mine}}
    phases:
    - {name: layout, prepare: {}}
    - name: measure
      steady: {duration: 1m}
--- # the profile
apiVersion: storagebench.dev/v1alpha1
kind: WorkloadProfile
metadata: {name: mine}
spec:
  fio: {pattern: Random, readPercent: 70, blockSize: 4Ki, datasetSize: 64Mi}
---
---
apiVersion: storagebench.dev/v1alpha1
kind: ClusterWorkloadProfile
metadata: {name: mine}
spec:
  fio: {pattern: Sequential, readPercent: 0, blockSize: 1Mi, datasetSize: 64Mi}
`

func TestDecodeSetsDefaultsAndTypes(t *testing.T) {
	objects, err := admission.Decode([]byte(goodFile))
	if err != nil {
		t.Fatal(err)
	}
	if len(objects) != 3 {
		t.Fatalf("%d objects, want 3", len(objects))
	}
	benchmark, profile, cluster := objects[0].Benchmark, objects[1].Profile, objects[2].ClusterProfile
	if benchmark == nil || profile == nil || cluster == nil {
		t.Fatalf("kinds differ: %+v", objects)
	}
	if objects[0].Line != 3 || objects[1].Line != 17 || objects[2].Line != 24 {
		t.Errorf("lines %d, %d, %d, want 3, 17, 24", objects[0].Line, objects[1].Line, objects[2].Line)
	}
	if got := benchmark.Spec.Run.Clients.Count; got != 1 {
		t.Errorf("clients.count is %d, want the default 1", got)
	}
	if got, err := benchmark.Spec.Run.Phases[1].Steady.Duration.Parse(); err != nil || got != time.Minute {
		t.Errorf("duration is %v, %v", got, err)
	}
	if got := profile.Spec.Fio.BlockSize.Value(); got != 4096 {
		t.Errorf("blockSize is %d, want 4096", got)
	}
}

func TestDecodeReportsEverythingWithItsLine(t *testing.T) {
	file := strings.NewReplacer(
		"steady: {duration: 1m}", "steady: {duration: 1 minute}",
		"claimName: scratch}]", "claimName: scratch}]\n      pathh: x",
		"blockSize: 4Ki", "blockSize: 4000",
	).Replace(goodFile)
	_, err := admission.Decode([]byte(file))
	var all admission.Errors
	if !errors.As(err, &all) {
		t.Fatalf("no admission.Errors: %v", err)
	}
	golden.Check(t, "errors", all.Error()+"\n")
}

func TestDecodeRefuses(t *testing.T) {
	for name, test := range map[string]struct{ file, want string }{
		"nothing":              {"", "no storagebench object"},
		"only comments":        {"# nothing\n---\n# at all\n", "no storagebench object"},
		"another kind":         {"apiVersion: v1\nkind: Pod\n", "no storagebench object"},
		"a kind misspelt":      {"apiVersion: storagebench.dev/v1alpha1\nkind: StorageBenchmrk\n", `line 2: kind: "StorageBenchmrk": did you mean StorageBenchmark?`},
		"a group misspelt":     {"apiVersion: storagebench.io/v1alpha1\nkind: StorageBenchmark\n", `line 1: apiVersion: "storagebench.io/v1alpha1": must be storagebench.dev/v1alpha1`},
		"an item without spec": {"apiVersion: v1\nkind: List\nitems:\n- {apiVersion: v1, kind: Pod}\n- apiVersion: storagebench.dev/v1alpha1\n  kind: WorkloadProfile\n  metadata: {name: x}\n", "line 5: WorkloadProfile/x: spec: required"},
		"another version":      {"apiVersion: storagebench.dev/v1\nkind: WorkloadProfile\n", `line 1: apiVersion: "storagebench.dev/v1": must be storagebench.dev/v1alpha1`},
		"no kind":              {"a: b\n", "kind: missing; set it to StorageBenchmark, "},
		"kind of a number":     {"apiVersion: storagebench.dev/v1alpha1\nkind: 7\n", "kind: missing; set it to StorageBenchmark, "},
		"a run":                {"apiVersion: storagebench.dev/v1alpha1\nkind: BenchmarkRun\nmetadata: {name: x}\n", "kind: a BenchmarkRun is a record that storagebench creates; use a StorageBenchmark instead"},
		"a list":               {"- a\n- b\n", "line 1: not an object"},
		"a text":               {"hello\n", "line 1: not an object"},
		"an entry misplaced":   {"spec:\n  targets:\n    - name: data\n      claimName: data\n    clients:\n      count: 2\n", "line 5: invalid YAML from here on: did not find expected '-' indicator; indent this line like the other entries of the block that starts on line 3"},
		"a key misplaced":      {"a: 1\nspec:\n    run: 2\n  suspend: true\n", "line 4: invalid YAML from here on: did not find expected key"},
		"a key without colon":  {"a: 1\nspec\nb: 2\n", "line 2: invalid YAML from here on: could not find expected ':'"},
		"one name thrice":      {goodFile + "---\n" + goodFile + "---\n" + goodFile, "3 objects in the file have this kind and name, the first on line 3; rename all but one"},
		"no YAML":              {"a: [b\n", "invalid YAML from here on"},
		"a tab":                {"a:\n\tb: c\n", "line 2: this line is indented with a tab"},
		"a key twice":          {"apiVersion: x\nkind: y\nkind: z\n", `line 3: duplicate key "kind"; merge the two, or remove one`},
		"documents joined":     {"a: b\n...\nc: d\n", "a second document starts without a --- line"},
		"metadata of a text":   {"apiVersion: storagebench.dev/v1alpha1\nkind: WorkloadProfile\nmetadata: x\n", "metadata: must contain fields"},
		"name of a number":     {"apiVersion: storagebench.dev/v1alpha1\nkind: WorkloadProfile\nmetadata: {name: 7}\n", "line 3: metadata.name: 7: YAML does not read this as text"},
		"label of a number":    {"apiVersion: storagebench.dev/v1alpha1\nkind: WorkloadProfile\nmetadata: {name: x, labels: {a: 1}}\n", "metadata.labels[a]: 1: YAML does not read this as text"},
		"no name":              {"apiVersion: storagebench.dev/v1alpha1\nkind: WorkloadProfile\nspec: {fio: {datasetSize: 1Gi, jobFile: \"[a]\"}}\n", "metadata.name: required; add it"},
		"one name twice":       {goodFile + "---\n" + goodFile, "the object on line 3 has the same kind and name"},
		"too large":            {strings.Repeat("#\n", 3<<20), "the maximum is 4194304"},
		"too many documents":   {strings.Repeat("---\n", 1001), "the maximum is 1000"},
		"aliases that explode": {billionLaughs, "invalid YAML from here on"},
	} {
		t.Run(name, func(t *testing.T) {
			objects, err := admission.Decode([]byte(test.file))
			if err == nil || objects != nil {
				t.Fatalf("accepted: %+v", objects)
			}
			if !strings.Contains(err.Error(), test.want) {
				t.Errorf("the error does not say %q:\n%v", test.want, err)
			}
			if strings.Contains(err.Error(), "Go ") {
				t.Errorf("a type of Go is shown:\n%v", err)
			}
		})
	}
}

// TestReadLocalNeedsNoClaim checks that a target needs a claim, except in a local run.
func TestReadLocalNeedsNoClaim(t *testing.T) {
	text := []byte(strings.Replace(goodFile, "      volumes: [{name: data, claimName: scratch}]\n", "", 1))
	if _, faults, err := admission.Read(text); err != nil || len(faults) != 1 || faults[0].Path != "spec.run.targets[0]" {
		t.Errorf("in a cluster: %v, %v", faults, err)
	}
	file, faults, err := admission.ReadLocal(text)
	if err != nil || len(faults) > 0 || len(file.Objects) != 3 {
		t.Fatalf("on one machine: %v, %v", faults, err)
	}
	if written, _ := file.Objects[0].Written["spec"].(map[string]any); strings.Contains(fmt.Sprint(written), "claimName") {
		t.Errorf("the file has a claim that was not written: %v", written)
	}
}

// Each line expands to nine times the previous one.
const billionLaughs = `a: &a [x,x,x,x,x,x,x,x,x]
b: &b [*a,*a,*a,*a,*a,*a,*a,*a,*a]
c: &c [*b,*b,*b,*b,*b,*b,*b,*b,*b]
d: &d [*c,*c,*c,*c,*c,*c,*c,*c,*c]
e: &e [*d,*d,*d,*d,*d,*d,*d,*d,*d]
f: &f [*e,*e,*e,*e,*e,*e,*e,*e,*e]
g: &g [*f,*f,*f,*f,*f,*f,*f,*f,*f]
h: &h [*g,*g,*g,*g,*g,*g,*g,*g,*g]
`

// TestReadPassesOver checks that objects of other APIs, as in the output of kustomize or kubectl get, are listed but
// not checked.
func TestReadPassesOver(t *testing.T) {
	const list = `apiVersion: v1
kind: List
items:
- apiVersion: storagebench.dev/v1alpha1
  kind: WorkloadProfile
  metadata: {name: mine, uid: 7c9d, resourceVersion: "12"}
  spec:
    fio: {pattern: Random, readPercent: 70, blockSize: 4Ki, datasetSize: 64Mi}
- {apiVersion: v1, kind: ConfigMap, metadata: {name: "settings\e[2J"}, data: 7}
`
	others := "---\napiVersion: v1\nkind: PersistentVolumeClaim\nmetadata: {name: scratch}\nspec: {nonsense: true}\n---\n# nothing\n---\n{apiVersion: apps/v1, kind: Deployment}\n"
	for name, test := range map[string]struct {
		file    string
		objects int
		foreign string
	}{
		"documents": {goodFile + others, 3, "PersistentVolumeClaim/scratch Deployment/unnamed"},
		"a list":    {list, 1, "ConfigMap/settings[2J"},
		"nothing":   {others, 0, "PersistentVolumeClaim/scratch Deployment/unnamed"},
	} {
		file, faults, err := admission.Read([]byte(test.file))
		if err != nil || len(faults) > 0 {
			t.Errorf("%s: %v, %v", name, faults, err)
		}
		if got := strings.Join(file.Foreign, " "); len(file.Objects) != test.objects || got != test.foreign {
			t.Errorf("%s: %d objects, passed over: %q", name, len(file.Objects), got)
		}
	}
}

// TestSamples checks that all samples in config/samples are accepted.
func TestSamples(t *testing.T) {
	files, err := filepath.Glob("../../config/samples/*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatalf("no samples: %v", err)
	}
	twins, err := filepath.Glob("../../config/samples/twins/*.yaml")
	if err != nil || len(twins) == 0 {
		t.Fatalf("no twins of samples: %v", err)
	}
	files = append(files, twins...)
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			data, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := admission.Decode(data); err != nil {
				t.Error(err)
			}
		})
	}
}

// FuzzDecode checks that Decode returns either objects or an error for any input.
func FuzzDecode(f *testing.F) {
	f.Add([]byte(goodFile))
	f.Add([]byte(billionLaughs))
	f.Add([]byte("apiVersion: storagebench.dev/v1alpha1\nkind: WorkloadProfile\nmetadata: {name: x, labels: 3}\nspec: null\n"))
	f.Add([]byte("{\"apiVersion\": \"storagebench.dev/v1alpha1\", \"kind\": \"StorageBenchmark\", \"spec\": {\"run\": {\"phases\": [[]]}}}"))
	f.Add([]byte("a: &a\n  <<: *a\n"))
	f.Add([]byte("? [a]\n: b\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		objects, err := admission.Decode(data)
		if (err == nil) != (len(objects) > 0) {
			t.Errorf("%d objects and the error %v", len(objects), err)
		}
		if err != nil && strings.TrimSpace(err.Error()) == "" {
			t.Error("an error that says nothing")
		}
	})
}
