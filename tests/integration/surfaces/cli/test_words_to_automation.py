"""From words to a running automation by command: proposed, asked, answered, saved, changed."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest

from mainspring.app import application_services, build_registry
from mainspring.contracts.errors import Conflict, Invalid, NotFound, PermissionDenied, Problem
from mainspring.contracts.model import ModelReply, ToolCall
from mainspring.gate.callers import CapabilityCaller
from mainspring.settings import Settings
from mainspring.surfaces.cli import ApplicationFactory, exits, prompts, proposals
from mainspring.surfaces.cli.context import CommandContext
from mainspring.surfaces.cli.local import local_owner
from mainspring.surfaces.cli.new import NewAutomationOptions, new
from mainspring.surfaces.cli.proposal_saving import save_proposal
from mainspring.surfaces.cli.proposals import GenerationOptions
from mainspring.surfaces.cli.review import review
from mainspring.surfaces.cli.screen import Screen
from mainspring.surfaces.services import ApplicationServices
from mainspring.workspace.automations import set_state
from tests.integration.surfaces.cli.conftest import Command
from tests.kit.bench import Bench
from tests.kit.model_doubles import FakeModels, models_bench
from tests.kit.terminals import no, yes

RULES = GenerationOptions("rules")
REMIND = "every Monday at 9 Berlin time remind me to send the invoices"
OPEN = "every Monday at 9 remind me to send the invoices"


MADE = {
    "schema_version": "1.2",
    "name": "Bills",
    "goal": "Remind somebody.",
    "triggers": [
        {
            "id": "start",
            "type": "schedule",
            "config": {"cron": "0 9 * * 1", "timezone": "Europe/Berlin"},
        }
    ],
    "plan": [{"step_id": "tell", "action": "notification", "config": {"title": "Send them"}}],
}


def _says(name: str, **arguments: Any) -> ModelReply:
    """An ask that takes a thousandth of a dollar."""
    call = ToolCall("one", name, arguments)
    return ModelReply("", "outside-1", 900, 100, calls=(call,), provider="outside")


REVIEWED = _says("review", summary="It reminds you.", flags=[])


def _desk(services: ApplicationServices) -> CommandContext:
    @asynccontextmanager
    async def enter(settings: Settings) -> AsyncIterator[ApplicationServices]:
        del settings
        yield services

    return CommandContext(ApplicationFactory(enter, build_registry))


class Person:
    """Somebody at a terminal who types these lines and then goes away."""

    def __init__(self, *lines: str) -> None:
        self.left = list(lines)
        self.asked: list[str] = []

    async def __call__(self, question: str) -> str | None:
        self.asked.append(question)
        return self.left.pop(0) if self.left else None


def _json(capsys: pytest.CaptureFixture[str]) -> Any:
    return json.loads(capsys.readouterr().out)


async def _automations(services: ApplicationServices) -> Sequence[Any]:
    async with services.database.acquire() as connection:
        return await connection.fetch("SELECT name, state, id FROM automations ORDER BY id")


@pytest.fixture(autouse=True)
def nowhere(monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine that knows no zone."""
    monkeypatch.setattr("mainspring.surfaces.cli.new.machine_zone", lambda: None)


async def test_words_become_an_automation_in_a_conversation(
    services: ApplicationServices,
    command_context: CommandContext,
    capsys: pytest.CaptureFixture[str],
) -> None:
    person = Person("Mars", "Berlin", "what?", "d", "y", "y")

    assert (
        await new(command_context, Screen(), NewAutomationOptions(OPEN, making=RULES), person)
        == exits.DONE
    )

    message = capsys.readouterr().out
    assert "time zone" in message
    assert "There is no time zone of this name." in message, "a wrong answer is asked for again"
    assert "no model was used" in message
    assert "One letter is enough" in message
    assert '"cron": "0 9 * * 1"' in message, "the definition was asked for"
    assert "is saved as version 1, paused." in message
    assert "is active." in message
    assert person.asked[-1] == "Activate it now? [y/N]"
    (saved,) = await _automations(services)
    assert saved["state"] == "active"

    # The change of it is a new version, of just what was shown.
    person = Person("y")
    options = NewAutomationOptions(
        "every Tuesday at 10 Berlin time instead", saved["name"], making=RULES
    )
    assert await new(command_context, Screen(), options, person) == exits.DONE
    message = capsys.readouterr().out
    assert "a change of version 1" in message
    assert "What changes" in message
    assert "/triggers/0/config/cron" in message
    assert "is saved as version 2, active." in message
    assert await new(command_context, Screen(), options, Person()) == exits.INVALID
    assert "With this nothing would change." in capsys.readouterr().out


