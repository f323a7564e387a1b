"""A run confirms what is its own and safe, under one policy; everything else needs a person."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from decimal import Decimal
from typing import Any
from uuid import UUID

import pytest
import pytest_asyncio

from mainspring.app import build_application
from mainspring.connections.installed_integrations import install_id_of
from mainspring.contracts.capability import Annotations, Capability, Effect, Write
from mainspring.contracts.context import Actor, CallContext
from mainspring.contracts.errors import BudgetExceeded, PermissionDenied
from mainspring.contracts.limits import Limits
from mainspring.contracts.roles import Role
from mainspring.gate.callers import CapabilityCaller
from mainspring.gate.run_tokens import find_pass
from mainspring.registry import build_registry
from mainspring.workspace.automations import FIRST_MEMBER
from tests.kit.bench import Bench, document, step
from tests.kit.gate import ANYTHING, Market, TokenStep, gate_bench
from tests.kit.telegram import CHAT, TOKEN, TelegramDouble, telegram_double

NUDGE = {
    "install_id": str(install_id_of("telegram")),
    "action_name": "telegram_push",
    "input": {"text": "From a run"},
}
MAIL = {
    "install_id": str(install_id_of("email")),
    "action_name": "send_email",
    "input": {"to": ["ada@example.com"], "subject": "Hi", "body": "Hello."},
}
GRANTS = [{"capability": "act_on_integration"}, {"capability": "confirm_action"}]
SAFE = {"execution": {"write_policy": "auto_confirm_safe"}}


@dataclass(frozen=True, slots=True)
class At:
    """A run in the middle of a step, which calls with its own token."""

    bench: Bench
    run_id: UUID
    caller: CapabilityCaller

    async def call(self, capability: str, arguments: Any) -> Any:
        return await self.bench.application.gate.serve(self.caller, capability, arguments)

    async def draft(self, asked: Mapping[str, Any]) -> dict[str, str]:
        return {"draft_id": (await self.call("act_on_integration", asked))["draft_id"]}


World = tuple[Bench, TelegramDouble]


@pytest_asyncio.fixture
async def world(bench: Bench) -> AsyncIterator[World]:
    await bench.application.vault.set(bench.secret_scope, "telegram_bot_token", TOKEN)
    await bench.application.vault.set(bench.secret_scope, "telegram_chat_id", CHAT)
    async with telegram_double() as telegram:
        yield bench, telegram


@asynccontextmanager
async def running(world: World, name: str, **more: Any) -> AsyncIterator[At]:
    hand, (bench, telegram) = TokenStep(), world
    egress = frozenset({telegram.pair})
    async with gate_bench(
        bench, Market(), hand, telegram_url=telegram.url, egress_allow=egress
    ) as one:
        held = step("a", "test.hand", {"grants": GRANTS}, max_retries=0)
        mode = more.pop("mode", "live")
        made = await one.dispatch(document(held, name=name, **more), mode=mode)
        async with one.worker():
            try:
                token = await asyncio.wait_for(hand.tokens.get(), 20)
                found = await find_pass(one.application.database, token)
                assert found is not None
                yield At(one, made.run_id, CapabilityCaller(found.actor, held=found))
            finally:
                hand.release.set()
                with contextlib.suppress(TimeoutError):
                    await one.until(made.run_id)


async def test_a_run_confirms_its_own_safe_draft_under_auto_confirm_safe_once(
    world: World,
) -> None:
    async with running(world, "its own", **SAFE) as run:
        draft = await run.draft(NUDGE)
        answers = [await run.call("confirm_action", draft) for _ in range(2)]

    assert answers[0] == answers[1]
    assert (answers[0]["status"], answers[0]["result"]) == ("confirmed", {"message_id": 101})
    assert [message["text"] for message in world[1].messages] == ["From a run"]
    ended = await run.bench.until(run.run_id)
    assert [call["outcome"] for call in ended["calls"]] == ["held", "confirmed", "read"]
    # What was confirmed waits no longer.
    assert (ended["outcome"], ended["effects"], ended["drafts"]) == ("effects", 1, 0)
    row = await run.bench.application.database.fetchrow("SELECT * FROM drafts")
    assert row is not None
    assert (row["answered_kind"], row["answered_by"]) == ("run", run.run_id)
    used = await run.bench.application.database.fetch(
        "SELECT detail FROM audit_log WHERE action = 'secret.used'"
    )
    assert {entry["detail"]["call"] for entry in used} == {f"draft/{draft['draft_id']}"}


async def test_every_other_run_is_refused_although_it_was_granted_to_confirm(
    world: World,
) -> None:
    async with running(world, "careful") as careful:
        held = await careful.draft(NUDGE)
        refused = [await _refused(careful, held)]
    async with running(world, "trusted", **SAFE) as trusted:
        # Not safe, and not its own.
        refused += [await _refused(trusted, await trusted.draft(MAIL))]
        refused += [await _refused(trusted, held)]

    assert [one.code for one in refused] == ["needs_a_person"] * 3
    assert [one.detail for one in refused] == [
        "A person must confirm this draft: this automation's write policy is always_draft.",
        "A person must confirm this draft: send_email is not on the list of safe writes.",
        "A person must confirm this draft: it is not a draft of this run.",
    ]
    assert world[1].requests == []
    left = await world[0].application.database.fetch("SELECT status FROM drafts")
    assert [row["status"] for row in left] == ["pending", "pending"]


async def _refused(run: At, draft: dict[str, str]) -> PermissionDenied:
    with pytest.raises(PermissionDenied) as refused:
        await run.call("confirm_action", draft)
    return refused.value


async def test_a_run_never_lists_or_discards_what_waits(world: World) -> None:
    async with running(world, "curious", **SAFE) as run:
        offered = {one.capability.id for one in await run.bench.application.gate.offers(run.caller)}
        draft = await run.draft(NUDGE)
        several, words = {"draft_ids": [draft["draft_id"]]}, {"edits": {"text": "Mine"}}
        for capability, given in (
            ("list_pending_actions", {}),
            ("discard_action", draft),
            ("confirm_actions", several),
            ("discard_actions", several),
            ("edit_action", draft | words),
            ("redraft_action", draft),
            ("set_approval_policy", {}),
        ):
            with pytest.raises(PermissionDenied) as refused:
                await run.call(capability, given)
            assert refused.value.code == "not_granted"
        with pytest.raises(PermissionDenied, match="a run cannot edit its own request"):
            await run.call("confirm_action", draft | words)
        assert world[1].requests == []
    assert offered == {"act_on_integration", "confirm_action"}


@pytest.mark.parametrize("mode", ["dry_run", "verify"])
async def test_a_trial_holds_nothing_and_only_pretends_to_confirm(world: World, mode: str) -> None:
    async with running(world, mode, mode=mode, **SAFE) as run:
        draft = await run.draft(NUDGE)
        answer = await run.call("confirm_action", draft)

    assert (answer["kind"], answer["outcome"]) == ("suppressed", "not_sent")
    assert await world[0].application.database.fetchval("SELECT count(*) FROM drafts") == 0
    assert world[1].requests == []


async def test_a_draft_that_cannot_be_paid_for_now_waits_on(bench: Bench) -> None:
    bought: list[str] = []

    async def buy(ctx: CallContext, arguments: Mapping[str, Any]) -> Any:
        bought.append(ctx.key)
        ctx.spend(Decimal("0.4"))
        return {}

    priced = Capability(
        "test.order",
        "Order something",
        ANYTHING,
        ANYTHING,
        buy,
        Write(lambda _: "Order."),
        Annotations(effect=Effect.SEND, price=lambda _: Decimal("0.4")),
    )
    database, space = bench.application.database, bench.application.workspace_id
    registry = build_registry(Limits(), capabilities=(priced,))
    application = build_application(bench.application.settings, Limits(), registry, database)
    owner = CapabilityCaller(Actor(space, "member", FIRST_MEMBER, role=Role.OWNER))
    draft = (await application.gate.direct(owner, "test.order", {}))["draft_id"]
    await database.execute("UPDATE workspaces SET cost_cap_daily_usd = 0.1")
    with pytest.raises(BudgetExceeded):
        await application.gate.direct(owner, "confirm_action", {"draft_id": draft})
    waiting = await database.fetchval("SELECT status FROM drafts")
    await database.execute("UPDATE workspaces SET cost_cap_daily_usd = 1")

    answer = await application.gate.direct(owner, "confirm_action", {"draft_id": draft})

    assert (waiting, answer["outcome"]) == ("pending", "sent")
    assert bought == [f"draft/{draft}"]
    assert await database.fetchval("SELECT sum(spent) FROM reservations") == Decimal("0.4")
    costs = await database.fetch("SELECT cost_usd FROM direct_calls WHERE outcome = 'sent'")
    assert [row["cost_usd"] for row in costs] == [Decimal("0.4")]
    await application.gate.aclose()
    await application.wakeup_sender.aclose()
    await application.egress.aclose()
