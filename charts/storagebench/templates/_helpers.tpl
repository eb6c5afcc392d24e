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

{{/* The name of an image, or nothing for one that has no registry: include "storagebench.image" (list $ "ior") */}}
{{- define "storagebench.image" -}}
{{- $values := (index . 0).Values.image }}
{{- $chart := (index . 0).Chart }}
{{- $name := index . 1 }}
{{- $image := index $values $name }}
{{- if $image.reference }}{{ $image.reference }}
{{- else if $values.registry -}}
{{ printf "%s/%s:%s" (trimSuffix "/" $values.registry) $name (default $chart.AppVersion $values.tag) }}
{{- if and $image.digest (not $values.tag) }}@{{ $image.digest }}{{ end }}
{{- end }}
{{- end }}

{{/* The name of an image that has to be there. */}}
{{- define "storagebench.neededImage" -}}
{{- with include "storagebench.image" . }}{{ . }}{{ else }}
{{- fail (printf "image.registry is empty, and image.%s.reference is too: the images of this chart are in no registry. Build and push your own with `make push REGISTRY=registry.example/storagebench` and set the values that it prints, or set image.registry to where they are. For images of `make images` that every node has loaded set image.registry=storagebench.invalid" (index . 1)) }}
{{- end }}
{{- end }}

{{/* A role of the operator with its binding: include "storagebench.role" (list $ $role "namespace") */}}
{{- define "storagebench.role" }}
{{- $ := index . 0 }}
{{- $role := index . 1 }}
{{- $namespace := index . 2 }}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: {{ $role.kind }}
metadata:
  name: {{ $role.metadata.name }}
  {{- if eq $role.kind "Role" }}
  namespace: {{ $namespace }}
  {{- end }}
  labels:
    {{- include "storagebench.labels" $ | nindent 4 }}
rules:
{{ toYaml $role.rules }}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: {{ $role.kind }}Binding
metadata:
  name: {{ $role.metadata.name }}
  {{- if eq $role.kind "Role" }}
  namespace: {{ $namespace }}
  {{- end }}
  labels:
    {{- include "storagebench.labels" $ | nindent 4 }}
roleRef:
  apiGroup: rbac.authorization.k8s.io
  kind: {{ $role.kind }}
  name: {{ $role.metadata.name }}
subjects:
- kind: ServiceAccount
  name: {{ include "storagebench.name" $ }}
  namespace: {{ $.Release.Namespace }}
{{ end }}

{{/* Security contexts that meet Pod Security `restricted`, with what the values say of them. */}}
{{- define "storagebench.podSecurityContext" -}}
{{- $pod := dict "runAsNonRoot" true "seccompProfile" (dict "type" "RuntimeDefault") }}
{{- with .Values.operator.runAsUser }}{{ $_ := set $pod "runAsUser" (int64 .) }}{{ end }}
{{- with .Values.operator.runAsGroup }}{{ $_ := set $pod "runAsGroup" (int64 .) }}{{ end }}
{{- toYaml (mustMergeOverwrite $pod .Values.operator.podSecurityContext) }}
{{- end }}

{{- define "storagebench.containerSecurityContext" -}}
{{- $container := dict "allowPrivilegeEscalation" false "readOnlyRootFilesystem" true "capabilities" (dict "drop" (list "ALL")) }}
{{- toYaml (mustMergeOverwrite $container .Values.operator.containerSecurityContext) }}
{{- end }}
