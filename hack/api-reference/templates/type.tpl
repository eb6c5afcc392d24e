{{- define "type" -}}
{{- $type := . -}}
{{- if or (markdownShouldRenderType $type) $type.Members -}}

#### {{ $type.Name }}
{{ if $type.IsAlias }}
_Underlying type:_ {{ markdownRenderTypeLink $type.UnderlyingType }}
{{ end }}
{{ $type.Doc }}
{{ if $type.References }}
_Used in:_ {{ range $i, $ref := $type.SortedReferences }}{{ if $i }}, {{ end }}{{ markdownRenderTypeLink $ref }}{{ end }}
{{ end }}
{{- if $type.Members }}
| Field | Description | Default | Bounds |
| --- | --- | --- | --- |
{{ if $type.GVK -}}
| `apiVersion` _string_ | `{{ $type.GVK.Group }}/{{ $type.GVK.Version }}` | | |
| `kind` _string_ | `{{ $type.GVK.Kind }}` | | |
{{ end -}}
{{ range $type.Members -}}
| `{{ .Name }}` _{{ markdownRenderType .Type }}_ | {{ template "type_members" . }} | {{ markdownRenderDefault .Default }} | {{ range .Validation }}{{ if ne . "Optional: {}" }}{{ if eq . "Required: {}" }}required{{ else }}{{ markdownRenderFieldDoc . }}{{ end }}<br />{{ end }}{{ end }} |
{{ end -}}
{{- end }}
{{- $explained := false -}}
{{- range $type.EnumValues }}{{ if .Doc }}{{ $explained = true }}{{ end }}{{ end -}}
{{- if $explained }}

| Value | Meaning |
| --- | --- |
{{ range $type.EnumValues -}}
| `{{ .Name }}` | {{ markdownRenderFieldDoc .Doc }} |
{{ end -}}
{{- end -}}
{{- end -}}
{{- end -}}
