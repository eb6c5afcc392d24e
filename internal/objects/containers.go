package objects

import (
	"strconv"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/storagebench/storagebench/api/v1alpha1"
)

// Names of the volumes that every client pod has, beside "data-<volume>" for those under test.
const (
	programVolume = "program"
	configVolume  = "config"
	scratchVolume = "scratch"
	dataPrefix    = "data-"
)

// installContainer copies the agent, a static program, to where the tool's image can run it.
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

// clientContainer runs the agent as process 1, beside the tools of the image.
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
		// Said, so that the scheduler finds a node where it is free.
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
		// The whole volume and no folder of it: so the agent can prove that it is mounted.
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
		// An agent says why it leaves on its standard error; so the pod's status says it too.
		TerminationMessagePolicy: corev1.TerminationMessageFallbackToLogsOnError,
		VolumeMounts:             mounts,
		VolumeDevices:            devices,
	}
}

// clientResources are the user's, or little: enough to be no pod of the last class, that the kernel
// kills first, and not so much that it finds no place on a small node.
func clientResources(run *v1alpha1.BenchmarkRun) corev1.ResourceRequirements {
	if wanted := template(run).Resources; wanted != nil {
		return corev1.ResourceRequirements{Requests: wanted.Requests, Limits: wanted.Limits}
	}
	return corev1.ResourceRequirements{Requests: corev1.ResourceList{
		corev1.ResourceCPU: resource.MustParse("100m"), corev1.ResourceMemory: resource.MustParse("64Mi"),
	}}
}

// installResources are the client's: an init container runs before it, so the pod needs no more
// for that, a limit of the user's on both makes the pod "Guaranteed", and a quota that asks for
// limits is content. Devices are not needed to copy a file.
func installResources(run *v1alpha1.BenchmarkRun) corev1.ResourceRequirements {
	if template(run).Resources == nil {
		return corev1.ResourceRequirements{Requests: corev1.ResourceList{
			corev1.ResourceCPU: resource.MustParse("10m"), corev1.ResourceMemory: resource.MustParse("16Mi"),
		}}
	}
	all := clientResources(run)
	return corev1.ResourceRequirements{Requests: ordinary(all.Requests), Limits: ordinary(all.Limits)}
}

func ordinary(all corev1.ResourceList) corev1.ResourceList {
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

// volumes of a client's pod.
func volumes(run *v1alpha1.BenchmarkRun, c Client, on Storage) []corev1.Volume {
	// The kubelet gives a Secret's files to root. The agent is another user, whom only the last of
	// the three digits lets in; nobody else is there, the pod has one container and one user.
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

// scratchSize is what a client may write to /tmp. Open MPI keeps its sessions there, and what the ranks of a pod
// share.
func scratchSize(run *v1alpha1.BenchmarkRun) string {
	const least, ofRank = 256, 16 // MiB
	size := int64(least)
	if run.Spec.Run.UsesMPI() {
		size += ofRank * run.Spec.Run.MostProcesses()
	}
	return strconv.FormatInt(size, 10) + "Mi"
}

// emptyDir is a folder on the node's disk; its limit keeps a tool from filling that.
func emptyDir(name, limit string) corev1.Volume {
	size := resource.MustParse(limit)
	return corev1.Volume{Name: name, VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{SizeLimit: &size}}}
}
