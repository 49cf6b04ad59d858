{{- define "apphosting.labels" -}}
app.kubernetes.io/name: apphosting-operator
app.kubernetes.io/part-of: apphosting
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ .Chart.Name }}-{{ .Chart.Version }}
{{- end }}

{{- /* Generated documents, with our labels; those of a namespace get the release's. */ -}}
{{- define "apphosting.generated" -}}
{{- $labels := include "apphosting.labels" .context | fromYaml -}}
{{- range $text := splitList "\n---\n" (.context.Files.Get .file) }}
{{- $document := fromYaml $text }}
{{- if $document.kind }}
{{- $metadata := $document.metadata }}
{{- $_ := set $metadata "labels" (merge (default dict $metadata.labels) $labels) }}
{{- if eq $document.kind "Role" }}{{ $_ := set $metadata "namespace" $.context.Release.Namespace }}{{ end }}
{{- if $.keep }}{{ $_ := set $metadata "annotations" (merge (default dict $metadata.annotations) (dict "helm.sh/resource-policy" "keep")) }}{{ end }}
---
{{ toYaml $document }}
{{- end }}
{{- end }}
{{- end }}
