package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/storagebench/storagebench/hack/schemas/strict"
)

// releases lists the releases of Kubernetes whose schemas are generated: the newest patch release of each minor
// version on the module proxy, starting with the oldest version that the chart allows.
var releases = []string{"1.30.14", "1.31.14", "1.32.13", "1.33.13", "1.34.4", "1.35.4", "1.36.3"}

// kinds lists the kinds that the chart, config and the examples use. Add a kind when one of them starts to use it.
var kinds = []kind{
	{"", "v1", "ConfigMap"}, {"", "v1", "Namespace"}, {"", "v1", "PersistentVolume"}, {"", "v1", "PersistentVolumeClaim"}, {"", "v1", "Pod"},
	{"", "v1", "Secret"}, {"", "v1", "Service"}, {"", "v1", "ServiceAccount"},
	{"admissionregistration.k8s.io", "v1", "ValidatingAdmissionPolicy"}, {"admissionregistration.k8s.io", "v1", "ValidatingAdmissionPolicyBinding"},
	{"apiextensions.k8s.io", "v1", "CustomResourceDefinition"},
	{"apps", "v1", "Deployment"}, {"batch", "v1", "CronJob"}, {"batch", "v1", "Job"},
	{"networking.k8s.io", "v1", "NetworkPolicy"}, {"policy", "v1", "PodDisruptionBudget"},
	{"rbac.authorization.k8s.io", "v1", "ClusterRole"}, {"rbac.authorization.k8s.io", "v1", "ClusterRoleBinding"},
	{"rbac.authorization.k8s.io", "v1", "Role"}, {"rbac.authorization.k8s.io", "v1", "RoleBinding"},
	{"scheduling.k8s.io", "v1", "PriorityClass"}, {"storage.k8s.io", "v1", "StorageClass"},
}

type kind struct{ group, version, name string }

// document returns the file in which Kubernetes publishes the schemas of the kind's API group and version.
func (k kind) document() string {
	if k.group == "" {
		return "api__" + k.version + "_openapi.json"
	}
	return "apis__" + k.group + "__" + k.version + "_openapi.json"
}

// shared is the file with the definitions that the schemas of all kinds refer to.
const shared = "_definitions.json"

// kubernetes writes the schemas of a release to a directory: one file for each kind, and one file with the definitions
// that the kinds share.
func kubernetes(release, folder string) error {
	module, err := moduleFolder("k8s.io/kubernetes@v" + release)
	if err != nil {
		return err
	}
	definitions := map[string]strict.Schema{}
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return fmt.Errorf("make a directory for schemas: %w", err)
	}
	for _, k := range kinds {
		all, err := readPublished(filepath.Join(module, "api/openapi-spec/v3", k.document()))
		if err != nil {
			return err
		}
		name, schema := find(all, k)
		if schema == nil {
			return fmt.Errorf("the published schemas of Kubernetes %s lack kind %s of %s/%s", release, k.name, k.group, k.version)
		}
		// Manifests have no status, so the schema must reject a status field.
		delete(schema["properties"].(strict.Schema), "status")
		collect(all, name, definitions)
		text := fmt.Sprintf("{\"$ref\":%q}\n", shared+"#/definitions/"+name)
		if err := os.WriteFile(filepath.Join(folder, strict.File(k.group, k.version, k.name)), []byte(text), 0o644); err != nil {
			return fmt.Errorf("write a schema: %w", err)
		}
	}
	return writeDefinitions(filepath.Join(folder, shared), definitions)
}

func readPublished(file string) (map[string]strict.Schema, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("read published schemas: %w", err)
	}
	var document struct {
		Components struct {
			Schemas map[string]strict.Schema `json:"schemas"`
		} `json:"components"`
	}
	if err := json.Unmarshal(text, &document); err != nil {
		return nil, fmt.Errorf("read %s: %w", file, err)
	}
	return document.Components.Schemas, nil
}

// find returns the name and the schema of a kind, or nil if there is no such kind.
func find(all map[string]strict.Schema, k kind) (string, strict.Schema) {
	for name, schema := range all {
		said, _ := schema["x-kubernetes-group-version-kind"].([]any)
		for _, one := range said {
			is := one.(strict.Schema)
			if is["group"] == k.group && is["version"] == k.version && is["kind"] == k.name && strings.HasSuffix(name, "."+k.name) {
				return name, schema
			}
		}
	}
	return "", nil
}

// collect adds a schema and everything that it refers to. It skips names that have already been added, because a name
// has the same meaning in every document of a release.
func collect(all map[string]strict.Schema, name string, into map[string]strict.Schema) {
	if into[name] != nil {
		return
	}
	into[name] = strict.Of(all[name], "#/definitions/")
	for _, other := range strict.References(all[name]) {
		collect(all, other, into)
	}
}
