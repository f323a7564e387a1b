"""Proposals: nothing is saved without a person who has read exactly that."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import Any

import pytest

from mainspring.app import build_application
from mainspring.contracts.capability import Capability
from mainspring.contracts.errors import (
    Conflict,
    Expired,
    Invalid,
    NotFound,
    PermissionDenied,
    Problem,
)
from mainspring.contracts.ids import generate_id
from mainspring.contracts.limits import Limits
from mainspring.contracts.roles import Role
from mainspring.definition.validate import validate
from mainspring.gate.callers import CapabilityCaller
from mainspring.registry import build_registry
from mainspring.triggers.housekeeping import Housekeeper
from mainspring.workspace.automations import ensure_workspace
from tests.kit.authoring import CapabilityClient
from tests.kit.bench import Bench, document, step
from tests.kit.members import member
from tests.kit.tenants import NEIGHBOUR

REMINDER = "every Monday at 9 Berlin time remind me of the invoices"
NEVER = ("propose_automation", "refine_proposal", "review_automation", "save_proposal")


async def proposed(desk: CapabilityClient, text: str = REMINDER, **more: Any) -> dict[str, Any]:
    made: dict[str, Any] = await desk.call("propose_automation", {"text": text, **more})
    return made


async def refine(client: CapabilityClient, made: dict[str, Any], **more: Any) -> dict[str, Any]:
    given = {"proposal_id": made["proposal_id"], **more}
    found: dict[str, Any] = await client.call("refine_proposal", given)
    return found


async def save(desk: CapabilityClient, made: dict[str, Any], **more: Any) -> dict[str, Any]:
    given = {"proposal_id": made["proposal_id"], "digest": made["digest"], **more}
    found: dict[str, Any] = await desk.call("save_proposal", given)
    return found


async def automations(client: CapabilityClient) -> list[Any]:
    found: list[Any] = (await client.call("list_automations", {}))["automations"]
    return found


async def test_words_become_a_paused_automation_after_a_person_saved_what_they_read(
    bench: Bench,
) -> None:
    client = CapabilityClient(bench)
    made = await proposed(client)
    assert made["status"] == "ready", (made["questions"], made["problems"])
    assert made["made_by"]["by"] == "rules"
    assert "no model was used" in made["made_by"]["note"]
    assert made["review"]["forecast"]["usd_per_month"]["high"] == "0"
    assert await automations(client) == []
    saved = await save(client, made)
    assert (saved["state"], saved["version"]) == ("paused", 1)
    [stored] = await automations(client)
    assert stored["automation_id"] == saved["automation_id"]
    shown = await client.call("get_proposal", {"proposal_id": made["proposal_id"]})
    assert (shown["status"], shown["saved_as"]) == ("saved", saved["automation_id"])
    again = await _refused(save(client, made), Conflict)
    assert again.code == "proposal_saved"
    assert len(await automations(client)) == 1


async def test_only_a_person_saves_and_no_automation_can_be_given_any_of_it(bench: Bench) -> None:
    capability_client = CapabilityClient(bench)
    made = await proposed(capability_client)
    client = CapabilityCaller(
        replace(capability_client.caller.actor, kind="client", token_id=generate_id())
    )
    result = await _refused(save(CapabilityClient(bench, client), made), PermissionDenied)
    assert result.code == "person_needed"
    assert made["url"] in str(result.suggestion)
    assistant = CapabilityCaller(replace(capability_client.caller.actor, by_program=True))
    assert (
        await _refused(save(CapabilityClient(bench, assistant), made), PermissionDenied)
    ).code == "person_needed"
    viewer = await member(bench.application.database, bench.application.workspace_id, Role.VIEWER)
    for call in (
        proposed(CapabilityClient(bench, viewer)),
        save(CapabilityClient(bench, viewer), made),
    ):
        assert (await _refused(call, PermissionDenied)).code == "role_too_small"
    for name in NEVER:
        asked = document(step("one", "get_board", {"name": "x"}), grants=[{"capability": name}])
        words = await bench.application.registry.of(bench.application.workspace_id)
        found = validate(asked, words, bench.application.limits).findings
        assert any(one.pointer.startswith("/grants/0") for one in found), name
    assert await automations(capability_client) == []


async def test_what_is_saved_is_what_was_read(bench: Bench) -> None:
    client = CapabilityClient(bench)
    made = await proposed(client)
    changed = await refine(client, made, edits=[{"pointer": "/name", "value": "Invoices"}])
    assert (changed["revision"], changed["definition"]["name"]) == (2, "Invoices")
    result = await _refused(save(client, made), Conflict)
    assert (result.code, result.findings[0].pointer) == ("proposal_changed", "/digest")
    stale = refine(client, made, revision=1, edits=[{"pointer": "/name", "value": "Other"}])
    assert (await _refused(stale, Conflict)).code == "proposal_changed"
    assert (await save(client, changed))["name"] == "Invoices"


async def test_questions_are_asked_answered_and_keep_it_from_being_saved(bench: Bench) -> None:
    client = CapabilityClient(bench)
    made = await proposed(client, "every day at 9 remind me to drink")
    assert made["status"] == "asks"
    [zone] = [one for one in made["questions"] if one["kind"] == "time_zone"]
    result = await _refused(save(client, made), Invalid)
    assert (result.code, result.findings[0].pointer) == ("questions_open", zone["pointer"])
    wrong = await _refused(refine(client, made, answers={zone["id"]: "Atlantis"}), Invalid)
    assert wrong.findings[0].pointer == f"/answers/{zone['id']}"
    now = await refine(client, made, answers={zone["id"]: "Kigali"})
    assert now["status"] == "ready", now["questions"]
    assert now["definition"]["triggers"][0]["config"]["timezone"] == "Africa/Kigali"
    await save(client, now)


async def test_an_invalid_manual_edit_is_reported_and_nothing_is_lost(bench: Bench) -> None:
    client = CapabilityClient(bench)
    made = await proposed(client)
    wrong: list[tuple[list[dict[str, Any]], str, str]] = [
        ([{"pointer": "/name/first", "value": 1}], "edit_unusable", "/edits/0/pointer"),
        ([{"pointer": "/none", "remove": True}], "edit_unusable", "/edits/0/pointer"),
        (
            [{"pointer": "/plan/0/action", "value": "do_magic"}],
            "invalid_definition",
            "/plan/0/action",
        ),
        (
            [{"pointer": "/goal", "value": "{{"}, {"pointer": "/colour", "value": 1}],
            "invalid_definition",
            "/colour",
        ),
    ]
    for edits, code, pointer in wrong:
        result = await _refused(refine(client, made, edits=edits), Invalid)
        assert (result.code, result.findings[0].pointer) == (code, pointer)
    assert (await _refused(refine(client, made), Invalid)).code == "nothing_to_change"
    stored = await client.call("get_proposal", {"proposal_id": made["proposal_id"]})
    assert stored == made


async def test_of_two_concurrent_edits_one_is_refused_as_stale(bench: Bench) -> None:
    client = CapabilityClient(bench)
    made = await proposed(client)
    names = ("One", "Two", "Three")
    tries = (refine(client, made, edits=[{"pointer": "/name", "value": name}]) for name in names)
    came = await asyncio.gather(*tries, return_exceptions=True)
    won = [one for one in came if isinstance(one, dict)]
    lost = [one for one in came if isinstance(one, Conflict)]
    assert len(won) + len(lost) == 3
    stored = await client.call("get_proposal", {"proposal_id": made["proposal_id"]})
    assert stored["revision"] == 1 + len(won)
    assert {one.code for one in lost} <= {"proposal_changed"}


async def test_a_change_in_words_is_shown_as_a_difference_and_is_the_next_version(
    bench: Bench,
) -> None:
    client = CapabilityClient(bench)
    first = await save(client, await proposed(client))
    changed = {"automation_id": first["automation_id"]}
    made = await proposed(client, "run it every Tuesday at 10 Berlin time instead", **changed)
    assert made["status"] == "ready", (made["questions"], made["problems"])
    change = made["review"]["change"]
    assert any(one["pointer"].startswith("/triggers") for one in change["changes"])
    assert change["in_words"]
    late = await proposed(client, "every Friday at 8 Berlin time", **changed)
    idle = await proposed(client, "only if it rains", **changed)
    assert (idle["status"], idle["problems"][0]["code"]) == ("invalid", "nothing_changes")
    saved = await save(client, made)
    assert (saved["automation_id"], saved["version"]) == (first["automation_id"], 2)
    assert (await _refused(save(client, late), Conflict)).code == "version_changed"


async def test_a_proposal_is_its_workspaces_own_and_ends_by_itself(bench: Bench) -> None:
    client = CapabilityClient(bench)
    made = await proposed(client)
    given = {"proposal_id": made["proposal_id"], "digest": made["digest"]}
    async with bench.application.database.transaction() as tx:
        await ensure_workspace(tx, NEIGHBOUR, "next door")
    anonymous = CapabilityClient(
        bench, await member(bench.application.database, NEIGHBOUR, Role.OWNER)
    )
    one = {"proposal_id": made["proposal_id"]}
    for name, arguments in (
        ("get_proposal", one),
        ("discard_proposal", one),
        ("save_proposal", given),
        ("refine_proposal", {**one, "instruction": "on Mondays"}),
    ):
        assert (await _refused(anonymous.call(name, arguments), NotFound)).code == "no_proposal"
    assert (await anonymous.call("list_proposals", {}))["proposals"] == []
    [listed] = (await client.call("list_proposals", {}))["proposals"]
    assert listed["proposal_id"] == made["proposal_id"]
    await bench.application.database.execute("UPDATE proposals SET expires_at = now()")
    result = await _refused(save(client, made), Expired)
    assert result.code == "proposal_expired"
    application = bench.application
    housekeeper = Housekeeper(
        application.database, application.blobs, application.clock, application.limits
    )
    assert (await housekeeper.once(application.clock.now())).proposals == 1
    assert (await _refused(save(client, made), NotFound)).code == "no_proposal"


async def test_a_board_is_found_by_its_name_and_a_row_has_a_key_before_anything_is_saved(
    bench: Bench,
) -> None:
    client = CapabilityClient(bench)
    columns = [{"key": name, "field_type": "text"} for name in ("mail", "name")]
    board = await client.board("Leads", datasets=[{"name": "default", "columns": columns}])
    made = await proposed(client, "when our form calls the webhook add a row to the Leads board")
    assert board in str(made["definition"])
    [key] = [one for one in made["questions"] if "dedupe" in one["pointer"]]
    assert {one["value"] for one in key["choices"]} >= {"mail", "name"}
    assert made["status"] == "asks"
    result = await _refused(save(client, made), Invalid)
    assert result.code == "questions_open"
    # Nor can it be answered and taken out again, or be left out manually.
    others = {one["id"]: _first(one) for one in made["questions"] if one["id"] != key["id"]}
    whole = await refine(client, made, answers={**others, key["id"]: "mail"})
    places = [key["pointer"], *key["others"]]
    accepted = [{"pointer": place, "remove": True} for place in places]
    again = await refine(client, whole, edits=accepted)
    assert again["status"] == "asks"
    by_hand = document(step("add", "append_board_rows", {"board_id": board, "rows": [{"mail": 1}]}))
    bare = await refine(client, made, definition=by_hand)
    assert [one["pointer"] for one in bare["questions"]] == ["/plan/0/config/dedupe_key_field"]


def _first(question: dict[str, Any]) -> Any:
    return question["choices"][0]["value"] if question["choices"] else "something"


async def test_one_that_writes_the_same_way_is_noticed_wherever_its_steps_are(
    bench: Bench,
) -> None:
    client = CapabilityClient(bench)
    board = await client.board("Leads")
    adds = step(
        "add",
        "append_board_rows",
        {"board_id": board, "rows": [{"mail": "{{ item }}"}], "dedupe_key_field": "mail"},
    )
    loop = step("all", "for_each", {"items": "{{ [1, 2] }}", "steps": [adds]})
    when = {"id": "s", "type": "schedule", "config": {"cron": "0 9 * * *", "timezone": "UTC"}}
    first = await proposed(client)
    first = await refine(client, first, definition=document(loop, name="One", triggers=[when]))
    await save(client, first)
    second = await proposed(client)
    second = await refine(client, second, definition=document(loop, name="Two", triggers=[when]))
    [match] = [one for one in second["review"]["overlaps"]["matches"] if one["how"] == "strict"]
    assert match["name"] == "One"
    assert (await _refused(save(client, second), Conflict)).code == "overlap"
    await save(client, second, coexistence_note="They add rows of different shops.")


async def test_a_name_that_is_taken_is_reported_with_the_one_that_has_it(bench: Bench) -> None:
    client = CapabilityClient(bench)
    first = await save(client, await proposed(client))
    other = await proposed(client, "every Friday at 9 Berlin time remind me of the cake")
    other = await refine(client, other, edits=[{"pointer": "/name", "value": first["name"]}])
    result = await _refused(save(client, other), Conflict)
    assert (result.code, first["automation_id"] in result.detail) == ("name_taken", True)
    assert "propose_automation" in str(result.suggestion)


async def test_what_a_pattern_matches_may_not_grow_between_reading_and_saving(
    bench: Bench,
) -> None:
    client = CapabilityClient(bench)
    made = await proposed(client)
    agent = step("think", "agent_task", {"prompt": "Go.", "tools": ["test.*"]})
    made = await refine(client, made, definition=document(agent))
    more = Capability("test.another", "Another", {"type": "object"}, {}, _never)
    given = bench.application.settings
    registry = build_registry(
        Limits(), settings=given, capabilities=(*bench.outside.capabilities(), more)
    )
    application = build_application(given, Limits(), registry, bench.application.database)
    try:
        result = await _refused(
            save(CapabilityClient(Bench(application, bench.outside)), made), Conflict
        )
    finally:
        await application.gate.aclose()
        await application.wakeup_sender.aclose()
        await application.egress.aclose()
    assert result.code == "proposal_changed"


async def _never(ctx: Any, value: Any) -> Any:
    raise AssertionError("nobody calls it")


async def test_an_odd_definition_is_reviewed_and_never_breaks_anything(bench: Bench) -> None:
    client = CapabilityClient(bench)
    odd: list[Any] = [
        7,
        None,
        [],
        [[1]],
        {"boards": 7},
        {"boards": [{}]},
        "x",
        [{"config": 7}],
        [{"type": "schedule", "config": 7}],
        [{"action": 7, "config": []}],
    ]
    for key in ("writes", "triggers", "plan", "execution", "inputs", "grants", "metadata"):
        for value in odd:
            found = await client.call(
                "review_automation", {"definition": {**document(), key: value}, "by": "rules"}
            )
            assert found["review"]["explained"]


async def test_more_words_lose_no_answer_that_was_given(bench: Bench) -> None:
    client = CapabilityClient(bench)
    made = await proposed(client, "every day at 9")
    kinds = {one["kind"]: one["id"] for one in made["questions"]}
    assert kinds.keys() == {"time_zone", "words"}
    answers = {kinds["time_zone"]: "Kigali", kinds["words"]: "remind me to drink"}
    now = await refine(client, made, answers=answers)
    assert now["status"] == "ready", now["questions"]
    assert now["definition"]["triggers"][0]["config"]["timezone"] == "Africa/Kigali"


async def test_what_is_thrown_away_is_gone(bench: Bench) -> None:
    client = CapabilityClient(bench)
    made = await proposed(client)
    one = {"proposal_id": made["proposal_id"]}
    await client.call("discard_proposal", one)
    assert (await _refused(client.call("get_proposal", one), NotFound)).code == "no_proposal"


async def _refused(call: Any, kind: type[Problem]) -> Problem:
    with pytest.raises(kind) as result:
        await call
    return result.value


async def test_a_request_that_is_understood_in_part_is_not_ready_until_a_person_says_so(
    bench: Bench,
) -> None:
    client = CapabilityClient(bench)
    made = await proposed(client, f"{REMINDER}. Frobnicate the gizmo.")
    assert made["status"] == "asks"
    (question,) = made["questions"]
    assert "“Frobnicate the gizmo”" in question["question"]
    assert (await _refused(save(client, made), Invalid)).code == "questions_open"

    answer = await refine(client, made, answers={question["id"]: "tell me about the weather"})
    assert "“Frobnicate the gizmo”" not in " ".join(one["question"] for one in answer["questions"])

    made = await proposed(client, f"{REMINDER}. Frobnicate the gizmo.")
    left = await refine(client, made, answers={question["id"]: question["choices"][0]["value"]})
    assert left["status"] == "ready", (left["questions"], left["problems"])
    assert left["definition"]["metadata"]["not_understood"] == ["Frobnicate the gizmo"]
    assert (await save(client, left))["state"] == "paused"


async def test_a_change_in_words_that_nobody_understands_is_not_ready(bench: Bench) -> None:
    client = CapabilityClient(bench)
    made = await proposed(client)
    changed = await refine(client, made, instruction="frobnicate the gizmo")
    assert changed["status"] == "asks"
    (question,) = changed["questions"]
    stored = await refine(
        client, changed, answers={question["id"]: question["choices"][0]["value"]}
    )
    assert stored["status"] == "ready"


async def test_another_language_is_answered_that_the_rules_read_english(bench: Bench) -> None:
    client = CapabilityClient(bench)
    made = await proposed(client, "Wenn eine E-Mail von chef@firma.de kommt, schick mir Telegram")
    assert made["status"] == "asks"
    assert "plan" not in made["definition"]
    assert any("English only" in note for note in made["notes"])
    (question,) = made["questions"]
    answer = await refine(client, made, answers={question["id"]: REMINDER})
    assert answer["status"] == "ready", (answer["questions"], answer["problems"])


async def test_a_line_in_another_language_waits_for_an_answer(bench: Bench) -> None:
    client = CapabilityClient(bench)
    made = await proposed(client, f"{REMINDER}\nund schick mir jeden Abend einen Bericht")
    assert made["status"] == "asks"
    (question,) = made["questions"]
    assert "und schick mir jeden Abend einen Bericht" in question["question"]
    without = await refine(client, made, answers={question["id"]: "Leave it out"})
    assert without["status"] == "ready", (without["questions"], without["problems"])
    made = await proposed(client, f"{REMINDER}\nund schick mir jeden Abend einen Bericht")
    (question,) = made["questions"]
    answer = await refine(client, made, answers={question["id"]: "and put it in my inbox"})
    assert answer["status"] == "ready", (answer["questions"], answer["problems"])
    assert len(answer["definition"]["plan"]) == len(made["definition"]["plan"]) + 1


async def test_a_schedule_that_needs_a_zone_first_asks_for_one_thing_at_a_time(
    bench: Bench,
) -> None:
    client = CapabilityClient(bench)
    text = "every 2 weeks on Monday at 9 remind me of payroll"
    made = await client.call("propose_automation", {"text": text, "by": "rules"})
    (zone,) = made["questions"]
    assert (zone["id"], zone["kind"]) == ("time-zone", "time_zone")
    assert zone["question"] == "In which time zone?"

    with pytest.raises(Invalid) as refused:
        await client.call(
            "refine_proposal",
            {"proposal_id": made["proposal_id"], "answers": {"time-zone": "Nowhere"}},
        )
    assert refused.value.findings[0].pointer == "/answers/time-zone"

    made = await client.call(
        "refine_proposal",
        {"proposal_id": made["proposal_id"], "answers": {"time-zone": "Berlin"}},
    )
    (weeks,) = made["questions"]
    assert weeks["id"] == "when"
    assert weeks["question"].endswith("With which date does it begin?")
    assert made["request"] == text

    chosen = weeks["choices"][0]["value"]
    made = await client.call(
        "refine_proposal", {"proposal_id": made["proposal_id"], "answers": {"when": chosen}}
    )
    assert made["status"] == "ready", (made["questions"], made["problems"])
    config = made["definition"]["triggers"][0]["config"]
    assert config == {"cron": "0 9 * * 1", "timezone": "Europe/Berlin"}
    assert "when" in made["definition"]["plan"][0]
    assert "Berlin" not in made["definition"]["intent"]
