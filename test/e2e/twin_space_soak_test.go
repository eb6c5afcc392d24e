package e2e

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/storagebench/storagebench/api/v1alpha1"
	resultreport "github.com/storagebench/storagebench/internal/report"
	"github.com/storagebench/storagebench/test/burstfs/model"
	"github.com/storagebench/storagebench/test/burstfs/truth"
	"github.com/storagebench/storagebench/test/csisim/embedded"
	"github.com/storagebench/storagebench/test/soak"
)

// twin is a sample of config/samples/twins on its simulated storage.
type twin struct {
	*space
	simulation *embedded.Simulation
	benchmark  *v1alpha1.StorageBenchmark
}

// newTwin creates the storage of a twin and reads its benchmark.
func newTwin(s *space, simulation *embedded.Simulation, name string) twin {
	s.Helper()
	folder := filepath.Join(s.root, "config", "samples", "twins")
	text, err := os.ReadFile(filepath.Join(folder, "storage", name+".yaml"))
	must(s.T, err)
	for document := range strings.SplitSeq(string(text), "\n---\n") {
		object := &unstructured.Unstructured{}
		must(s.T, yaml.UnmarshalStrict([]byte(document), &object.Object))
		s.simulatedObject(object)
	}
	text, err = os.ReadFile(filepath.Join(folder, name+".yaml"))
	must(s.T, err)
	t := twin{space: s, simulation: simulation, benchmark: &v1alpha1.StorageBenchmark{}}
	must(s.T, yaml.UnmarshalStrict(text, t.benchmark))
	return t
}

// simulatedObject creates a claim or a StorageClass. The class gets a name that is unique to the test.
func (s *space) simulatedObject(object *unstructured.Unstructured) {
	s.Helper()
	own := func(name string) string { return s.namespace + "-" + name }
	if object.GetKind() == "PersistentVolumeClaim" {
		class, _, err := unstructured.NestedString(object.Object, "spec", "storageClassName")
		must(s.T, err)
		must(s.T, unstructured.SetNestedField(object.Object, own(class), "spec", "storageClassName"))
		s.create(object)
		return
	}
	object.SetName(own(object.GetName()))
	must(s.T, s.api.Create(s.Context(), object))
	s.Cleanup(func() {
		if err := s.api.Delete(context.Background(), object); client.IgnoreNotFound(err) != nil {
			s.Error(err)
		}
	})
}

// phase returns a phase of the benchmark.
func (t twin) phase(name string) *v1alpha1.Phase {
	t.Helper()
	for i := range t.benchmark.Spec.Run.Phases {
		if phase := &t.benchmark.Spec.Run.Phases[i]; phase.Name == name {
			return phase
		}
	}
	t.Fatalf("the twin has no phase %s", name)
	return nil
}

// run applies the benchmark and waits for the end of its run.
func (t twin) run(patience time.Duration) *v1alpha1.BenchmarkRun {
	t.Helper()
	t.apply(t.benchmark)
	run := t.ended(patience)
	time.Sleep(time.Second) // until the record has the whole second in which the run ended
	t.log(run)
	isComplete(t.T, run)
	t.printed(run)
	return run
}

// record returns the configuration and the record of the store behind a claim.
func (t twin) record(claim string) (model.Config, truth.Record) {
	t.Helper()
	store := t.simulatedStore(t.simulation, claim)
	config, err := store.Config()
	must(t.T, err)
	record, err := store.Truth()
	must(t.T, err)
	return config, record
}

// printed adds a run's report, as a user sees it, to the report of the soak.
func (t twin) printed(run *v1alpha1.BenchmarkRun) string {
	t.Helper()
	text := t.reportOf(run)
	soak.Report(t.T, "The report of "+t.benchmark.Name, "%s", text)
	return text
}

// only returns the status of a run as if it had only one target.
func only(run *v1alpha1.BenchmarkRun, target string) v1alpha1.BenchmarkRunStatus {
	status := run.Status.DeepCopy()
	for i := range status.Phases {
		phase := &status.Phases[i]
		phase.Targets = slices.DeleteFunc(phase.Targets, func(result v1alpha1.TargetResult) bool { return result.Target != target })
	}
	for i := range status.Steps {
		step := &status.Steps[i]
		step.IO = slices.DeleteFunc(step.IO, func(io v1alpha1.StepIO) bool { return io.Target != target })
	}
	return *status
}

// held judges the rows of a comparison and checks that they contain certain figures.
func (t twin) held(title string, rows []truth.Row, figures ...string) {
	t.Helper()
	soak.Report(t.T, title, "%s", truth.Table(rows))
	compared := map[string]bool{}
	for _, row := range rows {
		compared[row.Phase+" "+row.Figure] = true
	}
	for _, figure := range figures {
		if !compared[figure] {
			t.Errorf("%s was not compared", figure)
		}
	}
	judge(t.T, rows)
}

// prints checks that a report has certain lines, each given by words that it contains.
func prints(t *testing.T, text string, lines ...[]string) {
	t.Helper()
	for _, words := range lines {
		found := false
		for line := range strings.Lines(text) {
			all := true
			for _, word := range words {
				all = all && strings.Contains(line, word)
			}
			found = found || all
		}
		if !found {
			t.Errorf("the report has no line with %q:\n%s", words, text)
		}
	}
}

// reportOf returns what `kubectl storagebench report` prints for a run.
func (t twin) reportOf(run *v1alpha1.BenchmarkRun) string {
	t.Helper()
	text, err := json.Marshal(run)
	must(t.T, err)
	document, err := resultreport.Read(bytes.NewReader(text))
	must(t.T, err)
	var page bytes.Buffer
	must(t.T, resultreport.Text(&page, document, resultreport.TextOptions{Verbose: true}))
	return page.String()
}
