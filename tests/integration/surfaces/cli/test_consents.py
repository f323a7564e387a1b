"""Consents by command: what is printed, what is asked, and what a script needs to say."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest

from mainspring.contracts.errors import Conflict, NotFound, PermissionDenied
from mainspring.surfaces.cli import exits
from mainspring.surfaces.cli.audit import show_audit
from mainspring.surfaces.cli.consents import answer_consent, show_consent, show_consents
from mainspring.surfaces.cli.context import CommandContext
from mainspring.surfaces.cli.export_import import bring_in
from mainspring.surfaces.cli.lookup import find_automation
from mainspring.surfaces.cli.screen import Screen
from mainspring.surfaces.cli.secrets import SecretOwner, set_secret
from mainspring.surfaces.cli.states import change_state
from mainspring.surfaces.services import ApplicationServices
from tests.kit.bench import document, step
from tests.kit.terminals import no, yes

DAILY = {"type": "schedule", "config": {"cron": "0 9 * * *", "timezone": "UTC"}}
KEY = "{{ secrets.counter_key }}"
ANSWER = step("answer", "transform_data", {"output": {"n": 42}})


def _answer(capsys: pytest.CaptureFixture[str]) -> Any:
    return json.loads(capsys.readouterr().out)


async def test_what_was_imported_is_read_and_agreed_to_by_a_person(
    services: ApplicationServices,
    command_context: CommandContext,
    screen: Screen,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    people, file = Screen(), tmp_path / "one.json"
    await show_consents(command_context, people, 20)
    assert "Nothing needs" in capsys.readouterr().out
    keyed = step("get", "http_fetch", {"url": "https://a.example/", "headers": {"X-Key": KEY}})
    file.write_text(json.dumps(document(ANSWER, keyed, name="Counter", triggers=[DAILY])))
    await bring_in(command_context, people, str(file), "refuse")
    shown = capsys.readouterr().out
    assert "mainspring consents agree" in shown
    file.write_text(json.dumps(document(ANSWER, name="Other")))
    await bring_in(command_context, screen, str(file), "refuse")
    (made,) = _answer(capsys)["imported"]
    with pytest.raises(Conflict) as refused:
        await change_state(command_context, screen, "activate", "Counter")
    assert refused.value.code == "consent_needed"
    # Without a terminal it is refused; at one it is asked about, and a no leaves it paused.
    with pytest.raises(Conflict):
        await change_state(command_context, people, "activate", "Counter")
    assert (
        await change_state(command_context, people, "activate", "Counter", ask=no) == exits.FAILED
    )
    text = capsys.readouterr().out
    assert "- It starts once a day." in text
    assert "is active" not in text

    await show_consents(command_context, people, 20)
    listed = capsys.readouterr().out
    assert "Counter" in listed
    assert "Other" in listed
    await show_consents(command_context, screen, 20)
    assert len(_answer(capsys)["consents"]) == 2
    await show_consent(command_context, people, "Counter")
    assert "- It starts once a day." in capsys.readouterr().out
    with pytest.raises(NotFound):
        await show_consent(command_context, screen, "Nobody's")

    # Nobody to ask: nothing is agreed to or refused, with a digest or without one.
    waits = (await find_automation(services, "Counter"))["id"]
    digest = made["consent"]["digest"]
    ways: list[dict[str, Any]] = [
        {"agree": True},
        {"agree": True, "digest": digest},
        {"agree": False},
    ]
    for way in ways:
        with pytest.raises(PermissionDenied) as alone:
            await answer_consent(command_context, screen, "Counter", **way)
        assert alone.value.code == "person_needed"
        assert f"/automations/{waits}" in (alone.value.suggestion or "")

    assert (
        await answer_consent(command_context, people, "Counter", agree=True, ask=no) == exits.DONE
    )
    assert "stays paused" in capsys.readouterr().out
    with pytest.raises(Conflict) as lacks:
        await answer_consent(command_context, people, "Counter", agree=True, activate=True, ask=yes)
    assert (lacks.value.code, lacks.value.detail[:15]) == ("secrets_missing", "It is agreed to")
    assert "nothing was" not in lacks.value.detail
    assert "- It starts once a day." in capsys.readouterr().out
    await set_secret(command_context, people, SecretOwner(), "counter_key", "", "a value of eight")
    await change_state(command_context, people, "activate", "Counter")
    assert "is active" in capsys.readouterr().out
    assert (await find_automation(services, "Counter"))["state"] == "active"

    await _check_changing_ones_mind(command_context, screen, made["consent"], capsys)


async def _check_changing_ones_mind(
    context: CommandContext,
    screen: Screen,
    consent: dict[str, Any],
    capsys: pytest.CaptureFixture[str],
) -> None:
    with pytest.raises(Conflict) as stale:
        await answer_consent(context, Screen(), "Other", agree=True, digest="0" * 64, ask=yes)
    assert stale.value.code == "consent_changed"
    await answer_consent(context, Screen(), consent["consent_id"], agree=False, ask=yes)
    assert "Refused: it stays paused." in capsys.readouterr().out
    await show_consent(context, screen, consent["consent_id"])
    again = _answer(capsys)
    assert again["digest"] != consent["digest"]
    # A person who refused can still agree, to what they read then.
    assert again["status"] == "refused"
    assert await change_state(context, Screen(), "activate", "Other", ask=yes) == exits.DONE
    assert "is active" in capsys.readouterr().out
    await show_consent(context, screen, consent["consent_id"])
    assert _answer(capsys)["status"] == "agreed"


async def test_a_consent_is_found_by_the_id_or_the_name_of_its_automation(
    services: ApplicationServices,
    command_context: CommandContext,
    screen: Screen,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    file = tmp_path / "one.json"
    file.write_text(json.dumps(document(ANSWER, name="Counter")))
    await bring_in(command_context, screen, str(file), "refuse")
    (made,) = _answer(capsys)["imported"]
    automation, consent = made["id"], made["consent"]["consent_id"]
    for text in (automation, automation.replace("-", "")[:-4], "Counter", consent):
        await show_consent(command_context, screen, text)
        assert _answer(capsys)["consent_id"] == consent
    await answer_consent(command_context, Screen(), automation, agree=False, ask=no)
    capsys.readouterr()
    # What was refused is found in the same way.
    for text in (automation, "Counter"):
        await show_consent(command_context, screen, text)
        assert _answer(capsys)["status"] == "refused"
    await answer_consent(command_context, Screen(), "Counter", agree=True, ask=yes)
    assert (await find_automation(services, "Counter"))["state"] == "paused"
    capsys.readouterr()
    # The audit log says that this was decided at the terminal.
    await show_audit(command_context, screen, action="answer_consent", limit=20)
    entries = _answer(capsys)["entries"]
    assert [one["detail"]["channel"] for one in entries] == ["terminal", "terminal"]
    await show_audit(command_context, Screen(), action="answer_consent", limit=20)
    assert capsys.readouterr().out.count("(through a terminal)") == 2
    with pytest.raises(NotFound) as unknown:
        await show_consent(command_context, screen, str(uuid4()))
    assert unknown.value.code == "no_consent"
