"""Flags and variables of Dynamo's own modules that not all releases take. Those of the engines themselves are not here.

Read from the wheels of ai-dynamo 0.9.0 to 1.6.1, the argument parsers of each module (`args.py`, `backend_args.py`,
`frontend_args.py`, `common/configuration/groups`), and from Dynamo's docs, reference/general/releases/deprecations.
A flag that a release accepts and ignores counts as one that it has.
"""

from dataclasses import dataclass

Minor = tuple[int, int]
"""Major and minor number of a release: flags come and go with these."""

FRONTEND, ROUTER, MOCKER, OMNI = "dynamo.frontend", "dynamo.router", "dynamo.mocker", "dynamo.vllm.omni"
VLLM, SGLANG, TRTLLM, TOKENSPEED = "dynamo.vllm", "dynamo.sglang", "dynamo.trtllm", "dynamo.tokenspeed"
_ENGINES = (VLLM, SGLANG, TRTLLM)
_VLLMS = (VLLM, OMNI)


@dataclass(frozen=True, slots=True)
class Retired:
    """Names that `modules` took before the release `gone`, and again from `back` on; `instead` says what to write."""

    modules: tuple[str, ...]
    gone: Minor
    names: str
    instead: str = ""
    back: Minor | None = None


_MULTIMODAL = "--enable-multimodal with --disaggregation-mode, or --dedicated-mm-encoder"
_OMNI_FLAGS = (
    "--default-video-fps --omni --omni-boundary-ratio --omni-cfg-parallel-size --omni-diffusion-cache-backend "
    "--omni-diffusion-cache-config --omni-enable-cache-dit-summary --omni-enable-cpu-offload "
    "--omni-enable-layerwise-offload --omni-enforce-eager --omni-flow-shift --omni-layerwise-num-gpu-layers "
    "--omni-ring-degree --omni-ulysses-degree --omni-vae-use-slicing --omni-vae-use-tiling --stage-configs-path"
)
RETIRED_FLAGS = (
    Retired((FRONTEND, MOCKER, *_ENGINES), (1, 0), "--store-kv", "--discovery-backend"),
    Retired((MOCKER, *_ENGINES), (1, 0), "--enable-local-indexer"),
    Retired(_ENGINES, (1, 0), "--migration-limit", "--migration-limit of the frontend"),
    Retired((FRONTEND,), (1, 0), "--enforce-disagg", back=(1, 1)),
    Retired((FRONTEND,), (1, 0), "--custom-backend-metrics-endpoint --custom-backend-metrics-polling-interval"),
    Retired((FRONTEND,), (1, 0), "--exp-python-factory", "--dyn-chat-processor"),
    Retired((FRONTEND,), (1, 1), "--decode-fallback", "--enforce-disagg"),
    Retired((FRONTEND,), (1, 1), "--router-ttl", "--router-ttl-secs"),
    Retired((FRONTEND, ROUTER), (1, 2), "--router-max-tree-size --router-prune-target-ratio"),
    Retired((FRONTEND, ROUTER), (1, 4), "--router-durable-kv-events --router-reset-states --router-snapshot-threshold"),
    Retired((FRONTEND, ROUTER, MOCKER, OMNI, TOKENSPEED, *_ENGINES), (1, 4), "--durable-kv-events"),
    # The parser still has this one, to refuse it.
    Retired(
        (VLLM,), (1, 0), "--connector", '--kv-transfer-config \'{"kv_connector":"NixlConnector","kv_role":"kv_both"}\''
    ),
    Retired(
        (VLLM,),
        (1, 0),
        "--ec-connector-backend --ec-consumer-mode --ec-extra-config --ec-processor --ec-storage-path "
        "--multimodal-encode-prefill-worker --multimodal-processor --vllm-native-encoder-worker",
    ),
    Retired((VLLM,), (1, 1), _OMNI_FLAGS, "python3 -m dynamo.vllm.omni"),
    Retired((VLLM,), (1, 1), "--sleep-mode-level"),
    Retired(_VLLMS, (1, 4), "--is-prefill-worker", "--disaggregation-mode prefill"),
    Retired(_VLLMS, (1, 4), "--is-decode-worker", "--disaggregation-mode decode"),
    Retired((*_VLLMS, SGLANG), (1, 4), "--multimodal-encode-worker --multimodal-worker", _MULTIMODAL),
    Retired(_VLLMS, (1, 4), "--multimodal-decode-worker", _MULTIMODAL),
    Retired((SGLANG,), (1, 0), "--config-key", "--disagg-config-key"),
    Retired((SGLANG,), (1, 1), "--multimodal-processor"),
    Retired((TRTLLM,), (1, 0), "--use-nixl-connect"),
    Retired((TRTLLM,), (1, 1), "--disable-request-abort --torch-compile-mode --warmup-steps"),
    Retired((TRTLLM,), (1, 3), "--dit-dp-size --dit-fsdp-size --dit-tp-size --enable-async-cpu-offload --fuse-qkv"),
    Retired((TRTLLM,), (1, 3), "--skip-components"),
    Retired((MOCKER,), (1, 1), "--watermark"),
    Retired(
        (MOCKER,),
        (1, 5),
        "--bandwidth-g1-to-g2-gbps --bandwidth-g2-to-g1-gbps --bandwidth-g2-to-g3-gbps --bandwidth-g2-to-g4-gbps "
        "--bandwidth-g3-to-g2-gbps --bandwidth-g4-to-g2-gbps --enable-g4-storage --g1-backend --num-g2-blocks "
        "--num-g3-blocks --offload-batch-size",
    ),
)

