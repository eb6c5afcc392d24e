package strict

import (
	"strings"
)

// Schema is a JSON schema as it is read from a file.
type Schema = map[string]any

// keywords are those that say what is valid. Descriptions, defaults and extensions are left out: they are most of
// the text and forbid nothing. So are formats, of which only some programs know some.
var keywords = map[string]bool{
	"type": true, "enum": true, "required": true, "pattern": true, "minimum": true, "maximum": true, "exclusiveMinimum": true,
	"exclusiveMaximum": true, "minLength": true, "maxLength": true, "minItems": true, "maxItems": true, "minProperties": true,
	"maxProperties": true, "uniqueItems": true, "multipleOf": true,
}

const (
	published = "#/components/schemas/"
	preserve  = "x-kubernetes-preserve-unknown-fields"
)

// Of makes the strict schema of one that Kubernetes or a CustomResourceDefinition has. References to other schemas
// begin with definitions then, such as "_definitions.json#/definitions/".
func Of(from Schema, definitions string) Schema {
	// A reference stands alone, but for a default or a description beside it.
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
	return value // true or false
}

// inside is a part of allOf and the like, which names only some of the fields: which others there are is said around it.
func inside(from Schema, definitions string) Schema {
	made := Of(from, definitions)
	if made["additionalProperties"] == false && from["additionalProperties"] == nil {
		delete(made, "additionalProperties")
	}
	return made
}

// References are the names of the schemas that a published schema refers to, itself and in its parts.
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