async def test_stopping_early_loses_nothing_and_saves_nothing(
    services: ApplicationServices,
    command_context: CommandContext,
    screen: Screen,
    capsys: pytest.CaptureFixture[str],
) -> None:
    # No words, a number that is none, a starter, every question left for later, and away.
    person = Person("99", "5", "", "", "", "q")
    assert (
        await new(command_context, Screen(), NewAutomationOptions("", making=RULES), person)
        == exits.DONE
    )
    message = capsys.readouterr().out
    assert "There is no number 99." in message
    assert "It expires" in message
    assert await new(command_context, screen, NewAutomationOptions("", making=RULES)) == exits.DONE
    assert _json(capsys)["starters"]
    assert await _automations(services) == []
    owner = CapabilityCaller(local_owner(services))
    stored = (await services.gate.direct(owner, "list_proposals", {}))["proposals"]
    assert len(stored) == 1

    short = stored[0]["proposal_id"][:13]
    assert await proposals.show_proposal(command_context, screen, short) == exits.DONE
    assert _json(capsys)["proposal_id"] == stored[0]["proposal_id"]
    assert await proposals.show_proposals(command_context, Screen(), 20) == exits.DONE
    assert stored[0]["request"][:40] in capsys.readouterr().out
    assert await proposals.discard_proposal(command_context, Screen(), "last") == exits.DONE

    # More words come before everything else, because all of it is read again with them.
    person = Person("remind me to plan the week", "every Monday at 9 Berlin time", "q")
    assert (
        await new(command_context, Screen(), NewAutomationOptions("blah", making=RULES), person)
        == exits.DONE
    )
    assert "ready to be saved" in capsys.readouterr().out
    assert person.left == []
    for gone in (stored[0]["proposal_id"], str(UUID(int=7)), "no id"):
        with pytest.raises(NotFound):
            await proposals.show_proposal(command_context, screen, gone)
    with pytest.raises(Invalid):
        await proposals.show_proposal(command_context, screen, "01")


async def test_what_changes_while_it_is_read_is_shown_again_and_an_overlap_needs_a_reason(
    services: ApplicationServices,
    command_context: CommandContext,
    screen: Screen,
    capsys: pytest.CaptureFixture[str],
) -> None:
    async def proposed(name: str) -> str:
        capsys.readouterr()
        await new(command_context, screen, NewAutomationOptions(REMIND, making=RULES))
        one: str = _json(capsys)["proposal_id"]
        writes = {"boards": [str(UUID(int=7))], "dedupe_target_field": "id"}
        edits = [f"/name={name}", f"/writes={json.dumps(writes)}"]
        assert await proposals.edit_proposal(command_context, screen, one, edits, []) == exits.DONE
        capsys.readouterr()
        return one

    first = await proposed("First")

    class Slow(Person):
        """Somebody who reads while another changes the proposal."""

        async def __call__(self, question: str) -> str | None:
            if not self.asked:
                await proposals.edit_proposal(command_context, screen, first, ["/name=Other"], [])
            return await super().__call__(question)

    assert await save_proposal(command_context, Screen(), first, ask=Slow("y", "q")) == exits.DONE
    message = capsys.readouterr().out
    assert "it has changed since" in message
    assert "Other  ready to be saved" in message, "what it is now is shown before it is asked again"
    assert await _automations(services) == []
    assert await save_proposal(command_context, Screen(), first, sure=True, ask=yes) == exits.DONE
    second = await proposed("Second")
    with pytest.raises(Conflict) as other:
        await save_proposal(command_context, Screen(), second, sure=True, ask=yes)
    assert "--note WHY" in (other.value.suggestion or "")
    person = Person("y", "too short", "y", "They divide the accounts between them.", "n")
    assert await save_proposal(command_context, Screen(), second, ask=person) == exits.DONE
    message = capsys.readouterr().out
    assert "Other (paused) writes to the same place at the same time" in message
    assert "Second is saved as version 1, paused." in message
    assert [row["name"] for row in await _automations(services)] == ["Other", "Second"]