RETIRED_VARIABLES = (
    Retired((VLLM,), (1, 0), "DYN_CONNECTOR", "--kv-transfer-config"),
    Retired((VLLM,), (1, 1), "DYN_VLLM_KV_EVENT_PORT", "--kv-events-config"),
    Retired((TRTLLM,), (1, 3), "DYN_TRTLLM_DIT_DP_SIZE"),
    Retired((FRONTEND, *_ENGINES), (1, 3), "DYN_AGENT_TRACE", "DYN_REQUEST_TRACE"),
)
FATAL_VARIABLES = frozenset({"DYN_CONNECTOR"})
"""Variables with which a module ends at once; it ignores the others. Source: ai-dynamo 1.6.1, dynamo/vllm/args.py."""

_ROUTING_1_0 = (
    "--assume-kv-reuse --durable-kv-events --router-assume-kv-reuse --router-durable-kv-events --router-event-threads "
    "--router-kv-events --router-kv-overlap-score-weight --router-track-active-blocks --router-track-output-blocks "
    "--track-active-blocks"
)
_ROUTING_1_1 = (
    "--aic-backend --aic-backend-version --aic-model-path --aic-system --aic-tp-size --router-prefill-load-model "
    "--router-queue-policy --router-track-prefill-tokens --serve-indexer --use-remote-indexer"
)
_ROUTING_1_2 = (
    "--load-aware --router-kv-overlap-score-credit --router-prefill-load-scale --shared-cache-multiplier "
    "--shared-cache-type"
)
_ROUTING_1_3 = (
    "--aic-attention-dp-size --aic-moe-ep-size --aic-moe-tp-size --aic-mtp-seed --aic-nextn --aic-nextn-accept-rates "
    "--router-disk-cache-hit-weight --router-host-cache-hit-weight --router-kv-overlap-score-credit-decay "
    "--router-policy-config --router-predicted-ttl-secs"
)
_ROUTING_1_4 = (
    "--router-decode-active-request-weight --router-tracking-hash --router-tracking-key-file --router-tracking-key-id"
)
_ROUTING_1_5 = (
    "--router-approximate-cache-policy --router-conditional-disagg --router-conditional-disagg-config "
    "--router-decode-policy --router-prefill-policy"
)


@dataclass(frozen=True, slots=True)
class Added:
    """Names that `modules` take from a release on."""

    modules: tuple[str, ...]
    since: Minor
    names: str


ADDED_FLAGS = (
    Added((FRONTEND, ROUTER), (1, 0), _ROUTING_1_0),
    Added((FRONTEND, ROUTER), (1, 1), _ROUTING_1_1),
    Added((FRONTEND, ROUTER), (1, 2), _ROUTING_1_2),
    Added((FRONTEND, ROUTER), (1, 3), _ROUTING_1_3),
    Added((FRONTEND, ROUTER), (1, 4), _ROUTING_1_4),
    Added((FRONTEND, ROUTER), (1, 5), _ROUTING_1_5),
    Added((FRONTEND, ROUTER), (1, 6), "--ais-perf-config --enable-session-prefix-index"),
    Added((ROUTER,), (1, 0), "--kv-events --router-block-size"),
    Added((ROUTER,), (1, 1), "--router-queue-threshold"),
    Added(
        (FRONTEND,),
        (1, 0),
        "--active-prefill-tokens-threshold-frac --discovery-backend --dump-config-to --dyn-chat-processor "
        "--dyn-debug-perf --dyn-preprocess-workers --enable-anthropic-api --migration-limit --namespace-prefix "
        "--router-queue-threshold --router-ttl-secs",
    ),
    Added(
        (FRONTEND,),
        (1, 1),
        "--enable-streaming-reasoning-dispatch --enable-streaming-tool-dispatch --exclude-tools-when-tool-choice-none "
        "--migration-max-seq-len --router-min-initial-workers --strip-anthropic-preamble --tokenizer",
    ),
    Added(
        (FRONTEND,),
        (1, 2),
        "--http-concurrency --http-connect-timeout --http-keepalive-timeout --http-max-connections "
        "--http-max-keepalive --http-pool-timeout --http-timeout",
    ),
    Added((FRONTEND,), (1, 3), "--admission-control --router-session-affinity-ttl-secs"),
    Added((FRONTEND,), (1, 4), "--frontend-route-extension"),
    Added(
        (FRONTEND,),
        (1, 5),
        "--nats-tls-ca-cert-path --nats-tls-insecure --reasoning-field-name --router-session-affinity-mode "
        "--tcp-tls-ca-cert-path --tcp-tls-cert-path --tcp-tls-key-path --tokenizer-fallback",
    ),
    Added((FRONTEND,), (1, 6), "--response-plane --tls-client-ca-cert-path"),
    Added((VLLM,), (1, 0), "--disaggregation-mode"),
    Added(_ENGINES, (1, 0), "--discovery-backend"),
    Added((SGLANG, TRTLLM), (1, 3), "--enable-multimodal"),
)
