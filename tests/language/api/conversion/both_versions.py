"""The same graphs, written by hand in both versions."""

AGGREGATED = (
    """
apiVersion: nvidia.com/v1alpha1
kind: DynamoGraphDeployment
metadata: {name: agg, namespace: default}
spec:
  envs: [{name: HF_HOME, value: /models}]
  services:
    Frontend:
      componentType: frontend
      envFromSecret: hf-token-secret
      livenessProbe: {httpGet: {path: /live, port: 8000}, periodSeconds: 7}
      extraPodSpec:
        mainContainer: {image: "nvcr.io/nvidia/ai-dynamo/vllm-runtime:0.9.1"}
    Worker:
      componentType: worker
      replicas: 2
      scalingAdapter: {enabled: true}
      sharedMemory: {size: 16Gi}
      modelRef: {name: Qwen/Qwen3-0.6B}
      envs: [{name: LOG, value: debug}]
      resources: {limits: {gpu: "1", memory: 40Gi}, requests: {custom: {ephemeral-storage: 2Gi}}}
      volumeMounts:
        - {name: kernels, mountPoint: /kernels, useAsCompilationCache: true}
        - {name: models, mountPoint: /models}
      extraPodMetadata: {labels: {team: a}}
      extraPodSpec:
        tolerations: [{key: gpu, operator: Exists}]
        containers: [{name: logs, image: "logs:1"}]
        mainContainer:
          image: nvcr.io/nvidia/ai-dynamo/vllm-runtime:0.9.1
          command: [python3, -m, dynamo.vllm]
          args: [--model, Qwen/Qwen3-0.6B]
          startupProbe: {failureThreshold: 90}
""",
    """
apiVersion: nvidia.com/v1beta1
kind: DynamoGraphDeployment
metadata: {name: agg, namespace: default}
spec:
  env: [{name: HF_HOME, value: /models}]
  components:
    - name: Worker
      type: worker
      replicas: 2
      scalingAdapter: {}
      sharedMemorySize: 16Gi
      modelRef: {name: Qwen/Qwen3-0.6B}
      compilationCache: {pvcName: kernels, mountPath: /kernels}
      podTemplate:
        metadata: {labels: {team: a}}
        spec:
          tolerations: [{key: gpu, operator: Exists}]
          containers:
            - name: logs
              image: logs:1
            - name: main
              image: nvcr.io/nvidia/ai-dynamo/vllm-runtime:0.9.1
              command: [python3, -m, dynamo.vllm]
              args: [--model, Qwen/Qwen3-0.6B]
              env: [{name: LOG, value: debug}]
              resources:
                limits: {nvidia.com/gpu: 1, memory: 40Gi}
                requests: {ephemeral-storage: 2Gi}
              volumeMounts: [{name: models, mountPath: /models}]
              startupProbe: {failureThreshold: 90}
    - name: Frontend
      type: frontend
      podTemplate:
        spec:
          containers:
            - name: main
              image: nvcr.io/nvidia/ai-dynamo/vllm-runtime:0.9.1
              envFrom: [{secretRef: {name: hf-token-secret}}]
              livenessProbe: {httpGet: {path: /live, port: 8000}, periodSeconds: 7}
""",
)
"""A frontend and a worker with claims, a scaling adapter and a container of their own."""

