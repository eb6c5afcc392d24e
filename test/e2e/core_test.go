package e2e

import (
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/storagebench/storagebench/api/v1alpha1"
	"github.com/storagebench/storagebench/test/builders"
	"github.com/storagebench/storagebench/test/burstfs/model"
	"github.com/storagebench/storagebench/test/cluster/burst"
	"github.com/storagebench/storagebench/test/invariants"
	"github.com/storagebench/storagebench/test/prometheus"
	"github.com/storagebench/storagebench/test/soak"
)

// hang is the timeout for anything that a test waits for.
const hang = 10 * time.Minute

// TestCore takes an installation through its life in a real cluster: installation by Helm, runs of each kind, the death
// of an operator, an upgrade, and an uninstall. No check depends on the speed of the machine. The soak tests of this
// package measure time and cover what needs a real cluster but is not in the core.
func TestCore(t *testing.T) {
	if soak.Enabled() {
		t.Skip("make test runs it")
	}
	in := requireNode(t)
	u := &userTools{T: t, in: in, namespace: operatorNamespace}
	before := u.installAlone()
	t.Run("runs", func(t *testing.T) {
		for name, test := range map[string]func(*testing.T){
			"the quickstart": coreQuickstart,
			"an MPI job":     coreMPI,
			"a client is killed while it lays out its files": coreLostClient,
			"a live benchmark is deleted":                    coreDeleted,
			"an image without the tool":                      coreFailure("an image without the tool"),
			"a volume too small for all clients":             coreFailure("a volume too small for all clients"),
			"a storage class that is missing":                coreFailure("a storage class that is missing"),
		} {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				test(t)
			})
		}
	})
	t.Run("the operator is killed in a burst drain that Prometheus watches", coreDrain)
	t.Run("the chart is upgraded in a run", coreUpgrade)
	t.Run("an uninstall leaves nothing", func(t *testing.T) { coreUninstall(t, before) })
}

// coreQuickstart runs the quickstart sample as the README shows it, up to the verdict and the removal of all its
// objects.
func coreQuickstart(t *testing.T) {
	t.Helper()
	s := newSpace(t)
	u := s.tools()
	u.sample(s, "quickstart.yaml")
	var pods []corev1.Pod
	s.until("all four clients run", hang, func() bool {
		pods = s.pods()
		return len(pods) == 4 && !slices.ContainsFunc(pods, func(pod corev1.Pod) bool { return pod.Status.Phase != corev1.PodRunning })
	})
	for _, pod := range pods {
		checkPod(s, &pod)
	}
	run := s.ended(hang)
	s.log(run)
	hasResults(t, run)
	new(invariants.Checker).Check(t, run)
	invariants.CheckObject(t, run)
	checkQuickstart(s, run)
	s.until("the verdict on the benchmark is that on its run", hang, func() bool {
		ready := meta.FindStatusCondition(s.benchmark("quickstart").Status.Conditions, v1alpha1.ConditionReady)
		valid := meta.FindStatusCondition(run.Status.Conditions, v1alpha1.ConditionValid)
		return ready != nil && ready.Status == valid.Status
	})
	s.clean()
}

// hasResults checks that a run produced results and removed its data. The results may be invalid: on a busy machine,
// clients that start far apart have too little time in common. A warning must then say so.
func hasResults(t *testing.T, run *v1alpha1.BenchmarkRun) {
	t.Helper()
	for _, kind := range []string{v1alpha1.ConditionComplete, v1alpha1.ConditionDataRemoved} {
		if !meta.IsStatusConditionTrue(run.Status.Conditions, kind) {
			t.Fatalf("%s is %s", kind, told(run.Status.Conditions, kind))
		}
	}
	if meta.IsStatusConditionTrue(run.Status.Conditions, v1alpha1.ConditionValid) {
		return
	}
	if !invariants.DisqualifiedByLoad(t, run.Status.Phases) {
		t.Errorf("not valid, and no warning says why: %s", told(run.Status.Conditions, v1alpha1.ConditionValid))
	}
}

