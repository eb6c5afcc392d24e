package strict

import (
	"strings"
)

// Schema is a JSON schema as read from a file.
type Schema = map[string]any

// keywords lists the keywords that restrict which values are valid. Descriptions, defaults and extensions are omitted,
// because they take up most of the space and restrict nothing. Formats are also omitted, because each validator
// supports only some of them.
var keywords = map[string]bool{
	"type": true, "enum": true, "required": true, "pattern": true, "minimum": true, "maximum": true, "exclusiveMinimum": true,
	"exclusiveMaximum": true, "minLength": true, "maxLength": true, "minItems": true, "maxItems": true, "minProperties": true,
	"maxProperties": true, "uniqueItems": true, "multipleOf": true,
}

const (
	published = "#/components/schemas/"
	preserve  = "x-kubernetes-preserve-unknown-fields"
)

// Of returns the strict form of a schema from Kubernetes or from a CustomResourceDefinition. definitions is the prefix
// of references to other schemas, such as "_definitions.json#/definitions/".
func Of(from Schema, definitions string) Schema {
	// If a reference has a default or a description, Kubernetes publishes the reference as the only element of an
	// allOf. Use that element instead of the allOf.
	if all, ok := from["allOf"].([]any); ok && len(all) == 1 && from["properties"] == nil {
		return Of(all[0].(Schema), definitions)
	}
	made := Schema{}
	for word, value := range from {
		switch {
		case word == "$ref":
			made[word] = definitions + strings.TrimPrefix(value.(string), published)
		case keywords[word]:
			made[word] = value
		case word == "properties":
			properties := Schema{}
			for name, property := range value.(Schema) {
				properties[name] = Of(property.(Schema), definitions)
			}
			made[word] = properties
		case word == "items", word == "additionalProperties", word == "not":
			made[word] = inner(value, definitions)
		case word == "allOf", word == "anyOf", word == "oneOf":
			var alternatives []any
			for _, alternative := range value.([]any) {
				alternatives = append(alternatives, inside(alternative.(Schema), definitions))
			}
			made[word] = alternatives
		}
	}
	if made["properties"] != nil && made["additionalProperties"] == nil && from[preserve] != true {
		made["additionalProperties"] = false
	}
	if from["nullable"] == true && made["type"] != nil {
		made["type"] = []any{made["type"], "null"}
	}
	return made
}

func inner(value any, definitions string) any {
	if schema, ok := value.(Schema); ok {
		return Of(schema, definitions)
	}
	return value // A JSON schema can also be true or false.
}

// inside returns the strict form of an element of allOf, anyOf or oneOf. Such an element lists only some of the fields,
// so it must allow others. The enclosing schema rejects unknown fields.
func inside(from Schema, definitions string) Schema {
	made := Of(from, definitions)
	if made["additionalProperties"] == false && from["additionalProperties"] == nil {
		delete(made, "additionalProperties")
	}
	return made
}

// References returns the names of all schemas to which a published schema refers, at any depth.
func References(from any) []string {
	var found []string
	switch value := from.(type) {
	case Schema:
		for word, part := range value {
			if name, ok := part.(string); ok && word == "$ref" {
				found = append(found, strings.TrimPrefix(name, published))
				continue
			}
			found = append(found, References(part)...)
		}
	case []any:
		for _, part := range value {
			found = append(found, References(part)...)
		}
	}
	return found
}
