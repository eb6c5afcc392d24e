package compatible

import (
	"maps"
	"slices"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
)

// Rules lists, for human review, the CEL rules that a definition contains but the released definition does not.
func Rules(released, next *apiextensionsv1.CustomResourceDefinition) []string {
	var found []string
	for _, version := range next.Spec.Versions {
		had := map[string]bool{}
		for _, old := range released.Spec.Versions {
			if old.Name == version.Name && old.Schema != nil {
				for _, rule := range rules(" ", old.Schema.OpenAPIV3Schema) {
					had[rule] = true
				}
			}
		}
		if version.Schema == nil || len(had) == 0 {
			continue
		}
		for _, rule := range rules(" ", version.Schema.OpenAPIV3Schema) {
			if !had[rule] {
				found = append(found, released.Name+" "+version.Name+rule)
			}
		}
	}
	return found
}

func rules(path string, schema *apiextensionsv1.JSONSchemaProps) []string {
	if schema == nil {
		return nil
	}
	var found []string
	for _, rule := range schema.XValidations {
		found = append(found, path+": "+rule.Rule)
	}
	for _, name := range slices.Sorted(maps.Keys(schema.Properties)) {
		property := schema.Properties[name]
		found = append(found, rules(path+"."+name, &property)...)
	}
	if schema.Items != nil {
		found = append(found, rules(path+"[]", schema.Items.Schema)...)
	}
	if schema.AdditionalProperties != nil {
		found = append(found, rules(path+"{}", schema.AdditionalProperties.Schema)...)
	}
	return found
}
