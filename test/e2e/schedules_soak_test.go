package e2e

import (
	"bytes"
	"cmp"
	"context"
	"encoding/csv"
	"flag"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/storagebench/storagebench/api/v1alpha1"
	"github.com/storagebench/storagebench/test/builders"
	"github.com/storagebench/storagebench/test/cluster"
	"github.com/storagebench/storagebench/test/cluster/burst"
	"github.com/storagebench/storagebench/test/invariants"
	"github.com/storagebench/storagebench/test/soak"
)

var (
	firstSchedule = flag.Int("schedules.first", 1, "`number` of the first schedule of TestSchedules")
	lastSchedule  = flag.Int("schedules.last", 500, "`number` of the last schedule of TestSchedules")
)

const (
	// schedulesRecord is a file, relative to the root of the repository, with a line for each schedule that has run. An
	// interrupted soak continues with the schedules that are missing from it.
	schedulesRecord = "docs/soak/schedules.csv"
	// scheduleValid limits the age of a pass, as `make soak MISSING=1` does.
	scheduleValid = 14 * 24 * time.Hour
	// scheduleSeconds is the length of each steady phase of a schedule.
	scheduleSeconds = 10
	// undisturbedRun is roughly how long a run of a schedule takes without faults.
	undisturbedRun = 30 * time.Second
)

// schedule is a run and the faults that hit it. Its number is the seed of both.
type schedule struct {
	number int
	load   string
	events []event
}

// event is a fault at a given time after the benchmark is applied.
type event struct {
	at    time.Duration
	fault string
}

func (s schedule) String() string {
	text := s.load
	for _, e := range s.events {
		text += fmt.Sprintf("; %s at %.1f s", e.fault, e.at.Seconds())
	}
	return text
}

// drawSchedule draws one to three of the faults that apply to the load.
func drawSchedule(number int) schedule {
	random := rand.New(rand.NewPCG(1, uint64(number)))
	pick := func(names []string) string { return names[random.IntN(len(names))] }
	drawn := schedule{number: number, load: pick(slices.Sorted(maps.Keys(loads)))}
	var possible []string
	for name, fault := range faults {
		if fault.happensTo(drawn.load) {
			possible = append(possible, name)
		}
	}
	slices.Sort(possible)
	for range 1 + random.IntN(3) {
		drawn.events = append(drawn.events, event{time.Duration(random.Int64N(int64(undisturbedRun))).Round(100 * time.Millisecond), pick(possible)})
	}
	slices.SortFunc(drawn.events, func(a, b event) int { return cmp.Compare(a.at, b.at) })
	return drawn
}

// TestDrawnSchedules checks that five hundred schedules contain each fault on each load that it applies to.
func TestDrawnSchedules(t *testing.T) {
	t.Parallel()
	drawn := map[string]int{}
	for number := 1; number <= 500; number++ {
		one := drawSchedule(number)
		if again := drawSchedule(number); again.String() != one.String() {
			t.Fatalf("schedule %d is %s, and then %s", number, one, again)
		}
		for _, e := range one.events {
			drawn[one.load+", "+e.fault]++
		}
	}
	for load := range loads {
		for name, fault := range faults {
			if fault.happensTo(load) && drawn[load+", "+name] == 0 {
				t.Errorf("%s never happens to %s", name, load)
			}
		}
	}
}

// scene is a running schedule.
type scene struct {
	*space

	schedule
	random *rand.Rand
	store  *burst.Mounted
	// uids holds the UIDs of all pods of the run seen so far.
	uids map[string]bool
	// folders maps the directories behind the run's claims to a node that has each.
	folders map[string]cluster.Member
	// happened lists the faults that found something to hit.
	happened []string
}

