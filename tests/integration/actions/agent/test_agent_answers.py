"""An agent comes to an end in one of its ways, and in no other."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal
from typing import Any

import pytest

from mainspring.contracts.limits import Limits
from mainspring.contracts.model import ModelReply, ModelTool
from mainspring.runs.output import read_log
from mainspring.runs.story import summarize_run
from tests.kit.agents import (
    FINAL,
    ScriptedModels,
    agents_bench,
    calls,
    ends,
    ledger,
    pieces,
    says,
    thinking,
    transcripts,
)
from tests.kit.bench import Bench, document, step


async def test_an_agent_answers_by_its_schema_and_everything_it_did_can_be_read(
    bench: Bench,
) -> None:
    asked = {"q": "launch"}
    models = ScriptedModels(
        script=[calls(("test_echo", asked), text="I look first.", thoughts="Hm."), ends(3)]
    )
    plan = document(
        step("think", "agent_task", thinking("test.echo", system="Be brief.")["plan"][0]["config"]),
        step("then", "transform_data", {"output": "{{ think.n + 1 }}"}),
    )
    async with agents_bench(bench, models) as one:
        run = await one.run(plan)
        (stored,) = await transcripts(one, run["id"])
        shown = await pieces(one, run["id"])
        async with one.application.database.acquire() as connection:
            log = await read_log(connection, one.application.workspace_id, run["id"])
    assert (run["status"], run["output"], run["outcome"]) == ("succeeded", 4, "answer_only")
    assert run["steps"][0]["output"] == {"n": 3}
    # It is paid for once, everywhere.
    assert run["cost_usd"] == Decimal("0.0003")
    assert await ledger(bench) == (2, "0.0003")
    by_name = {call["capability"]: call for call in run["calls"]}
    assert by_name["agent.run"]["cost_usd"] == Decimal("0.0003")
    assert by_name["test.echo"]["arguments"] == asked
    reference = by_name["agent.run"]["result"]["transcript"]["artifact_id"]
    artifacts = await bench.application.database.fetch("SELECT id, run_id, name FROM artifacts")
    assert [(str(row["id"]), row["run_id"]) for row in artifacts] == [(reference, run["id"])]
    # The author's words come after ours.
    assert (models.requests[0].system or "").endswith("Be brief.")
    assert [turn["cost_usd"] for turn in stored["turns"]] == ["0.00015", "0.00015"]
    assert stored["turns"][0]["calls"][0]["arguments"] == asked
    assert stored["turns"][0]["thoughts"] == "Hm."
    assert stored["ending"] == {"kind": "done", "text": "", "output": {"n": 3}}
    assert [piece["kind"] for piece in shown] == [
        "thought",
        "turn",
        "call",
        "result",
        "turn",
        "answer",
    ]
    assert shown[0]["text"] == "Hm.\nI look first."
    assert (shown[2]["tool"], shown[2]["arguments"]) == ("test.echo", asked)
    assert (shown[3]["outcome"], shown[3]["text"]) == ("read", asked)
    assert shown[4]["total_usd"] == 0.0003
    assert shown[5]["output"] == {"n": 3}
    # It printed nothing, and no process was behind it.
    assert log == ""
    assert run["steps"][0]["process"] is None


async def test_a_wrong_answer_is_given_back_and_mended(bench: Bench) -> None:
    models = ScriptedModels(
        script=[
            says("It is three."),
            calls((FINAL, {"n": "x", "m": 1})),
            calls((FINAL, "n")),
            ends(),
        ]
    )
    async with agents_bench(bench, models) as one:
        run = await one.run(thinking())
    assert run["output"] == {"n": 1}
    _, first, second, third = (request.messages[-1] for request in models.requests)
    assert FINAL in first.content
    assert second.results[0].failed
    assert "/n: This must be a whole number, but it is text." in second.results[0].content
    assert "m" in second.results[0].content
    assert third.results[0].content.startswith("An answer is a JSON object")


@pytest.mark.parametrize(
    "text", ['{"n": 3}', ' {"n": 3}\n', '```json\n{\n"n": 3}\n```', '```\n{"n": 3}\n```']
)
async def test_an_answer_written_as_json_is_an_answer(bench: Bench, text: str) -> None:
    models = ScriptedModels(script=[says(text)])
    async with agents_bench(bench, models) as one:
        run = await one.run(thinking())
        (stored,) = await transcripts(one, run["id"])
    assert (run["status"], run["output"]) == ("succeeded", {"n": 3})
    assert len(models.requests) == 1
    assert stored["ending"] == {"kind": "done", "text": "", "output": {"n": 3}}


@pytest.mark.parametrize(
    "text",
    [
        '{"n": "3"}',
        '{"n": 3, "m": 1}',
        '{"n": 3',
        '[{"n": 3}]',
        # It may be an example, or a quotation of what was read.
        'I found nothing, but it would look like this:\n```json\n{"n": 3}\n```',
        '```json\n{"n": 3}\n```\nor\n```json\n{"n": 4}\n```',
    ],
)
async def test_text_that_is_not_the_answer_alone_is_asked_for_again(
    bench: Bench, text: str
) -> None:
    models = ScriptedModels(script=[says(text), ends()])
    async with agents_bench(bench, models) as one:
        run = await one.run(thinking())
    assert run["output"] == {"n": 1}
    result = models.requests[1].messages[-1].content
    assert FINAL in result
    assert "reply with its JSON and no other text" in result


async def test_a_list_written_as_json_is_an_answer(bench: Bench) -> None:
    models = ScriptedModels(script=[says('["a", "b"]'), says('{"value": ["c"]}')])
    schema = {"type": "array", "items": {"type": "string"}}
    async with agents_bench(bench, models) as one:
        bare = await one.run(thinking(output_schema=schema))
        wrapped = await one.run(thinking(output_schema=schema, name="b"))
    assert (bare["output"], wrapped["output"]) == (["a", "b"], ["c"])


async def test_an_agent_that_never_answers_right_is_given_up_once(bench: Bench) -> None:
    models = ScriptedModels(reply=ends("x"))
    async with agents_bench(bench, models) as one:
        run = await one.run(thinking(max_turns=50))
        (stored,) = await transcripts(one, run["id"])
    assert (run["status"], run["reason"]) == ("failed", "agent_answer")
    assert run["error"]["errors"][0]["pointer"] == "/n"
    assert len(models.requests) == 4
    assert len(run["steps"]) == 1
    assert stored["ending"]["problem"]["code"] == "agent_answer"
    assert run["cost_usd"] == Decimal("0.0006")


async def test_an_answer_may_be_a_list_or_any_text(bench: Bench) -> None:
    words = {
        "type": "array",
        "items": {"$ref": "#/$defs/word"},
        "$defs": {"word": {"type": "string"}},
    }
    models = ScriptedModels(
        script=[calls((FINAL, {"value": ["a", 1]})), calls((FINAL, {"value": ["a", "b"]}))]
    )
    async with agents_bench(bench, models) as one:
        run = await one.run(thinking(output_schema=words))
        wrong, (final,) = models.tool_results[0], _finals(models)
        models.requests.clear()
        models.script = [says("  "), calls((FINAL, {"n": 1})), says("Three.")]
        text = await one.run(thinking(output_schema=None, name="b"))
    assert run["output"] == ["a", "b"]
    assert "/value/1" in wrong
    assert final.input_schema["type"] == "object"
    # Without a schema there is no such tool, and the first plain text is the answer.
    assert text["output"] == {"text": "Three."}
    assert _finals(models) == []
    assert "There is no tool called" in models.tool_results[0]


def _finals(models: ScriptedModels) -> list[ModelTool]:
    return [tool for tool in models.requests[0].tools if tool.name == FINAL]


async def test_an_agent_may_say_that_nothing_is_to_do_or_that_it_cannot_be_done(
    bench: Bench,
) -> None:
    models = ScriptedModels(
        script=[calls(("nothing_to_do", {})), calls(("nothing_to_do", {"reason": "No mail."}))]
    )
    config = thinking()["plan"][0]["config"]
    async with agents_bench(bench, models) as one:
        run = await one.run(thinking(name="nothing"))
        shown = await pieces(one, run["id"])
        models.reply = calls(("cannot_do", {"reason": "The board is empty."}))
        cannot = await one.run(
            document(step("think", "agent_task", config, max_retries=3), name="cannot")
        )
        models.reply = says("I won't.", stop_reason="refusal")
        refused = await one.run(thinking(name="refused"))
    assert (run["status"], run["outcome"]) == ("succeeded", "nothing_to_do")
    assert run["output"] == {"kind": "noop", "reason": "No mail."}
    assert shown[-1]["how"] == "nothing"
    # It fails for good, and once.
    assert (cannot["status"], cannot["reason"]) == ("failed", "agent_cannot")
    assert "The board is empty." in summarize_run(cannot)["because"]
    assert len(cannot["steps"]) == 1
    assert (refused["status"], refused["reason"]) == ("failed", "agent_refused")
    assert "I won't." in refused["error"]["detail"]
    assert len(models.requests) == 4


async def test_an_answer_that_was_cut_off_is_never_taken(bench: Bench) -> None:
    cut: dict[str, Any] = {"stop_reason": "max_tokens"}
    models = ScriptedModels(
        script=[
            calls(("test_note", {"mark": "no"}), (FINAL, {"n": 1}), **cut),
            says("Thr", stop_reason="length"),
            ends(2),
        ]
    )
    async with agents_bench(bench, models) as one:
        run = await one.run(thinking("test.note"))
        again = await one.run(thinking(output_schema=None, name="b"))
        models.reply = says("And then", stop_reason="max_tokens")
        always = await one.run(thinking(output_schema=None, name="c"))
    assert run["output"] == {"n": 2}
    # What was in the piece of an answer was not done either.
    assert bench.outside.keys == {}
    assert all(
        "cut off" in output
        for output in models.requests[1].messages[-1].results[0].content.splitlines()[:1]
    )
    assert again["output"] == {"text": "Hello."}
    assert (always["status"], always["reason"], always["output"]) == (
        "failed",
        "agent_truncated",
        None,
    )


async def test_a_reply_that_no_column_takes_is_kept_and_booked_all_the_same(bench: Bench) -> None:
    odd = "a\x00b\ud800c"
    models = ScriptedModels(
        script=[calls(("test_echo", {"q": odd}), text=odd, thoughts=odd), ends()]
    )
    async with agents_bench(bench, models) as one:
        run = await one.run(thinking("test.echo"))
        models.reply = ModelReply("Three.", "m", -5, 10**12)
        nonsense = await one.run(thinking(output_schema=None, name="b"))
    assert run["output"] == {"n": 1}, run["error"]
    echoed = next(call for call in run["calls"] if call["capability"] == "test.echo")
    assert "\x00" not in echoed["arguments"]["q"]
    # What it says of its tokens cannot be, so the most that it could take is on the books.
    assert nonsense["output"] == {"text": "Three."}, nonsense["error"]
    assert nonsense["cost_usd"] > 0


async def test_an_answer_that_cannot_be_kept_is_given_back_and_mended(bench: Bench) -> None:
    deep: Any = 1
    for _ in range(300):
        deep = {"a": deep}
    shallow: Any = 1
    for _ in range(64):
        shallow = {"a": shallow}
    long = "x" * 5_000
    models = ScriptedModels(
        script=[
            calls(("test_echo", deep)),
            calls((FINAL, deep)),
            calls(("test_echo", {"q": 1})),
            calls((FINAL, shallow)),
            calls((FINAL, {"a": long})),
            calls(("nothing_to_do", {"reason": long})),
            calls((FINAL, {"a": "short"})),
        ]
    )
    limits = replace(Limits(), step_output_bytes=4_000, agent_result_characters=1_000)
    async with agents_bench(bench, models, limits=limits) as one:
        run = await one.run(thinking("test.echo", output_schema={"type": "object"}))
        result, asked = models.tool_results, models.requests[-1].messages
        models.script = [says(long), says("Short.")]
        text = await one.run(thinking(output_schema=None, name="text"))
        stored = [len((await transcripts(one, made["id"]))[0]["turns"]) for made in (run, text)]
    assert (run["status"], run["output"]) == ("succeeded", {"a": "short"}), run["error"]
    assert "64 levels deep" in result[0]
    assert "64 levels deep" in result[1]
    assert "nested too deeply" in result[3]
    assert ["4000 are kept" in one for one in result] == [False] * 4 + [True, True]
    assert (text["status"], text["output"]) == ("succeeded", {"text": "Short."}), text["error"]
    *_, useless, answer = models.requests[-1].messages
    assert "4000 are kept" in answer.content
    # What came to nothing is not read again in full, and paid for, at every further turn.
    assert "omitted" in useless.content
    assert len(str(asked[-2])) < 2_000
    # Every turn is on record and on the books, the useless ones too.
    assert stored == [7, 2]
    assert (await ledger(bench))[0] == 9
