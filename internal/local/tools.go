package local

import (
	"fmt"
	"os/exec"

	"github.com/storagebench/storagebench/api/v1alpha1"
	"github.com/storagebench/storagebench/internal/engine"
	"github.com/storagebench/storagebench/internal/plan"
)

// packages says where to get programs that are rarely preinstalled.
var packages = map[string]string{
	"ior":          "it is part of IOR (github.com/hpc/ior, or package ior of openSUSE)",
	"mdtest":       "it is part of IOR (github.com/hpc/ior, or package ior of openSUSE)",
	engine.ToolMPI: "it is part of Open MPI (package openmpi-bin of Debian, openmpi4 of openSUSE)",
}

// checkTools finds missing programs of MPI jobs before anything is written. The agents check for fio.
func checkTools(planned plan.Plan, run *v1alpha1.RunSpec) error {
	for _, target := range run.Targets {
		for _, name := range planned.Tools(target.Name) {
			from, known := packages[name]
			if !known {
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
