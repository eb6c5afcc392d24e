package strict

import (
	"errors"
	"fmt"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/yaml"
)

// File returns kubeconform's name for the schema of a kind, such as deployment-apps-v1.json or pod-v1.json.
func File(group, version, kind string) string {
	parts := []string{strings.ToLower(kind)}
	if group != "" {
		parts = append(parts, strings.Split(group, ".")[0])
	}
	return strings.Join(append(parts, version), "-") + ".json"
}

// OfCRD returns the strict schemas of a CustomResourceDefinition, one for each served version, under the names that
// File returns.
func OfCRD(text []byte) (map[string]Schema, error) {
	// Decode twice: untyped to keep all keywords of the schemas, and typed for everything else.
	var written struct {
		Spec struct {
			Versions []struct {
				Schema struct {
					OpenAPI Schema `json:"openAPIV3Schema"`
				} `json:"schema"`
			} `json:"versions"`
		} `json:"spec"`
	}
	var typed apiextensionsv1.CustomResourceDefinition
	if err := errors.Join(yaml.Unmarshal(text, &written), yaml.Unmarshal(text, &typed)); err != nil {
		return nil, fmt.Errorf("read a CustomResourceDefinition: %w", err)
	}
	found := map[string]Schema{}
	for i, version := range typed.Spec.Versions {
		if !version.Served {
			continue
		}
		root := written.Spec.Versions[i].Schema.OpenAPI
		if properties, ok := root["properties"].(Schema); ok {
			properties["apiVersion"], properties["kind"] = Schema{"type": "string"}, Schema{"type": "string"}
			properties["metadata"] = Schema{"type": "object"}
		}
		found[File(typed.Spec.Group, version.Name, typed.Spec.Names.Kind)] = Of(root, "")
	}
	if len(found) == 0 {
		return nil, fmt.Errorf("the CustomResourceDefinition %q serves no version", typed.Name)
	}
	return found, nil
}
