package plan

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"

	"github.com/storagebench/storagebench/api/v1alpha1"
)

// RunHash returns a hash of a benchmark's spec.run, as 16 hexadecimal digits. It first fills in defaults, so the hash
// is the same whether spec.run comes from a file or from the API server. It does not resolve references to profiles.
// Runs of one benchmark with the same hash have the same spec.run, except for its observations.
//
// Adding a field with a default to the API changes every hash, which makes every benchmark run again. Add fields
// without a default, and treat an absent field as the default.
func RunHash(run *v1alpha1.RunSpec) string {
	run = run.DeepCopy()
	run.SetDefaults()
	run.Observations = nil // leave out observations, because they do not change the load
	nameKinds(run)
	// Hash the documented limits under the field's former name, limits, so that renaming the field to documented in a file
	// does not start a new run.
	for i := range run.Targets {
		run.Targets[i].Limits, run.Targets[i].Documented = run.Targets[i].DocumentedLimits(), nil
	}
	// json.Marshal sorts the keys of maps, and quantities have a canonical form, so equal specifications give equal
	// bytes. Encoding cannot fail, because the types hold nothing that JSON cannot represent.
	encoded, err := json.Marshal(run)
	if err != nil {
		panic(err)
	}
	sum := sha256.Sum256(encoded)
	return hex.EncodeToString(sum[:8])
}

// nameKinds adds the kind WorkloadProfile to all profile references without a kind. WorkloadProfile was once the
// default, and the hashes of stored benchmarks must not change. Today, a reference without a kind is also looked up
// among cluster profiles.
func nameKinds(run *v1alpha1.RunSpec) {
	name := func(workload *v1alpha1.Workload) {
		if workload != nil && workload.ProfileRef != nil && workload.ProfileRef.Kind == "" {
			workload.ProfileRef.Kind = v1alpha1.WorkloadProfileKind
		}
	}
	name(run.Workload)
	for i := range run.Phases {
		name(run.Phases[i].Workload)
		for j := range run.Phases[i].TargetWorkloads {
			name(&run.Phases[i].TargetWorkloads[j].Workload)
		}
	}
}
