package benchmarkrun

import (
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/storagebench/storagebench/api/v1alpha1"
	"github.com/storagebench/storagebench/internal/agentapi"
	"github.com/storagebench/storagebench/internal/decide"
	"github.com/storagebench/storagebench/internal/objects"
	"github.com/storagebench/storagebench/internal/plan"
)

func at(seconds int) *metav1.MicroTime {
	return &metav1.MicroTime{Time: time.Unix(int64(1_000_000+seconds), 0)}
}

// TestWasThere checks that, after a restart of the operator, the recorded facts determine whether a missing pod is
// created or its client is lost.
func TestWasThere(t *testing.T) {
	begun := v1alpha1.StepStatus{ID: "00-layout", Attempt: 1, StartTime: at(10)}
	lost := v1alpha1.LostClient{Target: "data", Client: 1, Time: at(20), Replaced: true}
	again := v1alpha1.StepStatus{ID: "00-layout", Attempt: 2, StartTime: at(30)}
	intended := v1alpha1.StepStatus{ID: "00-layout", Attempt: 2}
	for name, c := range map[string]struct {
		steps []v1alpha1.StepStatus
		lost  []v1alpha1.LostClient
		index int
		want  bool
	}{
		"nothing was begun":                          {index: 1, want: false},
		"a step was begun":                           {steps: []v1alpha1.StepStatus{begun}, index: 1, want: true},
		"replaced, and its pod was never met":        {steps: []v1alpha1.StepStatus{begun, intended}, lost: []v1alpha1.LostClient{lost}, index: 1, want: false},
		"replaced, and the step was begun again":     {steps: []v1alpha1.StepStatus{begun, again}, lost: []v1alpha1.LostClient{lost}, index: 1, want: true},
		"another client was replaced":                {steps: []v1alpha1.StepStatus{begun, intended}, lost: []v1alpha1.LostClient{lost}, index: 0, want: true},
		"lost and not replaced: its pod is not made": {steps: []v1alpha1.StepStatus{begun}, lost: []v1alpha1.LostClient{{Target: "data", Client: 1, Time: at(20)}}, index: 1, want: true},
	} {
		t.Run(name, func(t *testing.T) {
			run := &v1alpha1.BenchmarkRun{Status: v1alpha1.BenchmarkRunStatus{Steps: c.steps, LostClients: c.lost}}
			if got := wasThere(run, &member{pod: objects.Client{Target: "data", Index: c.index}}); got != c.want {
				t.Errorf("%t, want %t", got, c.want)
			}
		})
	}
}

// TestMadeFor checks that the UID of a claim's owner determines what it was created for, not names, which other
// objects can have too.
func TestMadeFor(t *testing.T) {
	run := &v1alpha1.BenchmarkRun{ObjectMeta: metav1.ObjectMeta{Name: "b-1", UID: "run"}}
	run.Spec.BenchmarkRef = v1alpha1.BenchmarkReference{Name: "b", UID: "benchmark"}
	run.Status.StartTime = at(10)
	for name, c := range map[string]struct {
		owner   types.UID
		created int
		want    bool
	}{
		"of the run":                               {"run", 5, true},
		"of the benchmark, made with the run":      {"benchmark", 10, true},
		"of the benchmark, made before":            {"benchmark", 9, false},
		"of a benchmark of that name, another one": {"former", 10, false},
	} {
		claim := &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{
			Labels: objects.RunLabels(run), OwnerReferences: []metav1.OwnerReference{{UID: c.owner}}, CreationTimestamp: metav1.Time{Time: at(c.created).Time}}}
		if got := madeFor(run, claim); got != c.want {
			t.Errorf("%s: %t", name, got)
		}
	}
}

