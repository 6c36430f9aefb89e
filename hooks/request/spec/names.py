"""Names of what belongs to a request, each from the request's own name."""

from hooks.ground.k8s.names import MAX_LABEL, MAX_SUBDOMAIN, fit_name

ANNOTATION_SPEC_HASH = "nvidia.com/request-spec-hash"
"""On the Job: the fingerprint of the spec that it profiles. It stays when the request's status is lost."""


def job_name(request_name: str) -> str:
    """Name of the Job, also a label value of its pods: `profile-<request>`."""
    return fit_name(f"profile-{request_name}", MAX_LABEL)


def output_config_map_name(request_name: str) -> str:
    """Name of the ConfigMap that holds the profiler's files: `dgdr-output-<request>`."""
    return fit_name(f"dgdr-output-{request_name}", MAX_SUBDOMAIN)


def account_name(request_name: str) -> str:
    """ServiceAccount of the Job; each request has its own, because two parents cannot own one object."""
    suffix = "-profiling"
    return fit_name(request_name, MAX_SUBDOMAIN - len(suffix)) + suffix
