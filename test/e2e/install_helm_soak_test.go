package e2e

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	auditv1 "k8s.io/apiserver/pkg/apis/audit/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/storagebench/storagebench/api/v1alpha1"
	"github.com/storagebench/storagebench/config/render"
	"github.com/storagebench/storagebench/internal/version"
	"github.com/storagebench/storagebench/test/soak"
)

// withoutInstallation removes storagebench from the cluster until the test ends.
func withoutInstallation(t *testing.T, namespace string) *userTools {
	t.Helper()
	in := requireNode(t)
	u := &userTools{T: t, in: in, namespace: namespace}
	u.withoutSpaces()
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 4*time.Minute)
		defer cancel()
		// The namespace and the kinds of the test may still be terminating.
		err := in.apply(ctx)
		for ; err != nil && ctx.Err() == nil; err = in.apply(ctx) {
			time.Sleep(time.Second)
		}
		if err != nil {
			t.Errorf("install again what the other tests need: %v", err)
		} else if err := in.replicas(ctx, 1); err != nil {
			t.Error(err)
		}
	})
	in.scale(t, 0)
	// Deleting the namespace first also deletes its objects while kubectl continues with the list.
	u.kubectl("delete", "--wait", "--ignore-not-found", "-f", u.manifests(operatorNamespace, render.Metrics))
	return u
}

// endRuns deletes the spaces of a failed test while its operator still runs. Only the operator removes the finalizers
// of live runs, and they block the deletion of the kinds.
func (u *userTools) endRuns(spaces ...*space) {
	u.Helper()
	for _, s := range spaces {
		if s != nil && u.Failed() {
			u.Log(s.describe())
			u.kubectl("delete", "--wait", "--ignore-not-found", "namespace", s.namespace)
		}
	}
}

// TestHelmInSomeNamespaces installs an operator and a standby for one namespace, with the right to read cluster-wide
// objects and then without it. During a run, it deletes the leader.
func TestHelmInSomeNamespaces(t *testing.T) {
	soak.Only(t)
	const release = "narrow"
	// led is the seconds of the step in which the leader is deleted. The next operator leads after some five seconds, or
	// later on a busy machine.
	const led = 25
	u := withoutInstallation(t, "storagebench-narrow")
	began := time.Now()
	watched, other := newSpace(t), newSpace(t)
	chart := u.chart()
	u.helm("install", release, chart, "--create-namespace", "--wait", "--timeout", "2m", "--set", "image.registry="+version.Registry,
		"--set", "watch.namespaces={"+watched.namespace+"}", "--set", "operator.replicas=2")
	t.Cleanup(func() {
		u.kubectl("delete", "--ignore-not-found", "--wait", "-f", filepath.Join(u.in.root, "charts", "storagebench", "crds"))
		u.kubectl("delete", "--wait", "namespace", u.namespace)
	})
	t.Cleanup(func() { u.helm("uninstall", release, "--wait") })
	t.Cleanup(func() { u.endRuns(watched, other) })
	for _, s := range []*space{watched, other} {
		s.claim("data", "1Gi")
	}
	other.apply(small(2).Obj())
	census := watched.census()
	watched.apply(small(led).Obj())
	watched.busy("01-write")
	leader := u.leading()
	u.kubectl("delete", "pod", "--namespace", u.namespace, "--wait=false", leader)
	u.until("the other operator leads", 30*time.Second, func() bool { now := u.leading(); return now != "" && now != leader })
	if run := watched.run(); run.Status.EndTime != nil {
		t.Error("the run was over before another operator led: this shows nothing")
	}
	run := watched.ended(wholeRun)
	undisturbed(watched, run, census)
	didAll(t, run, "write", 2, led, 95)
	if storage := run.Status.Storage; len(storage) != 1 || len(storage[0].Volumes) != 1 || storage[0].Volumes[0].VolumeName == "" {
		t.Errorf("the storage is described as %+v", storage)
	}
	if told := deniedEvents(watched); len(told) > 0 {
		t.Errorf("something could not be read: %q", told)
	}
	u.asksOnly(t, began, other.namespace)

	// Now without reading the cluster. Also change something that restarts the operator: one that only loses rights
	// notices after a minute.
	u.helm("upgrade", release, chart, "--reuse-values", "--set", "watch.clusterReads=false", "--set", "operator.replicas=1",
		"--set", "operator.logLevel=debug", "--wait", "--timeout", "2m")
	u.available(1)
	// Use one client: on a busy machine, two may start so far apart that a short run is not valid.
	second := small(2).Clients(1).Obj()
	second.Name = "second"
	watched.apply(second)
	run = watched.ended(wholeRun)
	if run.Spec.BenchmarkRef.Name != "second" {
		watched.until("the second benchmark has its run", wholeRun, func() bool {
			run = watched.run()
			return run.Spec.BenchmarkRef.Name == "second" && run.Status.EndTime != nil
		})
	}
	isComplete(t, run)
	if told := deniedEvents(watched); len(told) != 1 || !strings.Contains(told[0], "persistentvolumes") {
		t.Errorf("what could not be read is told as %q", told)
	}
	if log := u.log(); !strings.Contains(log, `"kind":"persistentvolumes"`) {
		t.Error("the log does not say that volumes cannot be read")
	}
	if status := other.benchmark("bench").Status; status.ObservedGeneration > 0 || len(status.Conditions) > 0 || len(other.runs()) > 0 {
		t.Errorf("the benchmark of a namespace that is not watched has the status %+v", status)
	}
}

