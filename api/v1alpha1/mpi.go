package v1alpha1

// SpansClients reports whether the engine runs as one MPI job across all clients of its target. It returns false if e
// is nil.
func (e *Engine) SpansClients() bool {
	return e != nil && (e.IOR != nil || e.Mdtest != nil)
}

// UsesMPI reports whether any workload of a resolved run is an MPI job.
func (r *RunSpec) UsesMPI() bool {
	if r.Workload != nil && r.Workload.SpansClients() {
		return true
	}
	for i := range r.Phases {
		phase := &r.Phases[i]
		if phase.Workload != nil && phase.Workload.SpansClients() {
			return true
		}
		for j := range phase.TargetWorkloads {
			if phase.TargetWorkloads[j].Workload.SpansClients() {
				return true
			}
		}
	}
	return false
}

// MostProcesses returns the largest number of ranks per client in any phase of the run.
func (r *RunSpec) MostProcesses() int64 {
	most := max(1, int64(r.Clients.ProcessesPerClient))
	for i := range r.Phases {
		if ramp := r.Phases[i].Ramp; ramp != nil && ramp.Dimension == RampProcesses {
			for _, value := range ramp.Steps {
				most = max(most, value)
			}
		}
	}
	return most
}
