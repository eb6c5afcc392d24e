// Package render builds a single manifest file from the directories of config, as `kubectl kustomize` would, with the
// images of a given version. The demo and the tests use it so that they need no kubectl, and so that a local build can
// be installed without editing a committed file.
package render

import (
	"fmt"
	"io/fs"
	"path"

	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/api/types"
	"sigs.k8s.io/kustomize/kyaml/filesys"
	"sigs.k8s.io/yaml"
)

// entry is the path of the kustomization that sets the images.
const entry = "default/kustomization.yaml"

// The directories of config that Folder can render.
const (
	// Default contains everything that storagebench needs in a cluster. Metrics extends Default so that Prometheus can
	// scrape the operator. Monitoring extends Metrics with objects for the Prometheus operator and Grafana. Namespaced
	// changes Default so that the operator watches only one namespace. Kueue contains only the permission that the
	// operator needs for Kueue; install it in addition to one of the other directories.
	Default    = "default"
	Metrics    = "metrics"
	Monitoring = "monitoring"
	Namespaced = "namespaced"
	Kueue      = "kueue"
)

// Folder returns all manifests of a directory of config as YAML documents. The root of the file system config is the
// directory config. version is the image tag; if it is empty, the tags in the files are kept.
func Folder(config fs.FS, folder, version string) ([]byte, error) {
	memory, err := read(config)
	if err != nil {
		return nil, err
	}
	if version != "" {
		if err := setTags(memory, version); err != nil {
			return nil, err
		}
	}
	return build(memory, folder)
}

// read copies the manifests into memory.
func read(config fs.FS) (filesys.FileSystem, error) {
	memory := filesys.MakeFsInMemory()
	err := fs.WalkDir(config, ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || path.Ext(name) != ".yaml" && path.Ext(name) != ".json" {
			return err
		}
		text, err := fs.ReadFile(config, name)
		if err != nil {
			return err
		}
		return memory.WriteFile(name, text)
	})
	if err != nil {
		return nil, fmt.Errorf("read the manifests: %w", err)
	}
	return memory, nil
}

// build runs kustomize on a directory.
func build(memory filesys.FileSystem, folder string) ([]byte, error) {
	built, err := krusty.MakeKustomizer(krusty.MakeDefaultOptions()).Run(memory, folder)
	if err != nil {
		return nil, fmt.Errorf("build %s: %w", folder, err)
	}
	text, err := built.AsYaml()
	if err != nil {
		return nil, fmt.Errorf("write the manifests: %w", err)
	}
	return text, nil
}

// Images holds full image names, such as registry.example/storagebench/fio:v1@sha256:…. If an image does not exist, its
// name is empty.
type Images struct{ Operator, Fio, IOR string }

// ImageNames lists the image names that Of accepts.
var ImageNames = []string{"operator", "fio", "ior"}

// Of returns a pointer to the field that holds the full name of the given image, which must be one of ImageNames.
func (i *Images) Of(name string) *string {
	return map[string]*string{"operator": &i.Operator, "fio": &i.Fio, "ior": &i.IOR}[name]
}

// Patch returns a strategic merge patch that makes the operator's Deployment use the images. It sets the images for
// client pods in environment variables, not in arguments, because several patches can each add variables, but a patch
// that sets arguments would replace those of another patch.
func (i *Images) Patch() string {
	text := fmt.Sprintf(`apiVersion: apps/v1
kind: Deployment
metadata:
  name: storagebench-operator
  namespace: storagebench-system
spec:
  template:
    spec:
      containers:
      - name: operator
        image: %[1]s
        env:
        - {name: AGENT_IMAGE, value: %[1]q}
        - {name: FIO_IMAGE, value: %[2]q}
`, i.Operator, i.Fio)
	if i.IOR != "" {
		text += fmt.Sprintf("        - {name: IOR_IMAGE, value: %q}\n", i.IOR)
	}
	return text
}

// Pinned returns all manifests of the given directory, with the default images replaced by the given ones.
func Pinned(config fs.FS, folder string, images Images) ([]byte, error) {
	memory, err := read(config)
	if err != nil {
		return nil, err
	}
	overlay, err := yaml.Marshal(types.Kustomization{
		Resources: []string{"../" + folder}, Patches: []types.Patch{{Patch: images.Patch()}},
	})
	if err != nil {
		return nil, fmt.Errorf("write an overlay: %w", err)
	}
	if err := memory.WriteFile("pinned/kustomization.yaml", overlay); err != nil {
		return nil, fmt.Errorf("write an overlay: %w", err)
	}
	return build(memory, "pinned")
}

// setTags sets the tag of all images in entry to a version.
func setTags(files filesys.FileSystem, version string) error {
	text, err := files.ReadFile(entry)
	if err != nil {
		return fmt.Errorf("read the image names: %w", err)
	}
	var kustomization types.Kustomization
	if err := yaml.UnmarshalStrict(text, &kustomization); err != nil {
		return fmt.Errorf("read %s: %w", entry, err)
	}
	for i := range kustomization.Images {
		kustomization.Images[i].NewTag = version
	}
	if text, err = yaml.Marshal(kustomization); err != nil {
		return fmt.Errorf("write %s: %w", entry, err)
	}
	return files.WriteFile(entry, text)
}
