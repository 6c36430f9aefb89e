"""docs/reference/ is what the code says; `make golden` writes it again."""

from collections.abc import Callable

import pytest

from hooks.language.crds.definitions import build_crds
from tests.docs.markdown import find_anchors
from tests.docs.reasons import all_reasons
from tests.docs.reference import ROOT, write_beta_fields, write_conditions, write_fields, write_metrics

REFERENCE = ROOT / "docs/reference"
PAGES = {
    "fields.md": write_fields,
    "fields-v1beta1.md": write_beta_fields,
    "metrics.md": write_metrics,
    "conditions.md": write_conditions,
}


@pytest.mark.parametrize("name", PAGES)
def test_page_is_that_of_the_code(name: str, request: pytest.FixtureRequest) -> None:
    expected = PAGES[name]()
    if request.config.getoption("--update-golden"):
        (REFERENCE / name).write_text(expected, encoding="utf-8")
    assert (REFERENCE / name).read_text(encoding="utf-8") == expected


@pytest.mark.parametrize(
    ("write", "texts"),
    [
        (
            write_fields,
            ["`spec.services[*].extraPodSpec.mainContainer`", "`spec.source.uri`", "`status.restart.phase`"],
        ),
        (
            write_beta_fields,
            [
                "`spec.components[].podTemplate.spec`",
                "`spec.dgdRef.componentName`",
                "`status.component.servedModelName`",
            ],
        ),
        (
            write_metrics,
            ["`dynamo_hooks_calls_total`", "`dynamo_operator_resources_total`", "`dynamo_prober_adapters`"],
        ),
        (write_conditions, ["`CrashLoop`", "`LoRAUnloadFailed`", "| `Applied`, `Available`"]),
    ],
    ids=PAGES,
)
def test_page_has_what_it_is_about(write: Callable[[], str], texts: list[str]) -> None:
    page = write()
    assert [text for text in texts if text not in page] == []


def test_every_kind_has_its_table_of_fields() -> None:
    page = write_fields()
    assert [
        crd["spec"]["names"]["kind"] for crd in build_crds() if f"\n## {crd['spec']['names']['kind']}\n" not in page
    ] == []


def test_every_reason_has_a_paragraph_in_troubleshooting() -> None:
    """The anchor of a reason is the reason in lower case, so whoever reads a message finds the paragraph."""
    anchors = find_anchors(ROOT / "docs/troubleshooting.md")
    assert sorted(reason for reason in all_reasons() if reason.lower() not in anchors) == []
