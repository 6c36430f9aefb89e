{{- /* "helm", "cert-manager" or "external"; empty if admission is off. */ -}}
{{- define "dynamo-hooks.certificateSource" -}}
{{- if .Values.admission.enabled }}{{ .Values.admission.certificates.source }}{{ end -}}
{{- end }}

{{- define "dynamo-hooks.admissionName" -}}
{{- include "dynamo-hooks.fullname" . }}-admission
{{- end }}

{{- define "dynamo-hooks.certificateSecret" -}}
{{- .Values.admission.certificates.secretName | default (printf "%s-tls" (include "dynamo-hooks.admissionName" .)) -}}
{{- end }}

{{- /* The DNS names of the certificate, as a YAML list; the API server uses the second. */ -}}
{{- define "dynamo-hooks.certificateNames" -}}
{{- $service := include "dynamo-hooks.admissionName" . -}}
- {{ $service }}.{{ .Release.Namespace }}
- {{ $service }}.{{ .Release.Namespace }}.svc
{{- end }}

{{- /* The namespace of a namespace-restricted installation. */ -}}
{{- define "dynamo-hooks.installationNamespace" -}}
{{- .Values.settings.installationNamespace | default .Release.Namespace -}}
{{- end }}

{{- /* The webhooks of one configuration, from a dict of context, prefix (v or m), call, plurals and operations. */ -}}
{{- define "dynamo-hooks.webhooks" -}}
{{- $admission := .context.Values.admission -}}
{{- $restricted := .context.Values.settings.installation -}}
{{- $namespaces := dict "matchLabels" (dict "kubernetes.io/metadata.name" (include "dynamo-hooks.installationNamespace" .context)) -}}
{{- $unlabelled := dict "matchExpressions" (list (dict "key" "nvidia.com/dynamo-installation" "operator" "DoesNotExist")) -}}
{{- $namespaceSelector := $admission.namespaceSelector | default (ternary $namespaces dict (not (empty $restricted))) -}}
{{- $objectSelector := $admission.objectSelector | default (ternary dict $unlabelled (not (empty $restricted))) -}}
{{- $passing := dict "name" "not-on-its-way-out" "expression" "request.operation == 'CREATE' || !has(object.metadata.deletionTimestamp)" -}}
{{- $webhooks := list -}}
{{- range $plural := .plurals -}}
{{- $client := dict "service" (dict "name" (include "dynamo-hooks.admissionName" $.context) "namespace" $.context.Release.Namespace "path" (printf "/admission/%s/%s" $.call $plural) "port" 443) -}}
{{- if and (eq $admission.certificates.source "external") $admission.certificates.caBundle -}}
{{- $_ := set $client "caBundle" $admission.certificates.caBundle -}}
{{- end -}}
{{- $rule := dict "apiGroups" (list "nvidia.com") "apiVersions" (list "v1alpha1") "operations" $.operations "resources" (list $plural) -}}
{{- $webhook := dict "name" (printf "%s%s.kb.io" $.prefix (trimSuffix "s" $plural)) "clientConfig" $client "rules" (list $rule) -}}
{{- $_ := set $webhook "admissionReviewVersions" (list "v1") -}}
{{- $_ := set $webhook "sideEffects" "None" -}}
{{- $_ := set $webhook "failurePolicy" $admission.failurePolicy -}}
{{- $_ := set $webhook "timeoutSeconds" ($admission.timeoutSeconds | int) -}}
{{- $_ := set $webhook "matchPolicy" $admission.matchPolicy -}}
{{- $_ := set $webhook "matchConditions" (concat (list $passing) $admission.matchConditions) -}}
{{- with $namespaceSelector -}}{{- $_ := set $webhook "namespaceSelector" . -}}{{- end -}}
{{- with $objectSelector -}}{{- $_ := set $webhook "objectSelector" . -}}{{- end -}}
{{- $webhooks = append $webhooks $webhook -}}
{{- end -}}
{{- toYaml $webhooks -}}
{{- end }}

