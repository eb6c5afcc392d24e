package plan

import "github.com/storagebench/storagebench/internal/observation"

// checkObservations warns about queries that Prometheus would refuse. It does not refuse them itself, because other
// systems that offer the Prometheus API support more functions.
func (m *maker) checkObservations() {
	for i := range m.run.Observations {
		if err := observation.Syntax(m.run.Observations[i].Query); err != nil {
			m.warn(m.root.Child("observations").Index(i).Child("query"), "Prometheus would reject the query: %s", err)
		}
	}
}
