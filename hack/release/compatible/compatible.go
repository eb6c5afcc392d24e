package compatible

import (
	"fmt"
	"maps"
	"slices"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/utils/ptr"
)

// Break is an incompatible change.
type Break struct {
	// Path names the CRD and, if only a version or a field of it changed, that version or field, as in
	// "storagebenchmarks.storagebench.dev v1alpha1 .spec.run.clients.count". The string What describes the change, with
	// the old and the new value.
	Path, What string
}

func (b Break) String() string { return b.Path + ": " + b.What }

// breaks collects the incompatible changes that are found while two definitions are compared.
type breaks []Break

func (b *breaks) add(path, format string, values ...any) {
	*b = append(*b, Break{Path: path, What: fmt.Sprintf(format, values...)})
}

// CRD returns the incompatible changes between a released definition and the definition that will replace it.
func CRD(released, next *apiextensionsv1.CustomResourceDefinition) []Break {
	found := &breaks{}
	path := released.Name
	for _, name := range [][3]string{
		{"group", released.Spec.Group, next.Spec.Group}, {"kind", released.Spec.Names.Kind, next.Spec.Names.Kind},
		{"plural name", released.Spec.Names.Plural, next.Spec.Names.Plural}, {"scope", string(released.Spec.Scope), string(next.Spec.Scope)},
	} {
		if name[1] != name[2] {
			found.add(path, "the %s changed from %q to %q", name[0], name[1], name[2])
		}
	}
	for _, old := range released.Spec.Names.ShortNames {
		if !slices.Contains(next.Spec.Names.ShortNames, old) {
			found.add(path, "the short name %q was removed", old)
		}
	}
	for _, old := range released.Spec.Versions {
		i := slices.IndexFunc(next.Spec.Versions, func(v apiextensionsv1.CustomResourceDefinitionVersion) bool { return v.Name == old.Name })
		switch {
		case i < 0:
			found.add(path, "version %s was removed", old.Name)
			continue
		case old.Served && !next.Spec.Versions[i].Served:
			found.add(path, "version %s is no longer served", old.Name)
		}
		if old.Subresources != nil && old.Subresources.Status != nil && (next.Spec.Versions[i].Subresources == nil || next.Spec.Versions[i].Subresources.Status == nil) {
			found.add(path+" "+old.Name, "the status is no longer a subresource")
		}
		if old.Schema != nil && next.Spec.Versions[i].Schema != nil {
			found.schema(path+" "+old.Name+" ", old.Schema.OpenAPIV3Schema, next.Spec.Versions[i].Schema.OpenAPIV3Schema)
		}
	}
	return *found
}

// schema compares the released schema at a path with the new one, including all schemas nested in them.
func (b *breaks) schema(path string, old, next *apiextensionsv1.JSONSchemaProps) {
	switch {
	case old == nil:
		return
	case next == nil:
		b.add(path, "the schema was removed")
		return
	}
	b.kind(path, old, next)
	b.values(path, old, next)
	b.bounds(path, old, next)
	for _, name := range slices.Sorted(maps.Keys(old.Properties)) {
		was := old.Properties[name]
		is, there := next.Properties[name]
		if !there {
			if !preserves(next) {
				b.add(path+"."+name, "the field was removed")
			}
			continue
		}
		b.schema(path+"."+name, &was, &is)
	}
	for _, name := range next.Required {
		if is, known := next.Properties[name]; !slices.Contains(old.Required, name) && (!known || is.Default == nil) {
			b.add(path+"."+name, "the field is now required")
		}
	}
	if old.Items != nil {
		b.schema(path+"[]", old.Items.Schema, itemsOf(next))
	}
	if old.AdditionalProperties != nil && old.AdditionalProperties.Schema != nil {
		var is *apiextensionsv1.JSONSchemaProps
		if next.AdditionalProperties != nil {
			is = next.AdditionalProperties.Schema
		}
		b.schema(path+"{}", old.AdditionalProperties.Schema, is)
	}
}

func itemsOf(schema *apiextensionsv1.JSONSchemaProps) *apiextensionsv1.JSONSchemaProps {
	if schema.Items == nil {
		return nil
	}
	return schema.Items.Schema
}

func preserves(schema *apiextensionsv1.JSONSchemaProps) bool {
	return schema.XPreserveUnknownFields != nil && *schema.XPreserveUnknownFields
}

