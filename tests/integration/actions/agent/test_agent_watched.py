"""Watchers of an agent are shown what goes wrong as well."""

from __future__ import annotations

from tests.kit.agents import (
    FINAL,
    ScriptedModels,
    agents_bench,
    calls,
    ends,
    pieces,
    says,
    thinking,
)
from tests.kit.bench import Bench


async def test_watchers_see_what_was_not_done_and_what_the_model_was_sent(
    bench: Bench,
) -> None:
    models = ScriptedModels(
        script=[
            calls(("delete_everything", {"sure": True})),
            calls((FINAL, {"n": "three"})),
            calls(("test_echo", {})),
            says("It is three."),
            says("It is th", stop_reason="max_tokens"),
            ends(3),
        ]
    )
    async with agents_bench(bench, models) as one:
        run = await one.run(thinking("test.echo", max_turns=9))
        shown = [piece for piece in await pieces(one, run["id"]) if piece["kind"] != "turn"]
    assert run["output"] == {"n": 3}
    unknown, misfit, _, _, spoken, no_answer, cut, cut_off, answer = shown
    assert [piece["turn"] for piece in shown] == [1, 2, 3, 3, 4, 4, 5, 5, 6]
    assert (unknown["kind"], unknown["tool"]) == ("refused", "delete_everything")
    assert unknown["arguments"] == {"sure": True}
    assert "There is no tool called 'delete_everything'" in unknown["text"]
    assert (misfit["kind"], misfit["tool"], misfit["arguments"]) == (
        "refused",
        FINAL,
        {"n": "three"},
    )
    assert "/n: This must be a whole number" in misfit["text"]
    # A text that is no answer is shown, and so is what the model was sent about it.
    assert (spoken["kind"], spoken["text"]) == ("thought", "It is three.")
    assert (no_answer["kind"], FINAL in no_answer["text"]) == ("told", True)
    assert (cut["text"], cut_off["kind"]) == ("It is th", "told")
    assert "cut off" in cut_off["text"]
    assert answer["kind"] == "answer"


async def test_the_last_word_to_a_model_that_is_given_up_is_shown_too(bench: Bench) -> None:
    async with agents_bench(bench, ScriptedModels(reply=ends("x"))) as one:
        run = await one.run(thinking(max_turns=50))
        shown = [piece for piece in await pieces(one, run["id"]) if piece["kind"] == "refused"]
    assert run["reason"] == "agent_answer"
    assert [piece["turn"] for piece in shown] == [1, 2, 3, 4]
