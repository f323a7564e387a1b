"""No template burns: reading and rendering end within their bounds, by fuel alone."""

from __future__ import annotations

import sys
import time
import tracemalloc
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any

import pytest

from mainspring.contracts.errors import Invalid
from mainspring.contracts.limits import Limits
from mainspring.definition.templates import parse_predicate, parse_template
from mainspring.definition.templates.values import RenderMeter
from tests.kit.runaway import RUNAWAY
from tests.unit.definition.templates.attacks import BOMBS, FLOODS, large_context

MEGABYTES = 64
# The clock is out of the way, so that what ends a bomb is what ends it everywhere.
BY_FUEL = replace(Limits(), template_milliseconds=60_000)
# Some of these are small after all, or end at a bound of their own.
BOUNDED = {
    "template_too_much_work",
    "template_too_large",
    "template_value",
    "template_too_complex",
}


@pytest.fixture(scope="module")
def context() -> dict[str, Any]:
    return large_context()


def verdict(source: str, context: dict[str, Any], limits: Limits) -> str:
    try:
        parse_template(source, limits).value(context)
    except Invalid as refusal:
        return f"{refusal.code}: {refusal.detail}"
    return "a value"


def reading(source: str) -> str:
    try:
        parse_template(source, Limits())
    except Invalid as refusal:
        return refusal.code
    return "a template"


def processor_seconds(work: Callable[[], Any]) -> float:
    begun = time.thread_time()
    work()
    return time.thread_time() - begun


@pytest.mark.parametrize("name", BOMBS)
def test_a_bomb_ends_by_fuel_alone_and_in_time(name: str, context: dict[str, Any]) -> None:
    seen: list[str] = []
    spent = processor_seconds(lambda: seen.append(verdict(BOMBS[name], context, BY_FUEL)))
    assert spent < RUNAWAY
    assert seen[0] == "a value" or seen[0].partition(":")[0] in BOUNDED


@pytest.mark.parametrize("name", FLOODS)
def test_reading_ends_in_time_whatever_the_source(name: str) -> None:
    seen: list[str] = []
    assert len(FLOODS[name].encode()) <= 8_192
    assert processor_seconds(lambda: seen.append(reading(FLOODS[name]))) < RUNAWAY
    assert seen[0] == "a template" or seen[0].startswith("template_")


def test_reading_a_condition_ends_in_time_as_well() -> None:
    for name in ("nots", "choices", "sums", "indexes", "brackets"):
        bare = FLOODS[name].removeprefix("{{").removesuffix("}}")
        with pytest.raises(Invalid) as refusal:
            parse_predicate(bare, Limits())
        assert refusal.value.code in {"template_too_complex", "template_syntax"}


@pytest.mark.parametrize(
    "name",
    [
        "escapes in json",
        "widening upper",
        "many as json",
        "list slices",
        "list times often",
        "grown sum",
        "kept characters",
        "giants as json",
        "text times often",
        "kept values",
        "join long",
        "replace one by many",
        "grown capture",
        "shared as value",
        "sort all",
        "wide slug",
        "long sums",
        "keys",
    ],
)
def test_a_bomb_takes_little_memory(name: str, context: dict[str, Any]) -> None:
    template = parse_template(BOMBS[name], BY_FUEL)
    tracemalloc.start()
    try:
        before = tracemalloc.get_traced_memory()[0]
        tracemalloc.reset_peak()
        try:
            made = template.value(context)
        except Invalid:
            made = None
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    del made
    assert peak - before < MEGABYTES * 1_000_000


def test_the_batteries_are_not_empty() -> None:
    assert len(BOMBS) >= 45
    assert len(FLOODS) >= 45


