package cli

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/client-go/dynamic/fake"
	clienttesting "k8s.io/client-go/testing"

	"github.com/storagebench/storagebench/api/v1alpha1"
	"github.com/storagebench/storagebench/internal/library"
)

// TestEveryLibraryProfileCanBeTried plans a trial of each library profile, on a
// volume that is large enough for its data.
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

// TestTrialNames checks that names are valid and differ, whatever the name of the class.
func TestTrialNames(t *testing.T) {
	for _, class := range []string{"gp3", "csi.example.com", strings.Repeat("long-", 20), "a-very-long-name-of-a-storage-class"} {
		name := trialName(class)
		if problems := validation.IsDNS1123Label(name); len(problems) > 0 || len(name) > v1alpha1.MaxBenchmarkNameLength || name == trialName(class) {
			t.Errorf("%s gives %s: %v", class, name, problems)
		}
	}
}

// TestInterruptedCreationIsRemoved checks that a benchmark is removed if the request that created it was interrupted,
// also if no Job owns it because the user may not create Jobs.
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
		t.Errorf("the benchmark is left: %v", err)
	}
}
