"""Perform, hold or pretend: a pure decision about one call."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal
from uuid import UUID

from mainspring.contracts.capability import Capability, Effect
from mainspring.contracts.grant import Grant

WritePolicy = Literal["always_draft", "auto_confirm_safe"]
Mode = Literal["live", "verify", "dry_run"]
Verdict = Literal["perform", "hold", "pretend"]

# The less a run may do, the later it stands.
_NARROWING: Final[tuple[Mode, ...]] = ("live", "verify", "dry_run")


@dataclass(frozen=True, slots=True)
class Posture:
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


def mode_of(*, dry_run: bool, verify: bool) -> Mode:
    """The mode that was asked for; who asks for both wants nothing changed at all."""
    if dry_run:
        return "dry_run"
    return "verify" if verify else "live"


def narrower(one: Mode, other: Mode) -> Mode:
    """The mode in which a run does no more than either of the two would allow."""
    return max(one, other, key=_NARROWING.index)


def effect_of(capability: Capability, arguments: Mapping[str, Any]) -> Effect:
    """How far this very call reaches."""
    reach = capability.annotations.reach
    return capability.annotations.effect if reach is None else reach(arguments)


def decide(capability: Capability, effect: Effect, posture: Posture) -> Verdict:
    """A dry run changes nothing; verify mode sends nothing; drafts wait for a person."""
    if effect is Effect.READ:
        return "perform"
    if posture.mode == "dry_run" or (posture.mode == "verify" and effect is Effect.SEND):
        return "pretend"
    if capability.write is None:
        return "perform"
    if posture.write_policy == "auto_confirm_safe" and capability.write.safe:
        return "perform"
    return "hold"
