package objects

import (
	"strconv"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/storagebench/storagebench/api/v1alpha1"
)

// Names of volumes of a client pod. The volumes under test are named "data-<volume>".
const (
	programVolume = "program"
	configVolume  = "config"
	scratchVolume = "scratch"
	dataPrefix    = "data-"
)

// installContainer returns the container that copies the agent to a volume of the pod. The agent is a static program,
// so the client container can run it in the tool's image.
func installContainer(s Settings, run *v1alpha1.BenchmarkRun) corev1.Container {
	return corev1.Container{
		Name:                     InstallContainer,
		Image:                    s.AgentImage,
		ImagePullPolicy:          corev1.PullIfNotPresent,
		Command:                  []string{AgentProgram, "--install=" + installedProgram},
		Resources:                installResources(run),
		SecurityContext:          containerSecurity(),
		TerminationMessagePolicy: corev1.TerminationMessageFallbackToLogsOnError,
		VolumeMounts:             []corev1.VolumeMount{{Name: programVolume, MountPath: programDirectory}},
	}
}

// clientContainer returns the container that runs the agent as process 1. Its image contains the tools.
func clientContainer(s Settings, run *v1alpha1.BenchmarkRun, c Client, on Storage) corev1.Container {
	image := run.Spec.Run.Clients.Image
	switch {
	case image != "":
	case run.Spec.Run.UsesMPI():
		image = s.IORImage
	default:
		image = s.FioImage
	}
	port := corev1.ContainerPort{Name: AgentPortName, ContainerPort: Port(run, c), Protocol: corev1.ProtocolTCP}
	if hostNetwork(run) {
		// Declare the host port, so that the scheduler chooses a node on which the port is free.
		port.HostPort = port.ContainerPort
	}
	mounts := []corev1.VolumeMount{
		{Name: programVolume, MountPath: programDirectory, ReadOnly: true},
		{Name: configVolume, MountPath: configDirectory, ReadOnly: true},
		{Name: scratchVolume, MountPath: "/tmp"},
	}
	var devices []corev1.VolumeDevice
	for _, volume := range targetOf(run, c.Target).Volumes {
		if on.device(volume.Name) {
			devices = append(devices, corev1.VolumeDevice{Name: dataPrefix + volume.Name, DevicePath: DevicePath(volume.Name)})
			continue
		}
		// Mount the whole volume, not one of its directories, so that the agent can verify that the volume is mounted.
		mounts = append(mounts, corev1.VolumeMount{
			Name: dataPrefix + volume.Name, MountPath: VolumePath(volume.Name), ReadOnly: on.readOnly(volume.Name)})
	}
	return corev1.Container{
		Name:            ClientContainer,
		Image:           image,
		ImagePullPolicy: corev1.PullIfNotPresent,
		Command:         []string{installedProgram, "--config=" + ConfigFile},
		Ports:           []corev1.ContainerPort{port},
		Resources:       clientResources(run),
		SecurityContext: containerSecurity(),
		// The agent writes the reason for its exit to standard error. With FallbackToLogsOnError, Kubernetes copies
		// this reason to the pod's status.
		TerminationMessagePolicy: corev1.TerminationMessageFallbackToLogsOnError,
		VolumeMounts:             mounts,
		VolumeDevices:            devices,
	}
}

// clientResources returns the resources that the user set for the client, or a default that fits on a small node. The
// default sets requests, because a node that runs out of memory kills pods without requests (QoS class BestEffort)
// first.
func clientResources(run *v1alpha1.BenchmarkRun) corev1.ResourceRequirements {
	if wanted := template(run).Resources; wanted != nil {
		return corev1.ResourceRequirements{Requests: wanted.Requests, Limits: wanted.Limits}
	}
	return corev1.ResourceRequirements{Requests: corev1.ResourceList{
		corev1.ResourceCPU: resource.MustParse("100m"), corev1.ResourceMemory: resource.MustParse("64Mi"),
	}}
}

// installResources returns the CPU, memory and ephemeral storage that the user set for the client, or a small default.
// The init container runs before the client, so its resources do not increase the pod's total request. If the user sets
// limits, both containers have them, so that the pod can have the QoS class Guaranteed and satisfies a quota that
// requires limits. The init container gets no devices, because it only copies a file.
func installResources(run *v1alpha1.BenchmarkRun) corev1.ResourceRequirements {
	if template(run).Resources == nil {
		return corev1.ResourceRequirements{Requests: corev1.ResourceList{
			corev1.ResourceCPU: resource.MustParse("10m"), corev1.ResourceMemory: resource.MustParse("16Mi"),
		}}
	}
	all := clientResources(run)
	return corev1.ResourceRequirements{Requests: computeResources(all.Requests), Limits: computeResources(all.Limits)}
}

func computeResources(all corev1.ResourceList) corev1.ResourceList {
	var some corev1.ResourceList
	for _, name := range []corev1.ResourceName{corev1.ResourceCPU, corev1.ResourceMemory, corev1.ResourceEphemeralStorage} {
		if quantity, known := all[name]; known {
			if some == nil {
				some = corev1.ResourceList{}
			}
			some[name] = quantity
		}
	}
	return some
}

// volumes returns the volumes of a client's pod.
func volumes(run *v1alpha1.BenchmarkRun, c Client, on Storage) []corev1.Volume {
	// The kubelet creates a Secret's files as root. The agent runs as another user, so the file must be readable by all
	// users. No other user exists in the pod.
	mode := int32(0o444)
	all := []corev1.Volume{
		emptyDir(programVolume, "128Mi"),
		{Name: configVolume, VolumeSource: corev1.VolumeSource{Secret: &corev1.SecretVolumeSource{
			SecretName: PodName(run, c), DefaultMode: &mode,
		}}},
		emptyDir(scratchVolume, scratchSize(run)),
	}
	target := targetOf(run, c.Target)
	for _, volume := range target.Volumes {
		all = append(all, corev1.Volume{Name: dataPrefix + volume.Name, VolumeSource: corev1.VolumeSource{
			PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{
				ClaimName: ClaimName(run, target, volume, c.Index), ReadOnly: on.readOnly(volume.Name)},
		}})
	}
	return all
}

// scratchSize is the maximum size of a client's /tmp. Open MPI uses /tmp for its session directories and for the memory
// that the ranks of a pod share.
func scratchSize(run *v1alpha1.BenchmarkRun) string {
	const least, ofRank = 256, 16 // the size of /tmp without MPI and the additional size per rank, in MiB
	size := int64(least)
	if run.Spec.Run.UsesMPI() {
		size += ofRank * run.Spec.Run.MostProcesses()
	}
	return strconv.FormatInt(size, 10) + "Mi"
}

// emptyDir returns a volume on the node's disk, with a limit that keeps a tool from filling the disk.
func emptyDir(name, limit string) corev1.Volume {
	size := resource.MustParse(limit)
	return corev1.Volume{Name: name, VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{SizeLimit: &size}}}
}
