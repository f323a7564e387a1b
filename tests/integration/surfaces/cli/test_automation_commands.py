"""Commands over stored automations: whom a word means, what is answered, what is refused."""

from __future__ import annotations

import asyncio
import json
import signal
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest

from mainspring.contracts.errors import Conflict, Invalid, NotFound, Problem
from mainspring.runs.run_requests import RunRequest
from mainspring.surfaces.cli import exits
from mainspring.surfaces.cli.automation_view import show_automation
from mainspring.surfaces.cli.automations import go_back, save_file
from mainspring.surfaces.cli.context import CommandContext
from mainspring.surfaces.cli.events import show_event, show_events, tell, tell_once_more
from mainspring.surfaces.cli.export_import import bring_in, export
from mainspring.surfaces.cli.fire import fire, replay_run
from mainspring.surfaces.cli.inbox import read_messages, show_inbox
from mainspring.surfaces.cli.listings import show_list, show_runs
from mainspring.surfaces.cli.lookup import find_automation, find_in_use
from mainspring.surfaces.cli.next_fire_times import show_next_fire_times
from mainspring.surfaces.cli.runs import cancel, show_logs
from mainspring.surfaces.cli.screen import Screen
from mainspring.surfaces.cli.states import change_state
from mainspring.surfaces.cli.versions import show_diff
from mainspring.surfaces.cli.webhooks import end_token, make_token
from mainspring.surfaces.services import ApplicationServices
from mainspring.workspace.automations import read_triggers
from tests.kit.bench import Bench, document, step

HOOKS = [{"id": "left", "type": "webhook"}, {"id": "right", "type": "webhook"}]
ANSWER = step("answer", "transform_data", {"output": {"n": 42}})


def _answer(capsys: pytest.CaptureFixture[str]) -> Any:
    return json.loads(capsys.readouterr().out)


async def _saved(bench: Bench, name: str, **more: Any) -> UUID:
    return (await bench.save(document(ANSWER, name=name, **more))).automation_id


# --- whom a word means


async def test_a_name_an_id_and_the_beginning_of_an_id_mean_the_same(
    bench: Bench, services: ApplicationServices
) -> None:
    one = await _saved(bench, "One")
    await asyncio.sleep(0.002)
    await _saved(bench, "One more")

    for text in ("One", str(one), one.hex.upper(), str(one)[:-2]):
        assert (await find_automation(services, text))["id"] == one
    with pytest.raises(Conflict) as refusal:
        await find_automation(services, str(one)[:4])
    assert refusal.value.code == "ambiguous_id"


@pytest.mark.parametrize("text", ["Grete", "", "abc", "zzzzzz", "a" * 400, "\udcff", "x\x1b[0m"])
async def test_a_name_that_nobody_has_is_a_sentence_with_a_way_out(
    bench: Bench, services: ApplicationServices, text: str
) -> None:
    await _saved(bench, "Greeter")

    with pytest.raises(NotFound) as refusal:
        await find_automation(services, text)

    expected = "Greeter" if text == "Grete" else "list"
    assert expected in str(refusal.value.suggestion)


async def test_a_name_that_looks_like_an_id_is_a_name_first(
    bench: Bench, services: ApplicationServices
) -> None:
    other = await _saved(bench, "Other")
    misleading = await _saved(bench, str(other)[:8])

    assert (await find_automation(services, str(other)[:8]))["id"] == misleading


async def test_archived_ones_come_last_and_several_of_a_name_are_distinguished_by_id(
    bench: Bench,
    services: ApplicationServices,
    command_context: CommandContext,
    screen: Screen,
    capsys: pytest.CaptureFixture[str],
) -> None:
    first = await _saved(bench, "Same")
    await change_state(command_context, screen, "archive", "Same")
    assert (await find_automation(services, "Same"))["id"] == first
    with pytest.raises(Conflict) as refusal:
        await find_in_use(services, "Same")
    assert f"restore {first}" in str(refusal.value.suggestion)

    second = await _saved(bench, "Same")
    assert (await find_automation(services, "Same"))["id"] == second
    with pytest.raises(Conflict) as refusal:
        await change_state(command_context, screen, "restore", "Same")
    assert refusal.value.code == "name_taken"

    await change_state(command_context, screen, "archive", "Same")
    with pytest.raises(Conflict) as refusal:
        await change_state(command_context, screen, "restore", "Same")
    assert str(first) in str(refusal.value.suggestion)
    capsys.readouterr()
    await change_state(command_context, screen, "restore", str(first))
    assert _answer(capsys)["state"] == "paused"


