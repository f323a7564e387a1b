"""Consent: what may do more than a person has agreed to waits, and each thing is named."""

from __future__ import annotations

import asyncio
from typing import Any
from uuid import UUID

import pytest

from mainspring.contracts.context import Actor
from mainspring.contracts.errors import Conflict, Invalid, NotFound, PermissionDenied, Problem
from mainspring.contracts.ids import generate_id
from mainspring.contracts.roles import Role
from mainspring.gate.callers import CapabilityCaller
from mainspring.runs.run_requests import RunRequest
from mainspring.workspace.automation_states import activate, archive, restore
from mainspring.workspace.automations import FIRST_MEMBER, list_triggers
from mainspring.workspace.import_export import (
    ImportResult,
    import_validated,
    validate_import,
)
from mainspring.workspace.inbox import list_notifications
from mainspring.workspace.versions import compute_version_id, rollback
from tests.kit.authoring import CapabilityClient
from tests.kit.bench import Bench, document, step
from tests.kit.boards import Boards
from tests.kit.members import member
from tests.kit.tenants import add_workspace

NOTE = step("tell", "inbox.post_notification", {"title": "hello"})
REMINDER = "every Monday at 9 Berlin time remind me of the invoices"
PAY = step(
    "pay",
    "http_fetch",
    {"url": "https://api.stripe.com/v1", "headers": {"Authorization": "{{ secrets.stripe_key }}"}},
)


def cron(text: str) -> dict[str, Any]:
    return {"id": "clock", "type": "schedule", "config": {"cron": text, "timezone": "UTC"}}


def client(capability_client: CapabilityClient) -> CapabilityClient:
    """The same member's program."""
    actor = Actor(capability_client.space, "client", FIRST_MEMBER, generate_id(), Role.OWNER)
    return CapabilityClient(capability_client.bench, CapabilityCaller(actor))


async def bring_in(
    bench: Bench, *documents: dict[str, Any], over: bool = True
) -> list[ImportResult]:
    application = bench.application
    value = {"format": "mainspring.export", "version": 1, "automations": list(documents)}
    candidates = await validate_import(value, application.registry, application.limits)
    async with application.database.transaction() as tx:
        return await import_validated(
            tx,
            application.workspace_id,
            candidates,
            FIRST_MEMBER,
            application.registry,
            application.limits,
            "new_version" if over else "refuse",
        )


async def start(bench: Bench, automation_id: UUID) -> str:
    application = bench.application
    async with application.database.transaction() as tx:
        return await activate(
            tx, application.workspace_id, automation_id, application.registry, application.limits
        )


async def fires(bench: Bench, automation_id: UUID) -> str | None:
    """Why the schedule of an automation starts nothing; None: it starts a run."""
    space = bench.application.workspace_id
    async with bench.application.database.acquire() as connection:
        (row,) = await list_triggers(connection, space, automation_id)
    made = await bench.application.dispatcher.dispatch(
        RunRequest(space, automation_id, trigger_id=row["id"], trigger_type="schedule")
    )
    return made.reason


async def unread(bench: Bench) -> list[dict[str, Any]]:
    async with bench.application.database.acquire() as connection:
        return await list_notifications(connection, bench.application.workspace_id, unread=True)


async def waiting(capability_client: CapabilityClient) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = (await capability_client.call("list_consents", {}))["consents"]
    return found


def says(consent: Any) -> list[str]:
    return [one["says"] for one in consent["additions"]]


async def refusal(desk: CapabilityClient, capability: str, **value: Any) -> Problem:
    with pytest.raises(Problem) as refused:
        await desk.call(capability, value)
    return refused.value