async def test_a_program_answers_and_edits_and_a_person_saves_what_they_were_shown(
    services: ApplicationServices,
    command_context: CommandContext,
    screen: Screen,
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert (
        await new(command_context, screen, NewAutomationOptions(OPEN, making=RULES)) == exits.DONE
    )
    first = _json(capsys)
    name, (question,) = first["proposal_id"], first["questions"]

    for words, at in (
        (["colour=red"], "/answers/colour"),
        ([f"{question['id']}=Mars"], f"/answers/{question['id']}"),
    ):
        with pytest.raises(Invalid) as wrong:
            await proposals.answer_proposal(command_context, screen, name, words)
        assert [one.pointer for one in wrong.value.findings] == [at]
    ways: list[dict[str, Any]] = [{}, {"sure": True}, {"digest": first["digest"]}]
    for given in ways:
        with pytest.raises(PermissionDenied) as asked:
            await save_proposal(command_context, screen, name, **given)
        assert asked.value.code == "person_needed"
        assert f"/proposals/{name}" in (asked.value.suggestion or "")
    with pytest.raises(Invalid) as unanswered:
        await save_proposal(command_context, Screen(), name, sure=True, ask=yes)
    assert unanswered.value.code == "questions_open"
    with pytest.raises(Problem) as nowhere:
        await proposals.edit_proposal(command_context, screen, name, ["/plan/77/config/x=1"], [])
    assert nowhere.value.findings[0].pointer.startswith("/edits/0")

    answers = [f"{question['id']}=Berlin"]
    capsys.readouterr()
    assert await proposals.answer_proposal(command_context, screen, name, answers) == exits.DONE
    assert _json(capsys)["status"] == "ready"
    assert (
        await proposals.edit_proposal(command_context, screen, name, ["/name=Bills"], [])
        == exits.DONE
    )
    edited = _json(capsys)
    with pytest.raises(Conflict) as other:
        await save_proposal(command_context, Screen(), name, digest=first["digest"], ask=yes)
    assert other.value.code == "proposal_changed"
    shown = partial(save_proposal, command_context, Screen(), name, digest=edited["digest"])
    assert await shown(ask=no) == exits.FAILED
    assert await _automations(services) == []
    assert await shown(ask=yes) == exits.DONE
    assert "Bills is saved as version 1, paused." in capsys.readouterr().out
    with pytest.raises(Conflict) as twice:
        await save_proposal(command_context, Screen(), name, sure=True, ask=yes)
    assert twice.value.code == "proposal_saved"
    assert [row["name"] for row in await _automations(services)] == ["Bills"]

    # A review of it, and of a file that would change it.
    capsys.readouterr()
    assert await review(command_context, screen, "Bills", None, RULES) == exits.DONE
    assert _json(capsys)["review"]["summary"]


async def test_what_is_ready_is_saved_or_written_at_once_and_what_is_not_says_what_is_open(
    services: ApplicationServices,
    command_context: CommandContext,
    screen: Screen,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    with pytest.raises(Invalid) as unknown:
        await new(command_context, screen, NewAutomationOptions(REMIND, timezone="Mars/Base"))
    assert unknown.value.findings[0].pointer == "/timezone"
    with pytest.raises(Invalid):
        await new(command_context, screen, NewAutomationOptions("\udcff"))
    with pytest.raises(NotFound):
        await new(
            command_context, screen, NewAutomationOptions("at 10 instead", "Nosuch", making=RULES)
        )
    with pytest.raises(PermissionDenied) as program:
        await new(command_context, screen, NewAutomationOptions(REMIND, making=RULES, save=True))
    assert program.value.code == "person_needed"
    with pytest.raises(Invalid) as still_open:
        await new(
            command_context, Screen(), NewAutomationOptions(OPEN, making=RULES, save=True), yes
        )
    assert still_open.value.code == "not_ready"
    assert [one.code for one in still_open.value.findings] == ["unanswered"]
    with pytest.raises(Invalid) as wrong:
        await new(
            command_context, screen, NewAutomationOptions(OPEN, making=RULES, answers=("x=1",))
        )
    assert "The proposal stays open" in (wrong.value.suggestion or "")

    file = tmp_path / "remind.json"
    assert (
        await new(command_context, screen, NewAutomationOptions(REMIND, making=RULES, output=file))
        == exits.DONE
    )
    capsys.readouterr()
    assert json.loads(file.read_text())["triggers"][0]["config"]["timezone"] == "Europe/Berlin"
    with pytest.raises(Conflict):
        await new(command_context, screen, NewAutomationOptions(REMIND, making=RULES, output=file))
    assert await review(command_context, Screen(), str(file), None, RULES) == exits.DONE
    assert "Who reviewed it" in capsys.readouterr().out
    file.write_text('{"schema_version": "1.2", "name": "X", "plan": [{"action": "nosuch"}]}')
    assert await review(command_context, Screen(), str(file), None, RULES) == exits.INVALID
    assert "/plan/0/action" in capsys.readouterr().out

    assert await _automations(services) == []
    assert (
        await new(
            command_context, Screen(), NewAutomationOptions(REMIND, making=RULES, save=True), yes
        )
        == exits.DONE
    )
    assert "is saved as version 1, paused." in capsys.readouterr().out

    for work in (
        prompts.save_prompt(command_context, Screen(), "Bills", REMIND),
        prompts.list_prompts(command_context, Screen()),
        prompts.forget_prompt(command_context, Screen(), "Bills"),
    ):
        assert await work == exits.DONE
    assert f" 1. Bills: {REMIND}" in capsys.readouterr().out
    with pytest.raises(NotFound):
        await prompts.forget_prompt(command_context, Screen(), "Bills")


async def test_a_model_is_named_and_what_it_made_is_never_saved_unread(
    bench: Bench, capsys: pytest.CaptureFixture[str]
) -> None:
    models = FakeModels([_says("hand_in", definition=MADE), REVIEWED] * 2)
    async with models_bench(bench, models) as own_bench:
        context = _desk(application_services(own_bench.application))
        # It is shown before it is saved, whatever was said.
        assert (
            await new(context, Screen(), NewAutomationOptions(REMIND, save=True), no)
            == exits.FAILED
        )
        assert await _automations(application_services(own_bench.application)) == []
        assert (
            await new(context, Screen(), NewAutomationOptions(REMIND), Person("y", "n"))
            == exits.DONE
        )
        assert [
            row["name"] for row in await _automations(application_services(own_bench.application))
        ] == ["Bills"]
    message = capsys.readouterr().out
    assert "outside-1 made this in 1 round for $0.002." in message
    assert "It reminds you." in message


async def test_the_commands_say_it_all_in_words_and_in_json(command: Command) -> None:
    code, result = await command("new", *OPEN.split(), "--by", "rules", "--json")
    asks = json.loads(result)
    assert (code, asks["status"], asks["request"]) == (exits.DONE, "asks", OPEN)
    code, result = await command("proposals", "save", "last")
    assert (code, "Only a person can save a proposal" in result) == (exits.FAILED, True)
    code, result = await command("proposals", "answer", "last", "time-zone=Mars", "--json")
    assert code == exits.INVALID
    assert json.loads(result)["errors"][0]["pointer"] == "/answers/time-zone"
    code, result = await command(
        "proposals", "answer", asks["proposal_id"][:13], "time-zone=Berlin"
    )
    assert code == exits.DONE
    assert f"proposals save {asks['proposal_id'][:13]}" in result
    code, result = await command("proposals", "save", "last", "--yes", "--json")
    assert (code, json.loads(result)["code"]) == (exits.FAILED, "person_needed")
    given = {"proposal_id": asks["proposal_id"], "digest": "0" * 64}
    code, result = await command("call", "save_proposal", json.dumps(given), "--json")
    assert json.loads(result)["code"] == "person_needed"
    code, result = await command("proposals", "save", asks["proposal_id"], "--yes", answers=["y"])
    assert code == exits.DONE, result
    code, result = await command("list", "--json")
    (made,) = json.loads(result)["automations"]
    name = made["name"]
    change = ("change", name, "at", "10", "instead", "--by", "rules", "--save")
    code, result = await command(*change, answers=["y"])
    assert code == exits.DONE, result
    assert "is saved as version 2, paused." in result
    assert (await command("review", name))[0] == exits.DONE


async def test_mail_to_the_owner_without_a_server_is_reported_by_every_command(
    command: Command, bench: Bench
) -> None:
    text = "every Monday at 9 Berlin time email me 'the invoices are due'"
    message = "Mail is not set up here"
    code, output = await command("new", *text.split(), "--by", "rules")
    assert (code, message in output) == (exits.DONE, True), output
    assert "the invoices are due" in output
    _, shown = await command("proposals", "list", "--json")
    (proposal,) = json.loads(shown)["proposals"]
    code, output = await command(
        "proposals",
        "save",
        proposal["proposal_id"],
        "--digest",
        proposal["digest"],
        answers=["y"],
    )
    assert (code, message in output) == (exits.DONE, True), output
    _, listed = await command("list", "--json")
    (automation,) = json.loads(listed)["automations"]
    code, output = await command("activate", automation["name"])
    assert (code, message in output) == (exits.FAILED, True), output
    assert "MAINSPRING_SMTP_URL" in output
    _, listed = await command("list", "--json")
    assert [one["state"] for one in json.loads(listed)["automations"]] == ["paused"]
    # One that was active before its mail server went away is named by doctor.
    async with bench.application.database.transaction() as tx:
        await set_state(tx, bench.application.workspace_id, UUID(automation["id"]), "active")
    _, output = await command("doctor", "--json")
    (check,) = [one for one in json.loads(output)["checks"] if one["name"] == "automation mail"]
    assert check["verdict"] == "doubtful"
    assert automation["name"] in check["detail"]
    assert "MAINSPRING_SMTP_URL" in check["suggestion"]
