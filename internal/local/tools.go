package local

import (
	"fmt"
	"os/exec"

	"github.com/storagebench/storagebench/api/v1alpha1"
	"github.com/storagebench/storagebench/internal/plan"
)

// packages say where programs come from that a machine seldom has.
var packages = map[string]string{
	string(v1alpha1.EngineIOR):    "it comes with IOR (github.com/hpc/ior, or the package ior of openSUSE)",
	string(v1alpha1.EngineMdtest): "it comes with IOR (github.com/hpc/ior, or the package ior of openSUSE)",
	plan.ToolMPI:                  "it comes with Open MPI (the package openmpi-bin of Debian, openmpi4 of openSUSE)",
}

// checkTools finds programs of jobs of MPI that are not here, before anything is written. That a fio is one that can be
// run is for the agents to find out.
func checkTools(planned plan.Plan, run *v1alpha1.RunSpec) error {
	for _, target := range run.Targets {
		for _, name := range planned.Tools(target.Name) {
			from, known := packages[name]
			if !known {
				continue
			}
			if _, err := exec.LookPath(name); err != nil {
				return fmt.Errorf("target %s: its workload needs the program %s, which is not in the PATH of this machine: %s; install it, or run the benchmark in a cluster",
					target.Name, name, from)
			}
		}
	}
	return nil
}