# --- saving and versions


async def test_saving_again_makes_a_version_only_when_something_changed(
    command_context: CommandContext,
    screen: Screen,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    path = tmp_path / "one.json"
    path.write_text(json.dumps(document(ANSWER, name="One")))

    await save_file(command_context, screen, str(path), None)
    first = _answer(capsys)
    await save_file(command_context, screen, str(path), None)
    again = _answer(capsys)
    assert (first["version"], again["version"], again["changed"]) == (1, 1, False)

    changed = document(ANSWER, step("tell", "notification", {"title": "x"}), name="Renamed")
    path.write_text(json.dumps(changed))
    await save_file(command_context, screen, str(path), "One")
    second = _answer(capsys)
    assert (second["id"], second["name"], second["version"]) == (first["id"], "Renamed", 2)
    assert [grant["capability"] for grant in second["widened"]] == ["inbox.post_notification"]

    await show_diff(command_context, screen, "Renamed", None, None)
    result = _answer(capsys)
    assert (result["from"], result["to"]) == (1, 2)
    assert {change["pointer"] for change in result["changes"]} == {"/name", "/plan/1"}
    await go_back(command_context, screen, "Renamed", 1)
    assert _answer(capsys)["name"] == "One"


async def test_one_version_cannot_be_compared(
    bench: Bench, command_context: CommandContext, screen: Screen
) -> None:
    await _saved(bench, "One")

    with pytest.raises(NotFound):
        await show_diff(command_context, screen, "One", None, None)
    with pytest.raises(NotFound):
        await show_diff(command_context, screen, "One", 1, 2**40)
    with pytest.raises(NotFound):
        await go_back(command_context, screen, "One", 7)


async def test_an_automation_is_shown_with_its_address_and_its_next_moment(
    bench: Bench,
    command_context: CommandContext,
    screen: Screen,
    capsys: pytest.CaptureFixture[str],
) -> None:
    schedule = {"cron": "0 9 * * *", "timezone": "UTC"}
    triggers = [{"id": "hook", "type": "webhook"}]
    triggers.append({"id": "nine", "type": "schedule", "config": schedule})  # type: ignore[dict-item]
    one = await _saved(bench, "One", triggers=triggers)
    await change_state(command_context, screen, "activate", "One")
    assert _answer(capsys)["next_due_at"] is not None

    await show_automation(command_context, screen, "One")
    result = {row["slug"]: row for row in _answer(capsys)["triggers"]}
    assert result["hook"]["url"].endswith(f"/api/v1/automations/{one}/fire")
    assert "secret_hash" not in result["hook"]
    assert result["nine"]["next_due_at"] is not None

    await show_automation(command_context, Screen(), "One")
    text = capsys.readouterr().out
    assert "no token yet" in text
    assert "09:00 UTC" in text
    await show_list(command_context, Screen(), state=None, search="on", limit=10)
    head, row = capsys.readouterr().out.splitlines()
    assert head.split()[:3] == ["Name", "State", "Version"]
    assert row.split()[:3] == ["One", "active", "1"]


# --- files


async def test_an_import_never_overwrites_what_exists_unasked(
    bench: Bench,
    command_context: CommandContext,
    screen: Screen,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    await _saved(bench, "One")
    file = tmp_path / "all.json"
    await export(command_context, screen, None, file, over=False)
    assert _answer(capsys)["automations"] == 1
    before = file.read_text()
    with pytest.raises(Conflict) as refusal:
        await export(command_context, screen, "One", file, over=False)
    assert "--force" in str(refusal.value.suggestion)
    assert file.read_text() == before

    with pytest.raises(Conflict) as refusal:
        await bring_in(command_context, screen, str(file), "refuse")
    assert refusal.value.findings[0].pointer == "/automations/0/name"
    assert "--on-clash" in str(refusal.value.suggestion)
    await bring_in(command_context, screen, str(file), "rename")
    (made,) = _answer(capsys)["imported"]
    assert (made["name"], made["renamed_from"], made["state"]) == ("One (2)", "One", "paused")

    await export(command_context, screen, "One", file, over=True)
    capsys.readouterr()
    assert json.loads(file.read_text())["name"] == "One"


# --- webhooks


async def test_a_token_is_asked_for_by_the_webhook_when_there_are_several(
    bench: Bench,
    command_context: CommandContext,
    screen: Screen,
    capsys: pytest.CaptureFixture[str],
) -> None:
    await _saved(bench, "None")
    await _saved(bench, "Two", triggers=HOOKS)

    refused: list[Problem] = []
    for words in (("None", None), ("Two", None), ("Two", "lefd")):
        with pytest.raises(Problem) as refusal:
            await make_token(command_context, screen, *words)
        refused.append(refusal.value)
    assert [problem.code for problem in refused] == [
        "not_a_webhook",
        "several_webhooks",
        "no_trigger",
    ]
    assert "left, right" in str(refused[1].suggestion)
    assert "'left'" in str(refused[2].suggestion)

    await make_token(command_context, screen, "Two", "left")
    made = _answer(capsys)
    assert made["token"].startswith("mwh_")
    assert made["token"].endswith(made["hint"])
    await end_token(command_context, screen, "Two", "left")
    assert _answer(capsys)["revoked"] is True
    await show_automation(command_context, screen, "Two")
    assert [row["secret_hint"] for row in _answer(capsys)["triggers"]] == [None, None]


async def test_a_token_that_works_is_ended_by_nobody_who_did_not_say_so(
    bench: Bench,
    command_context: CommandContext,
    screen: Screen,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    shape = {"type": "object", "properties": {"n": {"type": "integer"}, "who": {"type": "string"}}}
    mapping = {"n": "$.build.number", "who": "$.build.by"}
    hook = {"id": "hook", "type": "webhook", "config": {"input_mapping": mapping}}
    file = tmp_path / "one.json"
    file.write_text(
        json.dumps(document(ANSWER, name="One", triggers=[hook], inputs={"schema": shape}))
    )
    await save_file(command_context, Screen(), str(file), None)
    assert "webhook token One" in capsys.readouterr().out
    await make_token(command_context, Screen(), "One", None)
    first = capsys.readouterr().out
    assert """-d '{"build": {"number": 1, "by": "…"}}'""" in first
    await save_file(command_context, Screen(), str(file), None)
    assert "webhook token" not in capsys.readouterr().out

    async def ending() -> str:
        await show_automation(command_context, screen, "One")
        return str(_answer(capsys)["triggers"][0]["secret_hint"])

    before = await ending()
    for reader in (screen, Screen()):
        with pytest.raises(Conflict) as refusal:
            await make_token(command_context, reader, "One", None)
        assert refusal.value.code == "token_in_use"
        assert "--yes" in str(refusal.value.suggestion)
    assert await ending() == before
    await make_token(command_context, Screen(), "One", None, sure=True)
    assert f"The token …{before} no longer works" in capsys.readouterr().out
    assert await ending() != before


async def test_an_import_says_that_tokens_are_made_anew(
    bench: Bench,
    command_context: CommandContext,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    await _saved(bench, "Two", triggers=HOOKS)
    file = tmp_path / "all.json"
    await export(command_context, Screen(), None, file, over=False)
    capsys.readouterr()

    await bring_in(command_context, Screen(), str(file), "rename")

    message = capsys.readouterr().out
    assert "created again" in message
    assert "webhook token 'Two (2)' left" in message
    assert "webhook token 'Two (2)' right" in message


# --- narrow screens


async def test_a_list_fits_eighty_columns_without_a_broken_word(
    bench: Bench,
    command_context: CommandContext,
    screen: Screen,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    schedule = {"cron": "0 9 * * *", "timezone": "America/Argentina/Buenos_Aires"}
    entry = {"id": "nine", "type": "schedule", "config": schedule}
    await _saved(bench, "Every weekday morning", triggers=[entry])
    await change_state(command_context, screen, "activate", "Every weekday morning")
    capsys.readouterr()
    narrow = Screen()
    narrow.console.width = 80

    with monkeypatch.context() as patch:
        patch.setattr(narrow.console, "soft_wrap", False)
        await show_list(command_context, narrow, state=None, search=None, limit=10)

    message = capsys.readouterr().out
    assert max(map(len, message.splitlines())) <= 80
    words = message.split()
    for word in ("Every", "weekday", "morning", "active", "09:00", schedule["timezone"]):
        assert word in words


# --- runs


async def test_a_run_is_tried_manually_with_a_trigger_payload(
    bench: Bench,
    command_context: CommandContext,
    screen: Screen,
    capsys: pytest.CaptureFixture[str],
) -> None:
    only = step("only", "transform_data", {"output": "{{ trigger.ref }}"})
    await bench.save(document(only, name="One"))
    await fire(
        command_context, screen, "One", (), None, '{"ref": "main"}', wait=False, seconds=None
    )
    run_id = UUID(_answer(capsys)["id"])

    async with bench.worker():
        run = await bench.until(run_id)

    assert (run["status"], run["output"]) == ("succeeded", "main")


async def test_a_run_of_a_version_that_was_mended_is_replayed_not_retried(
    bench: Bench, command_context: CommandContext, capsys: pytest.CaptureFixture[str]
) -> None:
    bad = step("only", "transform_data", {"output": "{{ trigger.nothing }}"})
    run_id = str((await bench.run(document(bad, name="One")))["id"])

    await show_logs(command_context, Screen(), run_id, calls=False)
    assert f"retry {run_id}" in capsys.readouterr().out
    await _saved(bench, "One")
    await show_logs(command_context, Screen(), run_id, calls=False)
    message = capsys.readouterr().out
    assert f"replay {run_id} --version active" in message
    assert "retry" not in message


async def test_a_cancelled_run_says_so_wherever_it_is_listed(
    bench: Bench,
    command_context: CommandContext,
    screen: Screen,
    capsys: pytest.CaptureFixture[str],
) -> None:
    await _saved(bench, "One")
    await fire(command_context, screen, "One", (), None, wait=False, seconds=None)
    run_id = _answer(capsys)["id"]
    await cancel(command_context, screen, run_id)
    capsys.readouterr()

    await show_runs(command_context, Screen(), status=None, automation=None, limit=5)
    assert capsys.readouterr().out.splitlines()[1].split()[3:5] == ["cancelled"] * 2
    await show_logs(command_context, Screen(), run_id, calls=False)
    assert "Cancelled by a person." in capsys.readouterr().out


async def test_a_run_that_was_refused_for_its_inputs_is_replayed_with_the_version_in_force(
    bench: Bench, command_context: CommandContext, capsys: pytest.CaptureFixture[str]
) -> None:
    shape = {"type": "object", "required": ["n"], "properties": {"n": {"type": "integer"}}}
    mapping = {"input_mapping": {"n": "$.n"}}
    hook = {"id": "hook", "type": "webhook", "config": mapping}
    one = await _saved(bench, "One", triggers=[hook], inputs={"schema": shape})
    await change_state(command_context, Screen(), "activate", "One")
    async with bench.application.database.acquire() as connection:
        (row,) = await read_triggers(connection, bench.application.workspace_id, one)
    problem = Invalid("It does not fit.", code="inputs_invalid")
    made = await bench.application.dispatcher.dispatch(
        RunRequest(
            bench.application.workspace_id,
            one,
            "webhook",
            row["id"],
            payload={"n": "x"},
            problem=problem,
        )
    )

    await show_logs(command_context, Screen(), str(made.run_id), calls=False)

    assert f"replay {made.run_id} --version active" in capsys.readouterr().out


async def test_without_a_worker_a_run_is_recorded_and_that_is_said(
    bench: Bench, command_context: CommandContext, capsys: pytest.CaptureFixture[str]
) -> None:
    await _saved(bench, "One")

    assert (
        await fire(command_context, Screen(), "One", (), None, wait=False, seconds=None)
        == exits.DONE
    )
    assert "No worker is alive" in capsys.readouterr().out
    await fire(command_context, Screen(), "One", (), None, wait=True, seconds=1.0)
    assert "is pending; it starts when there is a worker." in capsys.readouterr().out
    code = await fire(
        command_context, Screen(for_programs=True), "One", (), None, wait=True, seconds=None
    )
    assert code == exits.UNFINISHED
    result = _answer(capsys)
    assert (result["status"], result["worker"]) == ("pending", False)


async def test_inputs_that_do_not_fit_start_nothing(
    bench: Bench, command_context: CommandContext, screen: Screen
) -> None:
    shape = {"type": "object", "properties": {"n": {"type": "integer"}}}
    await _saved(bench, "One", inputs={"schema": shape})

    for words, pointer in (
        (("n=x",), "/inputs/n"),
        (("m=1",), "/inputs/m"),
        (("n=1.5",), "/inputs/n"),
    ):
        with pytest.raises(Invalid) as refusal:
            await fire(command_context, screen, "One", words, None, wait=False, seconds=None)
        assert refusal.value.findings[0].pointer == pointer
    assert await bench.application.database.fetchval("SELECT count(*) FROM runs") == 0


@pytest.mark.parametrize(("output", "code"), [(1, exits.DONE), (None, exits.FAILED)])
async def test_waiting_for_a_run_ends_with_its_outcome(
    bench: Bench,
    command_context: CommandContext,
    screen: Screen,
    capsys: pytest.CaptureFixture[str],
    output: int | None,
    code: int,
) -> None:
    last = step("last", "transform_data", {"output": "{{ 1 if inputs.n else steps.first.no }}"})
    shape = {"type": "object", "properties": {"n": {"type": ["integer", "null"]}}}
    first = step("first", "transform_data", {"output": {}})
    saved = await bench.save(document(first, last, name="One", inputs={"schema": shape}))
    given = json.dumps({"n": output})

    async with bench.worker():
        assert (
            await fire(command_context, screen, "One", (), given, wait=True, seconds=None) == code
        )
        run = _answer(capsys)
        assert run["automation_id"] == str(saved.automation_id)
        assert "replay" in run["story"]["next"]
        again = await replay_run(
            command_context, screen, run["id"], None, version="active", wait=True, seconds=None
        )
        assert again == code
        assert _answer(capsys)["replay_of"] == run["id"]


async def test_following_tells_each_step_once_and_leaving_does_not_cancel(
    bench: Bench, command_context: CommandContext, capsys: pytest.CaptureFixture[str]
) -> None:
    plan = [step("before", "transform_data", {"output": 1}), step("nap", "delay", {"seconds": 60})]
    made = await bench.dispatch(document(*plan, name="Sleeper"))
    before = signal.getsignal(signal.SIGINT)

    async def leave() -> None:
        """Interrupts once the command handles the signal itself."""
        while signal.getsignal(signal.SIGINT) is before:
            await asyncio.sleep(0.05)
        signal.raise_signal(signal.SIGINT)

    async with bench.worker(), asyncio.timeout(60):
        await bench.until(made.run_id, "waiting")
        leaving = asyncio.create_task(leave())
        code = await show_logs(
            command_context, Screen(), str(made.run_id), calls=False, follow=True
        )
        await leaving

    assert code == exits.UNFINISHED
    lines = capsys.readouterr().out.splitlines()
    assert sum("before" in line for line in lines) == 1
    assert (await bench.read(made.run_id))["status"] == "waiting"


async def test_following_a_run_that_has_ended_shows_all_of_it(
    bench: Bench, command_context: CommandContext, capsys: pytest.CaptureFixture[str]
) -> None:
    run = await bench.run(document(ANSWER, name="Done"))

    for follow in (False, True):
        code = await show_logs(
            command_context, Screen(), str(run["id"]), calls=False, follow=follow
        )
        assert code == exits.DONE
    text = capsys.readouterr().out
    half = text.index("Done (version 1)", 1)
    assert text[:half] == text[half:]
    assert "answer" in text


# --- events and messages


async def test_an_event_is_published_found_by_prefix_and_published_again(
    command_context: CommandContext, screen: Screen, capsys: pytest.CaptureFixture[str]
) -> None:
    await tell(command_context, screen, "orders.paid", '{"total": 5}', "cli")
    first = _answer(capsys)["id"]
    await tell_once_more(command_context, screen, first[:-3])
    second = _answer(capsys)

    assert second["replay_of"] == first
    await show_event(command_context, screen, second["id"])
    shown = _answer(capsys)
    assert (shown["payload"], shown["consumed_by"]) == ({"total": 5}, [])
    await show_events(command_context, screen, kind="orders.paid", most=10)
    assert [event["id"] for event in _answer(capsys)["events"]] == [second["id"], first]
    for text in ("ffffffff", "nosuch", first[:4]):
        with pytest.raises(NotFound):
            await show_event(command_context, screen, text)


@pytest.mark.parametrize("kind", ["orders", "Orders.Paid", "automation.run.succeeded", ""])
async def test_an_event_of_a_type_that_cannot_be_is_refused(
    bench: Bench, command_context: CommandContext, screen: Screen, kind: str
) -> None:
    with pytest.raises(Invalid) as refusal:
        await tell(command_context, screen, kind, None, "cli")

    assert refusal.value.findings[0].pointer == "/type"
    assert await bench.application.database.fetchval("SELECT count(*) FROM events") == 0


async def test_messages_are_read_one_by_one_or_all_at_once(
    bench: Bench,
    command_context: CommandContext,
    screen: Screen,
    capsys: pytest.CaptureFixture[str],
) -> None:
    for title in ("a", "b", "c"):
        await bench.run(document(step("tell", "notification", {"title": title}), name=title))
    await show_inbox(command_context, screen, unread=True, most=10)
    ids = [entry["id"] for entry in _answer(capsys)["notifications"]]
    assert len(ids) == 3

    for marked in (1, 0):
        await read_messages(command_context, screen, ids[0], everything=False)
        assert _answer(capsys)["marked"] == marked
    await read_messages(command_context, screen, None, everything=True)
    assert _answer(capsys)["marked"] == 2
    with pytest.raises(NotFound):
        await read_messages(command_context, screen, "ffffffff", everything=False)


async def test_the_next_fire_times_of_each_schedule_are_listed(
    bench: Bench,
    command_context: CommandContext,
    screen: Screen,
    capsys: pytest.CaptureFixture[str],
) -> None:
    often = {"every": "2d", "anchor": "2190-01-01T09:00", "timezone": "Europe/Berlin"}
    past = {"at": "2020-01-01T09:00", "timezone": "UTC"}
    triggers = [
        {"id": "often", "type": "schedule", "config": often},
        {"id": "past", "type": "schedule", "config": past},
    ]
    await _saved(bench, "One", triggers=triggers)
    await show_next_fire_times(command_context, screen, "One")
    shown = {row["slug"]: row["next_fires"] for row in _answer(capsys)["items"]}
    assert shown["past"] == []
    assert shown["often"][:2] == ["2190-01-01T08:00:00Z", "2190-01-03T08:00:00Z"]

    await show_next_fire_times(command_context, Screen(), "One")
    text = capsys.readouterr().out
    assert "every 2 days at 09:00" in text
    assert "  2190-01-03 09:00 Europe/Berlin" in text
    assert "It does not fire again." in text

    await _saved(bench, "Two", triggers=HOOKS)
    await show_next_fire_times(command_context, Screen(), "Two")
    assert "It has no schedule." in capsys.readouterr().out