// loads are the benchmarks of schedules: three clients that lay out data and then run the phases that check expects.
var loads = map[string]struct {
	arrange func(*scene) *builders.BenchmarkBuilder
	check   func(*scene, *v1alpha1.BenchmarkRun)
}{
	onAllNodes: {func(s *scene) *builders.BenchmarkBuilder {
		s.sharedClaim("data")
		return chaotic(scheduleSeconds).Spread(v1alpha1.SpreadOnePerNode)
	}, paceIsKept},
	onOwnVolumes: {func(*scene) *builders.BenchmarkBuilder {
		return chaotic(scheduleSeconds).PerClient().Spread(v1alpha1.SpreadPreferOnePerNode)
	}, paceIsKept},
	onStore: {func(s *scene) *builders.BenchmarkBuilder {
		s.store = s.burstClaim("data", open)
		return chaotic(scheduleSeconds)
	}, paceIsKept},
	withRanks: {func(s *scene) *builders.BenchmarkBuilder {
		image, err := loadedMPIImage()
		must(s.T, err)
		s.sharedClaim("data")
		return mpiBenchmark(image, directIOR("4Mi"), "data").Clients(3).Spread(v1alpha1.SpreadOnePerNode).Prepare("layout").
			Steady("write", lasting(scheduleSeconds)).WithLoad(directIOR("4Mi").Overwrites().Engine())
	}, transfersAreWhole},
}

const (
	onAllNodes   = "fio on a volume of all nodes"
	onOwnVolumes = "fio on a volume of each client"
	onStore      = "fio on a store of one node"
	withRanks    = "IOR on a volume of all nodes"
)

// paceIsKept checks that both phases have as many operations as in an undisturbed run, each with its latency and its
// bytes. A phase during which the store froze may have fewer, if it has a warning.
func paceIsKept(s *scene, run *v1alpha1.BenchmarkRun) {
	s.Helper()
	for _, phase := range []string{"write", "read"} {
		percent := int64(55)
		if s.did(func(f fault) bool { return f.refuses }) && hasWarning(targetOf(s.space, run, phase, "data"), v1alpha1.WarningIOStalled) {
			percent = 0
		}
		didAll(s.T, run, phase, 3, scheduleSeconds, percent)
		for _, one := range targetOf(s.space, run, phase, "data").Operations {
			if one.Bytes != one.Operations*(16<<10) {
				s.Errorf("phase %s: %d operations of 16 KiB have %d bytes", phase, one.Operations, one.Bytes)
			}
		}
	}
}

func transfersAreWhole(s *scene, run *v1alpha1.BenchmarkRun) {
	s.Helper()
	own := targetOf(s.space, run, "write", "data").IOR
	if own == nil || own.Ranks != 6 || own.Clients != 3 || len(own.Operations) != 1 {
		s.Errorf("IOR says %+v", own)
		return
	}
	for _, repetition := range own.Operations[0].Repetitions {
		if repetition.Bytes == 0 || repetition.Bytes%(256<<10) != 0 {
			s.Errorf("a repetition wrote %d bytes, which are no whole transfers of 256 KiB", repetition.Bytes)
		}
	}
}

// TestSchedules runs schedules on three nodes: each disturbs a run with faults at random moments. Whatever happens, the
// run must end in a documented state, either with the figures of an undisturbed run or with the reason why not. It must
// leave nothing behind and must not touch the files of others.
func TestSchedules(t *testing.T) {
	threeNodes(t)
	record := filepath.Join(requireNode(t).root, schedulesRecord)
	passed, err := passedSchedules(record, time.Now().Add(-scheduleValid))
	must(t, err)
	for number := *firstSchedule; number <= *lastSchedule; number++ {
		if passed[number] {
			continue
		}
		began := time.Now()
		outcome := ""
		ok := t.Run(strconv.Itoa(number), func(t *testing.T) {
			s := newScene(t, number)
			t.Log(s.schedule)
			outcome = s.play()
		})
		must(t, recordSchedule(record, []string{strconv.Itoa(number), began.UTC().Format(time.RFC3339), headOf(t), strconv.FormatBool(ok),
			strconv.Itoa(int(time.Since(began).Seconds())), outcome, drawSchedule(number).String()}))
	}
	passed, err = passedSchedules(record, time.Now().Add(-scheduleValid))
	must(t, err)
	soak.Report(t, "schedules", "%d of %d have passed", len(passed), *lastSchedule-*firstSchedule+1)
}

func newScene(t *testing.T, number int) *scene {
	t.Helper()
	return &scene{space: newSpace(t), schedule: drawSchedule(number), uids: map[string]bool{}, folders: map[string]cluster.Member{},
		random: rand.New(rand.NewPCG(2, uint64(number)))}
}

