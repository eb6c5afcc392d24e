{{- define "gvList" -}}
{{- $groupVersions := . -}}
<!-- Made by crd-ref-docs from api/v1alpha1 (make generate); do not edit. -->

# API reference

{{ range $groupVersions }}
{{ template "gvDetails" . }}
{{ end }}

{{- end -}}
