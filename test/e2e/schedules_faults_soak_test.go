package e2e

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"syscall"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/storagebench/storagebench/api/v1alpha1"
	"github.com/storagebench/storagebench/internal/leader"
	"github.com/storagebench/storagebench/test/binaries"
	"github.com/storagebench/storagebench/test/burstfs/model"
)

// fault is a disturbance of a run.
type fault struct {
	// strike applies the fault and reports whether there was something to hit.
	strike func(*scene) bool
	// loads are the loads that the fault applies to; nil means all.
	loads []string
	// fails are the reasons for which a run may fail because of the fault. Most faults have none, because a client is
	// replaced up to five times.
	fails []string
	// deletes is true if the fault deletes the run, and ofCluster if nodes or the operator must be restored afterwards.
	// kills is true if a client may die before it has removed its directory, and refuses if the store may refuse the
	// removal.
	deletes, ofCluster, kills, refuses bool
}

func (f fault) happensTo(load string) bool { return f.loads == nil || slices.Contains(f.loads, load) }

var ofFio = []string{onAllNodes, onOwnVolumes, onStore}

// byStore are the reasons for which a run may fail if its store refuses operations or does not answer.
var byStore = []string{v1alpha1.ReasonToolFailed, v1alpha1.ReasonNotEnoughSpace, v1alpha1.ReasonMountNotFound, v1alpha1.ReasonStartTimeout,
	v1alpha1.ReasonStepFailed}

var faults = map[string]fault{
	"kill -9 of the operator":   {strike: func(s *scene) bool { return s.kill(s.operatorUIDs(), "storagebench-op") }, ofCluster: true},
	"kill -9 of an agent":       {strike: func(s *scene) bool { return s.kill(s.clientUIDs(), "agent") }, kills: true},
	"kill -9 of a fio":          {strike: func(s *scene) bool { return s.kill(s.clientUIDs(), "fio") }, loads: ofFio, fails: []string{v1alpha1.ReasonToolFailed}},
	"kill -9 of mpirun":         {strike: func(s *scene) bool { return s.kill(s.clientUIDs(), "mpirun") }, loads: []string{withRanks}, fails: []string{v1alpha1.ReasonToolFailed}},
	"kill -9 of a rank":         {strike: func(s *scene) bool { return s.kill(s.clientUIDs(), "ior") }, loads: []string{withRanks}, fails: []string{v1alpha1.ReasonToolFailed}},
	"kill -9 of a kubelet":      {strike: component(binaries.Kubelet), ofCluster: true},
	"kill -9 of a containerd":   {strike: component(binaries.Containerd), ofCluster: true},
	"kill -9 of the API server": {strike: component(binaries.APIServer), ofCluster: true},
	"kill -9 of etcd":           {strike: component(binaries.Etcd), ofCluster: true},
	"a node dies":               {strike: deadNode, ofCluster: true, kills: true},

	"deletion of a pod":          {strike: func(s *scene) bool { return s.remove(&corev1.PodList{}) }},
	"deletion of a pod by force": {strike: func(s *scene) bool { return s.remove(&corev1.PodList{}, client.GracePeriodSeconds(0)) }, kills: true},
	"deletion of a Secret":       {strike: func(s *scene) bool { return s.remove(&corev1.SecretList{}) }},
	"deletion of a claim":        {strike: deleteClaim, fails: noClaim},
	"deletion of the run":        {strike: func(s *scene) bool { return s.remove(&v1alpha1.BenchmarkRunList{}) }, deletes: true, fails: []string{v1alpha1.ReasonStopped}},
	"deletion of the benchmark":  {strike: func(s *scene) bool { return s.remove(&v1alpha1.StorageBenchmarkList{}) }, deletes: true, fails: []string{v1alpha1.ReasonStopped}},
	"deletion in the foreground": {strike: func(s *scene) bool {
		return s.remove(&v1alpha1.StorageBenchmarkList{}, client.PropagationPolicy(metav1.DeletePropagationForeground))
	}, deletes: true, fails: []string{v1alpha1.ReasonStopped}},
	"deletion of the namespace":  {strike: deleteNamespace, deletes: true, fails: []string{v1alpha1.ReasonStopped}},
	"a full store":               {strike: broken(model.FailureENOSPC), loads: []string{onStore}, fails: byStore, refuses: true},
	"a read-only store":          {strike: broken(model.FailureEROFS), loads: []string{onStore}, fails: byStore, refuses: true},
	"a store that fails":         {strike: broken(model.FailureEIO), loads: []string{onStore}, fails: byStore, refuses: true},
	"a frozen store":             {strike: broken(model.FailureStall), loads: []string{onStore}, fails: byStore, refuses: true},
	"a second operator":          {strike: secondOperator, ofCluster: true},
	"an upgrade of the operator": {strike: rollOut, ofCluster: true},
}

