package objects

import (
	"crypto/sha256"
	"encoding/hex"
	"strconv"
	"strings"

	"github.com/storagebench/storagebench/api/v1alpha1"
)

const (
	// maxNameLength is that of a DNS subdomain, which is what these objects are named by.
	maxNameLength = 253
	// maxLabelLength is that of a DNS label, a hostname and a label's value.
	maxLabelLength = 63
	// hashLength is how many hexadecimal digits stand for what a name leaves out.
	hashLength = 10
)

// PodName is <run>-<target>-<client>-<attempt>. The two numbers at its end hold no dash, so no two
// clients of a run share a name, however many dashes and digits a target's name has.
func PodName(run *v1alpha1.BenchmarkRun, c Client) string {
	return join(maxNameLength, run.Name, c.Target, strconv.Itoa(c.Index), strconv.Itoa(c.Attempt))
}

// NetworkPolicyName is the run's name.
func NetworkPolicyName(run *v1alpha1.BenchmarkRun) string { return run.Name }

// ClaimName is the claim that a client mounts for a volume: the one that the user named, or the one
// that the volume's template makes: <run>-<target>-<volume>[-<client>], with the benchmark in place
// of the run where the claim outlives it. Where dashes and digits could make that the name of
// another volume's claim too, a hash follows.
func ClaimName(run *v1alpha1.BenchmarkRun, target v1alpha1.Target, volume v1alpha1.Volume, index int) string {
	if volume.ClaimTemplate == nil {
		return volume.ClaimName
	}
	parts := []string{run.Name, target.Name, volume.Name}
	if volume.ClaimTemplate.Lifetime == v1alpha1.ClaimForBenchmark {
		parts[0] = run.Spec.BenchmarkRef.Name
	}
	if volume.ClaimTemplate.Scope == v1alpha1.ClaimPerClient {
		parts = append(parts, strconv.Itoa(index))
	}
	if !isPlain(target.Name, volume.Name) {
		return hashed(maxNameLength, parts)
	}
	return join(maxNameLength, parts...)
}

// isPlain is true when a claim's name can be read in one way only: from its end, a part without
// dashes is the volume or, being a number, the client; and it is no hash.
func isPlain(target, volume string) bool {
	return !strings.Contains(target, "-") && !strings.Contains(volume, "-") &&
		strings.Trim(volume, "0123456789") != "" && len(volume) != hashLength
}

// hostname is the pod's name where that can be one, else a label of its own; empty means the former.
func hostname(podName string) string {
	if len(podName) <= maxLabelLength && !strings.Contains(podName, ".") {
		return ""
	}
	return hashed(maxLabelLength, []string{strings.ReplaceAll(podName, ".", "-")}, podName)
}

// labelValue is a name as a label's value.
func labelValue(name string) string { return join(maxLabelLength, name) }

// join puts a dash between the parts, and a hash at the end where that is too long.
func join(maxLength int, parts ...string) string {
	if text := strings.Join(parts, "-"); len(text) <= maxLength {
		return text
	}
	return hashed(maxLength, parts)
}

// hashed is the parts joined, as far as there is room, and a hash of them and of what else tells
// them apart.
func hashed(maxLength int, parts []string, more ...string) string {
	sum := sha256.Sum256([]byte(strings.Join(append(parts[:len(parts):len(parts)], more...), "\x00")))
	text := strings.Join(parts, "-")
	text = strings.TrimRight(text[:min(len(text), maxLength-hashLength-1)], "-.")
	return text + "-" + hex.EncodeToString(sum[:])[:hashLength]
}
