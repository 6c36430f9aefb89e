"""Which related objects a component's sync needs."""

from collections.abc import Container, Iterator

from hooks import contract
from hooks.api.component import ComponentDeployment
from hooks.component.defaults import resolve_defaults
from hooks.component.mpi_key import resolve_key_rule
from hooks.component.observe import first_set
from hooks.component.plan import copies_mpi_key, images_of, named_account, wants_pull_secrets
from hooks.component.subject import Subject, pod_selector, resolve_subject
from hooks.k8s import kinds
from hooks.k8s.types import GroupVersionKind
from hooks.metacontroller.protocol import RelatedRule
from hooks.policy.identity import model_service_name
from hooks.settings import Settings, Switch


def resolve_related(
    component: ComponentDeployment, settings: Settings, child_kinds: Container[GroupVersionKind] = ()
) -> list[RelatedRule]:
    """The rules for labelled ServiceAccounts, registry Secrets, the SSH key for MPI, and the component's own pods.

    Each change of an object that a rule selects causes a sync of the component, so only needed rules are returned.
    ServiceAccounts are needed if the spec decides no account, and pods to explain why the component is not ready.
    Services and a Deployment of the names that the component uses show whose they are if somebody else has them; so do
    LeaderWorkerSets, if they are among the `child_kinds`, that Metacontroller does not take for children.
    """
    subject = resolve_subject(component, settings)
    rules: list[RelatedRule] = []
    if not named_account(component.spec, subject, resolve_defaults(component.spec, subject)):
        labels = {contract.LABEL_COMPONENT_POD: "true"}
        rules.append(RelatedRule.of(kinds.SERVICE_ACCOUNT, subject.namespace, match_labels=labels))
    is_wanted = wants_pull_secrets(component.spec) and any(images_of(component.spec))
    if is_wanted and settings.image_pull_secrets != "off":
        only_labelled = settings.image_pull_secrets == "labelled"
        labels = {contract.LABEL_IMAGE_PULL: "true"} if only_labelled else {}
        rules.append(RelatedRule.of(kinds.SECRET, subject.namespace, match_labels=labels))
    if copies_mpi_key(component):
        rules.append(resolve_key_rule(settings, subject.namespace))
    rules += _rivals(component, subject, has_sets=kinds.LEADER_WORKER_SET in child_kinds)
    if settings.explain_pods is Switch.ON:
        rules.append(RelatedRule.of(kinds.POD, subject.namespace, match_labels=pod_selector(component, subject)))
    return rules


def _rivals(component: ComponentDeployment, subject: Subject, *, has_sets: bool) -> Iterator[RelatedRule]:
    """Objects of the names that the component's children get; its own children are among them."""
    services = {subject.service_object_name}
    if subject.base_model and not subject.graph:
        services.add(model_service_name(subject.name, subject.base_model))
    yield RelatedRule.of(kinds.SERVICE, subject.namespace, names=tuple(sorted(services)))
    if not component.spec.is_multinode:
        yield RelatedRule.of(kinds.DEPLOYMENT, subject.namespace, names=(subject.name,))
    elif has_sets:
        yield RelatedRule.of(kinds.LEADER_WORKER_SET, subject.namespace, without_label=contract.LABEL_CONTROLLER_UID)
        yield RelatedRule.of(kinds.LEADER_WORKER_SET, subject.namespace, names=(first_set(subject.name),))
