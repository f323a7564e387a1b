"""What would have gone otherwise is worked out from what was done, and from nothing else."""

from __future__ import annotations

from datetime import UTC, datetime
from decimal import Decimal
from typing import Any
from uuid import UUID

from mainspring.contracts.ids import generate_id
from mainspring.contracts.limits import Limits
from mainspring.definition.model import Definition
from mainspring.runs.rehearsal.comparison import (
    ComparedRun,
    FiringComparison,
    RunEffect,
    What,
    compare,
    find_changed_fields,
    shorten_value,
    summary,
)
from mainspring.runs.rehearsal.firings import RecordedFiring, map_firing_inputs, note_on, request_of

NOW = datetime(2026, 11, 16, tzinfo=UTC)


def _deed(mark: Any, step: str = "mail", what: What = "drafted", name: str = "send") -> RunEffect:
    return RunEffect(what, step, name, {"mark": mark, "to": ["ada"]})


def _side(*deeds: RunEffect, status: str = "succeeded", **more: Any) -> ComparedRun:
    return ComparedRun(generate_id(), status, NOW, deeds=deeds, **more)


def _kinds(found: FiringComparison) -> list[tuple[str, str | None]]:
    return [(one.kind, one.step) for one in found.differences]


def test_equal_deeds_are_paired_before_any_other_and_in_any_order() -> None:
    one, two, three = _deed(1), _deed(2), _deed(3)
    assert compare(_side(one, two), _side(two, one)).differences == ()
    assert _kinds(compare(_side(one, two), _side(two, one, three))) == [("added", "mail")]
    assert _kinds(compare(_side(one, two), _side(two))) == [("removed", "mail")]
    twice = compare(_side(one, one), _side(one))
    assert _kinds(twice) == [("removed", "mail")], "two equal deeds are two"


def test_a_changed_write_is_reported_field_by_field() -> None:
    found = compare(_side(_deed("a"), _deed("x", "log")), _side(_deed("y", "log"), _deed("b")))
    assert _kinds(found) == [("changed", "log"), ("changed", "mail")]
    assert found.differences[1].fields == ({"pointer": "/mark", "then": "a", "now": "b"},)
    moved = compare(_side(_deed("a", "old")), _side(_deed("b", "new")))
    assert _kinds(moved) == [("changed", "new")], "a step that was renamed does the same deed"
    held = compare(_side(_deed("a", what="sent")), _side(_deed("a")))
    assert held.differences[0].says == "It would have drafted send, where it was sent then."


def test_arguments_that_are_not_kept_are_distinguished_by_their_digest() -> None:
    left_out = {"left_out": "70000 bytes"}
    then, now = (RunEffect("sent", "s", "send", left_out, digest) for digest in (b"a", b"b"))
    assert compare(_side(then), _side(then)).differences == ()
    [found] = compare(_side(then), _side(now)).differences
    assert (found.kind, found.says) == ("changed", "It would have sent send, with other arguments.")


def test_ends_and_costs_are_compared_and_a_price_alone_is_no_other_behaviour() -> None:
    cheap, dear = _side(cost=Decimal("0.010")), _side(cost=Decimal("0.2"))
    [found] = compare(cheap, dear).differences
    assert found.says == "It would have cost $0.20 instead of $0.01."
    assert not compare(cheap, dear).otherwise
    failed = _side(status="failed", error="No such page.")
    [found] = compare(cheap, replace_cost(failed, cheap)).differences
    assert found.says == "It would have ended as failed instead of succeeded. No such page."


def replace_cost(side: ComparedRun, like: ComparedRun) -> ComparedRun:
    return ComparedRun(side.run_id, side.status, side.at, error=side.error, cost=like.cost)


def test_what_came_to_nothing_for_a_reason_of_its_own_says_so() -> None:
    skipped = compare(_side(status="skipped", error="The automation is paused."), None)
    assert (skipped.done, skipped.otherwise) == (True, False)
    assert skipped.note == "It was not started: The automation is paused."
    assert compare(_side(status="dead"), _side(), "Noted.").note == (
        "It was given up after losing its workers. Noted."
    )


def test_the_summary_says_how_many_and_what() -> None:
    same = compare(_side(), _side())
    other = compare(_side(), _side(_deed(1)))
    assert summary([same]) == "1 firing was rehearsed, with no differences."
    assert summary([same, other]) == (
        "1 of 2 firings would have differed: It would have drafted send, which it did not then."
    )
    assert summary([same, compare(_side(), _side(status="running"))]) == (
        "1 of 2 firings are rehearsed; the rest is in progress."
    )
    assert "nothing to compare it with" in summary([compare(None, _side())])
    many = [compare(_side(), _side(_deed(1, name=f"c{place}"))) for place in range(5)]
    assert summary(many).endswith("And 2 more.")


def test_values_are_shortened_and_every_place_is_named() -> None:
    long = shorten_value({"a": "x" * 1_000, "b": list(range(100)), "c": _nested(20)})
    assert len(long["a"]) == 301
    assert len(long["b"]) == 20
    assert "…" in str(long["c"])
    then, now = {"a": [1, {"b~/": 2}], "gone": 1}, {"a": [1, {"b~/": 3}], "new": None}
    assert [one["pointer"] for one in find_changed_fields(then, now)] == ["/a/1/b~0~1", "/gone"]


def _nested(levels: int) -> Any:
    made: Any = 1
    for _ in range(levels):
        made = {"a": made}
    return made


def _definition(mapping: dict[str, str], **trigger: Any) -> Definition:
    entry = {"id": "hook", "type": "webhook", "config": {"input_mapping": mapping}, **trigger}
    shape = {"type": "object", "properties": {"n": {"type": "integer"}}}
    return Definition.model_validate(
        {
            "schema_version": "1.2",
            "name": "a",
            "goal": "b",
            "inputs": {"schema": shape},
            "triggers": [entry],
            "plan": [{"step_id": "s", "action": "x"}],
        }
    )


def test_a_firing_gives_its_inputs_unless_the_trigger_picks_others() -> None:
    mapping = {"n": "$.n"}
    before = [{"id": "hook", "type": "webhook", "config": {"input_mapping": mapping}}]
    firing = RecordedFiring(
        UUID(int=1), "succeeded", None, {"n": 1, "m": 2}, {"n": 7, "old": 1}, "hook", before
    )
    assert map_firing_inputs(firing, _definition(mapping), Limits()) == ({"n": 7}, {}), (
        "as it was then"
    )
    anew, static = map_firing_inputs(firing, _definition({"n": "$.m"}, inputs={"z": 1}), Limits())
    assert (anew, static) == ({"n": 2}, {"z": 1})
    unfit = RecordedFiring(UUID(int=1), "failed", "invalid_inputs", {"n": 1}, {}, "hook", before)
    assert map_firing_inputs(unfit, _definition(mapping), Limits()) == ({"n": 1}, {})
    assert note_on(firing, _definition(mapping)) is None
    assert "is disabled" in str(note_on(firing, _definition(mapping, enabled=False)))
    assert "does not exist in the tested definition" in str(
        note_on(firing, _definition(mapping, id="other"))
    )
    request = request_of(
        firing,
        _definition(mapping),
        Limits(),
        workspace_id=UUID(int=2),
        automation_id=UUID(int=3),
        run_id=UUID(int=4),
        rehearsal_id=UUID(int=5),
        parent_id=None,
    )
    assert (request.mode, request.rehearses, request.trigger_id) == ("dry_run", UUID(int=1), None)
