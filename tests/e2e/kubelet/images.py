"""Images as folders of programs: an image's tag is a release, whose programs are in a virtual environment."""

from collections.abc import Mapping
from pathlib import Path


class UnknownImage(Exception):
    """No release has the image's tag; the message says which there are."""


def tag_of_image(image: str) -> str:
    """The tag of an image, empty where it has none; a registry's port is no tag."""
    name, _, tag = image.partition("@")[0].rpartition(":")
    return tag if name and "/" not in tag else ""


def find_programs(image: str, programs: Mapping[str, Path]) -> Path:
    """The folder that is first on an image's PATH; `programs` are by tag.

    Raises:
        UnknownImage: no release has its tag.
    """
    tag = tag_of_image(image)
    if tag not in programs:
        there = ", ".join(sorted(programs)) or "none"
        raise UnknownImage(f'image "{image}": no release has the tag "{tag}"; installed are {there}')
    return programs[tag]