async def test_what_comes_from_a_file_waits_and_each_thing_it_may_do_is_named(
    bench: Bench,
) -> None:
    capabilities, application = CapabilityClient(bench), bench.application
    (made,) = await bring_in(bench, document(PAY, name="Pay", triggers=[cron("*/5 * * * *")]))
    one = made.saved.automation_id
    (asked,) = await waiting(capabilities)

    assert (asked["origin"], asked["name"], asked["agreed_version"]) == ("import", "Pay", None)
    assert says(asked) == [
        "It may send requests to api.stripe.com.",
        "It uses the secret stripe_key at api.stripe.com.",
        "It may spend up to $1.00 a day if its steps cost anything.",
        "It starts every 5 minutes (288 times a day).",
    ]
    stored = await capabilities.stored(one)
    assert (stored["state"], stored["paused_reason"]) == ("paused", "consent")
    async with application.database.acquire() as connection:
        (result,) = await list_notifications(connection, application.workspace_id)
    assert "consent" in result["title"]
    assert "- Pay" in result["message"]

    await _check_nothing_starts(capabilities, one, asked)
    answer = {"consent_id": asked["consent_id"], "digest": asked["digest"], "agree": True}
    await _check_who_may_answer(capabilities, answer)
    other = {**answer, "digest": "0" * 64}
    changed = await refusal(capabilities, "answer_consent", **other)
    assert (changed.code, changed.findings[0].pointer) == ("consent_changed", "/digest")
    assert asked["digest"] in str(changed.suggestion)
    both = await refusal(
        capabilities, "answer_consent", **{**answer, "agree": False, "activate": True}
    )
    assert isinstance(both, Invalid)

    lacks = await refusal(capabilities, "answer_consent", **{**answer, "activate": True})
    assert (lacks.code, lacks.detail[:55]) == (
        "secrets_missing",
        "It cannot be activated, so your answer was not recorded",
    )
    assert [result["status"] for result in await waiting(capabilities)] == ["waiting"]
    assert len(await unread(bench)) == 1
    async with application.database.transaction() as tx:
        await application.vault.put(tx, bench.secret_scope, "stripe_key", "a value of eight")
    done = await capabilities.call("answer_consent", {**answer, "activate": True})
    assert (done["consent"]["status"], done["state"]) == ("agreed", "active")
    assert await waiting(capabilities) == []
    assert await unread(bench) == []
    assert (await capabilities.stored(one))["paused_reason"] is None
    assert await fires(bench, one) is None
    again = await capabilities.call("answer_consent", answer)
    assert (again["consent"]["status"], again["state"]) == ("agreed", "active")
    late = await refusal(capabilities, "answer_consent", **{**answer, "agree": False})
    assert late.code == "consent_answered"
    await _check_boards_have_names(capabilities)


async def _check_boards_have_names(capability_client: CapabilityClient) -> None:
    """And one message about several is read once the last of them is answered."""
    bench = capability_client.bench
    board = await Boards(bench.application).create("Uptime")
    change = {"type": "board_change", "config": {"board_id": board}}
    await bring_in(bench, document(NOTE, name="A", triggers=[change]), document(NOTE, name="B"))
    asked = await waiting(capability_client)
    (one,) = (each for each in asked if each["name"] == "A")
    assert f'It starts when the board "Uptime" ({board}) changes.' in says(one)
    for left, each in ((1, asked[0]), (0, asked[1])):
        given = {"consent_id": each["consent_id"], "digest": each["digest"], "agree": False}
        await capability_client.call("answer_consent", given)
        assert len(await unread(bench)) == left


async def _check_nothing_starts(
    capability_client: CapabilityClient, one: UUID, request: dict[str, Any]
) -> None:
    """No person, no program and no trigger; it may be tried out."""
    bench, application = capability_client.bench, capability_client.bench.application
    with pytest.raises(Conflict) as refused:
        await start(bench, one)
    assert refused.value.code == "consent_needed"
    assert [finding.detail for finding in refused.value.findings] == says(request)
    for who in (capability_client, client(capability_client)):
        held = await refusal(who, "update_automation", automation_id=str(one), state="active")
        assert held.code == "consent_needed"
    assert await fires(bench, one) == "paused"
    with pytest.raises(Conflict, match="must first consent"):
        await application.dispatcher.dispatch(RunRequest(application.workspace_id, one))
    with pytest.raises(Conflict, match="must first consent"):
        await application.dispatcher.dispatch(
            RunRequest(application.workspace_id, one, mode="verify")
        )
    # A trial changes and sends nothing.
    await application.dispatcher.dispatch(RunRequest(application.workspace_id, one, mode="dry_run"))
    # Putting it away and bringing it back is no way round.
    async with application.database.transaction() as tx:
        await archive(tx, application.workspace_id, one)
        await restore(tx, application.workspace_id, one)
    with pytest.raises(Conflict, match="must first consent"):
        await application.dispatcher.dispatch(RunRequest(application.workspace_id, one))


async def _check_who_may_answer(
    capability_client: CapabilityClient, answer: dict[str, Any]
) -> None:
    """A person who may edit here, and nobody else; and nobody learns of it elsewhere."""
    database = capability_client.bench.application.database
    program = await refusal(client(capability_client), "answer_consent", **answer)
    assert (program.code, isinstance(program, PermissionDenied)) == ("person_needed", True)
    started = Actor(
        capability_client.space, "member", FIRST_MEMBER, role=Role.OWNER, by_program=True
    )
    assistant = await refusal(
        CapabilityClient(capability_client.bench, CapabilityCaller(started)),
        "answer_consent",
        **answer,
    )
    assert assistant.code == "person_needed"
    reader = CapabilityClient(
        capability_client.bench, await member(database, capability_client.space, Role.VIEWER)
    )
    assert isinstance(await refusal(reader, "answer_consent", **answer), PermissionDenied)
    assert len(await waiting(reader)) == 1
    elsewhere = generate_id()
    await add_workspace(database, elsewhere, "elsewhere")
    anonymous = CapabilityClient(
        capability_client.bench, await member(database, elsewhere, Role.OWNER)
    )
    assert await waiting(anonymous) == []
    assert isinstance(await refusal(anonymous, "answer_consent", **answer), NotFound)
    look = {"consent_id": answer["consent_id"]}
    assert isinstance(await refusal(anonymous, "get_consent", **look), NotFound)
    assert (await capability_client.call("get_consent", look))["status"] == "waiting"


