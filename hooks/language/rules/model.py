"""Rules about a DynamoModel.

Source: Dynamo operator, internal/webhook/validation/dynamomodel.go; its texts are kept.
"""

from hooks.ground.problems import Place, Reason, Rule, Severity

# Regular expressions that are searched for in a source's URI. Python and the API server (RE2) read them alike; they are
# short, because the API server estimates their cost by their length.
URI_WITH_CREDENTIALS = r"^[^/]*://[^/]*@|^(s3|hf)://([^/]*:|.*[?#])"
"""It has a place for a user, a password or a token; no downloader reads them."""
FOREIGN_WITH_CREDENTIALS = r"[@?#]"
"""The same for a scheme that is not of `SCHEMES`; it is refused anyhow, and is not shown then."""
SPACE = r"[\x00- \x7f\xa0]"
"""No downloader finds a repository or a key with it. A path of `FILE` may have some, but no space at its end."""
URI_FORM = r"^s3://[^/]|^hf://[^/@]+/[^/@]+(@[^@]+)?$"
FILE = "file://"
REMOTE = ("s3://", "hf://")
SCHEMES = (*REMOTE, FILE)

MODEL_NAME = Rule(name="model-name", text="{path} is required", reason=Reason.REQUIRED, place=Place.CEL)
BASE_MODEL_NAME = Rule(name="base-model-name", text="{path} is required", reason=Reason.REQUIRED, place=Place.CEL)
SOURCE = Rule(
    name="source", text="{path} is required when modelType is 'lora'", reason=Reason.REQUIRED, place=Place.CEL
)
SOURCE_URI = Rule(
    name="source-uri",
    text="{path} must be specified when modelType is 'lora'",
    reason=Reason.REQUIRED,
    place=Place.CEL,
)
SOURCE_SCHEME = Rule(
    name="source-scheme", text="source URI must start with 's3://' or 'hf://', got: {uri}", place=Place.CEL
)
SOURCE_CREDENTIALS = Rule(
    name="source-credentials",
    text=(
        "{path}: must be s3://bucket/path or hf://org/name[@revision], without user, password, port, query and "
        "fragment; workers take credentials from their Secret (envFromSecret)"
    ),
    place=Place.CEL,
)
SOURCE_SPACE = Rule(
    name="source-space",
    text="{path}: must not have spaces or control characters; remove them, also at its end",
    place=Place.CEL,
)
SOURCE_FORM = Rule(
    name="source-form",
    text="{path}: must be s3://bucket/path, hf://org/name or hf://org/name@revision, got: {uri}",
    place=Place.CEL,
)
SOURCE_FILE_PATH = Rule(
    name="source-file-path",
    text="{path}: must be file:///path, an absolute path in the workers' containers, got: {uri}",
    place=Place.WEBHOOK,
    why="it needs the installation's settings",
)
SOURCE_FILE = Rule(
    name="source-file",
    text="{path}: may start with 'file://' only where setting lora_file_sources is on, got: {uri}",
    place=Place.WEBHOOK,
    why="it needs the installation's settings",
)
MODEL_TYPE = Rule(
    name="model-type",
    text="{path} is immutable and cannot be changed after creation",
    reason=Reason.IMMUTABLE,
    place=Place.CEL,
)
BASE_MODEL = Rule(
    name="base-model",
    text="{path} is immutable and cannot be changed after creation",
    reason=Reason.IMMUTABLE,
    place=Place.CEL,
)
MODEL_TYPE_CHANGES = Rule(
    name="model-type-changes",
    text="Changing {path} may cause unexpected behavior",
    severity=Severity.WARNING,
)
BASE_MODEL_CHANGES = Rule(
    name="base-model-changes",
    text="Changing {path} will break endpoint discovery",
    severity=Severity.WARNING,
)
SOURCE_NOT_LOADED = Rule(
    name="source-not-loaded",
    text="{path}: is not loaded when modelType is 'adapter'; to load it, write a model with modelType 'lora'",
    severity=Severity.WARNING,
)
MODEL_NAME_IN_URL = Rule(
    name="model-name-in-url",
    text="{path}: {name!r} cannot be a part of a URL; use a name such as my-adapter or org/adapter",
)
MODEL_NAME_TAKEN = Rule(
    name="model-name-taken",
    text=(
        "{path}: {name} on base model {base_model} belongs to DynamoModel {owner}; choose another name, or delete that "
        "model"
    ),
)