DISAGGREGATED = (
    """
apiVersion: nvidia.com/v1alpha1
kind: DynamoGraphDeployment
metadata: {name: disagg, namespace: default, annotations: {nvidia.com/enable-metrics: "false"}}
spec:
  backendFramework: sglang
  restart: {id: "1", strategy: {type: Parallel}}
  services:
    Frontend:
      componentType: frontend
      replicas: 1
      extraPodSpec:
        mainContainer: {image: "nvcr.io/nvidia/ai-dynamo/sglang-runtime:0.9.1"}
    prefill:
      componentType: worker
      subComponentType: prefill
      replicas: 1
      multinode: {nodeCount: 2}
      sharedMemory: {disabled: true}
      resources: {limits: {gpu: "8"}}
      extraPodSpec:
        volumes: [{name: scratch, emptyDir: {}}]
        mainContainer:
          image: nvcr.io/nvidia/ai-dynamo/sglang-runtime:0.9.1
          command: [python3, -m, dynamo.sglang]
          args: [--model-path, Qwen/Qwen3-32B, --tp, "16", --disaggregation-mode, prefill]
          volumeMounts: [{name: scratch, mountPath: /scratch, subPath: a, readOnly: true}]
    decode:
      componentType: worker
      subComponentType: decode
      replicas: 3
      resources: {limits: {gpu: "4"}}
      extraPodSpec:
        mainContainer:
          image: nvcr.io/nvidia/ai-dynamo/sglang-runtime:0.9.1
          command: [python3, -m, dynamo.sglang]
          args: [--model-path, Qwen/Qwen3-32B, --tp, "4", --disaggregation-mode, decode]
""",
    """
apiVersion: nvidia.com/v1beta1
kind: DynamoGraphDeployment
metadata: {name: disagg, namespace: default, annotations: {nvidia.com/enable-metrics: "false"}}
spec:
  backendFramework: sglang
  restart: {id: "1", strategy: {type: Parallel}}
  components:
    - name: prefill
      type: prefill
      replicas: 1
      multinode: {nodeCount: 2}
      sharedMemorySize: "0"
      podTemplate:
        spec:
          volumes: [{name: scratch, emptyDir: {}}]
          containers:
            - name: main
              image: nvcr.io/nvidia/ai-dynamo/sglang-runtime:0.9.1
              command: [python3, -m, dynamo.sglang]
              args: [--model-path, Qwen/Qwen3-32B, --tp, "16", --disaggregation-mode, prefill]
              resources: {limits: {nvidia.com/gpu: "8"}}
              volumeMounts: [{name: scratch, mountPath: /scratch, subPath: a, readOnly: true}]
    - name: decode
      type: decode
      replicas: 3
      podTemplate:
        spec:
          containers:
            - name: main
              image: nvcr.io/nvidia/ai-dynamo/sglang-runtime:0.9.1
              command: [python3, -m, dynamo.sglang]
              args: [--model-path, Qwen/Qwen3-32B, --tp, "4", --disaggregation-mode, decode]
              resources: {limits: {nvidia.com/gpu: "4"}}
    - name: Frontend
      type: frontend
      replicas: 1
      podTemplate:
        spec:
          containers: [{name: main, image: "nvcr.io/nvidia/ai-dynamo/sglang-runtime:0.9.1"}]
""",
)
"""Prefill over two nodes, and decode."""

COMPONENT = (
    """
apiVersion: nvidia.com/v1alpha1
kind: DynamoComponentDeployment
metadata: {name: alone, namespace: default}
spec:
  componentType: worker
  backendFramework: vllm
  resources: {limits: {gpu: "1"}}
  extraPodSpec:
    mainContainer:
      image: nvcr.io/nvidia/ai-dynamo/vllm-runtime:0.9.1
      command: [python3, -m, dynamo.vllm]
""",
    """
apiVersion: nvidia.com/v1beta1
kind: DynamoComponentDeployment
metadata: {name: alone, namespace: default}
spec:
  name: alone
  type: worker
  backendFramework: vllm
  podTemplate:
    spec:
      containers:
        - name: main
          image: nvcr.io/nvidia/ai-dynamo/vllm-runtime:0.9.1
          command: [python3, -m, dynamo.vllm]
          resources: {limits: {nvidia.com/gpu: "1"}}
""",
)
"""A component without a graph."""

WRITTEN = {"aggregated": AGGREGATED, "disaggregated": DISAGGREGATED, "component": COMPONENT}
"""Each as v1alpha1 and as v1beta1."""
