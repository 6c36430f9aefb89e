{{- define "dynamo-hooks.name" -}}
{{- .Values.nameOverride | default .Chart.Name | trunc 63 | trimSuffix "-" -}}
{{- end }}

{{- define "dynamo-hooks.fullname" -}}
{{- $name := include "dynamo-hooks.name" . -}}
{{- if .Values.fullnameOverride -}}
{{- .Values.fullnameOverride -}}
{{- else if contains $name .Release.Name -}}
{{- .Release.Name | trunc 52 | trimSuffix "-" -}}
{{- else -}}
{{- printf "%s-%s" .Release.Name $name | trunc 52 | trimSuffix "-" -}}
{{- end -}}
{{- end }}

{{- define "dynamo-hooks.selectorLabels" -}}
app.kubernetes.io/name: {{ include "dynamo-hooks.name" . }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "dynamo-hooks.labels" -}}
{{ include "dynamo-hooks.selectorLabels" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" | trunc 63 | trimSuffix "-" }}
{{- with .Values.commonLabels }}
{{ toYaml . }}
{{- end }}
{{- end }}

{{- /* The labels that users give to pods. */ -}}
{{- define "dynamo-hooks.podLabels" -}}
{{- merge (deepCopy .Values.podLabels) .Values.commonLabels | toYaml -}}
{{- end }}

{{- /* References to the Secrets with which pods of the chart pull their image. */ -}}
{{- define "dynamo-hooks.pullSecrets" -}}
{{- $secrets := .Values.image.pullSecrets -}}
{{- with include "dynamo-hooks.registrySecret" . -}}{{- $secrets = append $secrets (dict "name" .) -}}{{- end -}}
{{- if $secrets -}}
imagePullSecrets:
  {{- toYaml $secrets | nindent 2 }}
{{- end -}}
{{- end }}

{{- /* Name of the registry Secret; empty for none. */ -}}
{{- define "dynamo-hooks.registrySecret" -}}
{{- with .Values.registry -}}
{{- if .existingSecret }}{{ .existingSecret }}{{ else if .server }}{{ include "dynamo-hooks.fullname" $ }}-registry{{ end -}}
{{- end -}}
{{- end }}

{{- /* What the hooks run: their image and settings, as a short digest. The controllers' URLs carry it, so that Metacontroller
asks about all objects again after a change of either. It restarts a controller only if the controller changes. */ -}}
{{- define "dynamo-hooks.revision" -}}
{{- printf "%s %s" (include "dynamo-hooks.image" .) (include "dynamo-hooks.settings" .) | sha256sum | trunc 10 -}}
{{- end }}

{{- define "dynamo-hooks.image" -}}
{{- with .Values.image -}}
{{- if .digest }}{{ .repository }}@{{ .digest }}{{ else }}{{ .repository }}:{{ .tag | default $.Chart.AppVersion }}{{ end -}}
{{- end -}}
{{- end }}

{{- define "dynamo-hooks.serviceAccount" -}}
{{- .Values.serviceAccount.name | default (include "dynamo-hooks.fullname" .) -}}
{{- end }}

{{- define "dynamo-hooks.plannerRole" -}}
{{- .Values.settings.plannerClusterRole | default (printf "%s-planner" (include "dynamo-hooks.fullname" .)) -}}
{{- end }}

{{- define "dynamo-hooks.eppRole" -}}
{{- .Values.settings.eppClusterRole | default (printf "%s-epp" (include "dynamo-hooks.fullname" .)) -}}
{{- end }}

{{- define "dynamo-hooks.profilingRole" -}}
{{- .Values.settings.profilingClusterRole | default (printf "%s-profiling" (include "dynamo-hooks.fullname" .)) -}}
{{- end }}

{{- define "dynamo-hooks.metacontrollerNamespace" -}}
{{- .Values.metacontroller.namespace | default .Release.Namespace -}}
{{- end }}

{{- /* The users that write for the controllers: Metacontroller's ServiceAccount and our own. */ -}}
{{- define "dynamo-hooks.controllerAccounts" -}}
{{- $accounts := list (printf "%s:%s" (include "dynamo-hooks.metacontrollerNamespace" .) .Values.metacontroller.serviceAccount) (printf "%s:%s" .Release.Namespace (include "dynamo-hooks.serviceAccount" .)) -}}
system:serviceaccount:{{ join ",system:serviceaccount:" $accounts }}
{{- end }}

{{- /* YAML reads an unquoted on or off as a boolean, so both are accepted here. */ -}}
{{- define "dynamo-hooks.switch" -}}
{{- if kindIs "bool" . }}{{ ternary "on" "off" . }}{{ else }}{{ . }}{{ end -}}
{{- end }}

{{- /* The entries of optional.yaml that this installation declares, as a YAML map. */ -}}
{{- define "dynamo-hooks.optionalKinds" -}}
{{- $chosen := dict -}}
{{- range $name, $entry := .Files.Get "files/metacontroller/optional.yaml" | fromYaml -}}
{{- $choice := include "dynamo-hooks.switch" (index $.Values (camelcase (replace "-" "_" $name) | untitle)) -}}
{{- $installed := $.Capabilities.APIVersions.Has (printf "%s/%s" $entry.apiVersion $entry.kind) -}}
{{- if or (eq $choice "on") (and (eq $choice "auto") $installed) -}}
{{- $_ := set $chosen $name $entry -}}
{{- end -}}
{{- end -}}
{{- toYaml $chosen -}}
{{- end }}

{{- /* The API group of an apiVersion; empty for core kinds. */ -}}
{{- define "dynamo-hooks.group" -}}
{{- if contains "/" . }}{{ splitList "/" . | first }}{{ end -}}
{{- end }}

{{- define "dynamo-hooks.confined" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
capabilities:
  drop: [ALL]
{{- end }}

{{- /* Before SIGTERM: not ready, and a wait until nobody sends new requests. The server answers as long as this waits. */ -}}
{{- define "dynamo-hooks.drain" -}}
preStop:
  exec:
    command: [sh, -c, "touch /tmp/draining && exec sleep {{ .Values.server.drainSeconds }}"]
{{- end }}

{{- /* One variable for each setting that has a value; enginePort becomes DYNAMO_HOOKS_ENGINE_PORT. */ -}}
{{- define "dynamo-hooks.settings" -}}
{{- $own := dict "hookReplicas" .Values.replicas "proberLease" (include "dynamo-hooks.proberLease" .) "plannerClusterRole" (include "dynamo-hooks.plannerRole" .) "eppClusterRole" (include "dynamo-hooks.eppRole" .) "profilingClusterRole" (include "dynamo-hooks.profilingRole" .) "hooksImage" (.Values.settings.hooksImage | default (include "dynamo-hooks.image" .)) "controllerAccounts" (.Values.settings.controllerAccounts | default (include "dynamo-hooks.controllerAccounts" .)) -}}
{{- $variables := list -}}
{{- if .Values.mpi.generateKey -}}
{{- $_ := set $own "mpiSecret" (printf "%s/%s" .Release.Namespace .Values.mpi.secretName) -}}
{{- end -}}
{{- if .Values.settings.installation -}}
{{- $_ := set $own "installationNamespace" (include "dynamo-hooks.installationNamespace" .) -}}
{{- end -}}
{{- range $key, $value := merge $own .Values.settings -}}
{{- if and (kindIs "string" $value) (contains "{{" $value) -}}{{- $value = tpl $value $ -}}{{- end -}}
{{- if not (kindIs "invalid" $value) -}}
{{- $variables = append $variables (dict "name" (printf "DYNAMO_HOOKS_%s" (snakecase $key | upper)) "value" (include "dynamo-hooks.settingValue" $value)) -}}
{{- end -}}
{{- end -}}
{{- toYaml $variables -}}
{{- end }}

{{- /* Lists become comma-separated. Helm reads numbers as floats; a large one would be written as 1.6e+07. */ -}}
{{- define "dynamo-hooks.settingValue" -}}
{{- if kindIs "slice" . }}{{ join "," . }}
{{- else if kindIs "float64" . }}{{ if eq (float64 (int64 .)) . }}{{ int64 . }}{{ else }}{{ . }}{{ end }}
{{- else }}{{ include "dynamo-hooks.switch" . }}
{{- end -}}
{{- end }}

{{- /* Name of each ClusterRole in rbac.yaml to its rules, as a YAML map. */ -}}
{{- define "dynamo-hooks.roles" -}}
{{- $roles := dict -}}
{{- range $text := .Files.Get "files/metacontroller/rbac.yaml" | splitList "\n---\n" -}}
{{- $document := fromYaml $text -}}
{{- if eq $document.kind "ClusterRole" -}}
{{- $_ := set $roles $document.metadata.name $document.rules -}}
{{- end -}}
{{- end -}}
{{- toYaml $roles -}}
{{- end }}

{{- /* The rights of the hooks for the effects that are on, and to read models and engines' pods, as a YAML map from a rule's
first resource to the rule. */ -}}
{{- define "dynamo-hooks.effectRules" -}}
{{- $settings := .Values.settings -}}
{{- $grove := hasKey (include "dynamo-hooks.optionalKinds" . | fromYaml) "grove" -}}
{{- $on := dict -}}
{{- $_ := set $on "events" (ne (include "dynamo-hooks.switch" $settings.effectEvents) "off") -}}
{{- $asks := ne (include "dynamo-hooks.switch" $settings.serving) "off" -}}
{{- $goes := eq (include "dynamo-hooks.switch" $settings.effectGoBack) "on" -}}
{{- $_ := set $on "controllerrevisions" $goes -}}
{{- $writes := ne (include "dynamo-hooks.switch" $settings.effectWriteBack) "off" -}}
{{- $_ := set $on "dynamographdeployments" (or $asks $goes $writes) -}}
{{- $scales := and $grove (ne (include "dynamo-hooks.switch" $settings.effectScale) "off") -}}
{{- $_ := set $on "podcliques/scale" $scales -}}
{{- $_ := set $on "podcliques" $scales -}}
{{- $any := or $scales (get $on "events") (get $on "dynamographdeployments") (include "dynamo-hooks.dropsKeys" .) -}}
{{- $_ := set $on "dynamocomponentdeployments" $any -}}
{{- range $key := list "pods" "dynamomodels" -}}
{{- $_ := set $on $key (eq ($settings.engineAddresses | default "pods") "pods") -}}
{{- end -}}
{{- $rules := dict -}}
{{- range $rule := index (include "dynamo-hooks.roles" . | fromYaml) "dynamo-hooks-effects" -}}
{{- $resource := first $rule.resources -}}
{{- if get $on $resource -}}
{{- $_ := set $rules $resource $rule -}}
{{- end -}}
{{- end -}}
{{- toYaml $rules -}}
{{- end }}

{{- /* The rights of the hooks to read what says why something is not ready, as a YAML map from a rule's first resource to
the rule; of optional kinds, those that the controllers declare. */ -}}
{{- define "dynamo-hooks.readRules" -}}
{{- $rules := dict -}}
{{- if ne (include "dynamo-hooks.switch" .Values.settings.explainPods) "off" -}}
{{- $left := dict -}}
{{- $chosen := include "dynamo-hooks.optionalKinds" . | fromYaml -}}
{{- range $name, $entry := .Files.Get "files/metacontroller/optional.yaml" | fromYaml -}}
{{- if not (hasKey $chosen $name) -}}
{{- $_ := set $left (include "dynamo-hooks.group" $entry.apiVersion) true -}}
{{- end -}}
{{- end -}}
{{- range $index, $rule := index (include "dynamo-hooks.roles" . | fromYaml) "dynamo-hooks-reads" -}}
{{- if not (hasKey $left (first $rule.apiGroups)) -}}
{{- $_ := set $rules (printf "%02d" $index) $rule -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- toYaml $rules -}}
{{- end }}

{{- /* Not empty if admission asks whether a user may create graphs in another namespace than that of their request. */ -}}
{{- define "dynamo-hooks.reviewsAccess" -}}
{{- $namespaces := .Values.settings.requestNamespaces | default "own" -}}
{{- if and .Values.admission.enabled (ne (toString $namespaces) "own") (not .Values.settings.installation) }}yes{{ end -}}
{{- end }}

{{- /* Not empty if admission reads the Leases with which other operators lock namespaces. */ -}}
{{- define "dynamo-hooks.readsLocks" -}}
{{- if and (include "dynamo-hooks.servesApiServer" .) (eq (include "dynamo-hooks.switch" .Values.settings.namespaceLocks) "on") }}yes{{ end -}}
{{- end }}

{{- /* Name of admission's ServiceAccount, and of the Secret with its token; empty if admission asks the API server nothing:
for a new graph it lists those of the namespace, because the Dynamo namespaces of two can overlap. */ -}}
{{- define "dynamo-hooks.admissionAccount" -}}
{{- if or .Values.admission.enabled (include "dynamo-hooks.readsLocks" .) }}{{ include "dynamo-hooks.admissionName" . }}{{ end -}}
{{- end }}

{{- /* Name of the Secret with the token that hooks and prober share; empty for none. */ -}}
{{- define "dynamo-hooks.proberSecret" -}}
{{- with .Values.prober.token -}}
{{- if .existingSecret }}{{ .existingSecret }}{{ else if .create }}{{ include "dynamo-hooks.fullname" $ }}-prober{{ end -}}
{{- end -}}
{{- end }}

{{- /* Name of the Secret with the token that Metacontroller shows to the hooks; empty if anybody may call. */ -}}
{{- define "dynamo-hooks.callersSecret" -}}
{{- if ne (.Values.settings.callers | default "token") "any" -}}
{{- .Values.callers.token.existingSecret | default (printf "%s-callers" (include "dynamo-hooks.fullname" .)) -}}
{{- end -}}
{{- end }}

{{- /* Name of the Lease of the pod whose prober acts. */ -}}
{{- define "dynamo-hooks.proberLease" -}}
{{- include "dynamo-hooks.fullname" . }}-prober
{{- end }}

{{- /* Not empty if several hooks pods share that Lease. */ -}}
{{- define "dynamo-hooks.sharesLease" -}}
{{- if gt (int .Values.replicas) 1 }}yes{{ end -}}
{{- end }}

{{- /* Name of the Secret with the token that hooks pods show each other; empty with one pod. */ -}}
{{- define "dynamo-hooks.relaySecret" -}}
{{- if include "dynamo-hooks.sharesLease" . -}}
{{- .Values.relay.token.existingSecret | default (printf "%s-relay" (include "dynamo-hooks.fullname" .)) -}}
{{- end -}}
{{- end }}

{{- define "dynamo-hooks.proberToken" -}}
{{- with include "dynamo-hooks.proberSecret" . -}}
- name: DYNAMO_PROBER_TOKEN
  valueFrom:
    secretKeyRef:
      name: {{ . }}
      key: {{ $.Values.prober.token.key }}
{{- end -}}
{{- end }}

{{- /* Not empty if components may have keys in etcd, which the hooks then delete: a graph may choose etcd by annotation. */ -}}
{{- define "dynamo-hooks.dropsKeys" -}}
{{- with .Values.settings -}}
{{- if and (or (eq (.discoveryBackend | default "") "etcd") .etcdAddress) (ne (include "dynamo-hooks.switch" .effectEtcd) "off") }}yes{{ end -}}
{{- end -}}
{{- end }}

{{- /* The labels of the pod of `helm test`, by which the NetworkPolicy lets it in; no Service selects it. */ -}}
{{- define "dynamo-hooks.testLabels" -}}
app.kubernetes.io/name: {{ include "dynamo-hooks.name" . }}-test
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}
