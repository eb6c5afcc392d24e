// Package library contains the ClusterWorkloadProfiles that ship with this version. The operator applies them to its
// cluster; the CLI uses them if there is no cluster.
//
// Each profile is a file in the directory profiles. Its annotations describe its purpose and the sources of its
// numbers; numbers without a source are marked as our own. The library contains only workloads that have a public
// source. docs/profiles.md is generated from the same files.
package library

import (
	"embed"
	"fmt"
	"path"
	"slices"
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/json"
	"sigs.k8s.io/yaml"

	"github.com/storagebench/storagebench/api/v1alpha1"
)

//go:embed profiles/*.yaml
var files embed.FS

// Profile is a profile of the library.
type Profile struct {
	v1alpha1.ClusterWorkloadProfile
	// Text is the content of the profile's file.
	Text string
}

// About returns the purpose of the profile.
func (p *Profile) About() string { return p.Annotations[v1alpha1.AnnotationAbout] }

// Source returns the sources of the profile's numbers.
func (p *Profile) Source() string { return p.Annotations[v1alpha1.AnnotationSource] }

// Object returns the profile exactly as its file defines it. Decoding the file into the Go type instead would add
// fields with zero values.
func (p *Profile) Object() (*unstructured.Unstructured, error) {
	object := &unstructured.Unstructured{}
	text, err := yaml.YAMLToJSON([]byte(p.Text))
	if err == nil {
		// Like an API server, the Unmarshal function of k8s.io/apimachinery decodes whole numbers as integers.
		// json.Unmarshal of the standard library would decode them as floating-point numbers.
		err = json.Unmarshal(text, &object.Object)
	}
	if err != nil {
		return nil, fmt.Errorf("read the profile %s: %w", p.Name, err)
	}
	return object, nil
}

// Profiles returns all profiles of the library, sorted by name.
var Profiles = sync.OnceValues(load)

func load() ([]Profile, error) {
	entries, err := files.ReadDir("profiles")
	if err != nil {
		return nil, fmt.Errorf("list the profile library: %w", err)
	}
	var all []Profile
	for _, entry := range entries {
		text, err := files.ReadFile(path.Join("profiles", entry.Name()))
		if err != nil {
			return nil, fmt.Errorf("read the profile library: %w", err)
		}
		read := Profile{Text: string(text)}
		if err := yaml.UnmarshalStrict(text, &read.ClusterWorkloadProfile); err != nil {
			return nil, fmt.Errorf("read the profile in %s: %w", entry.Name(), err)
		}
		if read.Name+".yaml" != entry.Name() {
			return nil, fmt.Errorf("the profile in %s is named %q: use the same name for the profile and its file", entry.Name(), read.Name)
		}
		all = append(all, read)
	}
	slices.SortFunc(all, func(a, b Profile) int { return strings.Compare(a.Name, b.Name) })
	return all, nil
}

// Find returns the profile with the given name, or false if there is none.
func Find(name string) (Profile, bool) {
	all, err := Profiles()
	if err != nil {
		return Profile{}, false // unreachable: a test parses every profile of the library
	}
	for _, one := range all {
		if one.Name == name {
			return one, true
		}
	}
	return Profile{}, false
}
