package conductor

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode"

	"github.com/storagebench/storagebench/api/v1alpha1"
	"github.com/storagebench/storagebench/internal/agentapi"
)

// Agents run in pods with a user's image, so all their reports are untrusted. This file bounds and sanitizes the
// reports, so that other code can rely on them. Elsewhere, Budget limits the memory for reports, codec refuses messages
// that need too much memory, and requested determines which attempts an agent may report on.
const (
	// maxNotices limits the notices kept while an attempt runs. Including notices from its end, at most twice as many are
	// kept.
	maxNotices = 64
	// maxMessageLength, maxToolMessages and maxVersionLength limit the lengths of a message, of all messages of a tool,
	// and of a name or version, in characters.
	maxMessageLength = 1024
	maxToolMessages  = 32 << 10
	maxVersionLength = 64
	// maxVolumes is the API's maximum number of volumes per target. maxTools, maxOptions and maxSteps are far above
	// what a correct agent reports.
	maxVolumes = 16
	maxTools   = 16
	maxOptions = 256
	maxSteps   = 4096
	// maxVolumeOwners limits the other benchmarks that an agent may report as owners of data on one volume. agentapi
	// documents this limit.
	maxVolumeOwners = 64
)

// clean turns a text into one line for display and truncates it to length. It removes nonprintable characters, because
// some of them control a terminal and others hide or reorder text.
func clean(text string, length int) string {
	return v1alpha1.Truncate(strings.Map(func(r rune) rune {
		switch {
		case unicode.IsPrint(r):
			return r
		case r == '\n', r == '\t', unicode.In(r, unicode.Zs):
			return ' '
		}
		return -1
	}, text), length)
}

// Printable formats a message that originates from a pod or its containers as one line for display, without
// nonprintable characters, and with the same length limit as an agent's messages.
func Printable(message string) string { return clean(message, maxMessageLength) }

// cleanLines is like clean, but keeps line breaks and tabs.
func cleanLines(text string, length int) string {
	return v1alpha1.Truncate(strings.Map(func(r rune) rune {
		if r == '\n' || r == '\t' || unicode.IsPrint(r) {
			return r
		}
		return -1
	}, text), length)
}

var wordPattern = regexp.MustCompile(`^[A-Z][A-Za-z0-9]{0,63}$`)

// word returns the given reason if it is empty or well-formed as the reason of a condition. Otherwise, it returns the
// fallback.
func word(reason, otherwise string) string {
	if reason == "" || wordPattern.MatchString(reason) {
		return reason
	}
	return otherwise
}

// warning returns the API's type and the message of a notice. An unknown type becomes a tool error, so that it is
// not considered harmless.
func warning(from *agentapi.Notice) (kind v1alpha1.WarningType, message string) {
	kind, message = v1alpha1.WarningType(from.GetWarning()), clean(from.GetMessage(), maxMessageLength)
	if !slices.Contains(v1alpha1.WarningTypes(), kind) {
		return v1alpha1.WarningToolError, clean(fmt.Sprintf("unknown warning %q: %s", from.GetWarning(), message), maxMessageLength)
	}
	return kind, message
}

// excessive returns the reason why an agent's description is implausibly large, or "" if it is plausible. It also
// sanitizes the strings of the description in place.
func excessive(d *agentapi.DescribeResponse) string {
	if len(d.GetVolumes()) > maxVolumes || len(d.GetTools()) > maxTools || len(d.GetSteps()) > maxSteps {
		return fmt.Sprintf("the agent reports implausible counts: %d volumes, %d tools, %d steps", len(d.GetVolumes()), len(d.GetTools()), len(d.GetSteps()))
	}
	d.AgentVersion = clean(d.GetAgentVersion(), maxVersionLength)
	for _, tool := range d.GetTools() {
		tool.Name, tool.Version = clean(tool.GetName(), maxVersionLength), clean(tool.GetVersion(), maxVersionLength)
		tool.Path, tool.Problem = clean(tool.GetPath(), maxMessageLength), clean(tool.GetProblem(), maxMessageLength)
	}
	for _, volume := range d.GetVolumes() {
		if len(volume.GetOptions()) > maxOptions || len(volume.GetOwners()) > maxVolumeOwners {
			return fmt.Sprintf("the agent reports implausible counts: a volume with %d mount options and data of %d other benchmarks",
				len(volume.GetOptions()), len(volume.GetOwners()))
		}
		volume.Owners = slices.DeleteFunc(volume.GetOwners(), func(uid string) bool { return !uidText.MatchString(uid) })
		for _, text := range []*string{&volume.Name, &volume.Path, &volume.FilesystemType, &volume.Source, &volume.Problem} {
			*text = clean(*text, maxMessageLength)
		}
		for i := range volume.GetOptions() {
			volume.Options[i] = clean(volume.Options[i], maxMessageLength)
		}
	}
	if host := d.GetHost(); host != nil {
		for _, text := range []*string{&host.Name, &host.Kernel, &host.BootId, &host.Architecture} {
			*text = clean(*text, maxMessageLength/4)
		}
		host.Cpus, host.CpuLimitMilli = max(host.GetCpus(), 0), max(host.GetCpuLimitMilli(), 0)
	}
	return ""
}
