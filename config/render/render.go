// Package render makes one file of manifests from the folders of config, as `kubectl kustomize` would,
// with the images of a version. It exists so that neither the demo nor a test needs kubectl, and so
// that nobody edits a committed file to install what is built here.
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

// entry is the kustomization that names the images.
const entry = "default/kustomization.yaml"

// Folders that are made.
const (
	// Default is all that a cluster needs, Metrics that with metrics that others can reach, Monitoring that with what the
	// Prometheus operator and Grafana look for. Namespaced is Default with an operator that watches one namespace.
	Default    = "default"
	Metrics    = "metrics"
	Monitoring = "monitoring"
	Namespaced = "namespaced"
)

// Install gives all manifests of config/default as YAML documents. The files are those of the folder
// config; version is that of the images, or empty for the tags in the files.
func Install(config fs.FS, version string) ([]byte, error) { return Folder(config, Default, version) }

// Folder gives all manifests of one of the folders, as Install does of the default one.
func Folder(config fs.FS, folder, version string) ([]byte, error) {
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
	if version != "" {
		if err := setTags(memory, version); err != nil {
			return nil, err
		}
	}
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

// setTags gives all images of the entry the tag of a version.
func setTags(files filesys.FileSystem, version string) error {
	text, err := files.ReadFile(entry)
	if err != nil {
		return fmt.Errorf("read the names of the images: %w", err)
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
