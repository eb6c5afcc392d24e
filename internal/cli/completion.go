package cli

import (
	"context"
	"slices"
	"time"

	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// completionTimeout limits how long the shell waits for names from a cluster.
const completionTimeout = 2 * time.Second

// completeRuns completes the names of the runs and benchmarks of the namespace.
func (f *clusterFlags) completeRuns(command *cobra.Command, given []string, _ string) ([]string, cobra.ShellCompDirective) {
	return f.complete(command, given, benchmarkResource, runResource)
}

// completeBenchmarks completes the names of the benchmarks of the namespace.
func (f *clusterFlags) completeBenchmarks(command *cobra.Command, given []string, _ string) ([]string, cobra.ShellCompDirective) {
	return f.complete(command, given, benchmarkResource)
}

func (f *clusterFlags) complete(command *cobra.Command, given []string, resources ...schema.GroupVersionResource) ([]string, cobra.ShellCompDirective) {
	if len(given) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	cluster, err := f.connect()
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	ctx := command.Context()
	if ctx == nil {
		ctx = context.Background()
	}
	ctx, cancel := context.WithTimeout(ctx, completionTimeout)
	defer cancel()
	var names []string
	for _, resource := range resources {
		found, err := cluster.client.Resource(resource).Namespace(cluster.namespace).List(ctx, metav1.ListOptions{})
		if err != nil {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		for i := range found.Items {
			names = append(names, found.Items[i].GetName())
		}
	}
	slices.Sort(names)
	return names, cobra.ShellCompDirectiveNoFileComp
}

// fixedValues registers the values of a flag for shell completion.
func fixedValues(command *cobra.Command, flag string, values ...string) {
	// Ignore the error, which occurs only if the flag does not exist: that is a mistake in this package.
	_ = command.RegisterFlagCompletionFunc(flag, cobra.FixedCompletions(values, cobra.ShellCompDirectiveNoFileComp))
}