{{- /* The metadata of a webhook configuration; its annotation lets cert-manager inject the authorities. */ -}}
{{- define "dynamo-hooks.webhookMetadata" -}}
name: {{ include "dynamo-hooks.fullname" . }}
labels:
  {{- include "dynamo-hooks.labels" . | nindent 2 }}
{{- if eq .Values.admission.certificates.source "cert-manager" }}
annotations:
  cert-manager.io/inject-ca-from: {{ .Release.Namespace }}/{{ include "dynamo-hooks.admissionName" . }}
{{- end }}
{{- end }}

{{- /* The ServiceAccount of `dynamo-hooks certificates`, with rights on one Secret and two webhook configurations. */ -}}
{{- define "dynamo-hooks.certificateAccount" -}}
{{- $namespace := .context.Release.Namespace -}}
{{- range $part := list "ServiceAccount" "Role" "RoleBinding" "ClusterRole" "ClusterRoleBinding" }}
---
apiVersion: {{ ternary "v1" "rbac.authorization.k8s.io/v1" (eq $part "ServiceAccount") }}
kind: {{ $part }}
metadata:
  name: {{ $.name }}
  {{- if not (hasPrefix "Cluster" $part) }}
  namespace: {{ $namespace }}
  {{- end }}
  labels:
    {{- include "dynamo-hooks.labels" $.context | nindent 4 }}
  {{- with $.annotations }}
  annotations:
    {{- toYaml . | nindent 4 }}
  {{- end }}
{{- if eq $part "ServiceAccount" }}
automountServiceAccountToken: false
{{- else if hasSuffix "Binding" $part }}
roleRef:
  apiGroup: rbac.authorization.k8s.io
  kind: {{ trimSuffix "Binding" $part }}
  name: {{ $.name }}
subjects:
  - kind: ServiceAccount
    namespace: {{ $namespace }}
    name: {{ $.name }}
{{- else if eq $part "Role" }}
rules:
  - apiGroups: [""]
    resources: [secrets]
    verbs: [create]
  - apiGroups: [""]
    resources: [secrets]
    resourceNames: [{{ include "dynamo-hooks.certificateSecret" $.context }}]
    verbs: [get, update]
{{- else }}
rules:
  - apiGroups: [admissionregistration.k8s.io]
    resources: [mutatingwebhookconfigurations, validatingwebhookconfigurations]
    resourceNames: [{{ include "dynamo-hooks.fullname" $.context }}]
    verbs: [get, patch]
{{- end }}
{{- end }}
{{- end }}

{{- /* The spec of a Job that creates or renews the certificate, from a dict of context and account. */ -}}
{{- define "dynamo-hooks.certificateJob" -}}
{{- with .context -}}
backoffLimit: 5
activeDeadlineSeconds: 600
template:
  metadata:
    labels:
      {{- merge (dict "app.kubernetes.io/name" (printf "%s-certificates" (include "dynamo-hooks.name" .)) "app.kubernetes.io/instance" .Release.Name) .Values.podLabels | toYaml | nindent 6 }}
  spec:
    restartPolicy: OnFailure
    serviceAccountName: {{ $.account }}
    automountServiceAccountToken: true
    {{- with .Values.image.pullSecrets }}
    imagePullSecrets:
      {{- toYaml . | nindent 6 }}
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
      - name: certificates
        image: {{ include "dynamo-hooks.image" . }}
        imagePullPolicy: {{ .Values.image.pullPolicy }}
        args:
          - certificates
          - --secret
          - {{ .Release.Namespace }}/{{ include "dynamo-hooks.certificateSecret" . }}
          {{- range $name := include "dynamo-hooks.certificateNames" . | fromYamlArray }}
          - --name
          - {{ $name }}
          {{- end }}
          - --validating
          - {{ include "dynamo-hooks.fullname" . }}
          - --mutating
          - {{ include "dynamo-hooks.fullname" . }}
          - --days
          - {{ .Values.admission.certificates.days | quote }}
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
