"""Drafts answered by commands: confirmed, failed, discarded, and found by their first letters."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from mainspring.app import application_services, build_registry
from mainspring.contracts.context import Actor
from mainspring.contracts.errors import Conflict, Invalid, NotFound, PermissionDenied
from mainspring.contracts.roles import Role
from mainspring.gate.callers import CapabilityCaller
from mainspring.settings import Settings
from mainspring.surfaces.cli import ApplicationFactory, exits
from mainspring.surfaces.cli.context import CommandContext
from mainspring.surfaces.cli.drafts import (
    answer_batch,
    confirm_draft,
    discard_draft,
    edit_draft,
    repeat_draft,
    show_draft,
    show_drafts,
)
from mainspring.surfaces.cli.inbox import show_prompts
from mainspring.surfaces.cli.runs import show_logs
from mainspring.surfaces.cli.screen import Screen
from mainspring.surfaces.services import ApplicationServices
from mainspring.workspace.automations import FIRST_MEMBER
from tests.kit.bench import Bench, document, step
from tests.kit.mail_drafts import letter_box
from tests.kit.outbound_bench import outside_bench
from tests.kit.terminals import no, yes

FILE = {"filename": "a.txt", "content_base64": "aGVsbG8="}
MAIL = {"to": ["ada@example.com"], "subject": "Hello", "text": "Hi."}


async def _held(bench: Bench, capability: str, arguments: dict[str, Any]) -> str:
    owner = CapabilityCaller(
        Actor(bench.application.workspace_id, "member", FIRST_MEMBER, role=Role.OWNER)
    )
    return str((await bench.application.gate.direct(owner, capability, arguments))["draft_id"])


async def test_a_run_that_waits_for_a_draft_says_so_and_how_to_answer(
    bench: Bench, command_context: CommandContext, capsys: pytest.CaptureFixture[str]
) -> None:
    note = step("note", "notification", {"title": "{{ steps.mail.noted }}"})
    async with bench.worker():
        made = await bench.dispatch(document(step("mail", "test.mail", {"mark": "yes"}), note))
        await bench.until(made.run_id, "waiting")
    draft = await bench.application.database.fetchval("SELECT id FROM drafts")
    await show_logs(
        command_context, Screen(for_programs=False), str(made.run_id), follow=False, calls=False
    )
    text = capsys.readouterr().out
    assert "mail waits for a person: Send yes." in text
    assert f"drafts show {draft}" in text


async def test_a_person_confirms_and_discards_by_command(
    bench: Bench, command_context: CommandContext, capsys: pytest.CaptureFixture[str]
) -> None:
    sent, dropped = [await _held(bench, "test.mail", {"mark": mark}) for mark in ("yes", "no")]
    waiting = await _held(bench, "send_email", MAIL)
    plain = Screen(for_programs=False)

    with pytest.raises(NotFound):
        await confirm_draft(command_context, plain, "ffffffff")
    # Nobody is asked without a terminal, and nothing is sent.
    with pytest.raises(PermissionDenied) as program:
        await confirm_draft(command_context, plain, sent)
    assert (program.value.code, "/inbox" in (program.value.suggestion or "")) == (
        "person_needed",
        True,
    )
    assert await confirm_draft(command_context, plain, sent, ask=no) == exits.DONE
    assert "Not sent." in capsys.readouterr().out
    assert bench.outside.keys == {}
    assert await confirm_draft(command_context, plain, sent.replace("-", ""), ask=yes) == exits.DONE
    assert "Send yes." in (output := capsys.readouterr().out)
    assert "Sent." in output
    assert bench.outside.keys == {f"draft/{sent}": 1}
    # There is no mail server here, which it says, and how one is set; the draft waits on.
    for _ in range(2):
        with pytest.raises(Conflict) as refused:
            await confirm_draft(command_context, plain, waiting, ask=yes)
        assert "MAINSPRING_SMTP_URL" in str(refused.value.suggestion)
    await show_draft(command_context, plain, waiting)
    assert "pending" in capsys.readouterr().out
    assert await discard_draft(command_context, plain, dropped, "Not this one.") == exits.DONE
    with pytest.raises(Conflict):
        await confirm_draft(command_context, plain, dropped)
    await show_draft(command_context, plain, dropped)
    assert "discarded" in capsys.readouterr().out
    assert bench.outside.order == ["yes"]


async def test_what_could_not_be_sent_is_reported_and_not_tried_again(
    bench: Bench,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv("MAINSPRING_HOME", str(tmp_path))
    async with outside_bench(bench, free=False, smtp_url="smtp://127.0.0.1:1") as nowhere:

        @asynccontextmanager
        async def enter(settings: Settings) -> AsyncIterator[ApplicationServices]:
            del settings
            yield application_services(nowhere.application)

        context = CommandContext(ApplicationFactory(enter, build_registry))
        # No mail can have a subject of two lines.
        failing = await _held(nowhere, "send_email", {**MAIL, "subject": "a\nb"})
        assert await confirm_draft(context, Screen(), failing, ask=yes) == exits.FAILED
        assert "Nothing was sent." in capsys.readouterr().out
        # A program can read the result too.
        programs = Screen(for_programs=True)
        assert await confirm_draft(context, programs, failing) == exits.FAILED
    assert json.loads(capsys.readouterr().out)["error"]["code"] == "mail_invalid"


async def test_drafts_are_edited_repeated_and_answered_as_a_set_by_command(
    bench: Bench,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv("MAINSPRING_HOME", str(tmp_path))
    batch = "01900000-0000-7000-8000-0000000000e1"
    plain, programs = Screen(for_programs=False), Screen(for_programs=True)
    async with letter_box(bench) as box:

        @asynccontextmanager
        async def enter(settings: Settings) -> AsyncIterator[ApplicationServices]:
            del settings
            yield application_services(box.application)

        context = CommandContext(ApplicationFactory(enter, build_registry))
        draft = (await box.draft("Hello", attachments=[FILE]))["draft_id"]
        with pytest.raises(Invalid):
            await edit_draft(context, plain, draft, ["body"])
        with pytest.raises(Invalid):
            await edit_draft(context, plain, draft, ["seal=x"])
        assert await edit_draft(context, plain, draft, ["body=Hi=you", "to=b@x.org, c@x.org"]) == 0
        text = capsys.readouterr().out
        for words in ("to: b@x.org, c@x.org", "| Hi=you", "file a.txt: text/plain, 5 B", "hash "):
            assert words in text, words
        with pytest.raises(Conflict):
            await confirm_draft(context, plain, draft, seen="abababab", ask=yes)
        now = (await box.row({"draft_id": draft}))["bound_hash"].hex()
        assert await confirm_draft(context, plain, draft, seen=now[:12], ask=yes) == exits.DONE
        assert box.sent[0]["to"] == ["b@x.org", "c@x.org"]

        for body in ("First", "Second"):
            await box.draft(body, batch_id=batch)
        capsys.readouterr()
        assert await show_prompts(context, plain, most=20) == exits.DONE
        text = capsys.readouterr().out
        assert text.count("<!-- mainspring:action ") == 2
        assert "prompt: " in text
        await show_drafts(context, plain, "pending", most=20)
        assert f"batch {batch}" in capsys.readouterr().out
        with pytest.raises(NotFound):
            await answer_batch(context, plain, draft, sends=True, reason=None)
        with pytest.raises(PermissionDenied):
            await answer_batch(context, plain, batch, sends=True, reason=None)
        answer = partial(answer_batch, context, plain, batch, sends=True, reason=None)
        assert await answer(ask=no) == exits.DONE
        assert len(box.sent) == 1
        assert await answer(ask=yes) == exits.DONE
        assert [one["body"] for one in box.sent] == ["Hi=you", "First", "Second"]
        dropped = (await box.draft("Late", batch_id=batch))["draft_id"]
        assert await answer_batch(context, plain, batch, sends=False, reason="No.") == exits.DONE
        capsys.readouterr()
        assert await repeat_draft(context, programs, dropped) == exits.DONE
        again = json.loads(capsys.readouterr().out)
        assert (again["redraft_of"], again["status"]) == (dropped, "pending")
        assert (
            await confirm_draft(context, plain, again["draft_id"], ["body=Later"], ask=yes)
            == exits.DONE
        )
        assert box.sent[-1]["body"] == "Later"
