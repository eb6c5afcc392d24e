package claims

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/storagebench/storagebench/api/v1alpha1"
)

// Claim is a claim that a run uses, or one that a template would create.
type Claim struct {
	// Name is the name of the claim, or "" for a template.
	Name string
	// Path is the field that refers to the claim: claimName or claimTemplate of a volume.
	Path *field.Path
	// Modes are the access modes that the function Modes returns for the claim. Asked are the access modes in the
	// claim's specification.
	Modes, Asked []corev1.PersistentVolumeAccessMode
	// MountedReadOnly is the reason why the claim's volume is mounted read-only, or "" if it is not.
	MountedReadOnly string
}

// writable reports whether pods mount the claim read-write, even if they only read it.
func (c Claim) writable() bool { return !ReadOnly(c.Asked) && c.MountedReadOnly == "" }

// Use describes how a run uses a claim.
type Use struct {
	// Pods is the number of pods that mount the claim at the same time. It includes the pods of all targets of the run.
	Pods int
	// OnePerNode is true if each pod of the run gets its own node.
	OnePerNode bool
	// Writes is the name of the first phase that writes to the claim or lays out data on it, or "" if no phase does.
	Writes string
}

// Check returns an error that names the field to change if the run cannot use the claim as described by use, and nil
// otherwise.
func Check(run *field.Path, claim Claim, use Use) *field.Error {
	at, value := claim.Path, any(claim.Name)
	if claim.Name == "" {
		at, value = claim.Path.Child("spec", "accessModes"), words(claim.Modes)
	}
	switch {
	case use.Pods > 1 && OnePod(claim.Modes):
		return field.Invalid(at, value, fmt.Sprintf("%s is ReadWriteOncePod, but %d clients would use it: %s",
			subject(claim), use.Pods, fewer(run, claim)))
	case use.Pods > 1 && use.OnePerNode && OneNode(claim.Modes, claim.writable()):
		return field.Invalid(at, value, fmt.Sprintf(
			"%s is %s, so only pods on one node can use it, but %s is OnePerNode and %d clients would use it: "+
				"set %s to Any to place the clients on one node, or %s",
			subject(claim), words(claim.Modes), run.Child("clients", "spread"), use.Pods, run.Child("clients", "spread"), fewer(run, claim)))
	case use.Writes == "":
		return nil
	case ReadOnly(claim.Asked):
		return field.Invalid(at, value, fmt.Sprintf(
			"%s is ReadOnlyMany, but phase %s writes to it or lays out data: use a claim that is ReadWriteMany or ReadWriteOnce, "+
				"or %s", subject(claim), use.Writes, readingAlone))
	case claim.MountedReadOnly != "":
		return field.Invalid(at, value, fmt.Sprintf(
			"%s is mounted read-only (%s), but phase %s writes to it or lays out data: use a claim whose volume is mounted read-write, "+
				"or %s", subject(claim), claim.MountedReadOnly, use.Writes, readingAlone))
	}
	return nil
}

// CheckRaw returns an error for each reason why a target cannot use a claim that is a raw device. at is the path of the
// target.
func CheckRaw(at *field.Path, target *v1alpha1.Target, claim Claim, pods int) field.ErrorList {
	var problems field.ErrorList
	is := subject(claim) + " is a raw device, "
	if pods > 1 {
		where, value := claim.Path, claim.Name
		remedy := " and use the claim in one target, or use a claimTemplate with scope PerClient"
		if claim.Name == "" {
			where, value, remedy = claim.Path.Child("scope"), string(v1alpha1.ClaimShared), ", or set scope to PerClient"
		}
		problems = append(problems, field.Invalid(where, value,
			fmt.Sprintf("%son which %d clients would overwrite each other's data: set clients.count to 1%s", is, pods, remedy)))
	}
	if target.Path != "" {
		problems = append(problems, field.Forbidden(at.Child("path"), is+"which has no directories: remove path"))
	}
	if target.Lustre != nil {
		problems = append(problems, field.Forbidden(at.Child("lustre"), is+"which has no file system: remove lustre"))
	}
	return problems
}

// readingAlone is the part of error messages that describes the only way to use a volume that cannot be written to.
const readingAlone = "dataPolicy: Retain and fio phases that only read data laid out by an earlier run with the same prepare phases"

func subject(claim Claim) string {
	if claim.Name == "" {
		return "the claim"
	}
	return "claim " + claim.Name
}

// fewer returns the remedies for a claim that more pods would use than its access modes allow, as the last part of an
// error message.
func fewer(run *field.Path, claim Claim) string {
	remedy := "set " + run.Child("clients", "count").String() + " to 1, "
	if claim.Name == "" {
		return remedy + "create a claim per client with claimTemplate.scope PerClient, or request ReadWriteMany"
	}
	return remedy + "or use a claim that is ReadWriteMany, or a claimTemplate with scope PerClient"
}

// Templates checks the claim templates of a run. It returns an error for each template whose claims the API server
// would reject or no pod could use. writes returns the name of the first phase that writes to the given target.
func Templates(root *field.Path, run *v1alpha1.RunSpec, writes func(target string) string) field.ErrorList {
	var problems field.ErrorList
	for i, target := range run.Targets {
		for j, volume := range target.Volumes {
			if volume.ClaimTemplate == nil {
				continue
			}
			at := root.Child("targets").Index(i).Child("volumes").Index(j).Child("claimTemplate")
			spec := &volume.ClaimTemplate.Spec
			problems = append(problems, incomplete(at.Child("spec"), spec)...)
			problems = append(problems, existing(at, volume.ClaimTemplate, int(run.Clients.Count))...)
			use := Use{Pods: max(1, int(run.Clients.Count)), OnePerNode: run.Clients.OnePerNode(), Writes: writes(target.Name)}
			if volume.ClaimTemplate.Scope == v1alpha1.ClaimPerClient {
				use.Pods = 1
			}
			claim := Claim{Path: at, Modes: spec.AccessModes, Asked: spec.AccessModes}
			if problem := Check(root, claim, use); problem != nil {
				problems = append(problems, problem)
			}
			if Raw(spec) {
				problems = append(problems, CheckRaw(root.Child("targets").Index(i), &target, claim, use.Pods)...)
			}
		}
	}
	return problems
}

// incomplete returns an error for each missing field that the API server requires in a claim. Without this check, the
// API server would reject the claims only after the run has been created.
func incomplete(at *field.Path, spec *corev1.PersistentVolumeClaimSpec) field.ErrorList {
	var problems field.ErrorList
	if len(spec.AccessModes) == 0 {
		problems = append(problems, field.Required(at.Child("accessModes"), "set access modes such as [ReadWriteMany], or [ReadWriteOnce] for a disk"))
	}
	if size := spec.Resources.Requests[corev1.ResourceStorage]; size.Sign() <= 0 {
		problems = append(problems, field.Required(at.Child("resources", "requests", "storage"), "set the size of the claim, such as 100Gi"))
	}
	return problems
}
