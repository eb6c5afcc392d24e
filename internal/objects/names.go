package objects

import (
	"crypto/sha256"
	"encoding/hex"
	"strconv"
	"strings"

	"github.com/storagebench/storagebench/api/v1alpha1"
)

const (
	// maxNameLength is the maximum length of a DNS subdomain, such as the name of a pod, Secret or claim.
	maxNameLength = 253
	// maxLabelLength is the maximum length of a DNS label, a hostname and a label value.
	maxLabelLength = 63
	// hashLength is the number of hexadecimal digits of a hash in a shortened name.
	hashLength = 10
)

// PodName returns <run>-<target>-<client>-<attempt>. The two numbers at the end contain no dash, so no two clients of a
// run share a name, even if a target's name contains dashes and digits.
func PodName(run *v1alpha1.BenchmarkRun, c Client) string {
	return join(maxNameLength, run.Name, c.Target, strconv.Itoa(c.Index), strconv.Itoa(c.Attempt))
}

// NetworkPolicyName returns the name of a run's NetworkPolicy, which is the name of the run.
func NetworkPolicyName(run *v1alpha1.BenchmarkRun) string { return run.Name }

// ClaimName returns the name of the claim that a client mounts for a volume. This is the existing claim that the user
// named, or the claim created from the volume's template. The latter is named <run>-<target>-<volume>[-<client>], with
// the benchmark instead of the run if the claim outlives the run. A hash is appended where dashes and digits would make
// the name ambiguous.
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

// isPlain reports whether a claim's name is unambiguous without a hash: the names of the target and the volume contain
// no dash, and the volume's name cannot be mistaken for a client's index or for a hash.
func isPlain(target, volume string) bool {
	return !strings.Contains(target, "-") && !strings.Contains(volume, "-") &&
		strings.Trim(volume, "0123456789") != "" && len(volume) != hashLength
}

// hostname returns a hostname for a pod whose name is not a valid hostname, or "" if the pod's name can be used.
func hostname(podName string) string {
	if len(podName) <= maxLabelLength && !strings.Contains(podName, ".") {
		return ""
	}
	return hashed(maxLabelLength, []string{strings.ReplaceAll(podName, ".", "-")}, podName)
}

// labelValue shortens a name to a valid label value.
func labelValue(name string) string { return join(maxLabelLength, name) }

// join joins the parts with dashes. If the result is too long, it is shortened and a hash is appended.
func join(maxLength int, parts ...string) string {
	if text := strings.Join(parts, "-"); len(text) <= maxLength {
		return text
	}
	return hashed(maxLength, parts)
}

// hashed joins the parts with dashes and shortens the result to fit. It appends a hash of the parts and of the strings
// in more.
func hashed(maxLength int, parts []string, more ...string) string {
	sum := sha256.Sum256([]byte(strings.Join(append(parts[:len(parts):len(parts)], more...), "\x00")))
	text := strings.Join(parts, "-")
	text = strings.TrimRight(text[:min(len(text), maxLength-hashLength-1)], "-.")
	return text + "-" + hex.EncodeToString(sum[:])[:hashLength]
}