// noClaim are the reasons for which a run may fail if the claim of a lost client was deleted.
var noClaim = []string{v1alpha1.ReasonStartTimeout, v1alpha1.ReasonClientLost, v1alpha1.ReasonDeadlineExceeded}

// brief limits how long a fault waits for the API server, which another fault may have killed.
const brief = 5 * time.Second

func (s *scene) kill(uids []string, program string) bool {
	found := processesIn(uids, program)
	return len(found) > 0 && syscall.Kill(found[s.random.IntN(len(found))], syscall.SIGKILL) == nil
}

// operatorUIDs returns the UIDs of the operator's pods, and clientUIDs those of all client pods seen so far.
func (s *scene) operatorUIDs() (uids []string) {
	ctx, cancel := context.WithTimeout(s.Context(), brief)
	defer cancel()
	var pods corev1.PodList
	_ = s.api.List(ctx, &pods, client.InNamespace(operatorNamespace))
	for _, pod := range pods.Items {
		uids = append(uids, string(pod.UID))
	}
	return uids
}

func (s *scene) clientUIDs() []string { return slices.Collect(maps.Keys(s.uids)) }

// component kills a component of the cluster on a random node that runs it. The node restarts it.
func component(name string) func(*scene) bool {
	return func(s *scene) bool {
		report, err := s.State.Status(s.Context())
		if err != nil {
			return false
		}
		var pids []int
		for _, one := range report.Components {
			if one.Name == name && one.PID != 0 {
				pids = append(pids, one.PID)
			}
		}
		return len(pids) > 0 && syscall.Kill(pids[s.random.IntN(len(pids))], syscall.SIGKILL) == nil
	}
}

// deadNode kills all processes of a node and restores it after up to 40 seconds. It spares the first node, which runs
// the API server.
func deadNode(s *scene) bool {
	members, err := s.State.Members()
	if err != nil {
		return false
	}
	pid, err := members[1+s.random.IntN(len(members)-1)].PID()
	if err != nil || syscall.Kill(pid, syscall.SIGKILL) != nil {
		return false
	}
	time.Sleep(time.Duration(s.random.IntN(40)) * time.Second)
	must(s.T, s.Up(s.Context(), 3))
	return true
}

// remove deletes a random object of a kind from the namespace. Of the Secrets, it deletes only those of a run.
func (s *scene) remove(list client.ObjectList, options ...client.DeleteOption) bool {
	ctx, cancel := context.WithTimeout(s.Context(), brief)
	defer cancel()
	if s.api.List(ctx, list, client.InNamespace(s.namespace)) != nil {
		return false
	}
	all := objectsOf(list)
	if _, secrets := list.(*corev1.SecretList); secrets {
		all = slices.DeleteFunc(all, func(object client.Object) bool { return object.GetLabels()[v1alpha1.LabelRun] == "" })
	}
	return len(all) > 0 && s.api.Delete(ctx, all[s.random.IntN(len(all))], options...) == nil
}

func deleteClaim(s *scene) bool { return s.remove(&corev1.PersistentVolumeClaimList{}) }

func deleteNamespace(s *scene) bool {
	ctx, cancel := context.WithTimeout(s.Context(), brief)
	defer cancel()
	return s.api.Delete(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: s.namespace}}) == nil
}

// broken makes the store fail or hang for one to eleven seconds.
func broken(failure model.FailureError) func(*scene) bool {
	return func(s *scene) bool {
		config := open
		config.Failures = []model.Failure{{Error: failure}}
		if failure == model.FailureStall {
			config.Failures[0].Stall = time.Minute
		}
		s.store.Set(config)
		time.Sleep(time.Second + time.Duration(s.random.IntN(11))*time.Second)
		s.store.Set(open)
		return true
	}
}

// secondOperator starts another operator, deletes the Lease to force an election, and kills that operator after some
// seconds.
func secondOperator(s *scene) bool {
	ctx, cancel := context.WithTimeout(s.Context(), brief)
	defer cancel()
	// Do nothing if the API server does not answer.
	if s.api.List(ctx, &corev1.PodList{}, client.InNamespace(operatorNamespace)) != nil {
		return false
	}
	second := s.operate(s.T)
	lease := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: operatorNamespace, Name: leader.LeaseName}}
	_ = s.api.Delete(ctx, lease)
	time.Sleep(time.Duration(5+s.random.IntN(10)) * time.Second)
	second.kill()
	return true
}

// rollOut replaces the operator's pod as an upgrade does: the new pod starts before the old one ends.
func rollOut(s *scene) bool {
	ctx, cancel := context.WithTimeout(s.Context(), brief)
	defer cancel()
	deployment := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: operatorNamespace, Name: operatorDeployment}}
	patch := fmt.Appendf(nil, `{"spec":{"template":{"metadata":{"annotations":{"e2e/schedule":"%s-%d"}}}}}`, strings.TrimPrefix(s.namespace, "e2e-"), s.number)
	return s.api.Patch(ctx, deployment, client.RawPatch("application/merge-patch+json", patch)) == nil
}
