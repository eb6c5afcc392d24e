package benchmarkrun

import (
	"context"
	"maps"
	"sync"
	"time"

	"github.com/storagebench/storagebench/internal/queue"
)

// knownVolumesAge limits how long the volumes behind a claim are cached.
const knownVolumesAge = time.Minute

// knownVolumes caches the volumes behind the claims of runs. Without this cache, each run that checks whether it may
// begin would read all claims and volumes of hundreds of other runs. Outdated entries are harmless: a claim cannot be
// replaced while pods use it, and a run without pods reads its own claims again when it checks whether it may begin.
type knownVolumes struct {
	mu sync.Mutex
	of map[knownClaim]readVolumes
}

// knownClaim identifies a claim of a run, by the UID of the run and the ID of the claim.
type knownClaim struct{ run, claim string }

type readVolumes struct {
	at      time.Time
	volumes []queue.Named
}

// read returns the volumes of a run. Unbound claims are read each time, because they may be bound at any moment.
func (k *knownVolumes) read(ctx context.Context, r *Reconciler, run queue.Run) ([]queue.Named, error) {
	// Hold the lock while reading, so that runs that begin at the same time read each claim only once.
	k.mu.Lock()
	defer k.mu.Unlock()
	return volumesOf(run, func(claim queue.Named) ([]queue.Named, error) {
		key, now := knownClaim{run.UID, claim.ID}, time.Now()
		isOld := func(_ knownClaim, one readVolumes) bool { return now.Sub(one.at) > knownVolumesAge }
		if known, ok := k.of[key]; ok && !isOld(key, known) {
			return known.volumes, nil
		}
		maps.DeleteFunc(k.of, isOld)
		volumes, err := r.volumesOfClaim(ctx, run.Namespace, claim)
		if len(volumes) > 0 {
			if k.of == nil {
				k.of = map[knownClaim]readVolumes{}
			}
			k.of[key] = readVolumes{now, volumes}
		}
		return volumes, err
	})
}
