{{- /* Annotations of an object of a Helm hook: it goes when the hook has succeeded, or before its next run. */ -}}
{{- define "dynamo-hooks.hookAnnotations" -}}
helm.sh/hook: {{ .events }}
helm.sh/hook-weight: {{ .weight | quote }}
helm.sh/hook-delete-policy: before-hook-creation,hook-succeeded
{{- end }}

{{- /* A ServiceAccount of a Job or of admission, and its rights, from a dict of context, name, annotations, namespace (of the rules; empty
for the whole cluster), rules, and clusterRules, which are always for the whole cluster. */ -}}
{{- define "dynamo-hooks.ownAccount" -}}
{{- $metadata := dict "name" .name "labels" (include "dynamo-hooks.labels" .context | fromYaml) -}}
{{- with .annotations -}}{{- $_ := set $metadata "annotations" . -}}{{- end -}}
{{- $own := merge (dict "namespace" .context.Release.Namespace) $metadata }}
---
{{ dict "apiVersion" "v1" "kind" "ServiceAccount" "metadata" $own "automountServiceAccountToken" false | toYaml }}
{{- $cluster := .clusterRules | default list }}
{{- if not .namespace }}{{ $cluster = concat $cluster .rules }}{{ end }}
{{- range $scope := list "" "Cluster" }}
{{- $rules := ternary $cluster (ternary $.rules list (not (empty $.namespace))) (eq $scope "Cluster") }}
{{- if $rules }}
{{- $where := ternary $metadata (merge (dict "namespace" $.namespace) $metadata) (eq $scope "Cluster") }}
{{- $subject := dict "kind" "ServiceAccount" "namespace" $.context.Release.Namespace "name" $.name }}
{{- $role := dict "apiGroup" "rbac.authorization.k8s.io" "kind" (printf "%sRole" $scope) "name" $.name }}
---
{{ dict "apiVersion" "rbac.authorization.k8s.io/v1" "kind" (printf "%sRole" $scope) "metadata" $where "rules" $rules | toYaml }}
---
{{ dict "apiVersion" "rbac.authorization.k8s.io/v1" "kind" (printf "%sRoleBinding" $scope) "metadata" $where "roleRef" $role "subjects" (list $subject) | toYaml }}
{{- end }}
{{- end }}
{{- end }}

{{- /* The spec of a Job that runs a command of ours, from a dict of context, account, name and args. */ -}}
{{- define "dynamo-hooks.job" -}}
{{- with .context -}}
backoffLimit: 5
activeDeadlineSeconds: 600
template:
  metadata:
    labels:
      {{- merge (dict "app.kubernetes.io/name" (printf "%s-%s" (include "dynamo-hooks.name" .) $.name) "app.kubernetes.io/instance" .Release.Name) (include "dynamo-hooks.podLabels" . | fromYaml) | toYaml | nindent 6 }}
  spec:
    restartPolicy: OnFailure
    serviceAccountName: {{ $.account }}
    automountServiceAccountToken: true
    {{- with include "dynamo-hooks.pullSecrets" . }}
    {{- . | nindent 4 }}
    {{- end }}
    securityContext:
      runAsNonRoot: true
      runAsUser: 65532
      runAsGroup: 65532
      seccompProfile:
        type: RuntimeDefault
    {{- range $key := list "nodeSelector" "tolerations" }}
    {{- with index $.context.Values $key }}
    {{ $key }}:
      {{- toYaml . | nindent 6 }}
    {{- end }}
    {{- end }}
    containers:
      - name: {{ $.name }}
        image: {{ include "dynamo-hooks.image" . }}
        imagePullPolicy: {{ .Values.image.pullPolicy }}
        args:
          {{- toYaml $.args | nindent 10 }}
        resources:
          requests:
            cpu: 20m
            memory: 64Mi
          limits:
            memory: 256Mi
        securityContext:
          {{- include "dynamo-hooks.confined" . | nindent 10 }}
{{- end -}}
{{- end }}