async def test_a_file_over_what_is_there_waits_also_when_it_adds_nothing(bench: Bench) -> None:
    capability_client = CapabilityClient(bench)
    saved = await bench.save(document(NOTE, name="Note", triggers=[cron("0 9 * * *")]))
    await start(bench, saved.automation_id)

    (same,) = await bring_in(bench, document(NOTE, name="Note", triggers=[cron("0 9 * * *")]))
    assert (same.consent, same.saved.state) == (None, "active")
    late = step("tell", "inbox.post_notification", {"title": "bye"})
    (made,) = await bring_in(bench, document(late, name="Note", triggers=[cron("0 9 * * 1")]))
    assert made.consent is not None
    assert [one.kind for one in made.consent.additions] == ["review"]
    assert made.consent.agreed_version == 1
    # Another file overtakes it, and is compared with what was agreed to.
    (more,) = await bring_in(bench, document(late, name="Note", triggers=[cron("0 9,18 * * *")]))
    assert more.consent is not None
    (asked,) = await waiting(capability_client)
    assert (asked["consent_id"], asked["agreed_version"]) == (str(more.consent.id), 1)
    assert says(asked) == ["It now starts 2 times a day instead of once a day."]
    stale = await refusal(
        capability_client,
        "answer_consent",
        consent_id=str(made.consent.id),
        digest=made.consent.digest.hex(),
        agree=True,
    )
    assert stale.code == "consent_overtaken"
    assert asked["consent_id"] in str(stale.suggestion)
    # A person's own words about it are asked about too, until it is what was agreed to.
    await capability_client.call(
        "update_automation", {"automation_id": asked["automation_id"], "intent": "x"}
    )
    (renewed,) = await waiting(capability_client)
    assert (renewed["version"], says(renewed)) == (4, says(asked))
    application = bench.application
    async with application.database.transaction() as tx:
        await rollback(
            tx,
            application.workspace_id,
            saved.automation_id,
            1,
            FIRST_MEMBER,
            application.registry,
            application.limits,
        )
    assert await waiting(capability_client) == []
    assert await start(bench, saved.automation_id) == "active"


async def test_a_program_widens_nothing_silently_and_narrows_at_once(bench: Bench) -> None:
    capability_client = CapabilityClient(bench)
    program = client(capability_client)
    hosts = {"tool": "http_fetch", "params": {"hosts": ["a.example"]}}
    one = await capability_client.save(
        source="return 1;",
        tool_grants=[hosts],
        acknowledged_http_fetch_hosts=["a.example"],
        cost_cap_daily_usd=2,
    )
    # The person who made it agreed to it as it was, also before it was ever active.
    drafted = await program.call(
        "update_automation", {"automation_id": one, "cost_cap_daily_usd": 3}
    )
    assert says(drafted["consent"])[0] == "It may now spend $3.00 a day instead of $2.00."
    await program.call("update_automation", {"automation_id": one, "cost_cap_daily_usd": 2})
    await capability_client.call("update_automation", {"automation_id": one, "state": "active"})

    less = await program.call(
        "update_automation", {"automation_id": one, "cost_cap_daily_usd": 1, "description": "x"}
    )
    assert (less["state"], less.get("consent")) == ("active", None)
    mine = await capability_client.call(
        "update_automation", {"automation_id": one, "cost_cap_daily_usd": 2}
    )
    assert (mine["state"], mine.get("consent")) == ("active", None)

    wider = {"tool": "http_fetch", "params": {"hosts": ["a.example", "b.example"]}}
    more = await program.call(
        "update_automation",
        {
            "automation_id": one,
            "tool_grants": [wider],
            "acknowledged_http_fetch_hosts": ["a.example", "b.example"],
            "state": "active",
        },
    )
    assert (more["state"], "state" in more["columns_changed"]) == ("paused", True)
    assert says(more["consent"]) == ["It may now send requests to b.example."]
    assert await fires(bench, UUID(one)) == "paused"
    # A second change is added to the first question; one change taken back leaves the other.
    dear = await program.call("update_automation", {"automation_id": one, "cost_cap_daily_usd": 5})
    assert says(dear["consent"]) == [
        "It may now send requests to b.example.",
        "It may now spend $5.00 a day instead of $2.00.",
        "It may now spend $5.00 in one run instead of $2.00.",
    ]
    assert len(await waiting(capability_client)) == 1
    cheap = await program.call("update_automation", {"automation_id": one, "cost_cap_daily_usd": 1})
    assert says(cheap["consent"]) == says(more["consent"])

    await _check_refusing(capability_client, one, cheap["consent"])
    back = await program.call(
        "update_automation",
        {
            "automation_id": one,
            "tool_grants": [hosts],
            "acknowledged_http_fetch_hosts": ["a.example"],
        },
    )
    assert (back["state"], back.get("consent")) == ("paused", None)
    on = await capability_client.call(
        "update_automation", {"automation_id": one, "state": "active"}
    )
    assert on["state"] == "active"


