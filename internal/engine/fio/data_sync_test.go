package fio

import (
	"testing"

	"github.com/storagebench/storagebench/internal/measure"
)

// TestDataSyncs checks that fdatasync and sync_file_range count as syncs. fio counts them as short reads and short
// writes, so a database log would appear to have short operations.
func TestDataSyncs(t *testing.T) {
	t.Parallel()
	for name, job := range map[string]string{
		"of writes alone": "[log]\nrw=write\nbs=4k\nsize=1m\nioengine=psync\nfdatasync=1\n",
		"beside reads":    "[log]\nrw=randrw\nbs=4k\nsize=1m\nioengine=psync\nfdatasync=4\n",
		"of file ranges":  "[log]\nrw=write\nbs=4k\nsize=1m\nioengine=psync\nsync_file_range=write:8\n",
		"fsync":           "[log]\nrw=write\nbs=4k\nsize=1m\nioengine=psync\nfsync=1\n",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			live := startFio(t, t.TempDir(), job)
			live.wait(t)
			final, err := live.documents[len(live.documents)-1].Snapshot()
			if err != nil {
				t.Fatal(err)
			}
			syncs := final.Operations[measure.Sync]
			if syncs.Total.Count < 20 || syncs.Operations != syncs.Total.Count {
				t.Errorf("%d syncs were timed and %d counted", syncs.Total.Count, syncs.Operations)
			}
			for operation, total := range final.Operations {
				if total.ShortOperations > 0 {
					t.Errorf("%v: %d short operations", measure.Operation(operation), total.ShortOperations)
				}
			}
		})
	}
}

// TestShortOperations checks that genuine short reads and writes are still counted when data syncs are subtracted.
func TestShortOperations(t *testing.T) {
	for name, test := range map[string]struct{ moved, short, synced, timed, wantShort, wantSynced uint64 }{
		"no syncs":               {moved: 100, short: 3, wantShort: 3},
		"syncs that are counted": {moved: 100, short: 3, synced: 7, timed: 7, wantShort: 3, wantSynced: 7},
		"data syncs":             {moved: 100, short: 10, timed: 7, wantShort: 3, wantSynced: 7},
	} {
		for _, operation := range []measure.Operation{measure.Read, measure.Write} {
			t.Run(name+", "+operation.String(), func(t *testing.T) {
				job := Job{}
				from := &job.Operations[operation]
				from.Operations, from.ShortOperations = test.moved, test.short
				job.Operations[measure.Sync].Operations, job.Operations[measure.Sync].Total.Count = test.synced, test.timed
				countDataSyncs(&job)
				if synced := job.Operations[measure.Sync].Operations; from.ShortOperations != test.wantShort || synced != test.wantSynced {
					t.Errorf("%d short operations and %d syncs, want %d and %d", from.ShortOperations, synced, test.wantShort, test.wantSynced)
				}
			})
		}
	}
}