// coreMPI runs a job with two ranks in each of two pods. It compares IOR's own count of transfers, the run's bytes, and
// the store's record, which all count the same transfers.
func coreMPI(t *testing.T) {
	t.Helper()
	s, image := newMPISpace(t)
	store := s.burstClaim("data", open)
	s.apply(mpiBenchmark(image, directIOR("4Mi"), "data").Clients(2).Prepare("layout").
		Steady("write", "3s").WithLoad(directIOR("4Mi").Overwrites().Engine()).
		Steady("metadata", "1m").WithLoad(builders.Mdtest()).Obj())
	var pods []corev1.Pod
	s.until("the pods run", hang, func() bool { pods = s.pods(); return len(pods) == 2 })
	run := s.ended(hang)
	s.log(run)
	hasResults(t, run)
	own := targetOf(s, run, "write", "data").IOR
	if own == nil || own.Ranks != 4 || own.Clients != 2 || len(own.Operations) != 1 || own.Operations[0].Operation != v1alpha1.OperationWrite {
		t.Fatalf("IOR says %+v", own)
	}
	transferred := int64(0)
	for _, repetition := range own.Operations[0].Repetitions {
		if repetition.Bytes%(256<<10) != 0 {
			t.Errorf("a repetition wrote %d bytes, which are no whole transfers of 256 KiB", repetition.Bytes)
		}
		transferred += repetition.Bytes
	}
	target, all := targetOf(s, run, "write", "data"), bytesWritten(store)
	if transferred == 0 || all < float64(transferred) {
		t.Errorf("IOR transferred %d bytes in one phase, and the store took %.0f in all", transferred, all)
	}
	// Samples miss the last operations of the ranks. If they miss more than 5 %, a warning must say so.
	if counted := bytesOf(run, "data"); counted < transferred*95/100 && !hasWarning(target, v1alpha1.WarningBytesUncertain) {
		t.Errorf("IOR transferred %d bytes in one phase, the run counted %d in all, and no warning says so", transferred, counted)
	}
	if mdtest := targetOf(s, run, "metadata", "data").Mdtest; mdtest == nil || mdtest.Ranks != 4 || len(mdtest.Rates) == 0 {
		t.Errorf("mdtest says %+v", mdtest)
	}
	s.clean()
	s.noRanks("the run is over", pods)
}

// bytesOf returns the bytes that all steps of a run read and wrote on a target.
func bytesOf(run *v1alpha1.BenchmarkRun, target string) (sum int64) {
	for _, step := range run.Status.Steps {
		for _, io := range step.IO {
			if io.Target == target {
				sum += io.Bytes
			}
		}
	}
	return sum
}

var (
	// shut is a store so slow that the layout of a gated benchmark takes longer than hang, with writes of two seconds
	// each.
	shut = model.Config{Buckets: []model.Bucket{{Name: "gate", Counts: model.CountsBytes, BaselinePerSecond: 400e3}}}
	// open is a store whose limit no client reaches.
	open = model.Config{Buckets: []model.Bucket{{Name: "gate", Counts: model.CountsBytes, BaselinePerSecond: 4e9}}}
)

// gated returns a benchmark of two clients that writes for two seconds after a layout on a store that is shut. When a
// test has done what it needs to do during the layout, it opens the store.
func (s *space) gated() (*builders.BenchmarkBuilder, *burst.Mounted) {
	s.Helper()
	store := s.burstClaim("data", shut)
	fio := builders.Fio().Dataset("128Mi").Mutate(func(fio *v1alpha1.FioProfile) { fio.QueueDepth = new(int32(1)) })
	return builders.Benchmark("bench").Target("data").Clients(2).Workload(fio).Prepare("layout").Steady("write", "2s"), store
}

