"""``rehearse`` as a person gives it: a table of what would have gone otherwise, and a code."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from mainspring.contracts.errors import Invalid, Problem
from mainspring.runs.run_requests import RunRequest
from mainspring.surfaces.cli import exits
from mainspring.surfaces.cli.context import CommandContext
from mainspring.surfaces.cli.rehearse import RehearseOptions, rehearse
from mainspring.surfaces.cli.screen import Screen
from tests.kit.bench import Bench, document, step


def _plan(subject: str, above: int) -> dict[str, Any]:
    return document(
        step("keep", "automation_kv.set", {"key": "k", "value": "{{ inputs.n }}"}),
        step(
            "mail",
            "send_email",
            {"to": ["ada@example.com"], "subject": subject, "text": "Hi."},
            when=f"{{{{ inputs.n > {above} }}}}",
        ),
        name="mails",
        inputs={
            "schema": {"type": "object", "properties": {"n": {"type": "integer", "default": 5}}}
        },
    )


async def test_rehearse_shows_the_differences_and_ends_with_a_code_of_its_own(
    bench: Bench,
    command_context: CommandContext,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    saved = await bench.save(_plan("Then", 3))
    sample, file = tmp_path / "sample.json", tmp_path / "new.json"
    sample.write_text('{"inputs": {"n": 9}}')
    file.write_text(json.dumps(_plan("Now", 3)))
    people, programs = Screen(for_programs=False), Screen(for_programs=True)
    with pytest.raises(Invalid, match="not fired yet"):
        await rehearse(command_context, people, RehearseOptions("mails"))
    with pytest.raises(Invalid, match="One thing"):
        await rehearse(command_context, people, RehearseOptions("mails", str(file), 1))
    with pytest.raises(Invalid, match="not both"):
        await rehearse(
            command_context, people, RehearseOptions("mails", last=2, samples=(str(sample),))
        )
    with pytest.raises(Problem) as unknown:
        await rehearse(command_context, people, RehearseOptions("mails", upgrade=True))
    assert unknown.value.code == "no_install"
    capsys.readouterr()
    assert (
        await rehearse(command_context, programs, RehearseOptions("mails", samples=(str(sample),)))
        == exits.DONE
    )
    result = json.loads(capsys.readouterr().out)
    assert [one["what"] for one in result["firings"][0]["now"]["deeds"]] == ["written", "drafted"]

    async with bench.worker():
        made = await bench.application.dispatcher.dispatch(
            RunRequest(bench.application.workspace_id, saved.automation_id)
        )
        await bench.until(made.run_id)
    assert (
        await rehearse(command_context, people, RehearseOptions("mails", version=1)) == exits.DONE
    )
    assert "with no differences" in capsys.readouterr().out
    assert (
        await rehearse(command_context, people, RehearseOptions("mails", str(file)))
        == exits.DIFFERS
    )
    output = " ".join(capsys.readouterr().out.split())
    assert "~ It would have drafted send_email, with other /subject." in output
    assert 'then /subject: "Then"' in output
    assert 'now /subject: "Now"' in output
    assert "1 of 1 firing would have differed" in output
