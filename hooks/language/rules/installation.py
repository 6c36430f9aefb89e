"""Rules about the label that says which installation serves an object."""

from hooks.ground.problems import Rule, Severity

FOREIGN_LABEL = Rule(
    name="foreign-label",
    text=(
        "{path}: is {installation}: nothing serves this object, unless that installation is restricted to namespace "
        "{namespace}; remove the label, or give it to the namespace too"
    ),
    severity=Severity.WARNING,
)
