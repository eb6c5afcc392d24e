package trend

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/storagebench/storagebench/api/v1alpha1"
	"github.com/storagebench/storagebench/internal/limits"
	"github.com/storagebench/storagebench/internal/measure"
)

// Compare returns the data by which a run is compared with other runs: the kind of its storage, its figures, and facts
// that may explain a change in the figures.
func Compare(run *v1alpha1.BenchmarkRun) *v1alpha1.Comparable {
	return &v1alpha1.Comparable{
		Store:   storeOf(&run.Status),
		Figures: figuresOf(&run.Spec, &run.Status),
		Facts:   factsOf(&run.Spec, &run.Status),
	}
}

// storeOf returns a short hash that identifies the kind of storage behind the targets: driver, class, parameters, file
// system. The hash excludes everything that differs between volumes of one kind, such as generated names. It also
// excludes the size and the clients' machines: runs that differ in these are still compared, and the difference may
// explain a change.
func storeOf(status *v1alpha1.BenchmarkRunStatus) string {
	type volume struct {
		Name, Driver, Class, Attributes, Mode, FileSystem string
		Parameters                                        map[string]string
	}
	type target struct {
		Name    string
		Volumes []volume
	}
	var all []target
	for i := range status.Storage {
		one := target{Name: status.Storage[i].Target}
		for _, v := range status.Storage[i].Volumes {
			parameters := maps.Clone(v.Parameters)
			maps.DeleteFunc(parameters, func(parameter, _ string) bool { return !limits.DescribesKind(parameter) })
			one.Volumes = append(one.Volumes, volume{Name: v.Name, Driver: v.Driver, Class: v.StorageClass, Attributes: v.VolumeAttributesClass,
				Mode: v.VolumeMode, FileSystem: v.FileSystem, Parameters: parameters})
		}
		all = append(all, one)
	}
	return digest(all)
}

// digest returns a short hash of a value's JSON encoding, in which map keys are sorted.
func digest(of any) string {
	encoded, err := json.Marshal(of)
	if err != nil {
		return ""
	}
	sum := sha256.Sum256(encoded)
	return hex.EncodeToString(sum[:6])
}

// Limits that the API sets on the number of facts and the lengths of their texts.
const (
	mostFacts     = 16
	mostFactValue = 128
	mostFactName  = 64
)

// changed is the prefix of the names of facts about parts of the specification. The value of such a fact is a digest:
// it reveals a change, but means nothing to readers, so messages omit it.
const changed = "specification of "

// factsOf returns the facts that may explain why a run differs from another one, the most informative ones first.
func factsOf(spec *v1alpha1.BenchmarkRunSpec, status *v1alpha1.BenchmarkRunStatus) []v1alpha1.RunFact {
	var facts []v1alpha1.RunFact
	add := func(name string, values []string) {
		slices.Sort(values)
		values = slices.DeleteFunc(slices.Compact(values), func(v string) bool { return v == "" })
		if len(values) > 0 && len(facts) < mostFacts {
			facts = append(facts, v1alpha1.RunFact{Name: v1alpha1.Truncate(name, mostFactName), Value: v1alpha1.Truncate(strings.Join(values, ", "), mostFactValue)})
		}
	}
	var kernels, tools, agents, types, drivers, sizes, options, images []string
	for i := range status.Environments {
		e := &status.Environments[i]
		kernels, tools, agents = append(kernels, e.Kernel), append(tools, e.ToolVersion), append(agents, e.AgentVersion)
	}
	for i := range status.Storage {
		for _, machine := range status.Storage[i].Machines {
			types = append(types, machine.InstanceType)
		}
		for _, v := range status.Storage[i].Volumes {
			drivers = append(drivers, strings.TrimSpace(v.Driver+" "+v.DriverVersion))
			options = append(options, strings.Join(v.MountOptions, ","))
			if v.SizeBytes > 0 {
				sizes = append(sizes, measure.FormatBinaryBytes(uint64(v.SizeBytes)))
			}
		}
	}
	images = append(images, spec.Run.Clients.Image)
	add("kernel", kernels)
	add("node type", types)
	add("driver", drivers)
	add("tool", tools)
	add("storagebench", agents)
	add("image", images)
	add("size of the volumes", sizes)
	add("mount options", options)
	for _, specPart := range workloads(spec) {
		add(changed+specPart.name, []string{specPart.digest})
	}
	return facts
}

// specPart is a part of the specification, represented by its digest.
type specPart struct{ name, digest string }

// workloads returns the workloads in the specification. They include the contents of profiles, which the hash of the
// specification does not cover: runs with the same hash can differ in their workloads, but not in the rest of spec.run.
func workloads(spec *v1alpha1.BenchmarkRunSpec) []specPart {
	var all []specPart
	if spec.Run.Workload != nil {
		all = append(all, specPart{"the workload", digest(spec.Run.Workload.Engine)})
	}
	for i := range spec.Run.Phases {
		phase := &spec.Run.Phases[i]
		if phase.Workload != nil {
			all = append(all, specPart{"the workload of " + phase.Name, digest(phase.Workload.Engine)})
		}
		for j := range phase.TargetWorkloads {
			own := &phase.TargetWorkloads[j]
			all = append(all, specPart{"the workload of " + phase.Name + " on " + own.Target, digest(own.Workload.Engine)})
		}
	}
	// If there are many workloads, the last fact covers all that have no fact of their own.
	if len(all) > mostFacts/2 {
		rest := all[mostFacts/2-1:]
		all = append(all[:mostFacts/2-1:mostFacts/2-1], specPart{strconv.Itoa(len(rest)) + " more workloads", digest(rest)})
	}
	return all
}
