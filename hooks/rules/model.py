"""Rules about a DynamoModel.

Source: Dynamo operator, internal/webhook/validation/dynamomodel.go; its texts are kept.
"""

from hooks.problems import Place, Reason, Rule, Severity

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
SOURCE_FILE = Rule(
    name="source-file",
    text="source URI may start with 'file://' only where setting lora_file_sources is on, got: {uri}",
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
MODEL_NAME_IN_URL = Rule(
    name="model-name-in-url",
    text="{path} {name!r} cannot be a part of a URL; use a name such as my-adapter or org/adapter",
)
MODEL_NAME_TAKEN = Rule(
    name="model-name-taken",
    text=(
        "{path} {name} on base model {base_model} belongs to DynamoModel {owner}; choose another name, or delete that "
        "model"
    ),
)
