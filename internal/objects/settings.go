package objects

import (
	"path"
	"strings"

	"github.com/storagebench/storagebench/api/v1alpha1"
)

// Settings are what the operator knows and a run does not say.
type Settings struct {
	// AgentImage carries AgentProgram. FioImage is what clients run that name no image of their own, and IORImage
	// where a workload of the run needs MPI: a pod has one image, so that has fio too.
	AgentImage, FioImage, IORImage string
	// PullSecrets are of every client's pod that has an image for them, beside those that a benchmark names.
	PullSecrets []PullSecret
	// ClientLabels are of every client's pod, unless a benchmark gives a label another value.
	ClientLabels map[string]string
	// OperatorNamespace is where the conductor's connections come from.
	OperatorNamespace string
}

// PullSecret is the name of an image pull Secret in the namespaces of runs.
type PullSecret struct {
	// Registry is what the names of images begin with that it is for, such as "registry.example/mirror"; empty for all.
	Registry, Name string
}

// fits reports whether the Secret is for an image: for that registry, or what is below that path of it.
func (p PullSecret) fits(image string) bool {
	rest, below := strings.CutPrefix(image, strings.TrimSuffix(p.Registry, "/"))
	return p.Registry == "" || below && strings.HasPrefix(rest, "/")
}

// Client is one pod of a run.
type Client struct {
	Target string
	// Index counts the clients of the target from 0; Attempt counts the pods of this client from 1.
	Index, Attempt int
}

// Names and places inside a client pod.
const (
	// InstallContainer copies the agent into the pod; ClientContainer runs it.
	InstallContainer = "install-agent"
	ClientContainer  = "client"
	// AgentProgram is the agent in the operator's image.
	AgentProgram = "/storagebench-agent"
	// ConfigKey is the key of a client's Secret, and ConfigFile where the agent reads it: an
	// agent.Config in JSON.
	ConfigKey  = "agent.json"
	ConfigFile = configDirectory + "/" + ConfigKey
	// AgentPort is the TCP port of an agent with an address of its own; see Port.
	AgentPort = 7440
	// AgentPortName is the name of that port in the pod.
	AgentPortName = "agent"
	// DefaultUser is the user and the group of a client that asks for none.
	DefaultUser = 65532

	configDirectory  = "/etc/storagebench"
	programDirectory = "/storagebench/bin"
	installedProgram = programDirectory + "/agent"
	dataDirectory    = "/data"
)

// VolumePath is where a client finds a volume of its target.
func VolumePath(volume string) string { return path.Join(dataDirectory, volume) }

// Port is the TCP port at which a client's agent listens: on the node's network each client of the
// run has one of its own, because several may share a node.
func Port(run *v1alpha1.BenchmarkRun, c Client) int32 {
	if !hostNetwork(run) {
		return AgentPort
	}
	return AgentPort + ordinal(run, c)
}

// ordinal counts the clients over all targets, from 0.
func ordinal(run *v1alpha1.BenchmarkRun, c Client) int32 {
	for i, target := range run.Spec.Run.Targets {
		if target.Name == c.Target {
			return int32(i)*clientsPerTarget(run) + int32(c.Index) //nolint:gosec // The API allows 16 targets of 1000 clients.
		}
	}
	return int32(c.Index) //nolint:gosec // as above
}

func clientsPerTarget(run *v1alpha1.BenchmarkRun) int32 { return max(1, run.Spec.Run.Clients.Count) }

func hostNetwork(run *v1alpha1.BenchmarkRun) bool {
	wanted := template(run).HostNetwork
	return wanted != nil && *wanted
}

// template is what the user said of the pods; nothing where that is nothing.
func template(run *v1alpha1.BenchmarkRun) v1alpha1.PodTemplate {
	if run.Spec.Run.Clients.Template == nil {
		return v1alpha1.PodTemplate{}
	}
	return *run.Spec.Run.Clients.Template
}

// targetOf finds a target by its name; the zero value when the run has none of it.
func targetOf(run *v1alpha1.BenchmarkRun, name string) v1alpha1.Target {
	for _, target := range run.Spec.Run.Targets {
		if target.Name == name {
			return target
		}
	}
	return v1alpha1.Target{}
}
