"""What the images of a release have."""

import pytest

from hooks.component.image.contents import RAY, has_program
from hooks.component.image.names import Image, has_foreign_version, image_of, split_image
from hooks.component.image.runtime_version import parse_version


@pytest.mark.parametrize(
    ("image", "version", "found"),
    [
        ("nvcr.io/nvidia/ai-dynamo/vllm-runtime:1.2.0", "1.2.0", True),
        ("nvcr.io/nvidia/ai-dynamo/vllm-runtime:1.2.1", "1.2.1", True),
        ("nvcr.io/nvidia/ai-dynamo/vllm-runtime:0.9.1", "0.9.1", True),
        ("nvcr.io/nvidia/ai-dynamo/vllm-runtime:1.3.0", "1.3.0", False),
        ("mirror.corp:5000/ai/vllm-runtime:1.6.1-cuda13", "1.6.1", False),
        ("registry.corp/llm:1.6.1", "1.6.1", None),
        ("nvcr.io/nvidia/ai-dynamo/vllm-runtime:main", "", None),
    ],
)
def test_vllm_images_have_ray_before_1_3(image: str, version: str, found: bool | None) -> None:
    assert has_program(RAY, image, parse_version(version)) is found


@pytest.mark.parametrize(
    ("image", "parts", "named"),
    [
        ("vllm-runtime", ("vllm-runtime", ""), Image.VLLM),
        ("a.b:5000/x/sglang-runtime", ("a.b:5000/x/sglang-runtime", ""), Image.SGLANG),
        ("a.b:5000/x/dynamo-frontend:1.5.0@sha256:00", ("a.b:5000/x/dynamo-frontend", "1.5.0"), Image.FRONTEND),
        ("x/vllm-runtime-nightly:2026", ("x/vllm-runtime-nightly", "2026"), Image.VLLM),
        ("x/my-vllm-runtime:1.5.0", ("x/my-vllm-runtime", "1.5.0"), None),
    ],
)
def test_last_part_of_a_repository_says_which_image_it_is(
    image: str, parts: tuple[str, str], named: Image | None
) -> None:
    assert split_image(image) == parts
    assert image_of(image) is named


@pytest.mark.parametrize(
    ("image", "is_foreign"),
    [
        ("vllm/vllm-openai:v0.28.0", True),
        ("docker.io/vllm/vllm-openai:v0.28.0", True),
        ("nvcr.io/nim/meta/llama-3.1-8b-instruct:1.5.0", True),
        ("lmsysorg/sglang:v0.5.21", True),
        ("nvcr.io/nvidia/tensorrt-llm/release:1.3.0", True),
        ("registry.corp/llm:1.5.0", False),
        ("nvcr.io/nvidia/ai-dynamo/vllm-runtime:1.5.0", False),
        ("proxy.corp/nim/vllm-runtime:1.5.0", False),
    ],
)
def test_versions_of_engines_and_of_nim_are_none_of_dynamo(image: str, is_foreign: bool) -> None:
    assert has_foreign_version(image) is is_foreign
