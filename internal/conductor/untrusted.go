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

// What an agent says comes from a pod that runs a user's image. It is bounded and cleaned here, so
// that nobody after this has to care.
const (
	// maxKeptBytes is about the memory that the records of one client may take: seven days of one
	// sample a second take half of it.
	maxKeptBytes = 128 << 20
	// maxNotices are kept of one attempt.
	maxNotices = 64
	// maxMessageLength and maxToolMessages count characters.
	maxMessageLength = 1024
	maxToolMessages  = 32 << 10
	maxVersionLength = 64
	// maxVolumes is the API's bound; the others are far beyond what a good agent says.
	maxVolumes = 16
	maxTools   = 16
	maxOptions = 256
	maxSteps   = 4096
	maxResults = 16
)

// clean makes one line of a text that is shown to people: no control characters, which a terminal
// would obey, and not too long.
func clean(text string, length int) string {
	return v1alpha1.Truncate(strings.Map(func(r rune) rune {
		switch {
		case r == '\n', r == '\t':
			return ' '
		case unicode.IsControl(r):
			return -1
		}
		return r
	}, text), length)
}

// cleanLines is clean with its lines kept.
func cleanLines(text string, length int) string {
	return v1alpha1.Truncate(strings.Map(func(r rune) rune {
		if unicode.IsControl(r) && r != '\n' && r != '\t' {
			return -1
		}
		return r
	}, text), length)
}

var wordPattern = regexp.MustCompile(`^[A-Z][A-Za-z0-9]{0,63}$`)

// word is a reason as conditions take it; anything else becomes the other one.
func word(reason, otherwise string) string {
	if reason == "" || wordPattern.MatchString(reason) {
		return reason
	}
	return otherwise
}

// warning is a type of the API. One that it does not know must not pass as harmless.
func warning(from *agentapi.Notice) (kind v1alpha1.WarningType, message string) {
	kind, message = v1alpha1.WarningType(from.GetWarning()), clean(from.GetMessage(), maxMessageLength)
	if !slices.Contains(v1alpha1.WarningTypes(), kind) {
		return v1alpha1.WarningToolError, clean(fmt.Sprintf("unknown warning %q: %s", from.GetWarning(), message), maxMessageLength)
	}
	return kind, message
}

// tooMuch says what no good agent would describe; the texts of a good one are cleaned in place.
func tooMuch(d *agentapi.DescribeResponse) string {
	if len(d.GetVolumes()) > maxVolumes || len(d.GetTools()) > maxTools || len(d.GetSteps()) > maxSteps {
		return fmt.Sprintf("its agent describes %d volumes, %d tools and %d steps", len(d.GetVolumes()), len(d.GetTools()), len(d.GetSteps()))
	}
	d.AgentVersion = clean(d.GetAgentVersion(), maxVersionLength)
	for _, tool := range d.GetTools() {
		tool.Name, tool.Version = clean(tool.GetName(), maxVersionLength), clean(tool.GetVersion(), maxVersionLength)
		tool.Problem = clean(tool.GetProblem(), maxMessageLength)
	}
	for _, volume := range d.GetVolumes() {
		if len(volume.GetOptions()) > maxOptions {
			return fmt.Sprintf("its agent describes a volume with %d mount options", len(volume.GetOptions()))
		}
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