// play runs the schedule, checks everything, and returns how the run ended.
func (s *scene) play() (outcome string) {
	s.Helper()
	benchmark := loads[s.load].arrange(s).OnLoss(v1alpha1.OnLossRestartStep, 5).StartTimeout("4m").ActiveDeadline("6m")
	s.apply(benchmark.Obj())
	began := time.Now()
	events := s.events
	var checker invariants.Checker
	var last *v1alpha1.BenchmarkRun
	over := func() bool {
		s.look()
		run, known := s.peek()
		if run != nil {
			if run.Status.Stage != "" { // the operator has seen the run
				checker.Check(s.T, run)
			}
			last = run
			return run.Status.EndTime != nil
		}
		return known && (last != nil || s.deleted())
	}
	for len(events) > 0 && !over() {
		if wait := events[0].at - time.Since(began); wait > 0 {
			time.Sleep(min(wait, 500*time.Millisecond))
			continue
		}
		if faults[events[0].fault].strike(s) {
			s.happened = append(s.happened, events[0].fault)
		} else {
			s.Logf("%s: there was nothing to hit", events[0].fault)
		}
		events = events[1:]
	}
	s.mend()
	s.until("the run is over", hang, over)
	return s.judge(last)
}

// peek returns the run, or nil. known is false if the API server does not answer.
func (s *scene) peek() (run *v1alpha1.BenchmarkRun, known bool) {
	ctx, cancel := context.WithTimeout(s.Context(), 5*time.Second)
	defer cancel()
	var runs v1alpha1.BenchmarkRunList
	if err := s.api.List(ctx, &runs, client.InNamespace(s.namespace)); err != nil {
		return nil, false
	}
	if len(runs.Items) == 0 {
		return nil, true
	}
	return &runs.Items[len(runs.Items)-1], true
}

// look records the pods and the directories of the claims, and writes a stranger's file into each new directory.
func (s *scene) look() {
	s.Helper()
	ctx, cancel := context.WithTimeout(s.Context(), 5*time.Second)
	defer cancel()
	var pods corev1.PodList
	var claims corev1.PersistentVolumeClaimList
	if s.api.List(ctx, &pods, client.InNamespace(s.namespace)) != nil || s.api.List(ctx, &claims, client.InNamespace(s.namespace)) != nil {
		return // the API server does not answer right now
	}
	for _, pod := range pods.Items {
		s.uids[string(pod.UID)] = true
	}
	for _, claim := range claims.Items {
		var volume corev1.PersistentVolume
		if claim.Spec.VolumeName == "" || s.api.Get(ctx, client.ObjectKey{Name: claim.Spec.VolumeName}, &volume) != nil {
			continue
		}
		folder := folderOf(&volume)
		if _, known := s.folders[folder]; !known && folder != "" {
			s.layStrangersFile(folder)
		}
	}
}

const (
	strangersFile = "measurements-of-a-stranger.txt"
	strangersText = "do not remove\n"
)

// layStrangersFile writes a file next to those of runs on a volume, on the first node that has the directory.
func (s *scene) layStrangersFile(folder string) {
	s.Helper()
	members, err := s.State.Members()
	must(s.T, err)
	for _, member := range members {
		path, ok := pathOn(member, folder)
		if ok && os.WriteFile(filepath.Join(path, strangersFile), []byte(strangersText), 0o600) == nil {
			s.folders[folder] = member
			return
		}
	}
}

// pathOn returns this machine's path of a node's directory. ok is false if the node is dead or has no such directory.
func pathOn(member cluster.Member, folder string) (path string, ok bool) {
	pid, err := member.PID()
	if err != nil {
		return "", false
	}
	path = filepath.Join("/proc", strconv.Itoa(pid), "root", folder)
	_, err = os.Stat(path)
	return path, err == nil
}

// did reports whether a fault with a given property has happened.
func (s *scene) did(is func(fault) bool) bool {
	return slices.ContainsFunc(s.happened, func(name string) bool { return is(faults[name]) })
}

func (s *scene) deleted() bool { return s.did(func(f fault) bool { return f.deletes }) }

// mend undoes the faults: afterwards, stores answer, and the nodes and the operator run.
func (s *scene) mend() {
	s.Helper()
	if s.store != nil {
		s.store.Set(open)
	}
	if !s.did(func(f fault) bool { return f.ofCluster }) {
		return
	}
	must(s.T, s.Up(s.Context(), 3))
	// Replace restarted pods: kubelet waits for minutes before it restarts a container that has died several times.
	var pods corev1.PodList
	must(s.T, s.api.List(s.Context(), &pods, client.InNamespace(operatorNamespace)))
	for i := range pods.Items {
		if slices.ContainsFunc(pods.Items[i].Status.ContainerStatuses, func(c corev1.ContainerStatus) bool { return c.RestartCount > 0 }) {
			must(s.T, client.IgnoreNotFound(s.api.Delete(s.Context(), &pods.Items[i])))
		}
	}
	must(s.T, s.replicas(s.Context(), 1))
}

