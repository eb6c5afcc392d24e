package objects

import (
	"path"
	"strings"

	"github.com/storagebench/storagebench/api/v1alpha1"
)

// Settings is the operator's configuration for the objects of runs.
type Settings struct {
	// AgentImage is the image that contains AgentProgram. FioImage is the image of clients if the benchmark does not
	// set one. If a workload of the run needs MPI, IORImage is used instead; it also contains fio, because a client's
	// tools all come from one image.
	AgentImage, FioImage, IORImage string
	// PullSecrets are added to each client pod with an image that they apply to, in addition to the Secrets that a
	// benchmark names.
	PullSecrets []PullSecret
	// ClientLabels are added to every client pod, unless a benchmark sets another value.
	ClientLabels map[string]string
	// OperatorNamespace is the namespace from which the conductor connects.
	OperatorNamespace string
}

// PullSecret is the name of an image pull Secret in the namespaces of runs.
type PullSecret struct {
	// Registry is the prefix of the images that the Secret applies to, such as "registry.example/mirror", or "" for
	// all images.
	Registry, Name string
}

// fits reports whether the Secret applies to an image: the registry is empty or a path prefix of the image's name.
func (p PullSecret) fits(image string) bool {
	rest, below := strings.CutPrefix(image, strings.TrimSuffix(p.Registry, "/"))
	return p.Registry == "" || below && strings.HasPrefix(rest, "/")
}

// Client is one pod of a run.
type Client struct {
	Target string
	// Index is the client's index within the target, counted from 0. Attempt is the number of this client's pod,
	// counted from 1.
	Index, Attempt int
}

// Names and paths inside a client pod.
const (
	// InstallContainer copies the agent into the pod; ClientContainer runs it.
	InstallContainer = "install-agent"
	ClientContainer  = "client"
	// AgentProgram is the agent's path in the operator's image.
	AgentProgram = "/storagebench-agent"
	// ConfigKey is the key of the agent's configuration, an agent.Config in JSON, in the client's Secret. ConfigFile is
	// the path at which the agent reads it.
	ConfigKey  = "agent.json"
	ConfigFile = configDirectory + "/" + ConfigKey
	// AgentPort is the TCP port of agents, except in pods on the node's network; see Port.
	AgentPort = 7440
	// AgentPortName is the name of the agent's port in the pod.
	AgentPortName = "agent"
	// DefaultUser is the user and group ID of a client that specifies none.
	DefaultUser = 65532

	configDirectory  = "/etc/storagebench"
	programDirectory = "/storagebench/bin"
	installedProgram = programDirectory + "/agent"
	dataDirectory    = "/data"
)

// VolumePath returns the path at which a client finds a volume of its target.
func VolumePath(volume string) string { return path.Join(dataDirectory, volume) }

// Port returns the TCP port of a client's agent. On the node's network, each client of the run has its own port,
// because several clients may share a node.
func Port(run *v1alpha1.BenchmarkRun, c Client) int32 {
	if !hostNetwork(run) {
		return AgentPort
	}
	return AgentPort + ordinal(run, c)
}

// ordinal returns the number of a client among the clients of all targets, counted from 0.
func ordinal(run *v1alpha1.BenchmarkRun, c Client) int32 {
	for i, target := range run.Spec.Run.Targets {
		if target.Name == c.Target {
			return int32(i)*clientsPerTarget(run) + int32(c.Index) //nolint:gosec // The API allows 16 targets of 1000 clients.
		}
	}
	return int32(c.Index) //nolint:gosec // The API allows 1000 clients per target.
}

func clientsPerTarget(run *v1alpha1.BenchmarkRun) int32 { return max(1, run.Spec.Run.Clients.Count) }

func hostNetwork(run *v1alpha1.BenchmarkRun) bool {
	wanted := template(run).HostNetwork
	return wanted != nil && *wanted
}

// template returns the user's pod template, or an empty one.
func template(run *v1alpha1.BenchmarkRun) v1alpha1.PodTemplate {
	if run.Spec.Run.Clients.Template == nil {
		return v1alpha1.PodTemplate{}
	}
	return *run.Spec.Run.Clients.Template
}

// targetOf returns the target with the given name, or the zero value if the run has no such target.
func targetOf(run *v1alpha1.BenchmarkRun, name string) v1alpha1.Target {
	for _, target := range run.Spec.Run.Targets {
		if target.Name == name {
			return target
		}
	}
	return v1alpha1.Target{}
}
