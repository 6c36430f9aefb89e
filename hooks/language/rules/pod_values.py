"""Rules about single values of a pod: what the API server would refuse in the rendered pod.

Source: Kubernetes, pkg/apis/core/validation/validation.go; apimachinery, pkg/util/validation.
"""

from hooks.ground.problems import Reason, Rule

_NAME = "letters, digits, -, _ and ., beginning and ending with a letter or digit"


def _form(name: str, words: str) -> Rule:
    return Rule(name=name, text=f"{{path}}: is {{found}}, must be {words}")


CHOICE = Rule(name="pod-choice", text="{path}: is {found}, must be one of {choices}{hint}")
RANGE = Rule(name="pod-range", text="{path}: is {found}, must be from {least} to {most}")
LEAST = Rule(name="pod-least", text="{path}: is {found}, must be at least {least}")
ENTRIES = Rule(name="pod-entries", text="{path}: has {count} entries, must have at most {most}")
FIXED = Rule(name="pod-fixed", text="{path}: is {found}, must be {wanted}")

EMPTY = Rule(name="pod-empty", text="{path} must not be empty", reason=Reason.REQUIRED)
ONE_OF = Rule(name="pod-one-of", text="{path}: must have exactly one of {choices}; it has {found}")
NOT_BOTH = Rule(name="pod-not-both", text="{path}: must be absent, because {other} is set; keep one of them")
NEEDED = Rule(name="pod-needed", text="{path}: is required, because {other} is {value}", reason=Reason.REQUIRED)
NOT_WITH = Rule(name="pod-not-with", text="{path}: must be absent, because {other} is {value}")
ONLY_WITH = Rule(name="pod-only-with", text="{path}: is allowed only if {other} is {value}")
REPEATED = Rule(name="pod-repeated", text="{path}: {found} is already in {other}; use each value once")
UNKNOWN_NAME = Rule(name="pod-unknown-name", text="{path}: {found} is not a name in {other}; add it there")
NOT_HERE = Rule(name="pod-not-here", text="{path}: must be absent; the pods of a component cannot have it")

DNS_LABEL = _form(
    "pod-dns-label", "a name of at most 63 of a-z, 0-9 and -, beginning and ending with a letter or digit"
)
OBJECT_NAME = _form(
    "pod-object-name", "a name of at most 253 of a-z, 0-9, - and ., beginning and ending with a letter or digit"
)
HOST_NAME = _form(
    "pod-host-name", "a host name of at most 253 of a-z, 0-9, - and ., beginning and ending with a letter or digit"
)
SEARCH_DOMAIN = _form("pod-search-domain", "a domain of at most 253 of a-z, 0-9, -, _ and ., or a single .")
QUALIFIED_NAME = _form("pod-qualified-name", f"at most 63 {_NAME}; a domain and / may come first")
LABEL_VALUE = _form("pod-label-value", f"at most 63 {_NAME}, or empty")
CONFIG_KEY = _form("pod-config-key", "the key of a ConfigMap or Secret: at most 253 letters, digits, -, _ and .")
VARIABLE_PREFIX = _form("pod-variable-prefix", "printable ASCII characters other than '='")
HEADER_NAME = _form("pod-header-name", "the name of an HTTP header: letters, digits and -")
PORT = _form("pod-port", "a number from 1 to 65535, or the name of a port: at most 15 of a-z, 0-9 and single -")
IP_ADDRESS = _form("pod-ip-address", "an IP address")
SYSCTL = _form("pod-sysctl", "the name of a sysctl, such as net.core.somaxconn")
WHOLE_NUMBER = _form("pod-whole-number", "a whole number of at most 64 bits, such as 5")
ABSOLUTE_PATH = _form("pod-absolute-path", "an absolute path, beginning with /")
RELATIVE_PATH = _form("pod-relative-path", "a relative path without '..'")
LOCAL_PATH = _form("pod-local-path", "a relative path without '..', and not beginning with '..'")
PATH_WITHOUT_STEPS = _form("pod-path-without-steps", "a path without '..'")
FIELD_OF_POD = Rule(
    name="pod-field-path",
    text="{path}: is {found}, must be one of {choices}, or metadata.labels['<key>'] or metadata.annotations['<key>']",
)
RESOURCE_OF_CONTAINER = Rule(
    name="pod-resource-field",
    text="{path}: is {found}, must be limits. or requests. with cpu, memory, ephemeral-storage or hugepages-<size>",
)
RESOURCE_NAME = _form(
    "pod-resource-name",
    "cpu, memory, ephemeral-storage, hugepages-<size>, or the name of a device with its domain, such as nvidia.com/gpu",
)
CPU_DIVISOR = _form("pod-cpu-divisor", "1 or 1m")
BYTE_DIVISOR = _form("pod-byte-divisor", "1 or a unit, such as 1Mi or 1k")
HUGE_PAGES_ALONE = Rule(name="pod-huge-pages-alone", text="{path}: huge pages need a request or limit of cpu or memory")
PRIVILEGED_MOUNT = Rule(
    name="pod-privileged-mount",
    text="{path}: is 'Bidirectional', which only a privileged container may have; use HostToContainer",
)
DEVICE_VOLUME = Rule(
    name="pod-device-volume",
    text="{path}: volume {found} must be a persistentVolumeClaim or ephemeral volume, to be used as a device",
)
SYSTEM_ADMIN = Rule(
    name="pod-system-admin",
    text="{path}: is false, which contradicts {other}; remove one of them",
)
SLEEP = Rule(
    name="pod-sleep",
    text="{path}: is {found}, must be from 0 to the pod's terminationGracePeriodSeconds, which is {most}",
)
HOST_PORT = Rule(
    name="pod-host-port", text="{path}: is {found}, must be equal to containerPort, because {other} is true"
)
TOO_LONG = Rule(name="pod-too-long", text="{path}: has {count} characters, must have at most {most}")
PORT_TWICE = Rule(
    name="pod-port-twice",
    text=(
        "{path}: {other} has the number {number} too; Metacontroller merges ports by number and would keep only one of "
        "them, so use another number, or one protocol"
    ),
)
CLAIM_SIZE = Rule(name="pod-claim-size", text="{path}: is {found}, must be more than 0")
