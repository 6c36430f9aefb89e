{{- /* Not empty if the API server calls these pods over HTTPS: for admission, or to convert objects. */ -}}
{{- define "dynamo-hooks.servesApiServer" -}}
{{- if or .Values.admission.enabled .Values.v1beta1.enabled }}yes{{ end -}}
{{- end }}

{{- /* "helm", "cert-manager" or "external"; empty if the API server does not call these pods. */ -}}
{{- define "dynamo-hooks.certificateSource" -}}
{{- if include "dynamo-hooks.servesApiServer" . }}{{ .Values.admission.certificates.source }}{{ end -}}
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

{{- /* Which objects are judged, as a YAML list of dicts of suffix (of the webhooks' names), namespaces and objects (selectors).
A restricted installation judges all objects of its namespace. Another judges those without the label of an installation,
and those whose namespace does not have that label: nobody else judges them. No webhook can select these two at once. */ -}}
{{- define "dynamo-hooks.judged" -}}
{{- $admission := .Values.admission -}}
{{- if .Values.settings.installation -}}
{{- $own := dict "matchLabels" (dict "kubernetes.io/metadata.name" (include "dynamo-hooks.installationNamespace" .)) -}}
{{- list (dict "suffix" "" "namespaces" ($admission.namespaceSelector | default $own) "objects" $admission.objectSelector) | toYaml -}}
{{- else if $admission.objectSelector -}}
{{- list (dict "suffix" "" "namespaces" $admission.namespaceSelector "objects" $admission.objectSelector) | toYaml -}}
{{- else -}}
{{- $unlabelled := dict "key" "nvidia.com/dynamo-installation" "operator" "DoesNotExist" -}}
{{- $labelled := dict "key" "nvidia.com/dynamo-installation" "operator" "Exists" -}}
{{- $namespaces := $admission.namespaceSelector | default dict -}}
{{- $unclaimed := merge (dict "matchExpressions" (append ($namespaces.matchExpressions | default list) $unlabelled)) $namespaces -}}
{{- $free := dict "suffix" "" "namespaces" $namespaces "objects" (dict "matchExpressions" (list $unlabelled)) -}}
{{- $foreign := dict "suffix" "-labelled" "namespaces" $unclaimed "objects" (dict "matchExpressions" (list $labelled)) -}}
{{- list $free $foreign | toYaml -}}
{{- end -}}
{{- end }}

{{- /* The policy with which the webhooks are rendered: `admission.failurePolicy`, but Ignore while they do not have Fail
yet. Webhooks that fail closed before the pods serve would refuse every write; the Job of enforcement.yaml sets Fail then.
Without a cluster, as in `helm template`, it is the value: no Job would come after the pods. Every cluster has the role. */ -}}
{{- define "dynamo-hooks.failurePolicy" -}}
{{- $policies := list .Values.admission.failurePolicy -}}
{{- if lookup "rbac.authorization.k8s.io/v1" "ClusterRole" "" "cluster-admin" -}}
{{- range $kind := list "ValidatingWebhookConfiguration" "MutatingWebhookConfiguration" -}}
{{- $live := lookup "admissionregistration.k8s.io/v1" $kind "" (include "dynamo-hooks.fullname" $) -}}
{{- range $live.webhooks | default (list dict) -}}
{{- $policies = append $policies (.failurePolicy | default "Ignore") -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- ternary "Ignore" "Fail" (has "Ignore" $policies) -}}
{{- end }}

{{- /* The webhooks of one configuration, from a dict of context, prefix (v or m), call, plurals and operations. */ -}}
{{- define "dynamo-hooks.webhooks" -}}
{{- $admission := .context.Values.admission -}}
{{- $failurePolicy := include "dynamo-hooks.failurePolicy" .context -}}
{{- $passing := dict "name" "not-on-its-way-out" "expression" "request.operation == 'CREATE' || !has(object.metadata.deletionTimestamp)" -}}
{{- $webhooks := list -}}
{{- range $judged := include "dynamo-hooks.judged" .context | fromYamlArray -}}
{{- range $plural := $.plurals -}}
{{- $client := dict "service" (dict "name" (include "dynamo-hooks.admissionName" $.context) "namespace" $.context.Release.Namespace "path" (printf "/admission/%s/%s" $.call $plural) "port" 443) -}}
{{- if and (eq $admission.certificates.source "external") $admission.certificates.caBundle -}}
{{- $_ := set $client "caBundle" $admission.certificates.caBundle -}}
{{- end -}}
{{- $rule := dict "apiGroups" (list "nvidia.com") "apiVersions" (list "v1alpha1") "operations" $.operations "resources" (list $plural) -}}
{{- $webhook := dict "name" (printf "%s%s%s.kb.io" $.prefix (trimSuffix "s" $plural) $judged.suffix) "clientConfig" $client "rules" (list $rule) -}}
{{- $_ := set $webhook "admissionReviewVersions" (list "v1") -}}
{{- $_ := set $webhook "sideEffects" "None" -}}
{{- $_ := set $webhook "failurePolicy" $failurePolicy -}}
{{- $_ := set $webhook "timeoutSeconds" ($admission.timeoutSeconds | int) -}}
{{- $_ := set $webhook "matchPolicy" $admission.matchPolicy -}}
{{- $_ := set $webhook "matchConditions" (concat (list $passing) $admission.matchConditions) -}}
{{- with $judged.namespaces -}}{{- $_ := set $webhook "namespaceSelector" . -}}{{- end -}}
{{- with $judged.objects -}}{{- $_ := set $webhook "objectSelector" . -}}{{- end -}}
{{- $webhooks = append $webhooks $webhook -}}
{{- end -}}
{{- end -}}
{{- toYaml $webhooks -}}
{{- end }}

