"""Perform, hold or pretend; and the budget that pays for it."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest

from mainspring.contracts.capability import Annotations, Capability, Effect, Write
from mainspring.contracts.errors import BudgetExceeded
from mainspring.contracts.grant import Grant
from mainspring.contracts.limits import Limits
from mainspring.definition.approval import StepApproval
from mainspring.gate.policy import (
    Mode,
    RunPolicy,
    Verdict,
    WritePolicy,
    decide,
    effect_of,
    may_wait,
    mode_of,
    narrower_mode,
)
from mainspring.gate.run_budget import RunBudget
from mainspring.outbound.http_fetch import http_fetch_capability


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
    run_policy = RunPolicy((), policy, mode)
    assert decide(capability, capability.annotations.effect, run_policy) == verdict


def test_a_request_that_only_asks_is_a_read() -> None:
    fetch = http_fetch_capability(Limits())
    assert effect_of(fetch, {"url": "https://example.com"}) is Effect.READ
    assert effect_of(fetch, {"url": "https://example.com", "method": "POST"}) is Effect.SEND


def test_a_budget_reserves_before_spending_and_never_more_than_it_has() -> None:
    budget = RunBudget(Decimal("1.00"))
    budget.reserve(Decimal("0.70"))
    with pytest.raises(BudgetExceeded):
        budget.reserve(Decimal("0.40"))
    budget.settle(Decimal("0.70"), Decimal("0.20"))
    budget.reserve(Decimal("0.80"))
    budget.settle(Decimal("0.80"), Decimal("0.95"))
    assert budget.spent > budget.cap
    with pytest.raises(BudgetExceeded, match=r"1\.15"):
        budget.reserve()


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
    assert narrower_mode(one, other) == narrower_mode(other, one) == mode


def test_a_run_without_further_word_is_live_and_drafts_everything() -> None:
    policy = RunPolicy(())
    assert (policy.mode, policy.write_policy) == ("live", "always_draft")
    assert policy.agreed is True
    assert decide(NUDGE, Effect.SEND, policy) == "hold"


def test_a_capability_without_a_reach_of_its_own_has_its_usual_effect() -> None:
    assert effect_of(SEND, {}) is Effect.SEND
    assert effect_of(READ, {}) is Effect.READ


def _approving(modes: Any, *bounds: Grant, planned: bool = True) -> RunPolicy:
    return RunPolicy((), approvals={"post": StepApproval(modes, None if planned else bounds)})


def _write(*, destination: tuple[str, ...] = (), **more: Any) -> Capability:
    write = Write(preview=str, destination=destination, **more)
    schema = {"required": list(destination[:1]), "properties": {"channel": {}, "text": {}}}
    return Capability("x.y", "x", schema, {}, _never, write, Annotations(effect=Effect.SEND))


CHANNEL = _write(destination=("channel", "cc"))
PINNED = Grant("x.y", {"channel": "C1"})


@pytest.mark.parametrize(
    ("capability", "modes", "verdict"),
    [
        (MAIL, "ask", "hold"),
        (MAIL, "automatic", "send"),
        (MAIL, {"x.y": "automatic"}, "send"),
        (MAIL, {"x.z": "automatic"}, "hold"),
        (MAIL, {"x.y": "ask"}, "hold"),
        # What reaches the owner alone, or is recognised when it is repeated, is plainly performed.
        (NUDGE, "automatic", "perform"),
        (_write(repeatable=True), "automatic", "perform"),
        (_write(sent_by_default=True), {"x.z": "ask"}, "perform"),
        (_write(sent_by_default=True), "ask", "hold"),
        (KEEP, "ask", "perform"),
    ],
)
def test_the_mode_of_a_step_counts_before_the_policy(
    capability: Capability, modes: Any, verdict: Verdict
) -> None:
    effect, posture = capability.annotations.effect, _approving(modes)
    assert decide(capability, effect, posture, "post", {}) == verdict


def test_a_mode_holds_for_its_own_step_alone() -> None:
    assert decide(MAIL, Effect.SEND, _approving("automatic"), "other", {}) == "hold"
    assert decide(MAIL, Effect.SEND, _approving("automatic")) == "hold"


def test_asking_wins_over_a_policy_that_would_send() -> None:
    approvals = {"post": StepApproval("ask")}
    policy = RunPolicy((), "auto_confirm_safe", approvals=approvals)
    assert decide(NUDGE, Effect.SEND, policy, "post", {}) == "hold"
    assert decide(NUDGE, Effect.SEND, policy, "other", {}) == "perform"


@pytest.mark.parametrize(("mode", "verdict"), [("verify", "pretend"), ("dry_run", "pretend")])
def test_an_automatic_write_leaves_no_trial(mode: Mode, verdict: Verdict) -> None:
    policy = RunPolicy((), mode=mode, approvals={"post": StepApproval("automatic")})
    assert decide(MAIL, Effect.SEND, policy, "post", {}) == verdict


def test_mail_to_the_owner_is_sent_where_nothing_is_said() -> None:
    assert decide(_write(sent_by_default=True), Effect.SEND, RunPolicy(()), "post") == "perform"
    assert decide(_write(), Effect.SEND, RunPolicy(()), "post") == "hold"
    # Somebody's own call belongs to no step.
    assert decide(_write(sent_by_default=True), Effect.SEND, RunPolicy(())) == "hold"


@pytest.mark.parametrize(
    ("bounds", "arguments", "verdict"),
    [
        ([PINNED], {"channel": "C1", "text": "x"}, "send"),
        ([PINNED], {"channel": "C2", "text": "x"}, "hold"),
        ([PINNED], {"text": "x"}, "hold"),
        # What decides who gets it as well is not fixed.
        ([PINNED], {"channel": "C1", "cc": "somebody"}, "hold"),
        ([Grant("x.y", {"channel": ["C1", "C2"], "cc": "b"})], {"channel": "C2"}, "hold"),
        ([Grant("x.y", {"channel": ["C1", "C2"]})], {"channel": "C2"}, "send"),
        ([Grant("x.y")], {"channel": "C1"}, "hold"),
        ([Grant("x.z", {"channel": "C1"}), PINNED], {"channel": "C1"}, "send"),
        ([Grant("x.z", {"channel": "C1"})], {"channel": "C1"}, "hold"),
        ([], {"channel": "C1"}, "hold"),
    ],
)
def test_what_a_model_sends_stays_within_what_its_tools_fix(
    bounds: list[Grant], arguments: dict[str, Any], verdict: Verdict
) -> None:
    posture = _approving("automatic", *bounds, planned=False)
    assert decide(CHANNEL, Effect.SEND, posture, "post", arguments) == verdict


def test_what_reaches_the_owner_alone_needs_no_further_bound() -> None:
    posture = _approving("automatic", Grant("x.y"), planned=False)
    assert decide(NUDGE, Effect.SEND, posture, "post", {"text": "x"}) == "perform"


def test_hosts_bound_a_request_of_a_model() -> None:
    fetch = http_fetch_capability(Limits())
    bounds = Grant("http_fetch", {"hosts": ["a.example"]})
    posture = _approving({"http_fetch": "automatic"}, bounds, planned=False)
    inside = {"url": "https://a.example/x", "method": "POST"}
    outside = {**inside, "url": "https://b.example/x"}
    assert decide(fetch, Effect.SEND, posture, "post", inside) == "perform"
    assert decide(fetch, Effect.SEND, posture, "post", outside) == "hold"
    assert decide(fetch, Effect.SEND, RunPolicy((), "auto_confirm_safe"), "post", inside) == "hold"
    empty = _approving("automatic", Grant("http_fetch", {"hosts": []}), planned=False)
    assert decide(fetch, Effect.SEND, empty, "post", inside) == "hold"


def test_a_tool_without_a_known_destination_needs_one_fixed_argument() -> None:
    tool = _write()
    assert (
        decide(
            tool,
            Effect.SEND,
            _approving("automatic", Grant("x.y"), planned=False),
            "post",
            {"text": "x"},
        )
        == "hold"
    )
    fixed = _approving("automatic", Grant("x.y", {"channel": "C1"}), planned=False)
    assert decide(tool, Effect.SEND, fixed, "post", {"channel": "C1", "text": "x"}) == "send"
    nothing = Capability("x.y", "x", {}, {}, _never, Write(preview=str))
    loose = _approving("automatic", Grant("x.y"), planned=False)
    assert decide(nothing, Effect.SEND, loose, "post", {}) == "send"


def test_what_is_worked_out_in_the_run_is_never_automatic() -> None:
    async def resolve(ctx: Any, arguments: Any) -> Any:
        raise AssertionError("a decision resolves nothing")

    wish = _write(resolve=resolve)
    other = _write(performs=lambda given: ("x.z", given))
    for capability in (wish, other):
        assert decide(capability, Effect.SEND, _approving("automatic"), "post", {}) == "hold"


def test_a_text_that_mentions_people_whom_the_template_does_not_is_held() -> None:
    slack = _write(plain=lambda given: "<!" not in given["text"])

    def verdict(template: str | None, text: str) -> Verdict:
        config = None if template is None else {"text": template}
        bounds = None if template is not None else (Grant("x.y", {"channel": "C1"}),)
        output = StepApproval("automatic", bounds, config)
        policy = RunPolicy((), approvals={"post": output})
        return decide(slack, Effect.SEND, policy, "post", {"channel": "C1", "text": text})

    assert verdict("{{ steps.a.text }}", "all is well") == "send"
    assert verdict("{{ steps.a.text }}", "<!channel> look") == "hold"
    assert verdict("<!channel> {{ steps.a.text }}", "<!channel> look") == "send"
    assert verdict(None, "all is well") == "send"
    assert verdict(None, "<!channel> look") == "hold"


def test_grants_may_know_an_argument_by_another_name() -> None:
    known_as = _write(
        destination=("channel",), granted_as=lambda given: {**given, "channel": given["room"]}
    )
    posture = _approving("automatic", PINNED, planned=False)
    assert decide(known_as, Effect.SEND, posture, "post", {"room": "C1"}) == "send"
    assert decide(known_as, Effect.SEND, posture, "post", {"room": "C2"}) == "hold"


@pytest.mark.parametrize(
    ("capability", "modes", "waits"),
    [
        (MAIL, "ask", True),
        (MAIL, "automatic", False),
        (MAIL, {"x.z": "automatic"}, True),
        (KEEP, "ask", False),
        (http_fetch_capability(Limits()), "ask", False),
    ],
)
def test_a_model_is_informed_of_pending_tools(
    capability: Capability, modes: Any, waits: bool
) -> None:
    assert may_wait(capability, _approving(modes), "post") is waits
    assert may_wait(MAIL, _approving(modes), "other")
