"""Consent is held to: no way around a person lets an automation do more than was agreed to."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from uuid import UUID

from mainspring.contracts.context import Actor
from mainspring.contracts.errors import Problem
from mainspring.contracts.ids import generate_id
from mainspring.contracts.roles import Role
from mainspring.gate.callers import CapabilityCaller
from mainspring.workspace.automation_states import activate, archive
from mainspring.workspace.automations import FIRST_MEMBER, switch
from mainspring.workspace.consents import change_by
from mainspring.workspace.import_export import (
    import_validated,
    validate_import,
)
from mainspring.workspace.versions import rollback
from tests.kit.api import served
from tests.kit.authoring import CapabilityClient
from tests.kit.bench import Bench, document, step
from tests.kit.consent import agree_to_all
from tests.kit.parcels import Parcels, reading

ONCE = "It now starts once a day."
OFTEN = "It now starts every minute (1,440 times a day) instead of once a day."
LOOK = "It has no new permissions. Review it before it starts here."
MINUTE = [{"kind": "cron", "cron": "* * * * *", "tz": "UTC"}]
DAILY = [{"kind": "cron", "cron": "0 9 * * *", "tz": "UTC"}]


def clock(text: str = "0 9 * * *") -> dict[str, Any]:
    return {"id": "cron-1", "type": "schedule", "config": {"cron": text, "timezone": "UTC"}}


def watch(name: str, text: str = "0 9 * * *", **more: Any) -> dict[str, Any]:
    note = step("note", "transform_data", {"output": "x"})
    return document(note, name=name, triggers=[clock(text)], **more)


def program(client: CapabilityClient) -> CapabilityClient:
    """A program of the same member."""
    actor = Actor(client.space, "client", FIRST_MEMBER, generate_id(), Role.OWNER)
    return CapabilityClient(client.bench, CapabilityCaller(actor))


async def bring_in(bench: Bench, *documents: Mapping[str, Any]) -> list[UUID]:
    application = bench.application
    value = {"format": "mainspring.export", "version": 1, "automations": list(documents)}
    candidates = await validate_import(value, application.registry, application.limits)
    async with application.database.transaction() as tx:
        made = await import_validated(
            tx,
            application.workspace_id,
            candidates,
            FIRST_MEMBER,
            application.registry,
            application.limits,
            "new_version",
        )
    return [one.saved.automation_id for one in made]


async def agreed(bench: Bench, name: str, *, active: bool = True) -> UUID:
    """An automation that a person has agreed to."""
    application = bench.application
    (made,) = await bring_in(bench, watch(name))
    await agree_to_all(application.database, application.workspace_id)
    if active:
        async with application.database.transaction() as tx:
            await activate(
                tx, application.workspace_id, made, application.registry, application.limits
            )
    return made


async def turn(client: CapabilityClient, automation_id: UUID, *, enabled: bool) -> None:
    """Switches its trigger, as a person at the command line does."""
    async with client.bench.application.database.transaction() as tx:

        async def put() -> None:
            await switch(tx, client.space, automation_id, "cron-1", enabled=enabled)

        await change_by(tx, client.space, automation_id, client.caller.actor, put)


async def asked(client: CapabilityClient, automation_id: UUID) -> list[str]:
    """What waits for a person; the automation is at rest as long as something does."""
    found = (await client.call("list_consents", {"automation_id": str(automation_id)}))["consents"]
    says = [one["says"] for consent in found for one in consent["additions"]]
    stored = await client.stored(automation_id)
    assert (stored["paused_reason"] == "consent") == bool(says)
    assert stored["state"] == "paused" or not says
    return says


async def why_not(client: CapabilityClient, automation_id: UUID) -> str | None:
    """Why it is not set going; None: it is."""
    try:
        await client.call(
            "update_automation", {"automation_id": str(automation_id), "state": "active"}
        )
    except Problem as problem:
        return problem.code
    return None


async def test_a_token_is_a_program_and_a_switch_is_a_change(bench: Bench) -> None:
    client = CapabilityClient(bench)
    one = await agreed(bench, "Over HTTP")
    async with served(bench.application) as api:
        place = f"/api/v1/automations/{one}"
        wide = watch("Over HTTP", "* * * * *")
        put = (await api.program.put(place, json=wide)).json()
        assert (put["state"], [a["says"] for a in put["consent"]["additions"]]) == (
            "paused",
            [OFTEN],
        )
        assert await asked(client, one) == [OFTEN]
        # What was agreed to is back: nothing is asked, and what is wider waits again.
        back = (await api.program.put(place, json=watch("Over HTTP"))).json()
        assert (back["consent"], await asked(client, one)) == (None, [])
        assert await why_not(program(client), one) is None
        rolled = (await api.program.post(f"{place}/rollback", json={"version": 2})).json()
        assert (rolled["state"], await asked(client, one)) == ("paused", [OFTEN])
        assert rolled["consent"]["digest"]

        two = await agreed(bench, "Switched")
        trigger = f"/api/v1/automations/{two}/triggers/cron-1"
        assert (await api.program.patch(trigger, json={"enabled": False})).status_code == 200
        assert (await client.stored(two))["state"] == "active"
        turned = (await api.program.patch(trigger, json={"enabled": True})).json()
        assert (turned["armed_at"], await asked(client, two)) == (None, [ONCE])

        draft = (await api.program.post("/api/v1/automations", json=watch("Draft"))).json()
        assert draft["consent"]["digest"]
        wider = watch("Draft", "* * * * *")
        saved = (await api.program.put(f"/api/v1/automations/{draft['id']}", json=wider)).json()
        often = "It starts every minute (1,440 times a day)."
        assert often in [one["says"] for one in saved["consent"]["additions"]]
        assert often in await asked(client, UUID(draft["id"]))


async def test_what_was_agreed_to_counts_before_it_is_active_and_while_a_question_is_open(
    bench: Bench,
) -> None:
    client, application = CapabilityClient(bench), bench.application
    other = program(client)

    # Agreed to and never active.
    one = await agreed(bench, "Agreed", active=False)
    await other.call("update_automation", {"automation_id": str(one), "triggers": MINUTE})
    assert await asked(client, one) == [OFTEN]
    assert await why_not(other, one) == "consent_needed"

    # A person has switched its trigger off; the same triggers once more are a change.
    two = await agreed(bench, "Off")
    await turn(client, two, enabled=False)
    result = await other.call("update_automation", {"automation_id": str(two), "triggers": DAILY})
    assert ([one["says"] for one in result["consent"]["additions"]], result["state"]) == (
        [ONCE],
        "paused",
    )
    # Off again, and nothing is left to ask; a person turns on what they like.
    await turn(other, two, enabled=False)
    assert await asked(client, two) == []
    await turn(client, two, enabled=True)
    assert await asked(client, two) == []

    # The trigger is off when something else is asked, and is not forgotten.
    three = await agreed(bench, "Forgotten")
    await turn(client, three, enabled=False)
    for cap in (5, 1):
        given = {"automation_id": str(three), "cost_cap_daily_usd": cap, "triggers": DAILY}
        await other.call("update_automation", given)
    assert await asked(client, three) == [ONCE]

    # Switched off while the question is open, it is not agreed to any more.
    four = await agreed(bench, "Meanwhile")
    given = {"automation_id": str(four), "cost_cap_daily_usd": 5}
    await other.call("update_automation", given)
    await turn(client, four, enabled=False)
    await turn(other, four, enabled=True)
    assert ONCE in await asked(client, four)

    # What is archived is not brought back by a question.
    five = await agreed(bench, "Away")
    await turn(client, five, enabled=False)
    async with application.database.transaction() as tx:
        await archive(tx, client.space, five)
    await turn(other, five, enabled=True)
    assert (await client.stored(five))["state"] == "archived"


async def test_what_came_from_a_file_waits_until_a_person_has_answered(bench: Bench) -> None:
    client, application = CapabilityClient(bench), bench.application
    other = program(client)
    one = await agreed(bench, "Imported")
    await bring_in(
        bench, {**watch("Imported"), "plan": [step("b", "transform_data", {"output": "y"})]}
    )
    assert await asked(client, one) == [LOOK]
    nicer = {"automation_id": str(one), "description": "the same, nicer", "state": "active"}
    result = await other.call("update_automation", nicer)
    assert (result["state"], await asked(client, one)) == ("paused", [LOOK])
    assert await why_not(other, one) == "consent_needed"

    # What a person had agreed to is nothing that they have to look at.
    async with application.database.transaction() as tx:
        await rollback(
            tx, client.space, one, 1, FIRST_MEMBER, application.registry, application.limits
        )
    assert await asked(client, one) == []


async def test_a_program_reads_an_integration_no_more_often_and_starts_nothing_paused(
    bench: Bench,
) -> None:
    async with reading(bench, Parcels()) as (inner, _):
        client = CapabilityClient(inner)
        other, source = program(client), {"source": "parcels"}
        made = await client.call("watch_integration", {**source, "every": "0 9 * * *"})
        one = UUID(made["automation_id"])
        same = await other.call("watch_integration", source)
        assert (same["state"], await asked(client, one)) == ("active", [])
        more = await other.call("watch_integration", {**source, "every": "* * * * *"})
        assert (more["state"], await asked(client, one)) == ("paused", [OFTEN])
        assert [entry["says"] for entry in more["consent"]["additions"]] == [OFTEN]

        await other.call("watch_integration", {**source, "every": "0 9 * * *"})
        assert await asked(client, one) == []
        assert (await other.call("watch_integration", source))["state"] == "paused"
        assert (await client.call("watch_integration", source))["state"] == "active"


async def test_a_program_that_reads_before_a_person_is_asked_needs_no_consent(
    bench: Bench,
) -> None:
    """Over REST, by switching a trigger and by update_automation."""
    ask = step("ask", "approval", {"title": "May I?"})
    note = step("note", "inbox.post_notification", {"title": "x", "message": "x"})
    look = step("look", "list_boards", {})
    grants: list[dict[str, Any]] = [
        {"capability": name, "params": {}}
        for name in ("approval.ask", "inbox.post_notification", "list_boards")
    ]

    def plan(*steps: dict[str, Any]) -> dict[str, Any]:
        return document(*steps, name="careful", triggers=[clock()], grants=grants)

    application, client = bench.application, CapabilityClient(bench)
    (made,) = await bring_in(bench, plan(ask, look, note))
    await agree_to_all(application.database, application.workspace_id)
    async with application.database.transaction() as tx:
        await activate(tx, application.workspace_id, made, application.registry, application.limits)
    place = f"/api/v1/automations/{made}"
    async with served(application) as api:
        put = await api.program.put(place, json=plan(look, ask, note))
        assert (put.status_code, put.json()["consent"]) == (200, None), put.text
        assert await asked(client, made) == []

        wider = await api.program.put(place, json=plan(look, note, ask))
        says = [one["says"] for one in wider.json()["consent"]["additions"]]
        lost = (
            "It now does note (inbox.post_notification) without waiting for the answer at the "
            "step ask."
        )
        assert says == [lost]
        # What waits is asked anew whenever something changes, and still not about the look.
        off = await api.program.patch(f"{place}/triggers/cron-1", json={"enabled": False})
        assert off.status_code == 200, off.text
        assert await asked(client, made) == [lost]
        named = {"automation_id": str(made), "name": "careful too"}
        await program(client).call("update_automation", named)
        assert await asked(client, made) == [lost]
