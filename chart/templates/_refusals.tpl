{{- /* Values that contradict each other, and changes that would break what runs, end the rendering with a sentence. */ -}}
{{- define "dynamo-hooks.refuse" -}}
{{- if and (eq (include "dynamo-hooks.certificateSource" .) "external") (not .Values.admission.certificates.caBundle) -}}
{{- fail "admission.certificates.source=external needs admission.certificates.caBundle: without it the API server does not trust your certificate, so it refuses every write (admission) or every request for v1beta1. Give the PEM of its authorities in base64, or take source=helm or source=cert-manager." -}}
{{- end -}}
{{- if and .Values.mpi.generateKey .Values.settings.mpiSecret -}}
{{- fail (printf "mpi.generateKey makes the key in Secret %s/%s, and settings.mpiSecret names %s: leave out one of them." .Release.Namespace .Values.mpi.secretName .Values.settings.mpiSecret) -}}
{{- end -}}
{{- with .Values.registry -}}
{{- if and .server (not .existingSecret) (not (and .username .password)) -}}
{{- fail "registry.server needs registry.username and registry.password; or name your own Secret in registry.existingSecret." -}}
{{- end -}}
{{- end -}}
{{- if and .Values.hostNetwork (include "dynamo-hooks.servesApiServer" .) (eq (int .Values.server.port) (int .Values.admission.port)) -}}
{{- fail "server.port and admission.port are the same: both containers of a pod share its network." -}}
{{- end -}}
{{- if .Values.crds.only -}}
{{- if not .Values.crds.install -}}
{{- fail "crds.only=true and crds.install=false leave nothing to install: leave out one of them." -}}
{{- end -}}
{{- if .Values.v1beta1.enabled -}}
{{- fail "crds.only=true installs v1alpha1: v1beta1.enabled needs the pods of the hooks, which convert objects. Install the CRDs with the hooks (crds.only=false), or print them with `dynamo-hooks crds --v1beta1`." -}}
{{- end -}}
{{- else -}}
{{- include "dynamo-hooks.refuseVanishing" . -}}
{{- end -}}
{{- include "dynamo-hooks.refuseUnservedOwners" . -}}
{{- end }}

{{- /* Fails if the controllers would no longer declare a kind of which graphs have objects: those would run on unattended,
and the graphs would be built a second time in another way. Only a rendering in touch with the cluster can know. */ -}}
{{- define "dynamo-hooks.refuseVanishing" -}}
{{- if and .Values.controllers.install (.Capabilities.APIVersions.Has "metacontroller.k8s.io/v1alpha1/CompositeController") -}}
{{- $declared := include "dynamo-hooks.optionalKinds" . | fromYaml -}}
{{- $live := list -}}
{{- range $controller := list "dynamo-graph" "dynamo-component" -}}
{{- $name := $.Values.settings.installation | empty | ternary $controller (printf "%s-%s" $controller ($.Values.settings.installation | default "")) -}}
{{- $found := lookup "metacontroller.k8s.io/v1alpha1" "CompositeController" "" $name | default dict -}}
{{- range $rule := dig "spec" "childResources" list $found -}}
{{- $live = append $live (printf "%s %s" $rule.apiVersion $rule.resource) -}}
{{- end -}}
{{- end -}}
{{- range $name, $entry := .Files.Get "files/metacontroller/optional.yaml" | fromYaml -}}
{{- if and (not (hasKey $declared $name)) (has (printf "%s %s" $entry.apiVersion $entry.resource) $live) -}}
{{- include "dynamo-hooks.refuseIfUsed" (dict "context" $ "name" $name "entry" $entry) -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- end }}

{{- /* Fails if a graph or component owns an object of an optional kind, or if the kind is installed but not served, so that nobody can tell. */ -}}
{{- define "dynamo-hooks.refuseIfUsed" -}}
{{- $entry := .entry -}}
{{- $value := camelcase (replace "-" "_" .name) | untitle -}}
{{- if .context.Capabilities.APIVersions.Has (printf "%s/%s" $entry.apiVersion $entry.kind) -}}
{{- $namespace := .context.Values.settings.installation | empty | ternary "" (include "dynamo-hooks.installationNamespace" .context) -}}
{{- range $object := (lookup $entry.apiVersion $entry.kind $namespace "").items -}}
{{- range $owner := $object.metadata.ownerReferences -}}
{{- if and $owner.controller (hasPrefix "nvidia.com/" $owner.apiVersion) -}}
{{- fail (printf "%s %s/%s belongs to %s %s, and these values would no longer declare its kind: nothing would manage it any more, and a second set of pods would be made. Set %s=on, or first delete or move what uses the kind." $entry.kind $object.metadata.namespace $object.metadata.name $owner.kind $owner.name $value) -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- else if and (eq "auto" (include "dynamo-hooks.switch" (index .context.Values $value))) (lookup "apiextensions.k8s.io/v1" "CustomResourceDefinition" "" (printf "%s.%s" $entry.resource (include "dynamo-hooks.group" $entry.apiVersion))) -}}
{{- fail (printf "the controllers declare %s of %s, its CRD is installed, but the API server does not serve it now, so it would no longer be declared. Try again when `kubectl get %s.%s` works, or set %s=off if nothing uses it." $entry.kind $entry.apiVersion $entry.resource (include "dynamo-hooks.group" $entry.apiVersion) $value) -}}
{{- end -}}
{{- end }}

{{- /* Fails if the CRDs would stop serving v1beta1 while an object names its owner by it: the garbage collector would no longer
find that owner. Every graph of a Go operator has such an object of one of these kinds. */ -}}
{{- define "dynamo-hooks.refuseUnservedOwners" -}}
{{- if and .Values.crds.install (not .Values.v1beta1.enabled) -}}
{{- range $kind := list "v1/ServiceAccount" "v1/Service" "apps/v1/Deployment" -}}
{{- $found := lookup (dir $kind) (base $kind) "" "" | default dict -}}
{{- range $object := $found.items | default list -}}
{{- range $owner := $object.metadata.ownerReferences | default list -}}
{{- if eq $owner.apiVersion "nvidia.com/v1beta1" -}}
{{- fail (printf "%s %s/%s names its owner as nvidia.com/v1beta1, which the CRDs would no longer serve, so it would never be deleted with its graph. Run `dynamo-hooks migrate --all-namespaces --apply` first, or take v1beta1.enabled=true or crds.install=false." (base $kind) $object.metadata.namespace $object.metadata.name) -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- end }}
