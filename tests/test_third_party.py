"""The stand-ins of other projects' CRDs: one for each kind that we use, like the real one but for its schema."""

from pathlib import Path
from typing import Any

import pytest

from hooks.wire.metacontroller import install_files
from tests import third_party
from tests.third_party import OPTIONAL_KINDS, STAND_INS, StandIn, needs_schemas, read_crds, stand_in_crd

KINDS = [(folder, kind) for folder, kinds in STAND_INS.items() for kind in kinds]


def described(crd: dict[str, Any]) -> dict[str, Any]:
    """What a CRD says but for its schema, columns and categories."""
    spec = crd["spec"]
    names = {"shortNames": [], **{key: value for key, value in spec["names"].items() if key != "categories"}}
    versions = [
        {key: found.get(key) for key in ("name", "served", "storage", "subresources")} for found in spec["versions"]
    ]
    return {
        "name": crd["metadata"]["name"],
        "group": spec["group"],
        "scope": spec["scope"],
        "names": names,
        "versions": versions,
    }


@needs_schemas
@pytest.mark.parametrize(("folder", "kind"), KINDS, ids=[kind.kind for _, kind in KINDS])
def test_stand_in_is_the_real_crd_but_for_the_schema(folder: str, kind: StandIn) -> None:
    real = {crd["metadata"]["name"]: described(crd) for crd in read_crds(folder)}
    ours = described(stand_in_crd(kind))
    assert ours == real[ours["name"]]


def test_stand_ins_serve_the_optional_kinds_that_the_hooks_declare() -> None:
    served = {(f"{kind.group}/{version}", kind.kind, kind.plural) for _, kind in KINDS for version in kind.versions}
    declared = [entry for name, entry in install_files.read_optional_kinds().items() if name in OPTIONAL_KINDS]
    assert {(entry["apiVersion"], entry["kind"], entry["resource"]) for entry in declared} <= served
    assert len(declared) == len(OPTIONAL_KINDS)


def test_control_plane_has_stand_ins_where_the_folder_is_absent(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(third_party, "FOLDER", tmp_path / "absent")
    names = [crd["metadata"]["name"] for crd in third_party.crds()]
    assert names == [crd["metadata"]["name"] for crd in map(stand_in_crd, (kind for _, kind in KINDS))]