{{- /* The metadata of a webhook configuration. */ -}}
{{- define "dynamo-hooks.webhookMetadata" -}}
name: {{ include "dynamo-hooks.fullname" . }}
labels:
  {{- include "dynamo-hooks.labels" . | nindent 2 }}
{{- with include "dynamo-hooks.trustAnnotations" . | fromYaml }}
annotations:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end }}

{{- /* Lets cert-manager inject the authorities into an object's webhooks. */ -}}
{{- define "dynamo-hooks.trustAnnotations" -}}
{{- if eq (include "dynamo-hooks.certificateSource" .) "cert-manager" -}}
cert-manager.io/inject-ca-from: {{ .Release.Namespace }}/{{ include "dynamo-hooks.admissionName" . }}
{{- end -}}
{{- end }}

{{- /* The names of the CRDs with two versions, as a YAML list; empty if v1beta1 is off. */ -}}
{{- define "dynamo-hooks.convertedDefinitions" -}}
{{- if .Values.v1beta1.enabled -}}
{{- range $plural := list "dynamocomponentdeployments" "dynamographdeploymentrequests" "dynamographdeployments" "dynamographdeploymentscalingadapters" }}
- {{ $plural }}.nvidia.com
{{- end -}}
{{- end -}}
{{- end }}

{{- /* `spec.conversion` of a CRD with two versions; the Job or cert-manager adds the authorities, unless they are given. */ -}}
{{- define "dynamo-hooks.conversion" -}}
strategy: Webhook
webhook:
  conversionReviewVersions: [v1]
  clientConfig:
    service:
      name: {{ include "dynamo-hooks.admissionName" . }}
      namespace: {{ .Release.Namespace | quote }}
      path: /convert
      port: 443
    {{- if and (eq .Values.admission.certificates.source "external") .Values.admission.certificates.caBundle }}
    caBundle: {{ .Values.admission.certificates.caBundle }}
    {{- end }}
{{- end }}

{{- /* The ServiceAccount of `dynamo-hooks certificates`, with rights on one Secret and on the webhooks that trust it. */ -}}
{{- define "dynamo-hooks.certificateAccount" -}}
{{- $secret := include "dynamo-hooks.certificateSecret" .context -}}
{{- $rules := list (dict "apiGroups" (list "") "resources" (list "secrets") "verbs" (list "create")) -}}
{{- $rules = append $rules (dict "apiGroups" (list "") "resources" (list "secrets") "resourceNames" (list $secret) "verbs" (list "get" "update")) -}}
{{- $trust := list -}}
{{- if .context.Values.admission.enabled -}}
{{- $webhooks := list "mutatingwebhookconfigurations" "validatingwebhookconfigurations" -}}
{{- $trust = append $trust (dict "apiGroups" (list "admissionregistration.k8s.io") "resources" $webhooks "resourceNames" (list (include "dynamo-hooks.fullname" .context)) "verbs" (list "get" "patch")) -}}
{{- end -}}
{{- with include "dynamo-hooks.convertedDefinitions" .context | fromYamlArray -}}
{{- $trust = append $trust (dict "apiGroups" (list "apiextensions.k8s.io") "resources" (list "customresourcedefinitions") "resourceNames" . "verbs" (list "get" "patch")) -}}
{{- end -}}
{{- include "dynamo-hooks.ownAccount" (merge (dict "namespace" .context.Release.Namespace "rules" $rules "clusterRules" $trust) .) -}}
{{- end }}

{{- /* The spec of a Job that creates or renews the certificate, from a dict of context and account. */ -}}
{{- define "dynamo-hooks.certificateJob" -}}
{{- $args := list "certificates" "--secret" (printf "%s/%s" .context.Release.Namespace (include "dynamo-hooks.certificateSecret" .context)) -}}
{{- range $name := include "dynamo-hooks.certificateNames" .context | fromYamlArray -}}
{{- $args = concat $args (list "--name" $name) -}}
{{- end -}}
{{- if .context.Values.admission.enabled -}}
{{- $fullname := include "dynamo-hooks.fullname" .context -}}
{{- $args = concat $args (list "--validating" $fullname "--mutating" $fullname) -}}
{{- end -}}
{{- range $name := include "dynamo-hooks.convertedDefinitions" .context | fromYamlArray -}}
{{- $args = concat $args (list "--crd" $name) -}}
{{- end -}}
{{- $args = concat $args (list "--days" (.context.Values.admission.certificates.days | toString)) -}}
{{- include "dynamo-hooks.job" (dict "context" .context "account" .account "name" "certificates" "args" $args) -}}
{{- end }}
