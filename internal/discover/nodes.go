package discover

import (
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/storagebench/storagebench/api/v1alpha1"
	"github.com/storagebench/storagebench/internal/limits"
)

// instanceOf returns the instance type in a node's labels, or "" if there is none.
func instanceOf(labels map[string]string) string {
	if kind := labels[corev1.LabelInstanceTypeStable]; kind != "" {
		return kind
	}
	return labels[corev1.LabelInstanceType]
}

// nodes counts the client nodes by instance type. Limits can be computed only if the types of all nodes are known.
func (f *Found) nodes(t Target) {
	types, silent := map[string]int{}, 0
	for _, node := range t.Nodes {
		kind := instanceOf(node.Labels)
		if kind == "" {
			silent++
		}
		types[kind]++
	}
	for _, kind := range slices.Sorted(maps.Keys(types)) {
		f.machines = append(f.machines, v1alpha1.MachineDescription{
			InstanceType: v1alpha1.Truncate(kind, 63), Nodes: int32(min(types[kind], 1<<30))}) //nolint:gosec // Bounded.
		f.Description.Clients = append(f.Description.Clients, limits.Machines{Type: kind, Nodes: types[kind]})
	}
	if silent > 0 {
		f.Description.Clients = nil
	}
	if silent > 0 && silent < len(t.Nodes) {
		f.addMissing("the instance type of the client nodes", fmt.Sprintf(
			"%d of %d nodes have no label %s, so their total limit is unknown: add the label to these nodes", silent, len(t.Nodes), corev1.LabelInstanceTypeStable))
	}
	f.Description.Region = regionOf(t)
}

// regionOf returns the region of the storage: the region in the volumes' node affinity if they have one, else the
// region of the client nodes. If the volumes or nodes are in several regions, or the region is unknown, it returns "".
func regionOf(t Target) string {
	regions := map[string]bool{}
	for _, claim := range t.Claims {
		if claim.PV == nil || claim.PV.Spec.NodeAffinity == nil || claim.PV.Spec.NodeAffinity.Required == nil {
			continue
		}
		for _, term := range claim.PV.Spec.NodeAffinity.Required.NodeSelectorTerms {
			for _, one := range term.MatchExpressions {
				if one.Key == corev1.LabelTopologyRegion && len(one.Values) == 1 {
					regions[one.Values[0]] = true
				}
			}
		}
	}
	if len(regions) == 0 {
		for _, node := range t.Nodes {
			regions[node.Labels[corev1.LabelTopologyRegion]] = true
		}
	}
	if len(regions) != 1 {
		return ""
	}
	return slices.Collect(maps.Keys(regions))[0]
}
