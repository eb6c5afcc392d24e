package cli

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/client-go/dynamic/fake"
	clienttesting "k8s.io/client-go/testing"

	"github.com/storagebench/storagebench/api/v1alpha1"
	"github.com/storagebench/storagebench/internal/library"
	"github.com/storagebench/storagebench/internal/report"
)

// TestEveryLibraryProfileCanBeTried checks that a trial of each library profile can be planned on a volume that is
// large enough for its data.
func TestEveryLibraryProfileCanBeTried(t *testing.T) {
	profiles, err := library.Profiles()
	if err != nil {
		t.Fatal(err)
	}
	for i := range profiles {
		trial := first{name: "try", workload: &profiles[i].Spec.Engine, inFile: true, deadline: v1alpha1.DurationOf(trialDeadline),
			initOptions: initOptions{class: "fast", size: "100Ti", accessMode: "ReadWriteOnce", duration: "60s", clients: 1}}
		read, err := trial.load()
		if err != nil {
			t.Errorf("%s: %v", profiles[i].Name, err)
			continue
		}
		if run := read.benchmark.Spec.Run; run.ActiveDeadline != trial.deadline || run.Phases[len(run.Phases)-1].Name != "measure" {
			t.Errorf("%s: its run is %+v", profiles[i].Name, run)
		}
	}
}

// TestTrialFits checks that a volume that is too small for the data is rejected before anything is created.
func TestTrialFits(t *testing.T) {
	trial := first{name: "try", initOptions: initOptions{class: "fast", size: "10Gi", accessMode: "ReadWriteOnce", duration: "60s", clients: 4}}
	if _, err := trial.load(); err != nil {
		t.Errorf("4 GiB on 10 GiB for each client: %v", err)
	}
	profile, _ := library.Find("oltp-8k")
	trial.workload, trial.inFile = profile.Spec.DeepCopy().Engine.DeepCopy(), true
	trial.workload.Fio.DatasetSize.Set(11 << 30)
	if _, err := trial.load(); err == nil || !strings.Contains(err.Error(), "--size 10Gi: each volume needs 11") {
		t.Errorf("11 GiB on 10 GiB: %v", err)
	}
}

// TestTrialNames checks that the names of trials are valid and unique for any storage class name.
func TestTrialNames(t *testing.T) {
	for _, class := range []string{"gp3", "csi.example.com", strings.Repeat("long-", 20), "a-very-long-name-of-a-storage-class"} {
		name := trialName(class)
		if problems := validation.IsDNS1123Label(name); len(problems) > 0 || len(name) > v1alpha1.MaxBenchmarkNameLength || name == trialName(class) {
			t.Errorf("%s gives %s: %v", class, name, problems)
		}
	}
}

// TestInterruptedCreationIsRemoved checks that a benchmark is removed if the request that created it was interrupted,
// even if no Job owns it because the user may not create Jobs.
func TestInterruptedCreationIsRemoved(t *testing.T) {
	trial := first{name: "try", initOptions: initOptions{class: "fast", size: "10Gi", accessMode: "ReadWriteOnce", duration: "60s", clients: 1}}
	read, err := trial.load()
	if err != nil {
		t.Fatal(err)
	}
	client := fake.NewSimpleDynamicClient(runtime.NewScheme())
	client.PrependReactor("create", "jobs", func(clienttesting.Action) (bool, runtime.Object, error) {
		return true, nil, apierrors.NewForbidden(jobResource.GroupResource(), "", nil)
	})
	ctx, interrupt := context.WithCancel(t.Context())
	client.PrependReactor("create", "storagebenchmarks", func(action clienttesting.Action) (bool, runtime.Object, error) {
		created := action.(clienttesting.CreateAction).GetObject()
		if err := client.Tracker().Create(benchmarkResource, created, "default"); err != nil {
			t.Error(err)
		}
		interrupt()
		return true, nil, context.Canceled
	})
	c := &cluster{client: client, namespace: "default"}
	if err := c.createTrial(ctx, Streams{Err: io.Discard}, read, 1); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	if _, err := client.Resource(benchmarkResource).Namespace("default").Get(t.Context(), "try", metav1.GetOptions{}); !apierrors.IsNotFound(err) {
		t.Errorf("the benchmark was not removed: %v", err)
	}
}

// TestInterruptedTrialShowsAll checks that an interruption loses no result: earlier runs are shown, and so is a run
// that has ended but is not evaluated yet. With --repeat, the results so far are saved to the file of the interrupted
// run.
func TestInterruptedTrialShowsAll(t *testing.T) {
	before := []report.Document{readDocument(t, "result-a.json"), readDocument(t, "result-b.json")}
	kinds := map[schema.GroupVersionResource]string{
		runResource: "BenchmarkRunList", claimResource: "PersistentVolumeClaimList",
		corev1.SchemeGroupVersion.WithResource("configmaps"): "ConfigMapList",
	}
	for _, test := range []struct {
		repeat      int
		runs        repetitions
		end         *metav1.MicroTime
		shown, file string
	}{
		{repeat: 5, runs: repetitions{documents: before}, shown: before[0].Run, file: "r-3.json"},
		{repeat: 1, end: before[0].EndTime, shown: "try-1", file: "r.json"},
	} {
		run := &v1alpha1.BenchmarkRun{
			TypeMeta:   metav1.TypeMeta{APIVersion: v1alpha1.GroupVersion.String(), Kind: v1alpha1.BenchmarkRunKind},
			ObjectMeta: metav1.ObjectMeta{Name: "try-1", Namespace: "default", UID: "1"},
			Spec:       before[0].Spec,
			Status:     before[0].BenchmarkRunStatus,
		}
		run.Status.Conditions, run.Status.EndTime = nil, test.end
		client := fake.NewSimpleDynamicClientWithCustomListKinds(runtime.NewScheme(), kinds, object(t, run))
		folder := t.TempDir()
		old := filepath.Join(folder, "r.json")
		if err := os.WriteFile(old, []byte("old"), 0o600); err != nil {
			t.Fatal(err)
		}
		ctx, interrupt := context.WithCancel(t.Context())
		interrupt()
		var out, messages bytes.Buffer
		options := runOptions{repeat: test.repeat, output: "json", save: []string{old}}
		err := (&cluster{client: client, namespace: "default"}).endTrial(
			ctx, Streams{Out: &out, Err: &messages}, &test.runs, "try", "try-1", options, context.Canceled)
		shown := strings.Contains(out.String(), `"`+test.shown+`"`)
		if err == nil || err.Error() != exitError(exitLeft).Error() || !shown {
			t.Errorf("%d runs: %v, said %q, and the result is:\n%s", test.repeat, err, messages.String(), out.String())
		}
		if _, err := os.Stat(filepath.Join(folder, test.file)); err != nil {
			t.Error(err)
		}
		if text, err := os.ReadFile(old); err != nil || (string(text) == "old") != (test.file != "r.json") {
			t.Errorf("%d runs: r.json has %d bytes, %v", test.repeat, len(text), err)
		}
	}
}
