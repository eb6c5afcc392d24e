package plan

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/resource"
)

// String is what takes the place of the workload's own, such as "jobs 4, readPercent 0".
func (o Overrides) String() string { return strings.Join(o.words(), ", ") }

func (o Overrides) words() []string {
	var words []string
	add := func(name string, value any) { words = append(words, fmt.Sprintf("%s %v", name, value)) }
	if o.Jobs != 0 {
		add("jobs", o.Jobs)
	}
	if o.QueueDepth != 0 {
		add("queueDepth", o.QueueDepth)
	}
	if o.BlockSizeBytes != 0 {
		add("blockSize", resource.NewQuantity(o.BlockSizeBytes, resource.BinarySI))
	}
	if o.ReadPercent != nil {
		add("readPercent", *o.ReadPercent)
	}
	if o.Processes != 0 {
		add("processes", o.Processes)
	}
	return words
}

// containsAll reports whether a list has every one of some names.
func containsAll(list, names []string) bool {
	return !slices.ContainsFunc(names, func(name string) bool { return !slices.Contains(list, name) })
}
