package convert

import (
	"fmt"
	"strings"
	"time"

	"sigs.k8s.io/yaml"

	"github.com/storagebench/storagebench/api/v1alpha1"
)

// profileDocument is a profile in the form that users write, without a status.
type profileDocument struct {
	APIVersion string                       `json:"apiVersion"`
	Kind       string                       `json:"kind"`
	Metadata   profileName                  `json:"metadata"`
	Spec       v1alpha1.WorkloadProfileSpec `json:"spec"`
}

type profileName struct {
	Name string `json:"name"`
}

// YAML writes each profile as a document of the given kind, WorkloadProfile or ClusterWorkloadProfile, with its notes
// as comments above it.
func YAML(workloads []Workload, kind string) (string, error) {
	var text strings.Builder
	for i := range workloads {
		if i > 0 {
			text.WriteString("---\n")
		}
		w := &workloads[i]
		w.comment(&text)
		document, err := yaml.Marshal(profileDocument{
			APIVersion: v1alpha1.GroupVersion.String(), Kind: kind, Metadata: profileName{Name: w.Name}, Spec: w.Spec,
		})
		if err != nil {
			return "", fmt.Errorf("write the profile %s: %w", w.Name, err)
		}
		text.Write(document)
	}
	return text.String(), nil
}

var kindTitles = map[Kind]string{
	Differs:   "Differs; check before use:",
	Elsewhere: "Belongs in the benchmark:",
	Unneeded:  "Left out, because it has no effect here:",
}

func (w *Workload) comment(text *strings.Builder) {
	if w.Duration > 0 {
		phase := "{duration: " + Seconds(w.Duration)
		if w.WarmUp > 0 {
			phase += ", warmUp: " + Seconds(w.WarmUp)
		}
		fmt.Fprintf(text, "# Suggested phase: steady: %s}\n", phase)
	}
	if w.Processes > 0 {
		fmt.Fprintf(text, "# MPI ranks: %d (clients.count times processesPerClient)\n", w.Processes)
	}
	for _, kind := range Kinds {
		title := kindTitles[kind]
		for _, note := range w.Notes {
			if note.Kind != kind {
				continue
			}
			if title != "" {
				fmt.Fprintf(text, "# %s\n", title)
				title = ""
			}
			said := note.Why
			if note.Remedy != "" {
				said += ". " + strings.ToUpper(note.Remedy[:1]) + note.Remedy[1:]
			}
			wrap(text, note.Option+": "+said+".")
		}
	}
}

// wrap writes a list entry as comment lines of at most 100 columns. It does not split longer words.
func wrap(text *strings.Builder, entry string) {
	const columns = 100
	line := "# * "
	empty := true
	for _, word := range strings.Fields(entry) {
		if !empty && len(line)+1+len(word) > columns {
			text.WriteString(line + "\n")
			line, empty = "#   ", true
		}
		if !empty {
			line += " "
		}
		line += word
		empty = false
	}
	text.WriteString(line + "\n")
}

// Seconds formats a duration for a field of the API. It uses milliseconds if the duration is not a whole number of
// seconds.
func Seconds(d time.Duration) string {
	if d%time.Second != 0 {
		return fmt.Sprintf("%dms", d.Milliseconds())
	}
	return fmt.Sprintf("%ds", int64(d/time.Second))
}
