"""No template reaches Python: it is refused, or it sees plain data and nothing else."""

from __future__ import annotations

import json
import sys
import threading
from typing import Any

import pytest

from mainspring.contracts.errors import Invalid
from mainspring.contracts.limits import Limits
from mainspring.definition.templates import parse_predicate, parse_template
from tests.unit.definition.templates.attacks import ESCAPES, TRACES, mutations

LIMITS = Limits()


def fresh_context() -> dict[str, Any]:
    return {
        "data": {"name": "n", "items": [1, 2]},
        "rows": [{"a": 1}, {"a": 2}],
        "x": "text",
    }


class Watch:
    """Sees every audited event while it is open: imports, opens, compiles, execs, processes."""

    def __init__(self) -> None:
        self.thread: int | None = None
        self.events: list[str] = []

    def hook(self, event: str, arguments: tuple[Any, ...]) -> None:
        del arguments
        if threading.get_ident() == self.thread:
            self.events.append(event)

    def __enter__(self) -> None:
        self.thread = threading.get_ident()

    def __exit__(self, *reason: object) -> None:
        self.thread = None


@pytest.fixture(scope="module")
def hooked() -> Watch:
    watch = Watch()
    sys.addaudithook(watch.hook)
    # What a first call imports is no fault of a template.
    attempt("{{ 1.5|tojson }}{{ '2026-01-01'|date }}{{ 'é\\N{BULLET}'|slugify }}{{ q }}", watch)
    return watch


@pytest.fixture
def watch(hooked: Watch) -> Watch:
    hooked.events.clear()
    return hooked


def attempt(source: str, watch: Watch) -> Any:
    """What a template gives, or the refusal; anything else is an error of the engine."""
    context = fresh_context()
    try:
        with watch:
            return parse_template(source, LIMITS).value(context)
    except Invalid as refusal:
        return refusal
    finally:
        assert context == fresh_context()


def is_harmless(outcome: Any) -> bool:
    if isinstance(outcome, Invalid):
        return outcome.code.startswith("template_")
    text = json.dumps(outcome)
    return not any(trace in text for trace in TRACES)


@pytest.mark.parametrize("source", ESCAPES)
def test_an_escape_is_refused(source: str, watch: Watch) -> None:
    outcome = attempt(source, watch)
    assert isinstance(outcome, Invalid)
    assert outcome.code.startswith("template_")
    assert watch.events == []


@pytest.mark.parametrize("source", ESCAPES)
def test_no_other_spelling_of_an_escape_gets_out(source: str, watch: Watch) -> None:
    spellings = list(mutations(source))
    outcomes = [attempt(spelling, watch) for spelling in spellings]
    assert [
        one for one, seen in zip(spellings, outcomes, strict=True) if not is_harmless(seen)
    ] == []
    assert watch.events == []


@pytest.mark.parametrize("source", ESCAPES)
def test_an_escape_is_no_condition_either(source: str, watch: Watch) -> None:
    for condition in (source, source.strip("{}% ")):
        with pytest.raises(Invalid), watch:
            parse_predicate(condition, LIMITS).test(fresh_context())
    assert watch.events == []


def test_the_battery_is_not_empty() -> None:
    assert len(set(ESCAPES)) >= 60


def test_an_underscore_is_refused_when_the_template_is_read() -> None:
    for source in ("{{ _x }}", "{{ x._y }}", "{% set _x = 1 %}", "{{ x['__y__'] }}"):
        with pytest.raises(Invalid) as refusal:
            parse_template(source, LIMITS)
        assert refusal.value.code == "template_name"


def test_a_key_of_a_document_may_start_with_an_underscore() -> None:
    template = parse_template("{{ doc['_id'] }}", LIMITS)
    assert template.value({"doc": {"_id": 7}}) == 7


class Trap:
    def __getattribute__(self, name: str) -> Any:
        if name == "__class__":
            return Trap
        raise AssertionError(f"the engine read {name}")

    def __bool__(self) -> bool:
        raise AssertionError("the engine asked for the truth of it")

    def __eq__(self, other: object) -> bool:
        raise AssertionError("the engine compared it")

    def __hash__(self) -> int:
        raise AssertionError("the engine hashed it")


TOUCHES = (
    "{{ trap }}",
    "x{{ trap }}",
    "{{ trap.name }}",
    "{{ trap[0] }}",
    "{{ trap == 1 }}",
    "{{ 1 == trap }}",
    "{% if trap %}{% endif %}",
    "{{ not trap }}",
    "{{ trap and 1 }}",
    "{{ inside }}",
    "{{ inside.trap }}",
    "{{ inside['tr' ~ 'ap'] }}",
    "{{ inside|tojson }}",
    "{{ listed }}",
    "{{ listed|sort }}",
    "{{ listed|join }}",
    "{{ 1 in listed }}",
    "{{ listed == listed }}",
    "{% for x in listed %}{{ x }}{% endfor %}",
    "{{ listed|first }}",
    "{{ trap ~ '' }}",
    "{{ trap + 1 }}",
    "{{ -trap }}",
    "{{ trap|default(1, true) }}",
    "{{ trap|length }}",
    "{{ trap|date }}",
    "{{ [trap] }}",
    "{{ {'a': trap} }}",
    "{{ {trap: 1} }}",
    "{{ inside[trap] }}",
    "{{ one[trap] }}",
    "{{ trap|sort }}",
    "{{ trap < 1 }}",
    "{{ trap in inside }}",
    "{{ trap in 'x' }}",
    "{{ trap if trap }}",
    "{% for x in trap %}{% endfor %}",
    "{{ 'abc'[trap:] }}",
    "{{ 'abc' * trap }}",
    "{{ 'abc'|truncate(trap) }}",
    "{{ 'abc'|replace(trap, trap) }}",
    "{{ trap is none }}",
)


@pytest.mark.parametrize("source", TOUCHES)
def test_a_foreign_object_in_the_data_is_never_touched(source: str) -> None:
    context = {"trap": Trap(), "inside": {"trap": Trap()}, "listed": [Trap(), Trap()], "one": 1}
    with pytest.raises(Invalid):
        parse_template(source, LIMITS).value(context)
