// Package library holds the ClusterWorkloadProfiles that come with this version: the operator applies them to its cluster, and the
// command line finds them where there is none.
//
// A profile is a file of the folder profiles. Its annotations say what it is for and where its numbers come from: a
// number without a source says that it is ours. What has no source that anybody can look up is not in the library.
// docs/profiles.md is made of the same files.
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

// Profile is one of the library.
type Profile struct {
	v1alpha1.ClusterWorkloadProfile
	// Text is its file.
	Text string
}

// About says what the profile is for.
func (p *Profile) About() string { return p.Annotations[v1alpha1.AnnotationAbout] }

// Source says where its numbers come from.
func (p *Profile) Source() string { return p.Annotations[v1alpha1.AnnotationSource] }

// Object is the profile as its file has it, without what a type would add.
func (p *Profile) Object() (*unstructured.Unstructured, error) {
	object := &unstructured.Unstructured{}
	text, err := yaml.YAMLToJSON([]byte(p.Text))
	if err == nil {
		err = json.Unmarshal(text, &object.Object) // whole numbers as an API server has them
	}
	if err != nil {
		return nil, fmt.Errorf("read the profile %s: %w", p.Name, err)
	}
	return object, nil
}

// Profiles are all of the library, by their names.
var Profiles = sync.OnceValues(load)

func load() ([]Profile, error) {
	entries, err := files.ReadDir("profiles")
	if err != nil {
		return nil, fmt.Errorf("list the library of profiles: %w", err)
	}
	var all []Profile
	for _, entry := range entries {
		text, err := files.ReadFile(path.Join("profiles", entry.Name()))
		if err != nil {
			return nil, fmt.Errorf("read the library of profiles: %w", err)
		}
		read := Profile{Text: string(text)}
		if err := yaml.UnmarshalStrict(text, &read.ClusterWorkloadProfile); err != nil {
			return nil, fmt.Errorf("read the profile in %s: %w", entry.Name(), err)
		}
		if read.Name+".yaml" != entry.Name() {
			return nil, fmt.Errorf("the profile in %s is called %q: give both the same name", entry.Name(), read.Name)
		}
		all = append(all, read)
	}
	slices.SortFunc(all, func(a, b Profile) int { return strings.Compare(a.Name, b.Name) })
	return all, nil
}

// Find gives the profile of a name; false where the library has none.
func Find(name string) (Profile, bool) {
	all, err := Profiles()
	if err != nil {
		return Profile{}, false // a library that cannot be read does not pass its own test
	}
	for _, one := range all {
		if one.Name == name {
			return one, true
		}
	}
	return Profile{}, false
}