// judge checks how the run ended, its figures and what it left behind.
func (s *scene) judge(run *v1alpha1.BenchmarkRun) (outcome string) {
	s.Helper()
	if run == nil {
		s.nothingIsLeft(nil)
		return "deleted before it began"
	}
	complete := meta.FindStatusCondition(run.Status.Conditions, v1alpha1.ConditionComplete)
	failed := meta.FindStatusCondition(run.Status.Conditions, v1alpha1.ConditionFailed)
	switch {
	case run.Status.EndTime == nil:
		outcome = "deleted"
		if !s.deleted() {
			s.Errorf("the run is gone, and no fault has deleted it")
		}
	case failed != nil && failed.Status == "True":
		outcome = "failed: " + failed.Reason
		if !s.did(func(f fault) bool { return slices.Contains(f.fails, failed.Reason) }) {
			s.Errorf("the run failed for a reason that the faults %q do not cause: %s: %s", s.happened, failed.Reason, failed.Message)
		}
	case complete != nil && complete.Status == "True":
		outcome = "complete"
		if meta.IsStatusConditionTrue(run.Status.Conditions, v1alpha1.ConditionValid) || !invariants.DisqualifiedByLoad(s.T, run.Status.Phases) {
			loads[s.load].check(s, run)
		} else {
			outcome = "complete, not valid"
		}
	default:
		s.Errorf("the run has ended neither complete nor failed: %s", conditionLines(run.Status.Conditions))
	}
	s.Logf("%s; of the faults %q happened; attempts %q", outcome, s.happened, attempts(run))
	for _, lost := range run.Status.LostClients {
		s.Logf("lost client %d in %s: %s", lost.Client, lost.Step, lost.Reason)
	}
	s.nothingIsLeft(run)
	return outcome
}

// nothingIsLeft waits until no object, file or process of the run is left, and checks the stranger's files. If the
// faults allow files to be left, a later run must remove them.
func (s *scene) nothingIsLeft(run *v1alpha1.BenchmarkRun) {
	s.Helper()
	var namespace corev1.Namespace
	err := s.api.Get(s.Context(), client.ObjectKey{Name: s.namespace}, &namespace)
	if client.IgnoreNotFound(err) != nil {
		s.Fatal(err)
	}
	switch {
	case err != nil || namespace.DeletionTimestamp != nil:
		s.until("the namespace is gone", hang, func() bool {
			return apierrors.IsNotFound(s.api.Get(s.Context(), client.ObjectKey{Name: s.namespace}, &namespace))
		})
		if s.store != nil && s.did(func(f fault) bool { return f.kills || f.refuses }) && len(s.leftOnVolumes()) > 0 {
			s.Logf("a client could not remove its data, and nothing can start in its namespace, which is being deleted")
			s.runInAnotherNamespace()
		}
	case run != nil && len(run.Status.DataLeft) > 0 && s.did(func(f fault) bool { return f.refuses }):
		s.Logf("the store refused to remove data: %s", run.Status.DataLeft[0].Reason)
		s.runLater()
		s.clean()
	default:
		s.removeLater()
		s.clean()
	}
	s.until("no process of the run is left", hang, func() bool { return len(processesIn(s.clientUIDs(), "")) == 0 })
	for _, file := range s.leftOnVolumes() {
		s.Errorf("left on %s", file)
	}
	for folder, member := range s.folders {
		path, ok := pathOn(member, folder)
		if !ok {
			continue // removed with its claim
		}
		if text, err := os.ReadFile(filepath.Join(path, strangersFile)); err != nil || string(text) != strangersText {
			s.Errorf("a stranger's file on %s holds %q, %v", folder, text, err)
		}
	}
}

// leftOnVolumes returns the files of the run on the volumes of its claims.
func (s *scene) leftOnVolumes() (left []string) {
	s.Helper()
	for folder, member := range s.folders {
		path, ok := pathOn(member, folder)
		if !ok {
			continue // removed with its claim
		}
		for _, file := range runFilesBelow(s.space, path) {
			left = append(left, folder+": "+file)
		}
	}
	return left
}

