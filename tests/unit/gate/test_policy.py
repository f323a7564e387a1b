"""Perform, hold or pretend; and the purse that pays for it."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest

from mainspring.contracts.capability import Annotations, Capability, Effect, Write
from mainspring.contracts.errors import OverBudget
from mainspring.contracts.limits import Limits
from mainspring.gate.budget import Purse
from mainspring.gate.http_fetch import http_fetch_capability
from mainspring.gate.policy import (
    Mode,
    Posture,
    Verdict,
    WritePolicy,
    decide,
    effect_of,
    mode_of,
    narrower,
)


async def _never(ctx: Any, arguments: Any) -> None:
    raise AssertionError("a decision calls nothing")


def _capability(effect: Effect, *, write: bool = False, safe: bool = False) -> Capability:
    held = Write(preview=str, safe=safe) if write else None
    return Capability("x.y", "x", {}, {}, _never, held, Annotations(effect=effect))


READ = _capability(Effect.READ)
KEEP = _capability(Effect.KEEP)
SEND = _capability(Effect.SEND)
MAIL = _capability(Effect.SEND, write=True)
NUDGE = _capability(Effect.SEND, write=True, safe=True)


@pytest.mark.parametrize(
    ("capability", "policy", "mode", "verdict"),
    [
        (READ, "always_draft", "dry_run", "perform"),
        (KEEP, "always_draft", "live", "perform"),
        (KEEP, "always_draft", "verify", "perform"),
        (KEEP, "always_draft", "dry_run", "pretend"),
        (SEND, "always_draft", "live", "perform"),
        (SEND, "always_draft", "verify", "pretend"),
        (MAIL, "always_draft", "live", "hold"),
        (MAIL, "auto_confirm_safe", "live", "hold"),
        (MAIL, "always_draft", "dry_run", "pretend"),
        (NUDGE, "always_draft", "live", "hold"),
        (NUDGE, "auto_confirm_safe", "live", "perform"),
        (NUDGE, "auto_confirm_safe", "verify", "pretend"),
    ],
)
def test_the_table_of_decisions(
    capability: Capability, policy: WritePolicy, mode: Mode, verdict: Verdict
) -> None:
    posture = Posture((), policy, mode)
    assert decide(capability, capability.annotations.effect, posture) == verdict


def test_a_request_that_only_asks_is_a_read() -> None:
    fetch = http_fetch_capability(Limits())
    assert effect_of(fetch, {"url": "https://example.com"}) is Effect.READ
    assert effect_of(fetch, {"url": "https://example.com", "method": "POST"}) is Effect.SEND


def test_a_purse_promises_before_it_pays_and_never_promises_more_than_it_has() -> None:
    purse = Purse(Decimal("1.00"))
    purse.reserve(Decimal("0.70"))
    with pytest.raises(OverBudget):
        purse.reserve(Decimal("0.40"))
    purse.settle(Decimal("0.70"), Decimal("0.20"))
    purse.reserve(Decimal("0.80"))
    purse.settle(Decimal("0.80"), Decimal("0.95"))
    assert purse.spent > purse.cap
    with pytest.raises(OverBudget, match=r"1\.15"):
        purse.reserve()


@pytest.mark.parametrize(
    ("dry_run", "verify", "mode"),
    [
        (False, False, "live"),
        (False, True, "verify"),
        (True, False, "dry_run"),
        (True, True, "dry_run"),
    ],
)
def test_a_dry_run_wins_over_verify_mode(dry_run: bool, verify: bool, mode: Mode) -> None:
    assert mode_of(dry_run=dry_run, verify=verify) == mode


@pytest.mark.parametrize(
    ("one", "other", "mode"),
    [
        ("live", "live", "live"),
        ("live", "verify", "verify"),
        ("dry_run", "verify", "dry_run"),
        ("live", "dry_run", "dry_run"),
    ],
)
def test_of_two_modes_the_one_that_does_less_is_taken(one: Mode, other: Mode, mode: Mode) -> None:
    assert narrower(one, other) == narrower(other, one) == mode


def test_a_run_without_further_word_is_live_and_drafts_everything() -> None:
    posture = Posture(())
    assert (posture.mode, posture.write_policy) == ("live", "always_draft")
    assert decide(NUDGE, Effect.SEND, posture) == "hold"


def test_a_capability_without_a_reach_of_its_own_has_its_usual_effect() -> None:
    assert effect_of(SEND, {}) is Effect.SEND
    assert effect_of(READ, {}) is Effect.READ
