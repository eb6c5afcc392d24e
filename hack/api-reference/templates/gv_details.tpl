{{- define "gvDetails" -}}
{{- $gv := . -}}

## {{ $gv.GroupVersionString }}

{{ $gv.Doc }}

Beside what is listed here the API server checks rules that span several
fields, each with a message of its own. `kubectl storagebench plan -f FILE`
checks the same rules without a cluster.

{{- if $gv.Kinds  }}

### Kinds
{{ range $gv.SortedKinds }}
- {{ $gv.TypeForKind . | markdownRenderTypeLink }}
{{- end }}
{{ end }}

### Types
{{ range $gv.SortedTypes }}
{{ template "type" . }}
{{ end }}

{{- end -}}
