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
from mainspring.gate.policy import Mode, Posture, Verdict, WritePolicy, decide, effect_of


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