async def _check_refusing(
    capability_client: CapabilityClient, one: str, consent: dict[str, Any]
) -> None:
    """What is refused stays at rest; anyone who changes their mind reads it once more."""
    given = {"consent_id": consent["consent_id"], "digest": consent["digest"]}
    no = await capability_client.call("answer_consent", {**given, "agree": False})
    assert (no["consent"]["status"], no["state"]) == ("refused", "paused")
    assert "restore it to continue" in no["says"]
    assert await waiting(capability_client) == []
    for who in (capability_client, client(capability_client)):
        held = await refusal(who, "update_automation", automation_id=one, state="active")
        assert held.code == "consent_refused"
    with pytest.raises(Conflict, match="has refused"):
        await capability_client.bench.application.dispatcher.dispatch(
            RunRequest(capability_client.space, UUID(one))
        )
    stale = await refusal(capability_client, "answer_consent", **given, agree=True)
    assert stale.code == "consent_answered"


async def test_going_back_by_a_program_is_asked_about_too(bench: Bench) -> None:
    capability_client = CapabilityClient(bench)
    one = await capability_client.save(source="return 1;", cost_cap_daily_usd=5)
    wide = (await capability_client.stored(one))["version"]
    await capability_client.call(
        "update_automation", {"automation_id": one, "cost_cap_daily_usd": 1}
    )
    await capability_client.call("update_automation", {"automation_id": one, "state": "active"})
    rows = await capability_client.bench.application.database.fetch(
        "SELECT version FROM automation_versions WHERE automation_id = $1", UUID(one)
    )
    assert {row["version"] for row in rows} == {wide, wide + 1}
    back = await client(capability_client).call(
        "update_automation",
        {"automation_id": one, "active_version_id": str(compute_version_id(UUID(one), wide))},
    )
    assert back["state"] == "paused"
    assert says(back["consent"])[0] == "It may now spend $5.00 a day instead of $1.00."
    given = {"consent_id": back["consent"]["consent_id"], "digest": back["consent"]["digest"]}
    # Two people answer at once: one answer counts, and the other is refused.
    answers = await asyncio.gather(
        capability_client.call("answer_consent", {**given, "agree": True}),
        capability_client.call("answer_consent", {**given, "agree": False}),
        return_exceptions=True,
    )
    (heard,) = [one for one in answers if not isinstance(one, BaseException)]
    (result,) = [one for one in answers if isinstance(one, BaseException)]
    assert isinstance(result, Conflict)
    assert result.code == "consent_answered"
    (stored,) = (await capability_client.call("list_consents", {"status": "any"}))["consents"]
    assert stored["status"] == heard["consent"]["status"]


async def test_a_proposal_that_a_person_saves_is_agreed_to_with_it(bench: Bench) -> None:
    capability_client = CapabilityClient(bench)

    async def save(text: str, **more: Any) -> dict[str, Any]:
        made = await capability_client.call("propose_automation", {"text": text, **more})
        given = {"proposal_id": made["proposal_id"], "digest": made["digest"]}
        saved: dict[str, Any] = await capability_client.call("save_proposal", given)
        return saved

    one = {"automation_id": (await save(REMINDER))["automation_id"]}
    await capability_client.call("update_automation", {**one, "state": "active"})
    wider = await client(capability_client).call(
        "update_automation", {**one, "cost_cap_daily_usd": 7}
    )
    assert says(wider["consent"]) == ["It may now spend $7.00 a day instead of $0.50."]
    # Everything that it may do is in what is read and saved by its digest.
    await save("run it every Tuesday at 10 Berlin time instead", **one)
    assert await waiting(capability_client) == []
    (stored,) = (await capability_client.call("list_consents", {**one, "status": "agreed"}))[
        "consents"
    ]
    assert says(stored) == says(wider["consent"])
    assert (await capability_client.call("update_automation", {**one, "state": "active"}))[
        "state"
    ] == "active"