def test_eight_bombs_at_once_leave_the_others_alone(context: dict[str, Any]) -> None:
    chosen = [
        "empty loops",
        "output",
        "arithmetic",
        "filter date",
        "long upper",
        "sort words",
        "shared as json",
        "rows as json",
    ]
    templates = [parse_template(BOMBS[name], Limits()) for name in chosen]

    def burn(number: int) -> str:
        try:
            templates[number].value(context)
        except Invalid as refusal:
            return refusal.code
        return "a value"

    with ThreadPoolExecutor(8) as pool:
        codes = list(pool.map(burn, range(8)))
    assert set(codes) <= BOUNDED


def test_the_clock_ends_what_fuel_would_not() -> None:
    limits = replace(Limits(), template_fuel=10**9, template_milliseconds=20)
    template = parse_template("{% for a in n %}{% for b in n %}{% endfor %}{% endfor %}", limits)
    begun = time.thread_time()
    with pytest.raises(Invalid) as refusal:
        template.render({"n": list(range(5_000))})
    assert refusal.value.code == "template_too_much_work"
    assert "20 ms" in refusal.value.detail
    assert time.thread_time() - begun < RUNAWAY


@pytest.mark.parametrize("name", ["output", "filter date", "grown object", "keys", "many as json"])
def test_a_bomb_ends_at_the_same_place_each_time(name: str, context: dict[str, Any]) -> None:
    assert verdict(BOMBS[name], context, BY_FUEL) == verdict(BOMBS[name], context, BY_FUEL)


def test_fuel_is_counted_the_same_each_time() -> None:
    template = parse_template("{% for a in n %}{{ a }}{% endfor %}", Limits())
    left = set()
    for _ in range(3):
        meter = RenderMeter(Limits())
        template.render_with({"n": list(range(500))}, meter)
        left.add(meter.fuel)
    assert len(left) == 1


def test_a_long_but_ordinary_template_is_not_mistaken_for_a_bomb() -> None:
    rows = [{"name": f"row {i}", "size": i, "tags": ["a", "b"]} for i in range(1_000)]
    template = parse_template(
        "{% for row in rows %}| {{ loop.index }} | {{ row.name | upper }} | {{ row.size }} | "
        "{{ row.tags | join(', ') }} |\n{% endfor %}",
        Limits(),
    )
    assert str(template.render({"rows": rows})).count("\n") == 1_000


def test_a_megabyte_of_rows_can_be_put_out_once() -> None:
    rows = [{"id": i, "name": f"name of row {i}", "note": "x" * 60} for i in range(8_000)]
    made = parse_template("{{ rows | tojson }}", Limits()).render({"rows": rows})
    assert 900_000 < len(str(made)) <= 1_000_000


def test_output_is_counted_before_it_is_kept() -> None:
    limits = replace(Limits(), template_output=10)
    assert parse_template("{{ a }}", limits).render({"a": "x" * 10}) == "x" * 10
    with pytest.raises(Invalid) as refusal:
        parse_template("{{ a }}.", limits).render({"a": "x" * 10})
    assert refusal.value.code == "template_too_large"


def test_a_source_is_measured_in_bytes_before_it_is_read() -> None:
    assert parse_template("é" * 4_096, Limits()).is_literal
    for source in ("é" * 4_097, "{{" * 4_097, "x" * 8_193):
        with pytest.raises(Invalid) as refusal:
            parse_template(source, Limits())
        assert refusal.value.code == "template_too_long"
    with pytest.raises(Invalid):
        parse_predicate("a" * 8_193, Limits())


def test_reading_near_the_bottom_of_the_stack_is_refused_not_broken() -> None:
    def down(levels: int) -> str:
        if levels:
            return down(levels - 1)
        try:
            parse_template("{{ [[[[[[[[[[1]]]]]]]]]] }}", BY_FUEL)
        except Invalid as refusal:
            return refusal.code
        return "a value"

    used = len(list(_frames()))
    seen = {down(sys.getrecursionlimit() - used - spare) for spare in range(40, 240, 10)}
    assert seen <= {"a value", "template_too_complex"}


def _frames() -> Any:
    frame = sys._getframe()
    while frame is not None:
        yield frame
        frame = frame.f_back  # type: ignore[assignment]
