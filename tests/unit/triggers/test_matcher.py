"""Which triggers an event is for, without a database."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

from mainspring.contracts.event import Event
from mainspring.contracts.ids import generate_id
from mainspring.contracts.limits import Limits
from mainspring.triggers.matcher import ArmedTrigger, WorkspaceTriggers

NOW = datetime(2026, 5, 1, tzinfo=UTC)
SPACE = generate_id()


def _armed(
    filters: Mapping[str, Any], event_type: str = "file.added", armed_at: datetime = NOW
) -> ArmedTrigger:
    return ArmedTrigger(generate_id(), generate_id(), "event", event_type, filters, {}, armed_at)


def _event(payload: Mapping[str, Any], event_type: str = "file.added") -> Event:
    return Event(generate_id(), SPACE, event_type, "test", payload, NOW)


def _listening(*triggers: ArmedTrigger) -> WorkspaceTriggers:
    listening = WorkspaceTriggers(Limits())
    for trigger in triggers:
        listening.add(trigger)
    return listening


class Cracked(dict[str, Any]):
    """A payload of which one field raises when it is read."""

    def get(self, key: str, default: Any = None) -> Any:
        if key == "cracked":
            raise ZeroDivisionError
        return super().get(key, default)


def test_an_event_is_for_the_triggers_of_its_type_whose_filters_hold() -> None:
    every, pdf, other = _armed({}), _armed({"kind": "pdf"}), _armed({}, "file.removed")
    listening = _listening(every, pdf, other)

    found = {match.trigger.id for match in listening.match(_event({"kind": "pdf"}))}
    assert found == {every.id, pdf.id}
    found = {match.trigger.id for match in listening.match(_event({"kind": "png"}))}
    assert found == {every.id}


def test_an_event_from_before_a_trigger_was_armed_does_not_set_it_off() -> None:
    early = _armed({}, armed_at=NOW - timedelta(microseconds=1))
    late = _armed({}, armed_at=NOW + timedelta(microseconds=1))

    assert [match.trigger for match in _listening(early, late).match(_event({}))] == [early]


def test_a_trigger_whose_filter_cannot_be_read_leaves_the_others_alone() -> None:
    good, bad = _armed({}), _armed({"kind": {"like": "x"}})

    assert [match.trigger for match in _listening(bad, good).match(_event({}))] == [good]


def test_a_filter_that_breaks_on_an_event_is_the_trouble_of_its_own_trigger() -> None:
    good, picky = _armed({"kind": "pdf"}), _armed({"kind": "png"})
    broken = _armed({"cracked": {"gt": 1}})
    elsewhere = _armed({"cracked": {"gt": 1}}, "file.removed")
    listening = _listening(good, picky, broken, elsewhere)

    found = listening.match(_event(Cracked(kind="pdf")))

    assert [(match.trigger, match.problem is None) for match in found] == [
        (good, True),
        (broken, False),
    ]


def test_a_filter_that_takes_too_much_work_is_the_trouble_of_its_own_trigger() -> None:
    costly = _armed({"$or": [{"text": {"regex": f"(a|b)*c{n}"}} for n in range(90)]}, "file.*")
    light = _armed({"text": {"ends_with": "b"}})

    found = _listening(costly, light).match(_event({"text": "ab" * 100_000}))

    assert [(match.trigger, match.problem and match.problem.code) for match in found] == [
        (light, None),
        (costly, "filter_too_costly"),
    ]


def test_a_text_too_long_for_a_pattern_makes_the_firing_fail() -> None:
    refusing = _armed({"$not": {"text": {"regex": r"\p{L}+ \p{L}+"}}})

    found = _listening(refusing).match(_event({"text": "Ada Lovelace" + "!" * 2_000}))

    assert [(match.trigger, match.problem and match.problem.code) for match in found] == [
        (refusing, "filter_text_unread")
    ]
