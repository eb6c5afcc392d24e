package local

import (
	"fmt"
	"os/exec"

	"github.com/storagebench/storagebench/api/v1alpha1"
	"github.com/storagebench/storagebench/internal/engine/engines"
	"github.com/storagebench/storagebench/internal/plan"
)

// checkTools returns an error if a program that the run needs is not installed. It is called before anything is
// written. It checks only programs that most machines do not have, such as IOR; the agents check for the others.
func checkTools(planned plan.Plan, run *v1alpha1.RunSpec) error {
	for _, target := range run.Targets {
		for _, name := range planned.Tools(target.Name) {
			from := engines.Source(name)
			if from == "" {
				continue
			}
			if _, err := exec.LookPath(name); err != nil {
				return fmt.Errorf("target %s: the workload needs %s, which is not in PATH: %s; install it, or run the benchmark in a cluster",
					target.Name, name, from)
			}
		}
	}
	return nil
}
