"""A transcript can be found from everywhere, and a run under way can be followed."""

from __future__ import annotations

import json
from typing import Any

import pytest

from mainspring.surfaces.cli import exits
from mainspring.surfaces.cli.context import CommandContext
from mainspring.surfaces.cli.fire import watch_run
from mainspring.surfaces.cli.runs import show_logs
from mainspring.surfaces.cli.screen import Screen
from mainspring.surfaces.rest.run_shapes import RunDetail
from tests.kit.agents import ScriptedModels, agents_bench, calls, ends, thinking
from tests.kit.api import served
from tests.kit.bench import Bench, document, step

EVIL = "Look\x1b[2J at\u202e this."


async def test_a_transcript_is_named_by_the_run_and_printed_by_a_command(
    bench: Bench, command: Any, command_context: CommandContext, capsys: pytest.CaptureFixture[str]
) -> None:
    models = ScriptedModels(
        script=[calls(("test_echo", {"q": "launch"}), thoughts=EVIL)], reply=ends("x")
    )
    async with agents_bench(bench, models) as one:
        run = await one.run(thinking("test.echo", max_turns=9))
    assert run["reason"] == "agent_answer"
    run_id = str(run["id"])
    async with served(bench.application) as api:
        answer = await api.client.get(f"/api/v1/runs/{run_id}")
        (stored,) = RunDetail.model_validate(answer.json()).transcripts
        content = await api.client.get(f"/api/v1/artifacts/{stored.artifact_id}/content")
        end = (await api.client.get(f"/api/v1/runs/{run_id}/stream")).text
    assert stored.step == "think"
    whole = content.json()
    assert len(whole["turns"]) == 5
    assert str(stored.artifact_id) in end

    code, output = await command("runs", "transcript", run_id, "think")
    assert code == exits.DONE
    shown = ["Look\\u001b[2J at\\u202e this.", "calls test.echo:", '"q": "launch"', "turn 5:"]
    places = [output.index(one) for one in shown]
    assert places == sorted(places)
    assert "final_answer (not done)" in output
    assert "/n: This must be a whole number" in output
    assert not {"\x1b", "\u202e"} & set(output)
    code, output = await command("runs", "transcript", "last", "--json")
    (one_told,) = json.loads(output)["transcripts"]
    assert (one_told["artifact_id"], one_told["transcript"]) == (str(stored.artifact_id), whole)
    assert await show_logs(command_context, Screen(), run_id, calls=False) == exits.DONE
    output = capsys.readouterr().out
    assert f"think: artifact {stored.artifact_id}" in output
    assert f"runs transcript {run_id}" in output
    code, output = await command("runs", "transcript", run_id, "other")
    assert (code, "Steps that have one: think." in output) == (exits.FAILED, True)

    # Following the run, also afterwards, shows where it is.
    assert await watch_run(command_context, Screen(), run_id, None) == exits.FAILED
    output = capsys.readouterr().out
    places = [output.index(one) for one in ("thinks: ", "test.echo", "was not done", "Failed")]
    assert places == sorted(places)
    assert f"runs transcript {run_id}" in output.partition("Its transcript shows")[2]


async def test_a_run_without_agents_or_that_is_not_there_has_no_transcript(
    bench: Bench, command: Any
) -> None:
    code, output = await command("runs", "transcript", "last")
    assert (code, output) == (exits.FAILED, "There are no runs yet.\n")
    code, output = await command("runs", "watch", "0190")
    assert code == exits.FAILED
    run = await bench.run(document(step("a", "transform_data", {"output": 1})))
    code, output = await command("runs", "transcript", str(run["id"]))
    assert code == exits.FAILED
    assert "No agent of this run has a transcript." in output
