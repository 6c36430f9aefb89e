"""Says what is wrong with an object in the version in which it was written.

The API server converts an object to v1alpha1 before it asks (`matchPolicy: Equivalent`), and names the version of the
user's request beside it.
"""

from dataclasses import replace

from hooks.ground.problems import Problem
from hooks.language.validation.review import Verdict
from hooks.language.versions import VERSIONS, convert, written_path
from hooks.server.admission.wire import AdmissionCall


def in_written_version(verdict: Verdict, call: AdmissionCall) -> Verdict:
    """The verdict with the paths and words of the version that the user wrote, and the warnings of that version."""
    version = VERSIONS.find(call.version)
    if version is None or call.new is None:
        return verdict
    written, rules = convert(call.new, version.name), version.rules()

    def say(problem: Problem) -> Problem:
        worded = replace(problem, rule=rules.word(problem.rule))
        return worded.moved(lambda path: written_path(path, written))

    return Verdict(
        problems=tuple(map(say, verdict.problems)),
        warnings=(*rules.find_warnings(written), *map(say, verdict.warnings)),
    )