// deniedEvents returns the events about objects that the operator could not read.
func deniedEvents(s *space) []string {
	s.Helper()
	var events corev1.EventList
	must(s.T, s.api.List(s.Context(), &events, client.InNamespace(s.namespace)))
	var told []string
	for _, event := range events.Items {
		if event.Reason == v1alpha1.EventDiscoveryDenied {
			told = append(told, event.Message)
		}
	}
	return told
}

// asksOnly checks that the operator was not refused anything and sent no request for the namespace in but.
func (u *userTools) asksOnly(t *testing.T, since time.Time, but string) {
	t.Helper()
	var wrong []string
	seen := 0
	err := u.in.State.Audit("system:serviceaccount:"+u.namespace+":storagebench-operator", func(event auditv1.Event) {
		if event.StageTimestamp.Time.Before(since) {
			return
		}
		seen++
		if decision(&event) == "forbid" || event.ObjectRef != nil && event.ObjectRef.Namespace == but {
			wrong = append(wrong, fmt.Sprintf("%s %s %s", decision(&event), event.Verb, event.RequestURI))
		}
	})
	must(t, err)
	if len(wrong) > 0 || seen == 0 {
		t.Errorf("of %d requests of the operator these are wrong: %q", seen, wrong)
	}
}

// TestInstallYAML installs the operator from one file, runs the quickstart, and deletes the file's objects. Nothing may
// be left.
func TestInstallYAML(t *testing.T) {
	soak.Only(t)
	u := withoutInstallation(t, "storagebench-yaml")
	before := u.inventory()
	file := u.manifests(u.namespace, "default")
	var s *space
	t.Cleanup(func() {
		// A second operator for all namespaces would disturb the other tests.
		if t.Failed() {
			u.endRuns(s)
			u.kubectl("delete", "--wait", "--ignore-not-found", "-f", u.manifests(u.namespace, "default"))
		}
	})
	u.kubectl("apply", "-f", file)
	u.available(1)
	s = newSpace(t)
	census := s.census()
	u.sample(s, "quickstart.yaml")
	s.until("the benchmark is Ready", wholeRun, func() bool {
		return meta.IsStatusConditionTrue(s.benchmark("quickstart").Status.Conditions, v1alpha1.ConditionReady)
	})
	undisturbed(s, s.ended(time.Minute), census)
	u.kubectl("delete", "--namespace", s.namespace, "storagebenchmarks", "--all", "--wait")
	u.kubectl("delete", "--wait", "--ignore-not-found", "-f", file)
	u.leaves(before, nil, s.namespace)
}
