package cli

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/storagebench/storagebench/api/v1alpha1"
	"github.com/storagebench/storagebench/internal/library"
	"github.com/storagebench/storagebench/internal/report"
	"github.com/storagebench/storagebench/internal/version"
)

// profilesDocument is the output of `profiles -o json`.
type profilesDocument struct {
	SchemaVersion int                 `json:"schemaVersion"`
	Version       string              `json:"storagebenchVersion"`
	Profiles      []profileOfDocument `json:"profiles"`
}

type profileOfDocument struct {
	Name   string                       `json:"name"`
	Engine v1alpha1.EngineKind          `json:"engine"`
	About  string                       `json:"about"`
	Source string                       `json:"source"`
	Spec   v1alpha1.WorkloadProfileSpec `json:"spec"`
}

func newProfiles(streams Streams) *cobra.Command {
	var output string
	command := &cobra.Command{
		Use:   "profiles [NAME...]",
		Short: "Show the library of workload profiles",
		Long: "List the ClusterWorkloadProfiles of this version: the purpose of each, and the source of its\n" +
			"numbers. An operator of the same version creates them in its cluster; plan and run --local include\n" +
			"them. -o yaml prints them, to apply them without the operator or to edit a copy.",
		Example: "  kubectl storagebench profiles\n" +
			"  kubectl storagebench profiles etcd-wal\n" +
			"  kubectl storagebench profiles oltp-8k -o yaml > mine.yaml",
		RunE: func(_ *cobra.Command, names []string) error {
			chosen, err := chosenProfiles(names)
			if err != nil {
				return err
			}
			if output == "yaml" {
				return profileFiles(streams.Out, chosen)
			}
			document := profilesDocument{SchemaVersion: report.SchemaVersion, Version: version.Version}
			for i := range chosen {
				one := &chosen[i]
				document.Profiles = append(document.Profiles, profileOfDocument{
					Name: one.Name, Engine: one.Spec.EngineKind(), About: one.About(), Source: one.Source(), Spec: one.Spec,
				})
			}
			return printAs(streams.Out, output, document, func(w io.Writer) error { return profileTexts(w, chosen, len(names) > 0) })
		},
		ValidArgsFunction: func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
			return libraryNames(), cobra.ShellCompDirectiveNoFileComp
		},
	}
	formFlag(command, &output, "text", "json", "yaml")
	return command
}

// libraryNames lists the profiles of the library.
func libraryNames() []string {
	all, _ := library.Profiles() // cannot fail: a test parses every profile of the library
	var names []string
	for i := range all {
		names = append(names, all[i].Name)
	}
	return names
}

// chosenProfiles returns the profiles with these names, or all if names is empty.
func chosenProfiles(names []string) ([]library.Profile, error) {
	all, err := library.Profiles()
	if err != nil || len(names) == 0 {
		return all, err
	}
	for _, name := range names {
		if _, found := library.Find(name); !found {
			return nil, fmt.Errorf("the library has no profile %q%s", name, nearestProfile(name))
		}
	}
	return slices.DeleteFunc(slices.Clone(all), func(one library.Profile) bool { return !slices.Contains(names, one.Name) }), nil
}

func profileFiles(w io.Writer, profiles []library.Profile) error {
	for i := range profiles {
		separator := "---\n"
		if i == 0 {
			separator = ""
		}
		if _, err := io.WriteString(w, separator+profiles[i].Text); err != nil {
			return err
		}
	}
	return nil
}

// profileTexts lists profiles, one per line. If wholly is true, it writes a paragraph about each profile instead,
// including the profile's source.
func profileTexts(w io.Writer, profiles []library.Profile, wholly bool) error {
	var b strings.Builder
	longest := 0
	for i := range profiles {
		longest = max(longest, len(profiles[i].Name))
	}
	for i := range profiles {
		one := &profiles[i]
		if !wholly {
			fmt.Fprintf(&b, "%-*s  %-6s  %s\n", longest, one.Name, one.Spec.EngineKind(), one.About())
			continue
		}
		if i > 0 {
			b.WriteByte('\n')
		}
		fmt.Fprintf(&b, "%s (%s)\n  %s\n  Source: %s\n", one.Name, one.Spec.EngineKind(), one.About(), one.Source())
	}
	if !wholly {
		b.WriteString("\nTo use a profile, set workload: {profileRef: {name: NAME, datasetSize: 8Gi}}\n")
	}
	_, err := io.WriteString(w, b.String())
	return err
}
