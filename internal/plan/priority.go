package plan

import (
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"
)

// OperatorPriorityClass is the name of the PriorityClass that the operator is installed with.
const OperatorPriorityClass = "storagebench-operator"

// Cluster describes the cluster in which the clients of a run will be created.
type Cluster struct {
	// Namespace is the namespace of the run, or "" if it is unknown.
	Namespace string
	// PriorityClass is the operator's own PriorityClass, or "" if it has none.
	PriorityClass string
}

// InCluster plans a run in the given cluster. Without this option, the operator's PriorityClass is assumed to be
// OperatorPriorityClass.
func InCluster(cluster Cluster) Option { return func(m *maker) { m.cluster = cluster } }

const (
	// systemPriority is the prefix of the PriorityClasses that Kubernetes reserves for itself.
	systemPriority  = "system-"
	systemNamespace = "kube-system"
)

// refusePriority reports a PriorityClass that would let clients preempt the cluster's or the operator's pods.
func (m *maker) refusePriority() {
	template := m.run.Clients.Template
	if template == nil || template.PriorityClassName == "" {
		return
	}
	class, why := template.PriorityClassName, ""
	switch {
	case class == m.cluster.PriorityClass:
		why = "it is the operator's PriorityClass, and clients must not take precedence over the operator"
	case strings.HasPrefix(class, systemPriority) && m.cluster.Namespace != "" && m.cluster.Namespace != systemNamespace:
		why = fmt.Sprintf("it is reserved for system pods in namespace %s, but the run is in namespace %s", systemNamespace, m.cluster.Namespace)
	default:
		return
	}
	m.problems = append(m.problems, field.Invalid(m.root.Child("clients", "template", "priorityClassName"), class,
		why+": remove it, or name a PriorityClass for benchmarks"))
}
