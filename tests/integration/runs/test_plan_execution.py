"""A run walks its plan, records what it did and says what came of it."""

from __future__ import annotations

from mainspring.runs.story import summarize_run
from tests.kit.bench import Bench, document, step


async def test_outputs_flow_from_step_to_step_in_their_own_types(bench: Bench) -> None:
    run = await bench.run(
        document(
            step("first", "transform_data", {"output": {"names": ["Ada", "Bo"]}}),
            step("count", "transform_data", {"output": "{{ first.names | length }}"}),
            step(
                "say",
                "test.echo",
                {"text": "{{ count }} names: {{ steps.first.names | join(', ') }}"},
            ),
        )
    )
    assert run["status"] == "succeeded"
    assert run["outcome"] == "answer_only"
    assert [s["output"] for s in run["steps"]] == [
        {"names": ["Ada", "Bo"]},
        2,
        {"text": "2 names: Ada, Bo"},
    ]
    assert run["output"] == {"text": "2 names: Ada, Bo"}


async def test_an_output_with_a_name_of_its_own_is_also_there_under_the_id_of_its_step(
    bench: Bench,
) -> None:
    inner = [
        step("twice", "transform_data", {"output": "{{ item * 2 }}"}, output_as="doubled"),
        step("sum", "transform_data", {"output": "{{ steps.twice + doubled + steps.first.n }}"}),
    ]
    last = step("last", "test.echo", {"text": "{{ steps.first.n | default(0) }}"})
    run = await bench.run(
        document(
            step("first", "transform_data", {"output": {"n": 1}}, output_as="named"),
            step("each", "for_each", {"items": [5], "steps": inner}),
            step("fails", "transform_data", {"output": "{{ 1 / (steps.first.n - named.n) }}"}),
            execution={"on_failure": [last]},
        )
    )
    outputs = {one["step"]: one["output"] for one in run["steps"]}
    assert outputs["sum"] == 21
    assert outputs["each"]["results"] == [{"doubled": 10, "sum": 21}]
    assert run["error"]["failed_step_id"] == "fails"
    assert outputs["last"] == {"text": 1}


async def test_a_false_condition_skips_and_a_missing_name_in_one_fails(bench: Bench) -> None:
    run = await bench.run(
        document(
            step("a", "transform_data", {"output": {"n": 1}}),
            step("b", "test.note", when="{{ a.n > 5 }}"),
            step("c", "test.note", when="a.missing == 1"),
        )
    )
    assert [(s["step"], s["status"]) for s in run["steps"]] == [
        ("a", "succeeded"),
        ("b", "skipped"),
        ("c", "failed"),
    ]
    assert run["status"] == "failed"
    assert run["error"]["code"] == "template_undefined"
    assert not bench.outside.keys


async def test_a_run_in_which_everything_was_skipped_is_not_called_a_success(bench: Bench) -> None:
    run = await bench.run(document(step("a", "test.note", when="run.attempt > 5")))
    assert (run["status"], run["outcome"]) == ("succeeded", "nothing_to_do")


async def test_every_call_is_recorded_with_its_arguments_and_effect(bench: Bench) -> None:
    run = await bench.run(document(step("a", "test.note", {"mark": "x"})))
    (call,) = run["calls"]
    assert (call["capability"], call["outcome"], call["arguments"]) == (
        "test.note",
        "sent",
        {"mark": "x"},
    )
    assert (run["outcome"], run["effects"]) == ("effects", 1)
    assert list(bench.outside.keys) == [f"{run['id']}/a/1"]


async def test_for_each_records_every_item_and_collects_the_outputs(bench: Bench) -> None:
    run = await bench.run(
        document(
            step(
                "each",
                "for_each",
                {
                    "items": [10, 20],
                    "as": "number",
                    "steps": [
                        step("double", "transform_data", {"output": "{{ number * 2 }}"}),
                        step("tell", "test.note", {"mark": "{{ index }}:{{ double }}"}),
                    ],
                },
            ),
            step("after", "transform_data", {"output": "{{ each.results[1].double }}"}),
        )
    )
    assert run["status"] == "succeeded", run["error"]
    assert [(s["step"], s["item"]) for s in run["steps"]] == [
        ("double", "0"),
        ("tell", "0"),
        ("double", "1"),
        ("tell", "1"),
        ("each", ""),
        ("after", ""),
    ]
    assert run["output"] == 40
    assert bench.outside.order == ["0:20", "1:40"]


async def test_for_each_inside_for_each_gives_every_item_a_path(bench: Bench) -> None:
    inner = step(
        "inner",
        "for_each",
        {
            "items": "{{ row }}",
            "as": "cell",
            "steps": [step("leaf", "test.note", {"mark": "{{ cell }}"})],
        },
    )
    outer = step("outer", "for_each", {"items": [[1, 2], [3]], "as": "row", "steps": [inner]})
    run = await bench.run(document(outer))
    assert run["status"] == "succeeded", run["error"]
    leaves = [s["item"] for s in run["steps"] if s["step"] == "leaf"]
    assert leaves == ["0.0", "0.1", "1.0"]


async def test_an_item_that_fails_stops_the_loop_unless_configured_to_continue(
    bench: Bench,
) -> None:
    def plan(go_on: bool) -> dict[str, object]:
        return document(
            step(
                "each",
                "for_each",
                {
                    "items": [0, 9, 0],
                    "continue_on_error": go_on,
                    "steps": [
                        step("try", "test.flaky", {"failures": "{{ item }}", "permanent": True})
                    ],
                },
            ),
            name=f"loop {go_on}",
        )

    stopped = await bench.run(plan(False))
    assert stopped["status"] == "failed"
    assert [s["item"] for s in stopped["steps"] if s["step"] == "try"] == ["0", "1"]
    went_on = await bench.run(plan(True))
    assert went_on["status"] == "succeeded"
    assert [f["index"] for f in went_on["output"]["failed"]] == [1]
    # It came to its end, and is not called a success for that alone.
    assert went_on["reason"] == "items_failed"
    assert summarize_run(went_on)["headline"].startswith("Succeeded with 1 of 3 items failed")


async def test_failed_items_of_before_a_wait_are_not_forgotten(bench: Bench) -> None:
    each = {
        "items": [0, 9],
        "continue_on_error": True,
        "steps": [step("try", "test.flaky", {"failures": "{{ item }}", "permanent": True})],
    }
    nap = step("nap", "delay", {"seconds": 0.5})
    run = await bench.run(document(step("each", "for_each", each), nap))
    assert (run["status"], run["reason"]) == ("succeeded", "items_failed")
    all_well = await bench.run(document(step("each", "for_each", {**each, "items": [0]}), nap))
    assert (all_well["status"], all_well["reason"]) == ("succeeded", None)


async def test_a_config_that_is_wrong_once_rendered_fails_the_step_by_name(bench: Bench) -> None:
    run = await bench.run(
        document(
            step("list", "transform_data", {"output": {"items": "not a list"}}),
            step(
                "each",
                "for_each",
                {
                    "items": "{{ list.items }}",
                    "steps": [step("x", "transform_data", {"output": 1})],
                },
            ),
        )
    )
    assert run["status"] == "failed"
    assert run["error"]["code"] == "config_invalid"
    assert run["error"]["errors"][0]["pointer"] == "/items"


async def test_a_result_that_breaks_its_capability_s_shape_is_never_passed_on(bench: Bench) -> None:
    run = await bench.run(
        document(step("bad", "test.wrong_shape", max_retries=0), step("next", "test.note"))
    )
    assert run["error"]["code"] == "result_invalid"
    assert not bench.outside.keys
