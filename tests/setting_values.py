"""Values of settings that are taken as they are written, and those that are refused, each with what would be right."""

TAKEN = (
    ("nats_address", ""),
    ("nats_address", "nats://nats.example:4222"),
    ("nats_address", "nats://user:word@nats"),
    ("nats_address", "nats://$(NATS_USER)@nats:4222"),
    ("nats_address", "tls://nats:4222/"),
    ("nats_address", "wss://nats.example/way"),
    ("nats_address", "nats:4222"),
    ("nats_address", "nats://a:4222,nats://b:4222"),
    ("etcd_address", "etcd:2379"),
    ("etcd_address", "http://etcd"),
    ("etcd_address", "https://user:word@etcd.example:2379/"),
    ("etcd_address", "[::1]:2379"),
    ("etcd_address", "http://10.0.0.1:2379, http://10.0.0.2:2379"),
    ("etcd_address", "a:2379,b:2379,c:2379"),
    ("model_express_url", "http://model-express.example:8001"),
    ("model_express_url", "grpc://model-express:8001"),
    ("model_express_url", "model-express:8001"),
    ("prometheus_endpoint", "http://prometheus:9090/"),
    ("prometheus_endpoint", "https://prometheus.example/a/b?c=d"),
    ("ingress_gateway", ""),
    ("ingress_gateway", "main"),
    ("ingress_gateway", "istio-system/main.v2"),
    ("ingress_class", "nginx"),
    ("ingress_class", "example.com"),
    ("ingress_tls_secret", "frontend-tls"),
    ("ingress_host_suffix", ""),
    ("ingress_host_suffix", "inference.example.com"),
    ("kai_queue", "team.a"),
    ("mpi_secret", "keys"),
    ("mpi_secret", "team-a/mpi.keys"),
    ("epp_cluster_role", "mine.v2"),
    ("hooks_image", "registry.example:5000/a@sha256:0"),
    ("profiler_module", "a.b_c"),
    ("installation", ""),
    ("installation_namespace", "team-a"),
)

_NAME = "with a letter or digit beside each '.' and at both ends, such as"
_NATS = "a URL or host:port, or several, separated by commas, such as nats://nats.dynamo-system:4222"
_ETCD = "a URL or host:port, or several, separated by commas, such as http://etcd.dynamo-system:2379"
_MODEL_EXPRESS = "a URL or host:port, such as http://model-express.dynamo-system:8001"
_PROMETHEUS = "a URL that begins with http:// or https://, such as http://prometheus.monitoring:9090"
_GATEWAY = "a Gateway's name or namespace/name, such as istio-system/main"
_SECRET = "a Secret's name or namespace/name, such as dynamo-system/mpi-run-ssh-secret"

REFUSED = (
    ("nats_address", "garbage", _NATS),
    ("nats_address", "nat://nats:4222", _NATS),
    ("nats_address", "nats://a:4222;nats://b 4222", _NATS),
    ("nats_address", "nats://a:4222,", _NATS),
    ("etcd_address", "x y", _ETCD),
    ("etcd_address", "http:/etcd:2379", _ETCD),
    ("etcd_address", "etcd", _ETCD),
    ("etcd_address", "etcd:2379,,etcd:2380", _ETCD),
    ("model_express_url", "x", _MODEL_EXPRESS),
    ("model_express_url", "a:8001,b:8001", _MODEL_EXPRESS),
    ("prometheus_endpoint", "x", _PROMETHEUS),
    ("prometheus_endpoint", "prometheus:9090", _PROMETHEUS),
    ("ingress_gateway", "a b", _GATEWAY),
    ("ingress_gateway", "a/b/c", _GATEWAY),
    ("ingress_gateway", "/b", _GATEWAY),
    ("ingress_gateway", "a.b/c", _GATEWAY),
    ("ingress_class", "X Y", f"{_NAME} nginx"),
    ("ingress_tls_secret", "a/b", f"{_NAME} frontend-tls"),
    ("ingress_host_suffix", "a b", f"{_NAME} inference.example.com"),
    ("ingress_host_suffix", ".example.com", f"{_NAME} inference.example.com"),
    ("ingress_host_suffix", "a..b", f"{_NAME} inference.example.com"),
    ("kai_queue", "", f"{_NAME} dynamo"),
    ("kai_queue", "q" * 64, "at most 63 of a-z, 0-9, '-' and '.'"),
    ("mpi_secret", "", _SECRET),
    ("mpi_secret", "a/b/c", _SECRET),
    ("mpi_secret", "A B", _SECRET),
    ("planner_cluster_role", "A B", f"{_NAME} dynamo-hooks-planner"),
    ("hooks_image", "a b", "an image, such as dynamo-hooks:"),
    ("profiler_module", "a-b", "a Python module, such as benchmarks."),
    ("installation", "A", "at most 26 of a-z, 0-9 and '-', with a letter or digit at both ends, such as team-a"),
    ("installation_namespace", "a.b", "at most 63 of a-z, 0-9 and '-', with a letter or digit at both ends, such as"),
)
"""Key, value, what would be right."""
