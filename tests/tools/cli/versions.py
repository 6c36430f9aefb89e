"""One graph, written in both versions."""

ALPHA = """\
apiVersion: nvidia.com/v1alpha1
kind: DynamoGraphDeployment
metadata:
  name: g
spec:
  backendFramework: vllm
  services:
    Frontend:
      componentType: frontend
      replicas: 1
      extraPodSpec:
        mainContainer:
          image: img:0.9.1
    Worker:
      componentType: worker
      replicas: 2
      scalingAdapter:
        enabled: true
      resources:
        limits:
          gpu: "1"
      extraPodSpec:
        mainContainer:
          image: img:0.9.1
          command: [python3, -m, dynamo.vllm]
"""
BETA = """\
apiVersion: nvidia.com/v1beta1
kind: DynamoGraphDeployment
metadata:
  name: g
spec:
  backendFramework: vllm
  components:
    - name: Frontend
      type: frontend
      replicas: 1
      podTemplate:
        spec:
          containers:
            - name: main
              image: img:0.9.1
    - name: Worker
      type: worker
      replicas: 2
      scalingAdapter: {}
      podTemplate:
        spec:
          containers:
            - name: main
              image: img:0.9.1
              command: [python3, -m, dynamo.vllm]
              resources:
                limits:
                  nvidia.com/gpu: "1"
"""
BETA_COMPONENT = """\
apiVersion: nvidia.com/v1beta1
kind: DynamoComponentDeployment
metadata:
  name: c
spec:
  name: c
  type: worker
  backendFramework: vllm
  podTemplate:
    spec:
      containers:
        - name: main
          image: img:0.9.1
          command: [python3, -m, dynamo.vllm]
"""
BETA_ADAPTER = """\
apiVersion: nvidia.com/v1beta1
kind: DynamoGraphDeploymentScalingAdapter
metadata:
  name: a
spec:
  replicas: 2
  dgdRef:
    name: g
    componentName: Worker
"""
BETA_REQUEST = """\
apiVersion: nvidia.com/v1beta1
kind: DynamoGraphDeploymentRequest
metadata:
  name: r
spec:
  model: m
"""
CONFIG_MAP = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: mine\ndata:\n  b: '1'\n  a: '2'\n"