// TestLeftovers checks that data counts as removed only if an agent has confirmed it, or if there cannot be any.
func TestLeftovers(t *testing.T) {
	removed := &agentapi.FinishResponse{DataRemoved: true}
	firstClient := []decide.ClientKey{{Target: "data", Index: 0}}
	perClient := &v1alpha1.ClaimTemplate{Scope: v1alpha1.ClaimPerClient, Lifetime: v1alpha1.ClaimForBenchmark}
	for name, c := range map[string]struct {
		volume  v1alpha1.Volume
		policy  v1alpha1.DataPolicy
		members [2]member
		answers [2]*agentapi.FinishResponse
		want    []string
	}{
		"both have said so":                        {answers: [2]*agentapi.FinishResponse{removed, removed}, members: [2]member{{met: true}, {met: true}}},
		"one could not":                            {answers: [2]*agentapi.FinishResponse{removed, {Problem: "read-only"}}, members: [2]member{{met: true}, {met: true}}, want: []string{"read-only"}},
		"one was lost, the other tidied":           {answers: [2]*agentapi.FinishResponse{removed, nil}, members: [2]member{{met: true}, {met: true, lost: true, removers: firstClient}}},
		"one was lost after the other was asked":   {answers: [2]*agentapi.FinishResponse{removed, nil}, members: [2]member{{met: true}, {met: true, lost: true}}, want: []string{"client data/1 was lost before it confirmed that its data was removed"}},
		"one was lost, the other could not":        {answers: [2]*agentapi.FinishResponse{{Problem: "read-only"}, nil}, members: [2]member{{met: true}, {met: true, lost: true, removers: firstClient}}, want: []string{"read-only", "client data/1 was lost before it confirmed that its data was removed"}},
		"lost with a volume of its own":            {volume: v1alpha1.Volume{ClaimTemplate: perClient}, answers: [2]*agentapi.FinishResponse{removed, nil}, members: [2]member{{met: true}, {met: true, lost: true}}, want: []string{"client data/1 was lost before it confirmed that its data was removed"}},
		"its claim goes with the run":              {volume: v1alpha1.Volume{ClaimTemplate: &v1alpha1.ClaimTemplate{}}, members: [2]member{{met: true, lost: true}, {met: true, lost: true}}},
		"its claim goes, an existing volume stays": {volume: v1alpha1.Volume{ClaimTemplate: &v1alpha1.ClaimTemplate{AllowExistingVolumes: new(true)}}, members: [2]member{{met: true, lost: true}, {}}, want: []string{"client data/0 was lost before it confirmed that its data was removed"}},
		"never there":                              {},
		"gone, and its pod had succeeded":          {members: [2]member{{met: true, lost: true, tidy: true}, {met: true, lost: true, tidy: true}}},
		"both silent":                              {members: [2]member{{met: true}, {met: true, lost: true}}, want: []string{"client data/0 was lost before it confirmed that its data was removed", "client data/1 was lost before it confirmed that its data was removed"}},
		"to be kept":                               {policy: v1alpha1.DataRetain, members: [2]member{{met: true}, {met: true}}},
	} {
		t.Run(name, func(t *testing.T) {
			run := &v1alpha1.BenchmarkRun{}
			run.Spec.BenchmarkRef.UID = "uid"
			c.volume.Name = "disk"
			run.Spec.Run.Targets = []v1alpha1.Target{{Name: "data", Path: "a/b", DataPolicy: c.policy, Volumes: []v1alpha1.Volume{c.volume}}}
			s := &session{plan: plan.Plan{DatasetHash: "hash"}, members: map[decide.ClientKey]*member{}, answers: map[decide.ClientKey]*agentapi.FinishResponse{}}
			for i := range 2 {
				key := decide.ClientKey{Target: "data", Index: i}
				s.order = append(s.order, key)
				s.members[key] = &c.members[i]
				if c.answers[i] != nil {
					s.answers[key] = c.answers[i]
				}
			}
			left := remainingData(run, s)
			if len(left) != len(c.want) {
				t.Fatalf("%+v, want %q", left, c.want)
			}
			for i := range left {
				if left[i].Reason != c.want[i] {
					t.Errorf("%q, want %q", left[i].Reason, c.want[i])
				}
			}
			if len(left) > 0 && !strings.HasPrefix(left[len(left)-1].Path, "/a/b/.storagebench/uid/hash/client-") {
				t.Errorf("path %q", left[len(left)-1].Path)
			}
		})
	}
}

