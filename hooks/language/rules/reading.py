"""Rules about files and objects that cannot be read, or that have no kind or no name."""

from hooks.ground.problems import Reason, Rule, Severity

DEPTH = Rule(name="depth", text="the object is nested too deeply", reason=Reason.DEPTH)

UNREADABLE_FILE = Rule(name="unreadable-file", text="cannot be read: {why}")
NO_FILES = Rule(name="no-files", text="the directory holds no {suffixes} file")
NO_BUILDER = Rule(
    name="no-builder",
    text="is a {what}, and {missing} not on PATH to build it; where one is: {command} | dynamo-hooks validate -",
)
NOT_BUILT = Rule(name="not-built", text="is not built: {said} (the command: {command})")
"""A Kustomization or a chart that its own tool refuses, in the tool's words."""
NO_MATCH = Rule(name="no-match", text="matches no file")
NOT_UTF8 = Rule(name="not-utf8", text="is not text: byte {offset} is not UTF-8; write YAML or JSON in UTF-8")
NUL_BYTES = Rule(name="nul-bytes", text="is not text: it holds NUL bytes; write YAML or JSON in UTF-8")
NOT_YAML = Rule(name="not-yaml", text="is not valid YAML: {why}")
YAML_BOUND = Rule(name="yaml-bound", text="is not read: {why}")
YAML = Rule(name="yaml", text="{path}: {why}")
"""A problem of text that is YAML but not a Kubernetes manifest, such as a key that is given twice."""

NO_OBJECT = Rule(name="no-object", text="holds no object; write a manifest with apiVersion, kind and metadata")
TEMPLATE = Rule(name="template", text="is a template: render it first (a chart: give its directory)")
"""Text with expressions that make it unreadable, or a field wrong: all other problems follow from them."""

NOT_AN_OBJECT = Rule(name="not-an-object", text="is {found}, should be an object with apiVersion, kind and metadata")
HEADER = Rule(name="header", text="{path}: is missing; every Kubernetes object has it", reason=Reason.REQUIRED)
METADATA = Rule(name="metadata", text="{path}: is missing; write metadata.name", reason=Reason.REQUIRED)
NAME = Rule(name="name", text="{path}: is missing; every object needs a name", reason=Reason.REQUIRED)
NAME_OF_PARENT = Rule(
    name="name-of-parent",
    text="{path}: is missing; write metadata.name; the names of the children depend on it",
    reason=Reason.REQUIRED,
)
NAMESPACE = Rule(
    name="namespace",
    text="{path}: is {found}; write at most 63 of a-z, 0-9 and '-', with a letter or digit at both ends",
    reason=Reason.NAME,
)
TEXT_MAP = Rule(name="text-map", text="{path}: should be an object whose values are strings")
SECOND_OBJECT = Rule(
    name="second-object", text="{path}: a second {kind} named {name}, the first is at {place}", reason=Reason.NAME
)
SAME_NAME = Rule(
    name="same-name",
    text="{path}: {kind} {name} is also in {place}; a cluster can hold only one of them",
    reason=Reason.NAME,
    severity=Severity.WARNING,
)

CHILD = Rule(name="child", text="{kind} {name}: {problem}")
CHILD_OF_SERVICE = Rule(name="child-of-service", text="{path}: {kind} {name}: {problem}")
"""A problem of a child that is found when it is rendered, and that belongs to no field of its parent."""

CHILDREN = Rule(name="children", text="{why}")
"""Children that Metacontroller would refuse."""
OTHER_OBJECT = Rule(name="other-object", text="cannot be rendered beside the other objects: {why}")
"""An object that the hook reads, and that no API server would store."""
NO_LAST_APPLIED = Rule(
    name="no-last-applied",
    text="{kind} {name} has no last-applied annotation of its own; run Metacontroller with dynamic apply",
)
