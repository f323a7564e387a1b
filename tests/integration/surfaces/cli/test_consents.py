"""Consents by command: what is printed, what is asked, and what a script needs to say."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from mainspring.contracts.errors import Clash, Invalid, Missing
from mainspring.surfaces.cli import exits
from mainspring.surfaces.cli.consents import answer_consent, show_consent, show_consents
from mainspring.surfaces.cli.desk import Desk
from mainspring.surfaces.cli.finding import find_automation
from mainspring.surfaces.cli.moving import bring_in
from mainspring.surfaces.cli.screen import Screen
from mainspring.surfaces.cli.secrets import Whose, set_secret
from mainspring.surfaces.cli.states import change_state
from mainspring.surfaces.rooms import Rooms
from tests.kit.house import document, step

DAILY = {"type": "schedule", "config": {"cron": "0 9 * * *", "timezone": "UTC"}}
KEY = "{{ secrets.counter_key }}"
ANSWER = step("answer", "transform_data", {"output": {"n": 42}})


def _answer(capsys: pytest.CaptureFixture[str]) -> Any:
    return json.loads(capsys.readouterr().out)


async def test_what_was_imported_is_read_and_agreed_to_by_a_person(
    rooms: Rooms, desk: Desk, screen: Screen, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    people, file = Screen(), tmp_path / "one.json"
    await show_consents(desk, people, 20)
    assert "Nothing waits" in capsys.readouterr().out
    keyed = step("get", "http_fetch", {"url": "https://a.example/", "headers": {"X-Key": KEY}})
    file.write_text(json.dumps(document(ANSWER, keyed, name="Counter", triggers=[DAILY])))
    await bring_in(desk, people, str(file), "refuse")
    shown = capsys.readouterr().out
    assert "mainspring consents agree" in shown
    file.write_text(json.dumps(document(ANSWER, name="Other")))
    await bring_in(desk, screen, str(file), "refuse")
    (made,) = _answer(capsys)["imported"]
    with pytest.raises(Clash) as refused:
        await change_state(desk, screen, "activate", "Counter")
    assert refused.value.code == "consent_needed"
    with pytest.raises(Clash):
        await change_state(desk, people, "activate", "Counter")
    assert "cost" not in capsys.readouterr().out

    await show_consents(desk, people, 20)
    listed = capsys.readouterr().out
    assert "Counter" in listed
    assert "Other" in listed
    await show_consents(desk, screen, 20)
    assert len(_answer(capsys)["consents"]) == 2
    await show_consent(desk, people, "Counter")
    assert "- It starts once a day." in capsys.readouterr().out
    with pytest.raises(Missing):
        await show_consent(desk, screen, "Nobody's")

    # Nobody to ask and no digest: nothing is agreed to.
    with pytest.raises(Invalid) as alone:
        await answer_consent(desk, screen, "Counter", agree=True)
    assert alone.value.code == "not_asked"

    async def no(question: str) -> str | None:
        assert "yes" in question
        return "y"

    async def yes(question: str) -> str | None:
        del question
        return "yes"

    assert await answer_consent(desk, people, "Counter", agree=True, ask=no) == exits.DONE
    assert "stays paused" in capsys.readouterr().out
    with pytest.raises(Clash) as lacks:
        await answer_consent(desk, people, "Counter", agree=True, activate=True, ask=yes)
    assert (lacks.value.code, lacks.value.detail[:15]) == ("secrets_missing", "It is agreed to")
    assert "nothing was" not in lacks.value.detail
    assert "- It starts once a day." in capsys.readouterr().out
    await set_secret(desk, people, Whose(), "counter_key", "", "a value of eight")
    await change_state(desk, people, "activate", "Counter")
    assert "is active" in capsys.readouterr().out
    assert (await find_automation(rooms, "Counter"))["state"] == "active"

    await _check_changing_ones_mind(desk, screen, made["consent"], capsys)


async def _check_changing_ones_mind(
    desk: Desk, screen: Screen, consent: dict[str, Any], capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(Clash) as stale:
        await answer_consent(desk, screen, "Other", agree=True, digest="0" * 64)
    assert stale.value.code == "consent_changed"
    await answer_consent(desk, screen, consent["consent_id"], agree=False)
    assert _answer(capsys)["consent"]["status"] == "refused"
    await show_consent(desk, screen, consent["consent_id"])
    again = _answer(capsys)
    assert again["digest"] != consent["digest"]
    # Whoever refused can still agree, to what they read then.
    await answer_consent(desk, screen, consent["consent_id"], agree=True, digest=again["digest"])
    assert _answer(capsys)["consent"]["status"] == "agreed"
    await change_state(desk, screen, "activate", "Other")
    assert _answer(capsys)["state"] == "active"