// kind compares the types, formats, defaults, nullability and merge strategies of two schemas.
func (b *breaks) kind(path string, old, next *apiextensionsv1.JSONSchemaProps) {
	if old.Type != next.Type || old.XIntOrString != next.XIntOrString {
		b.add(path, "the type changed from %q to %q", typeOf(old), typeOf(next))
	}
	if old.Format != next.Format && next.Format != "" {
		b.add(path, "the format changed from %q to %q", old.Format, next.Format)
	}
	if old.Nullable && !next.Nullable {
		b.add(path, "null is no longer allowed")
	}
	if preserves(old) && !preserves(next) {
		b.add(path, "unknown fields are no longer kept")
	}
	if !sameDefault(old.Default, next.Default) {
		b.add(path, "the default changed from %s to %s, which changes the meaning of files that omit the field", text(old.Default), text(next.Default))
	}
	if a, b2 := ptr.Deref(old.XListType, ""), ptr.Deref(next.XListType, ""); a != b2 || !slices.Equal(old.XListMapKeys, next.XListMapKeys) {
		b.add(path, "the merge strategy for lists changed from %q %v to %q %v", a, old.XListMapKeys, b2, next.XListMapKeys)
	}
	if a, b2 := ptr.Deref(old.XMapType, ""), ptr.Deref(next.XMapType, ""); a != b2 {
		b.add(path, "the merge strategy for maps changed from %q to %q", a, b2)
	}
}

func typeOf(schema *apiextensionsv1.JSONSchemaProps) string {
	if schema.XIntOrString {
		return "integer or string"
	}
	return schema.Type
}

func text(value *apiextensionsv1.JSON) string {
	if value == nil {
		return "none"
	}
	return string(value.Raw)
}

func sameDefault(old, next *apiextensionsv1.JSON) bool { return text(old) == text(next) }

// values compares which values two schemas allow: their enums, their patterns, and whether items must be unique.
func (b *breaks) values(path string, old, next *apiextensionsv1.JSONSchemaProps) {
	if len(next.Enum) > 0 {
		if len(old.Enum) == 0 {
			b.add(path, "an enum now restricts the allowed values")
		}
		for _, value := range old.Enum {
			if !slices.ContainsFunc(next.Enum, func(is apiextensionsv1.JSON) bool { return string(is.Raw) == string(value.Raw) }) {
				b.add(path, "the value %s is no longer allowed", value.Raw)
			}
		}
	}
	if old.Pattern != next.Pattern && next.Pattern != "" {
		b.add(path, "the pattern changed from %q to %q", old.Pattern, next.Pattern)
	}
	if old.UniqueItems != next.UniqueItems && next.UniqueItems {
		b.add(path, "items must now be unique")
	}
}

// bounds compares the limits that two schemas set on numbers and lengths.
func (b *breaks) bounds(path string, old, next *apiextensionsv1.JSONSchemaProps) {
	upper(b, path, "maximum", old.Maximum, next.Maximum)
	upper(b, path, "maxLength", old.MaxLength, next.MaxLength)
	upper(b, path, "maxItems", old.MaxItems, next.MaxItems)
	upper(b, path, "maxProperties", old.MaxProperties, next.MaxProperties)
	lower(b, path, "minimum", old.Minimum, next.Minimum)
	lower(b, path, "minLength", old.MinLength, next.MinLength)
	lower(b, path, "minItems", old.MinItems, next.MinItems)
	lower(b, path, "minProperties", old.MinProperties, next.MinProperties)
	if next.ExclusiveMaximum && !old.ExclusiveMaximum && old.Maximum != nil {
		b.add(path, "the maximum is now exclusive")
	}
	if next.ExclusiveMinimum && !old.ExclusiveMinimum && old.Minimum != nil {
		b.add(path, "the minimum is now exclusive")
	}
}

func upper[T int64 | float64](b *breaks, path, name string, old, next *T) {
	if next != nil && (old == nil || *next < *old) {
		b.add(path, "%s changed from %s to %v", name, bound(old), *next)
	}
}

func lower[T int64 | float64](b *breaks, path, name string, old, next *T) {
	if next != nil && (old == nil || *next > *old) {
		b.add(path, "%s changed from %s to %v", name, bound(old), *next)
	}
}

func bound[T int64 | float64](value *T) string {
	if value == nil {
		return "not set"
	}
	return fmt.Sprint(*value)
}
