package benchmarkrun

import (
	"context"
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/storagebench/storagebench/api/v1alpha1"
	"github.com/storagebench/storagebench/internal/conductor"
	"github.com/storagebench/storagebench/internal/decide"
	"github.com/storagebench/storagebench/internal/plan"
)

// findDeletedBenchmarks determines, once per session, which of the benchmarks with directories on the run's volumes no
// longer exist. The agents list the directories before the operator queries the API, so a benchmark that is created in
// between is not considered deleted. UIDs are never reused, so a deleted benchmark cannot reappear. If the query fails,
// no benchmark counts as deleted.
func (r *Reconciler) findDeletedBenchmarks(ctx context.Context, run *v1alpha1.BenchmarkRun, s *session, clients []decide.Client) {
	if s.goneRead || len(clients) == 0 || slices.ContainsFunc(clients, func(c decide.Client) bool { return c.Connection == decide.Connecting }) {
		return
	}
	s.goneRead = true
	owners := s.conductor.Owners()
	if len(owners) == 0 {
		return
	}
	if len(r.options.Namespaces) > 0 {
		log.FromContext(ctx).Info("Keeping data of other benchmarks, because they may be in namespaces that are not watched")
		return
	}
	there, err := r.benchmarksThere(ctx)
	if err != nil {
		log.FromContext(ctx).Info("Keeping data of other benchmarks, because the existing benchmarks cannot be listed", "error", err.Error())
		return
	}
	s.gone = slices.DeleteFunc(owners, func(uid string) bool { return there[uid] || uid == run.Spec.BenchmarkRef.UID })
}

// benchmarksThere returns the UIDs of all existing benchmarks, and of the benchmarks that a run still refers to. A run
// refers to its benchmark by an owner reference and by spec.benchmarkRef. If a benchmark is deleted without its runs,
// Kubernetes removes the owner references, and only spec.benchmarkRef remains. The runs are read from the cache. This
// is enough, because the operator conducts only runs that its cache contains.
func (r *Reconciler) benchmarksThere(ctx context.Context) (map[string]bool, error) {
	there := map[string]bool{}
	var runs v1alpha1.BenchmarkRunList
	if err := r.client.List(ctx, &runs, client.UnsafeDisableDeepCopy); err != nil {
		return nil, fmt.Errorf("list the runs: %w", err)
	}
	for i := range runs.Items {
		there[runs.Items[i].Spec.BenchmarkRef.UID] = true
	}
	for _, kind := range []string{"StorageBenchmarkList", "BenchmarkRunList"} {
		// If listing starts over, benchmarks that were deleted in the meantime still count as existing. A later run
		// removes their data.
		err := eachPage(ctx, r.direct, metadataList(kind), nil, func(page *metav1.PartialObjectMetadataList) {
			for i := range page.Items {
				there[string(page.Items[i].UID)] = true
				for _, owner := range page.Items[i].OwnerReferences {
					there[string(owner.UID)] = true
				}
			}
		})
		if err != nil {
			return nil, fmt.Errorf("list %s: %w", kind, err)
		}
	}
	return there, nil
}

// orphansOf returns a function that selects the data that a client of the target must remove: data of deleted
// benchmarks and of earlier runs. If the clients of a target share the volumes, only the first client removes data.
func (s *session) orphansOf(target v1alpha1.Target) func(decide.ClientKey) conductor.OrphanedData {
	return func(key decide.ClientKey) conductor.OrphanedData {
		if key.Index != 0 && plan.Shared(&target) {
			return conductor.OrphanedData{}
		}
		return conductor.OrphanedData{Gone: s.gone, Clients: len(s.of(target.Name))}
	}
}

// orphanWarnings returns warnings about the data that deleted benchmarks and earlier runs left behind, whether it was
// removed or not.
func orphanWarnings(run *v1alpha1.BenchmarkRun, s *session) []v1alpha1.Warning {
	var all []v1alpha1.Warning
	for _, target := range run.Spec.Run.Targets {
		removed := 0
		var stays []string
		for _, key := range s.of(target.Name) {
			answer := s.answer(key)
			removed += int(answer.GetLeftRemoved())
			stays = append(stays, answer.GetLeftStays()...)
		}
		var says []string
		if removed > 0 {
			says = append(says, fmt.Sprintf("removed %d client directories left by earlier runs or deleted benchmarks", removed))
		}
		if len(stays) > 0 {
			says = append(says, fmt.Sprintf("%d remain, first %s", len(stays), stays[0]))
		}
		if len(says) > 0 {
			all = append(all, v1alpha1.Warning{Type: v1alpha1.WarningDataLeftBehind, Severity: v1alpha1.SeverityInfo,
				Message: v1alpha1.Truncate("target "+target.Name+": "+strings.Join(says, "; "), maxWarningMessage)})
		}
	}
	return all
}

// maxWarningMessage is the API's limit on the length of a warning's message.
const maxWarningMessage = 512
