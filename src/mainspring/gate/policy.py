"""Perform, hold or pretend: a pure decision about one call."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, Final, Literal
from uuid import UUID

from mainspring.contracts.capability import Capability, Effect
from mainspring.contracts.grant import Grant
from mainspring.definition.approval import UNSAID, StepApproval

WritePolicy = Literal["always_draft", "auto_confirm_safe"]
Mode = Literal["live", "verify", "dry_run"]
# "send" is an agreed write that must leave at most once, so it is recorded before it leaves.
Verdict = Literal["perform", "send", "hold", "pretend"]

_NO_ARGUMENTS: Final[Mapping[str, Any]] = MappingProxyType({})
# The less a run may do, the later it stands.
_NARROWING: Final[tuple[Mode, ...]] = ("live", "verify", "dry_run")


@dataclass(frozen=True, slots=True)
class RunPolicy:
    """What a run may do, frozen when it was accepted."""

    grants: tuple[Grant, ...]
    write_policy: WritePolicy = "always_draft"
    mode: Mode = "live"
    # Whose secrets it may use: those of the member who made the automation.
    owner_id: UUID | None = None
    # The model it asks when a call names none; None: the installation's.
    model: str | None = None
    # Whether a person has agreed to what it may do; without that it only tries out.
    agreed: bool = True
    # The approval modes that a person agreed to, by step.
    approvals: Mapping[str, StepApproval] = field(default_factory=dict)


def mode_of(*, dry_run: bool, verify: bool) -> Mode:
    """The mode that was asked for; who asks for both wants nothing changed at all."""
    if dry_run:
        return "dry_run"
    return "verify" if verify else "live"


def narrower_mode(one: Mode, other: Mode) -> Mode:
    """The mode in which a run does no more than either of the two would allow."""
    return max(one, other, key=_NARROWING.index)


def effect_of(capability: Capability, arguments: Mapping[str, Any]) -> Effect:
    """How far this very call reaches."""
    reach = capability.annotations.reach
    return capability.annotations.effect if reach is None else reach(arguments)


def may_wait(capability: Capability, policy: RunPolicy, step: str) -> bool:
    """Whether calls of a step with this capability usually wait for a person."""
    if policy.approvals.get(step, UNSAID).is_automatic(capability.id):
        return False
    if capability.annotations.reach is not None:
        # Which of them do so depends on their arguments.
        return False
    return decide(capability, capability.annotations.effect, policy, step) == "hold"


def decide(
    capability: Capability,
    effect: Effect,
    policy: RunPolicy,
    step: str = "",
    arguments: Mapping[str, Any] = _NO_ARGUMENTS,
) -> Verdict:
    """A dry run changes nothing; verify mode sends nothing; drafts wait for a person.

    What the step's approval mode says counts before the policy. An automatic write that leaves
    its bounds is held like one that asks.
    """
    if effect is Effect.READ:
        return "perform"
    if policy.mode == "dry_run" or (policy.mode == "verify" and effect is Effect.SEND):
        return "pretend"
    write = capability.write
    if write is None:
        return "perform"
    said = policy.approvals.get(step, UNSAID)
    if said.is_automatic(capability.id):
        if not said.sends(capability, arguments):
            return "hold"
        return "perform" if write.safe or write.repeatable else "send"
    if said.asks(capability.id):
        return "hold"
    # A call without a step is somebody's own, and they see each of those first.
    usual = write.sent_by_default and step != ""
    safe = policy.write_policy == "auto_confirm_safe" and write.safe
    return "perform" if usual or safe else "hold"
