{{/* Names are fixed: the operator's own Lease and Secret have theirs in the code, and a cluster has one operator. */}}
{{- define "storagebench.name" -}}storagebench-operator{{- end }}

{{- define "storagebench.selector" -}}
app.kubernetes.io/name: storagebench
app.kubernetes.io/component: operator
{{- end }}

{{- define "storagebench.commonLabels" -}}
app.kubernetes.io/managed-by: {{ .Release.Service }}
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" }}
{{- with .Values.commonLabels }}
{{ toYaml . }}
{{- end }}
{{- end }}

{{- define "storagebench.labels" -}}
{{ include "storagebench.selector" . }}
{{ include "storagebench.commonLabels" . }}
{{- end }}

{{/* Labels of what is not the operator's own, such as roles of users. */}}
{{- define "storagebench.userLabels" -}}
app.kubernetes.io/name: storagebench
{{ include "storagebench.commonLabels" . }}
{{- end }}

{{/* include "storagebench.image" (list $ "fio") */}}
{{- define "storagebench.image" -}}
{{- $ := index . 0 }}
{{- $name := index . 1 }}
{{- with (index $.Values.image $name).reference }}{{ . }}{{ else -}}
{{ printf "%s/%s:%s" (trimSuffix "/" $.Values.image.registry) $name (default $.Chart.AppVersion $.Values.image.tag) }}
{{- end }}
{{- end }}