// TestRawDevicesLeft checks that a raw device on which data may remain is reported with its path, its claim and the
// remedy, however the operator knows that it is a raw device, and that a device to which the run could not write is not.
func TestRawDevicesLeft(t *testing.T) {
	const remains = "volume disk: /dev/storagebench/disk was released, but the data on it remains because the device does not support discard"
	block := corev1.PersistentVolumeBlock
	template := func(lifetime v1alpha1.ClaimLifetime) v1alpha1.Volume {
		made := &v1alpha1.ClaimTemplate{Scope: v1alpha1.ClaimPerClient, Lifetime: lifetime}
		made.Spec.VolumeMode = &block
		return v1alpha1.Volume{Name: "disk", ClaimTemplate: made}
	}
	named := v1alpha1.Volume{Name: "disk", ClaimName: "lun"}
	raw := &claimed{storage: map[string]objects.Storage{"data": {Devices: []string{"disk"}}}}
	seen := func(fileSystem string) []v1alpha1.Environment {
		return []v1alpha1.Environment{{Target: "data", Volumes: []v1alpha1.MountedVolume{{Name: "disk", FileSystem: fileSystem, SizeBytes: 1 << 30}}}}
	}
	device := func(claim, why string) []v1alpha1.DataLeft {
		return []v1alpha1.DataLeft{{Target: "data", Volume: "disk", Path: "/dev/storagebench/disk",
			Reason: "data may remain on the device of claim " + claim + ": wipe it (blkdiscard -z, or dd if=/dev/zero) if its content is not needed: " + why}}
	}
	for name, c := range map[string]struct {
		volume       v1alpha1.Volume
		claimed      *claimed
		environments []v1alpha1.Environment
		readOnly     bool
		policy       v1alpha1.DataPolicy
		answer       *agentapi.FinishResponse
		want         []v1alpha1.DataLeft
	}{
		"cannot discard":                      {volume: named, claimed: raw, answer: &agentapi.FinishResponse{Problem: remains}, want: device("lun", remains)},
		"cannot discard, a claim of its own":  {volume: template(v1alpha1.ClaimForBenchmark), claimed: raw, answer: &agentapi.FinishResponse{Problem: remains}, want: device("b-data-disk-1", remains)},
		"cannot discard, after a restart":     {volume: named, environments: seen(""), answer: &agentapi.FinishResponse{Problem: remains}, want: device("lun", remains)},
		"a new claim, after a restart":        {volume: template(v1alpha1.ClaimForBenchmark), answer: &agentapi.FinishResponse{Problem: remains}, want: device("b-data-disk-1", remains)},
		"lost":                                {volume: named, claimed: raw, want: device("lun", "client data/1 was lost before it confirmed that its data was removed")},
		"removed":                             {volume: named, claimed: raw, answer: &agentapi.FinishResponse{DataRemoved: true}},
		"lost, and not written":               {volume: named, claimed: raw, readOnly: true},
		"lost, and its claim goes with it":    {volume: template(v1alpha1.ClaimForRun), claimed: raw},
		"to be kept":                          {volume: named, claimed: raw, policy: v1alpha1.DataRetain},
		"a file system, though it may be raw": {volume: named, environments: seen("ext4"), answer: &agentapi.FinishResponse{Problem: "busy"}, want: []v1alpha1.DataLeft{{Target: "data", Volume: "disk", Path: "/.storagebench/uid/hash/client-1", Reason: "busy"}}},
	} {
		t.Run(name, func(t *testing.T) {
			run := &v1alpha1.BenchmarkRun{ObjectMeta: metav1.ObjectMeta{Name: "b-1"}}
			run.Spec.BenchmarkRef = v1alpha1.BenchmarkReference{Name: "b", UID: "uid"}
			run.Spec.Run.Targets = []v1alpha1.Target{{Name: "data", DataPolicy: c.policy, AllowRawDeviceWrites: new(!c.readOnly), Volumes: []v1alpha1.Volume{c.volume}}}
			run.Status.Environments = c.environments
			key := decide.ClientKey{Target: "data", Index: 1}
			s := &session{plan: plan.Plan{DatasetHash: "hash"}, claimed: c.claimed, order: []decide.ClientKey{key},
				members: map[decide.ClientKey]*member{key: {met: true}}, answers: map[decide.ClientKey]*agentapi.FinishResponse{}}
			if c.answer != nil {
				s.answers[key] = c.answer
			}
			if left := remainingData(run, s); !slices.Equal(left, c.want) {
				t.Errorf("%+v, want %+v", left, c.want)
			}
		})
	}
}