// removeLater starts another run if a killed client has left files and its run was deleted. That run must remove them.
func (s *scene) removeLater() {
	s.Helper()
	if !s.deleted() || !s.did(func(f fault) bool { return f.kills }) {
		return
	}
	s.until("no object of the run is left", hang, func() bool { return len(s.objectsLeft()) == 0 })
	if left := s.filesLeft(); len(left) > 0 {
		s.Logf("a client was killed and its run deleted, and its data was left: %s", left[0])
		s.runLater()
	}
}

// runLater runs the benchmark once more, or another one if it was deleted.
func (s *scene) runLater() {
	s.Helper()
	var there *v1alpha1.StorageBenchmark
	s.until("the benchmark stays or is gone", hang, func() bool {
		there = s.benchmark("bench")
		return there == nil || there.DeletionTimestamp == nil
	})
	if there != nil {
		s.complete(s.again("bench", "once more", hang))
		return
	}
	s.apply(small(1).Obj())
	s.complete(s.ended(hang))
}

// runInAnotherNamespace runs another benchmark on the scene's store, after the scene's namespace was deleted.
func (s *scene) runInAnotherNamespace() {
	s.Helper()
	volume := s.store.Volume(s.namespace, "data")
	must(s.T, client.IgnoreNotFound(s.api.Delete(s.Context(), volume)))
	s.until("the volume is gone", hang, func() bool {
		return apierrors.IsNotFound(s.api.Get(s.Context(), client.ObjectKeyFromObject(volume), volume))
	})
	later := newSpace(s.T)
	must(s.T, s.api.Create(s.Context(), s.store.Volume(later.namespace, "data")))
	later.create(s.store.Claim(later.namespace, "data"))
	later.apply(small(1).Obj())
	later.complete(later.ended(hang))
}

// processesIn returns the living processes of pods, as this machine sees them: all, or only those of a program.
func processesIn(uids []string, program string) (found []int) {
	folders, _ := filepath.Glob("/proc/[0-9]*")
	for _, folder := range folders {
		name, err := os.ReadFile(filepath.Join(folder, "comm"))
		if err != nil || program != "" && strings.TrimSpace(string(name)) != program {
			continue
		}
		if !slices.ContainsFunc(uids, func(uid string) bool { return isOfPod(folder, uid) }) {
			continue
		}
		if state, _ := stateOf(folder); state == "" || state == "Z" || state == "X" {
			continue
		}
		if pid, err := strconv.Atoi(filepath.Base(folder)); err == nil {
			found = append(found, pid)
		}
	}
	return found
}

// passedSchedules returns the schedules whose newest line in the file is a pass after the given time.
func passedSchedules(file string, since time.Time) (map[int]bool, error) {
	passed := map[int]bool{}
	lines, err := recordLines(file)
	if err != nil {
		return nil, err
	}
	for _, line := range lines {
		number, err := strconv.Atoi(line[0])
		if err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		at, err := time.Parse(time.RFC3339, line[1])
		if err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		if passed[number] = line[3] == "true" && at.After(since); !passed[number] {
			delete(passed, number)
		}
	}
	return passed, nil
}

// recordLines returns the lines of a CSV file below its header, or nil if there is no file.
func recordLines(file string) ([][]string, error) {
	text, err := os.ReadFile(file)
	if os.IsNotExist(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	lines, err := csv.NewReader(bytes.NewReader(text)).ReadAll()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	return lines[1:], nil
}

func recordSchedule(file string, line []string) error {
	to, err := os.OpenFile(file, os.O_RDWR|os.O_CREATE|os.O_APPEND, 0o644)
	if err != nil {
		return err
	}
	defer to.Close()
	writer := csv.NewWriter(to)
	if end, err := to.Seek(0, io.SeekEnd); err != nil {
		return err
	} else if end == 0 {
		_ = writer.Write([]string{"schedule", "started", "commit", "passed", "seconds", "outcome", "events"})
	}
	_ = writer.Write(line)
	writer.Flush()
	return writer.Error()
}

// headOf returns the commit that is checked out, or "" outside of a repository.
func headOf(t *testing.T) string {
	t.Helper()
	name, _ := exec.CommandContext(t.Context(), "git", "rev-parse", "--short=12", "HEAD").Output()
	return strings.TrimSpace(string(name))
}
