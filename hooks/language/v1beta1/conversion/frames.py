"""The frames of components and requests, of either side."""

from enum import StrEnum

from hooks.language.conversion import pairs


class Frame(StrEnum):
    """An object that contains slots."""

    TOP = pairs.TOP
    TEMPLATE = "podTemplate"
    META = "podTemplate.metadata"
    POD = "podTemplate.spec"
    MAIN = "podTemplate.spec.containers[main]"
    ORDER = "names of the containers"
    EXPERIMENTAL = "experimental"
    OBJECT = "of the whole object, only to be read"
    # Of a request in v1alpha1, then in v1beta1
    PROFILING = "profilingConfig"
    CONFIG = "profilingConfig.config"
    CONFIG_SLA = "profilingConfig.config.sla"
    CONFIG_DEPLOYMENT = "profilingConfig.config.deployment"
    CONFIG_CACHE = "profilingConfig.config.deployment.modelCache"
    WORKLOAD = "workload"
    SLA = "sla"
    MODEL_CACHE = "modelCache"
    FEATURES = "features"
    MOCKER = "features.mocker"
    OVERRIDES = "overrides"
    JOB = "overrides.profilingJob"
    JOB_TEMPLATE = "overrides.profilingJob.template"
    JOB_POD = "overrides.profilingJob.template.spec"
    PROFILER = "overrides.profilingJob.template.spec.containers[profiler]"