// layingOut waits until the layout has written to the store, and returns the run.
func (s *space) layingOut(store *burst.Mounted) *v1alpha1.BenchmarkRun {
	s.Helper()
	var run *v1alpha1.BenchmarkRun
	s.until("the layout writes", hang, func() bool {
		if run = s.run(); run == nil {
			return false
		}
		if run.Status.EndTime != nil {
			s.Fatalf("the run ended early: %s", told(run.Status.Conditions, v1alpha1.ConditionFailed))
		}
		step := stepOf(run, "00-layout")
		return step != nil && step.EndTime == nil && bytesWritten(store) > 0
	})
	return run
}

// bytesWritten returns all bytes that were written to a store according to its record.
func bytesWritten(store *burst.Mounted) float64 {
	record := store.Truth()
	return record.Between(record.Start, record.At(time.Duration(len(record.Seconds))*time.Second)).WriteBytes
}

// coreLostClient kills an agent during a layout that cannot end yet, as the kernel does when memory runs out. The
// client must be replaced and repeat its layout, and the run must continue.
func coreLostClient(t *testing.T) {
	t.Helper()
	s := newSpace(t)
	benchmark, store := s.gated()
	s.apply(benchmark.OnLoss(v1alpha1.OnLossRestartStep, 2).Obj())
	run := s.layingOut(store)
	pod := &corev1.Pod{}
	if !s.get(run.Name+"-data-1-1", pod) {
		t.Fatal("there is no pod of client 1")
	}
	must(t, syscall.Kill(agentProcess(t, pod), syscall.SIGKILL))
	s.until("the client is noted as lost", hang, func() bool { return len(s.run().Status.LostClients) > 0 })
	store.Set(open)
	run = s.ended(hang)
	hasResults(t, run)
	if lost := run.Status.LostClients; len(lost) != 1 || lost[0].Client != 1 || lost[0].Step != "00-layout" || !lost[0].Replaced {
		t.Errorf("lost clients %+v", lost)
	}
	want := []string{"00-layout Failed a client was lost", "00-layout Succeeded", "01-write Succeeded"}
	if got := attempts(run); !slices.Equal(got, want) {
		t.Errorf("steps\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	s.clean()
}

// coreDeleted deletes a benchmark during a step that would not end by itself. Its run must be stopped and its data
// removed.
func coreDeleted(t *testing.T) {
	t.Helper()
	s := newSpace(t)
	benchmark, store := s.gated()
	s.apply(benchmark.Obj())
	run := s.layingOut(store)
	census := s.census()
	deleteBenchmark(s, metav1.DeletePropagationForeground)
	s.until("the benchmark and its run are gone", hang, func() bool { return len(s.runs()) == 0 && s.benchmark("bench") == nil })
	s.clean()
	if left, err := filepath.Glob(filepath.Join(store.Outside(), ".storagebench", "*")); err != nil || len(left) > 0 {
		t.Errorf("left on the volume: %v, %v", left, err)
	}
	if pods, want := census.names(), []string{run.Name + "-data-0-1", run.Name + "-data-1-1"}; !slices.Equal(pods, want) {
		t.Errorf("there were the pods %q, want %q: nothing is created for what is being deleted", pods, want)
	}
}

// coreFailure runs a benchmark that must fail. The conditions of the run and of the benchmark must name the cause, and
// nothing may be left.
func coreFailure(name string) func(*testing.T) {
	return func(t *testing.T) {
		f := coreFailures[name]
		s := newSpace(t)
		timeout := startTimeout
		if f.needsPod {
			timeout = hang // time to find the cause before the timeout
		}
		benchmark := failingBenchmark(timeout)
		f.arrange(s, benchmark)
		applied := s.apply(benchmark.Obj())
		run := s.ended(hang)
		failed := meta.FindStatusCondition(run.Status.Conditions, v1alpha1.ConditionFailed)
		if failed == nil || failed.Reason != f.reason {
			t.Fatalf("Failed is %s, want the reason %s", told(run.Status.Conditions, v1alpha1.ConditionFailed), f.reason)
		}
		s.names(failed.Message, f.says...)
		s.until("Ready has the same reason", hang, func() bool {
			ready := meta.FindStatusCondition(s.benchmark(applied.Name).Status.Conditions, v1alpha1.ConditionReady)
			return ready != nil && ready.Status == metav1.ConditionFalse && ready.Reason == f.reason
		})
		new(invariants.Checker).Check(t, run)
		invariants.CheckObject(t, run)
		s.clean()
	}
}

// saysWhatItFound checks that a drain found the end of the burst, or says why not: on a machine too busy to load the
// store, the rate does not drop clearly. The values are checked by test/sim against models of stores, and by the soak
// in real time.
func saysWhatItFound(t *testing.T, burst *v1alpha1.BurstResult) {
	t.Helper()
	switch {
	case burst == nil || burst.Bytes == nil:
		t.Errorf("the drain has no result: %+v", burst)
	case burst.Exhausted && (burst.Bytes.Burst == nil || burst.Bytes.Baseline == nil || burst.Bytes.Burst.Value <= burst.Bytes.Baseline.Value):
		t.Errorf("the burst is not above the baseline: %+v", burst.Bytes)
	case !burst.Exhausted && burst.Message == "":
		t.Error("no drop was found, and nothing says why")
	}
}

// coreDrain kills the operator during a burst drain, which the next operator must finish. The run's bytes must match
// the store's record, Prometheus must have the figures of the status, and every query of the dashboards must return
// data.
func coreDrain(t *testing.T) {
	t.Helper()
	prometheus.Program(t, "prometheus")
	s := newSpace(t)
	server := s.prometheus()
	s.keepsMetrics()
	config := model.Config{Buckets: []model.Bucket{{Name: "volume", Counts: model.CountsBytes, BaselinePerSecond: 8e6, BurstPerSecond: 32e6, Size: 240e6}}}
	const inFlight = 8 * 64 << 10 // taken by the store, but not counted by the client
	stores := map[string]*burst.Mounted{"small": s.burstClaim("small", config), "large": s.burstClaim("large", config)}
	benchmark := builders.Benchmark("watched").
		Target("small").Throughput("8M", "32M", "240M", "").
		Target("large").Throughput("8M", "32M", "240M", "").
		BurstDrain("drain", "10s", "90s").Steady("steady", "12s").WarmUp("0s").Cooldown("rest", "2s").Obj()
	benchmark.Spec.Objectives = []v1alpha1.Objective{{Name: "enough", Phase: "steady", Operation: v1alpha1.OperationWrite,
		Throughput: &v1alpha1.QuantityBounds{Min: new(resource.MustParse("1k"))}}}
	benchmark.Spec.Regression = &v1alpha1.RegressionPolicy{}
	began := time.Now()
	s.apply(benchmark)
	s.restartedInDrain(server)
	killed := time.Now()
	run := s.ended(hang)
	s.log(run)
	hasResults(t, run)
	if drained := stepOf(run, "00-drain"); drained == nil || drained.Attempt == 1 && drained.EndTime.Time.Before(killed) {
		t.Errorf("the drain was over before the operator was killed: %+v", drained)
	}
	for target, store := range stores {
		saysWhatItFound(t, targetOf(s, run, "drain", target).Burst)
		if counted, all := bytesOf(run, target), bytesWritten(store); float64(counted) > all || float64(counted) < all-inFlight {
			t.Errorf("%s: the run counted %d bytes, the store %.0f", target, counted, all)
		}
	}
	s.until("the benchmark is judged", hang, func() bool { return s.benchmark("watched").Status.LastRun != nil })
	judged := s.benchmark("watched")
	s.until("Prometheus has the results", hang, func() bool {
		return len(ask(s, server, `storagebench_benchmark_last_run_duration_seconds{namespace="`+s.namespace+`"}`)) > 0
	})
	t.Run("results", func(t *testing.T) { s.sameResults(t, server, run, judged) })
	t.Run("dashboards", func(t *testing.T) { s.dashboards(t, server, run, began) })
	t.Run("alerts", func(t *testing.T) { evaluated(t, server) })
	must(t, s.api.Delete(t.Context(), judged))
	s.until("no series of the benchmark is left", hang, func() bool {
		return len(ask(s, server, `{namespace="`+s.namespace+`", __name__=~"storagebench_.*"}`)) == 0
	})
	s.clean()
}

// coreUpgrade upgrades kinds and chart during a run that cannot end, to an operator that plans differently. The run
// must continue with the same pods, steps and attempts, and the library's profiles must stay as their users left them.
// The new operator queries Prometheus for the observations of the next run.
func coreUpgrade(t *testing.T) {
	t.Helper()
	s := newSpace(t)
	u := s.tools()
	benchmark, store := s.gated()
	s.apply(benchmark.Obj())
	s.layingOut(store)
	census, pods, first := s.census(), uids(s.pods()), u.available(1)[0]
	olderKinds(u)
	u.kubectl("apply", "--server-side", "--force-conflicts", "-f", filepath.Join(s.root, "charts", "storagebench", "crds"))
	if !hasSuspend(t, kindOf(u)) {
		t.Error("the kinds were not upgraded")
	}
	profiles := ownProfiles(u)
	server := s.reachablePrometheus()
	u.install("--set", "observations.prometheusURL="+server.URL(), "--set", "observations.interval=1s", "--set", "operator.logLevel=debug", "--set", "profileLibrary.enabled=false", "--set", "image.operator.reference="+u.in.otherPlanner(t))
	if u.available(1)[0].UID == first.UID {
		t.Error("the upgrade has not replaced the operator's pod")
	}
	if now := uids(s.pods()); !slices.Equal(now, pods) {
		t.Errorf("the clients' pods were %v and are %v", pods, now)
	}
	store.Set(open)
	run := s.ended(hang)
	hasResults(t, run)
	undisturbed(s, run, census)
	if log := u.log(); !strings.Contains(log, `"level":"DEBUG"`) {
		t.Error("the new operator does not log at the level that the upgrade has set")
	}
	if now := profilesOf(u); !maps.Equal(now, profiles) {
		t.Errorf("without the library the profiles were to stay as they were: %v, and now %v", profiles, now)
	}
	s.clean()
	next := newSpace(t)
	next.claim("data", "1Gi")
	since := time.Now()
	next.apply(small(1).Clients(1).Mutate(func(run *v1alpha1.RunSpec) { run.Observations = []v1alpha1.Observation{clock(since)} }).Obj())
	planned := next.ended(hang)
	t.Run("observations", func(t *testing.T) { checkClock(t, planned, since) })
	if !strings.HasPrefix(planned.Spec.Steps[0].ID, otherPrefix) {
		t.Errorf("the new operator plans step %s, as the one before: this shows nothing", planned.Spec.Steps[0].ID)
	}
	next.clean()
}

// coreUninstall uninstalls the chart and then deletes the kinds and the namespace, as docs/install.md says.
func coreUninstall(t *testing.T, before []string) {
	t.Helper()
	in := requireNode(t)
	u := &userTools{T: t, in: in, namespace: operatorNamespace}
	u.withoutSpaces()
	u.helm("uninstall", helmRelease, "--wait", "--timeout", "5m")
	own := u.namespace
	u.leaves(before, []string{
		"apiservices /v1alpha1.storagebench.dev", "configmaps " + own + "/kube-root-ca.crt",
		"customresourcedefinitions /benchmarkruns.storagebench.dev", "customresourcedefinitions /clusterworkloadprofiles.storagebench.dev",
		"customresourcedefinitions /storagebenchmarks.storagebench.dev", "customresourcedefinitions /workloadprofiles.storagebench.dev",
		"namespaces /" + own, "secrets " + own + "/storagebench-master", "serviceaccounts " + own + "/default",
	})
	u.kubectl("delete", "--wait", "-f", filepath.Join(in.root, "charts", "storagebench", "crds"))
	u.kubectl("delete", "--wait", "namespace", own)
	u.leaves(before, nil)
}
