"""The built-in and third-party kinds that hooks return, read or relate to."""

from hooks.k8s.types import GroupVersionKind

CONFIG_MAP = GroupVersionKind("", "v1", "ConfigMap")
ENDPOINT_SLICE = GroupVersionKind("discovery.k8s.io", "v1", "EndpointSlice")
EVENT = GroupVersionKind("", "v1", "Event")
NAMESPACE = GroupVersionKind("", "v1", "Namespace")
NODE = GroupVersionKind("", "v1", "Node")
PERSISTENT_VOLUME_CLAIM = GroupVersionKind("", "v1", "PersistentVolumeClaim")
POD = GroupVersionKind("", "v1", "Pod")
SECRET = GroupVersionKind("", "v1", "Secret")
SERVICE = GroupVersionKind("", "v1", "Service")
SERVICE_ACCOUNT = GroupVersionKind("", "v1", "ServiceAccount")
DEPLOYMENT = GroupVersionKind("apps", "v1", "Deployment")
STATEFUL_SET = GroupVersionKind("apps", "v1", "StatefulSet")
CRON_JOB = GroupVersionKind("batch", "v1", "CronJob")
JOB = GroupVersionKind("batch", "v1", "Job")
INGRESS = GroupVersionKind("networking.k8s.io", "v1", "Ingress")
ROLE = GroupVersionKind("rbac.authorization.k8s.io", "v1", "Role")
ROLE_BINDING = GroupVersionKind("rbac.authorization.k8s.io", "v1", "RoleBinding")

VIRTUAL_SERVICE = GroupVersionKind("networking.istio.io", "v1beta1", "VirtualService")
INFERENCE_POOL = GroupVersionKind("inference.networking.k8s.io", "v1", "InferencePool")
LEADER_WORKER_SET = GroupVersionKind("leaderworkerset.x-k8s.io", "v1", "LeaderWorkerSet")
POD_GROUP = GroupVersionKind("scheduling.volcano.sh", "v1beta1", "PodGroup")
POD_CLIQUE_SET = GroupVersionKind("grove.io", "v1alpha1", "PodCliqueSet")
POD_CLIQUE = GroupVersionKind("grove.io", "v1alpha1", "PodClique")
POD_CLIQUE_SCALING_GROUP = GroupVersionKind("grove.io", "v1alpha1", "PodCliqueScalingGroup")