// TestVolumesThatAReasonConcerns checks that only the volumes that an agent names are reported, and all of them if it
// names none.
func TestVolumesThatAReasonConcerns(t *testing.T) {
	volumes := []v1alpha1.Volume{{Name: "a", ClaimName: "lun-a"}, {Name: "b", ClaimName: "lun-b"}, {Name: "c", ClaimName: "share"}}
	target := v1alpha1.Target{Name: "data", AllowRawDeviceWrites: new(true), Volumes: volumes}
	on := objects.Storage{Devices: []string{"a", "b"}}
	for reason, want := range map[string][]string{
		"volume b: /dev/storagebench/b was released, but the data on it remains": {"b"},
		"volume a: busy; volume c: permission denied":                            {"a", "c"},
		"client data/0 was lost before it confirmed that its data was removed":   {"a", "b", "c"},
	} {
		var got []string
		for _, left := range eachVolume(&v1alpha1.BenchmarkRun{}, target, on, []int{0}, v1alpha1.DataLeft{Target: "data", Reason: reason}) {
			got = append(got, left.Volume)
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s: %v, want %v", reason, got, want)
		}
	}
}

// TestUnseenDevices checks that a run that is abandoned in a step reports the device of each client, and no directory on
// it.
func TestUnseenDevices(t *testing.T) {
	block := corev1.PersistentVolumeBlock
	template := &v1alpha1.ClaimTemplate{Scope: v1alpha1.ClaimPerClient, Lifetime: v1alpha1.ClaimForBenchmark}
	template.Spec.VolumeMode = &block
	run := &v1alpha1.BenchmarkRun{}
	run.Spec.BenchmarkRef.Name = "b"
	run.Spec.Run.Clients.Count = 2
	run.Spec.Run.Targets = []v1alpha1.Target{{Name: "data", AllowRawDeviceWrites: new(true), Volumes: []v1alpha1.Volume{{Name: "disk", ClaimTemplate: template}}}}
	run.Status.Steps = []v1alpha1.StepStatus{{ID: "00-layout", Attempt: 1}}
	left := unconfirmedData(run)
	if len(left) != 2 {
		t.Fatalf("%+v, want a device for each client", left)
	}
	for i, claim := range []string{"b-data-disk-0", "b-data-disk-1"} {
		if left[i].Path != "/dev/storagebench/disk" || !strings.HasPrefix(left[i].Reason, "data may remain on the device of claim "+claim+": ") {
			t.Errorf("client %d: %+v", i, left[i])
		}
	}
}

// TestUnseenDirectories checks that a run that is abandoned before its first step leaves no directories, because
// agents have not created any.
func TestUnseenDirectories(t *testing.T) {
	run := &v1alpha1.BenchmarkRun{}
	run.Spec.Run.Targets = []v1alpha1.Target{{Name: "data", Volumes: []v1alpha1.Volume{{Name: "disk"}}}}
	if left := unconfirmedData(run); len(left) != 0 {
		t.Errorf("before the first step: %+v", left)
	}
	run.Status.Steps = []v1alpha1.StepStatus{{ID: "00-layout", Attempt: 1}}
	if left := unconfirmedData(run); len(left) != 1 || left[0].Target != "data" || left[0].Volume != "disk" {
		t.Errorf("in the first step: %+v", left)
	}
}
