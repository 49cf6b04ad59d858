{{- define "apphosting.labels" -}}
app.kubernetes.io/name: apphosting-operator
app.kubernetes.io/part-of: apphosting
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ .Chart.Name }}-{{ .Chart.Version }}
{{- end }}

{{- /* What belongs to the cluster is named after the release, so that each release has its own. */ -}}
{{- define "apphosting.everywhere" -}}
{{ .Release.Name }}-operator
{{- end }}

{{- /* Generated documents, with our labels; those of a namespace get the release's. */ -}}
{{- define "apphosting.generated" -}}
{{- $labels := include "apphosting.labels" .context | fromYaml -}}
{{- range $text := splitList "\n---\n" (.context.Files.Get .file) }}
{{- $document := fromYaml $text }}
{{- if $document.kind }}
{{- $metadata := $document.metadata }}
{{- $_ := set $metadata "labels" (merge (default dict $metadata.labels) $labels) }}
{{- if eq $document.kind "ClusterRole" }}{{ $_ := set $metadata "name" (replace "apphosting-operator" (include "apphosting.everywhere" $.context) $metadata.name) }}{{ end }}
{{- if eq $document.kind "Role" }}{{ $_ := set $metadata "namespace" $.context.Release.Namespace }}{{ end }}
{{- range $rule := $document.rules }}
{{- $isWatched := or (has "secrets" $rule.resources) (has "configmaps" $rule.resources) }}
{{- if and $isWatched (not $.context.Values.secretWatch) }}{{ $_ := set $rule "verbs" (without $rule.verbs "list" "watch") }}{{ end }}
{{- end }}
---
{{ toYaml $document }}
{{- end }}
{{- end }}
{{- end }}
