"""Which related objects a component's sync needs."""

from hooks.component.plan.component import copies_mpi_key, images_of, named_account, wants_pull_secrets
from hooks.component.pod.defaults import resolve_without_ports
from hooks.component.seen.observe import query_rival
from hooks.component.spec.mpi_key import resolve_key_rule
from hooks.component.spec.subject import resolve_subject
from hooks.ground import contract
from hooks.ground.k8s import kinds
from hooks.ground.settings import Settings
from hooks.language.api.component import ComponentDeployment
from hooks.wire.metacontroller.controllers import can_use_leader_worker_sets
from hooks.wire.metacontroller.protocol import CustomizeRequest, RelatedRule
from hooks.wire.policy.on_demand import has_go_finalizer


def resolve_related(request: CustomizeRequest, component: ComponentDeployment, settings: Settings) -> list[RelatedRule]:
    """The rules for labelled ServiceAccounts, registry Secrets, the SSH key for MPI, and what the Go operator left.

    Each change of an object that a rule selects causes a sync of the component, so only needed rules are returned, and
    none for a kind that changes often (`hooks.component.reads.queries`). ServiceAccounts are needed if the spec
    decides no account.
    """
    subject = resolve_subject(component, settings)
    rules: list[RelatedRule] = []
    if not named_account(component.spec, subject, resolve_without_ports(component.spec, subject)):
        labels = {contract.LABEL_COMPONENT_POD: "true"}
        rules.append(RelatedRule.of(kinds.SERVICE_ACCOUNT, subject.namespace, match_labels=labels))
    is_wanted = wants_pull_secrets(component.spec) and any(images_of(component.spec))
    if is_wanted and settings.image_pull_secrets != "off":
        only_labelled = settings.image_pull_secrets == "labelled"
        labels = {contract.LABEL_IMAGE_PULL: "true"} if only_labelled else {}
        rules.append(RelatedRule.of(kinds.SECRET, subject.namespace, match_labels=labels))
    if copies_mpi_key(component):
        rules.append(resolve_key_rule(settings, subject.namespace))
    can_be_left = component.spec.is_multinode and can_use_leader_worker_sets(request.child_kinds)
    if can_be_left and has_go_finalizer(request.parent):
        rules.append(query_rival(request.parent).to_rule())
    return rules
