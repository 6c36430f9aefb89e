"""What an image's name says: its repository and tag, and which of Dynamo's images it is.

A mirror has another registry and other folders before the last part, so the last part alone decides. A name that is
none of Dynamo's may be an image that a user built from one, under any name.

Source: Dynamo, docs, reference/general/release-artifacts; container/templates (1.0 to 1.5).
"""

from enum import StrEnum

_FOREIGN = ("vllm-openai", "vllm-openai-cpu", "vllm-openai-rocm", "tritonserver", "text-generation-inference")
"""Last parts of repositories whose versions are those of an engine."""
_FOREIGN_FOLDERS = ("nim", "lmsysorg", "tensorrt-llm")
"""Folders of registries whose images have versions of their own."""
_VARIANTS = ("-nightly", "-xpu", "-efa", "-cuda12", "-cuda13")


class Image(StrEnum):
    """An image that a release of Dynamo has."""

    VLLM = "vllm-runtime"
    SGLANG = "sglang-runtime"
    TRTLLM = "tensorrtllm-runtime"
    TOKENSPEED = "tokenspeed-runtime"
    FRONTEND = "dynamo-frontend"
    PLANNER = "dynamo-planner"
    OPERATOR = "kubernetes-operator"


def split_image(image: str) -> tuple[str, str]:
    """Repository and tag, without a digest; the tag is empty if there is none."""
    name = image.strip().partition("@")[0]
    before, colon, tag = name.rpartition(":")
    return (before, tag) if colon and before and "/" not in tag else (name, "")  # or the colon of a registry's port


def image_of(image: str) -> Image | None:
    """Which of Dynamo's images it is; None for any other name."""
    last = split_image(image)[0].rpartition("/")[2]
    names = [last, *(last.removesuffix(variant) for variant in _VARIANTS)]
    return next((found for found in Image if found.value in names), None)


def has_foreign_version(image: str) -> bool:
    """Whether the tag is the version of another product."""
    if image_of(image) is not None:
        return False
    *folders, last = split_image(image)[0].split("/")
    return last in _FOREIGN or any(folder in _FOREIGN_FOLDERS for folder in folders)
