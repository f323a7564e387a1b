"""Laws of templates: whatever the source and the data, an answer or a refusal, in bounds."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from dataclasses import replace
from random import Random
from string import Formatter
from typing import Any

from hypothesis import assume, given, settings
from hypothesis import strategies as st

from mainspring.contracts.errors import Invalid
from mainspring.contracts.limits import Limits
from mainspring.contracts.secret import SecretRef, SecretText
from mainspring.definition.templates import (
    FILTERS,
    TESTS,
    compile_config,
    parse_predicate,
    parse_template,
)
from mainspring.definition.templates.values import RenderMeter
from tests.kit.runaway import RUNAWAY

LIMITS = Limits()
# Little enough that a hundred examples stay quick, and the law is the same.
SMALL = replace(LIMITS, template_fuel=20_000, template_value=50_000, template_output=50_000)

# What Postgres and UTF-8 can carry.
text = st.text(st.characters(exclude_categories=["Cs"]), max_size=60)
scalars = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(2**70), 2**70),
    st.floats(allow_nan=False, allow_infinity=False),
    text,
)
data = st.recursive(
    scalars,
    lambda inner: st.one_of(st.lists(inner, max_size=4), st.dictionaries(text, inner, max_size=4)),
    max_leaves=12,
)
contexts = st.fixed_dictionaries({"a": data, "rows": st.lists(scalars, max_size=5)})

NAMES = ("a", "rows", "x", "loop", "missing", "none", "true")
LITERALS = (
    "0",
    "1",
    "7",
    "0.5",
    "''",
    "'ab'",
    "[]",
    "{}",
    "2**2000",
    "'ab' * 9999",
    "'{{ a }}'",
    "'é😀'",
)
OPERATORS = (
    "+",
    "-",
    "*",
    "/",
    "//",
    "%",
    "**",
    "~",
    "==",
    "!=",
    "<",
    ">=",
    "in",
    "not in",
    "and",
    "or",
)
KEYS = ("a", "items", "name", "index", "previtem", "0")
SHAPES = (
    "({e} {o} {e})",
    "({e} {o} {e})",
    "{e}.{k}",
    "{e}[{e}]",
    "{e}[{e}:{e}]",
    "({e} | {f})",
    "({e} | {f}({e}))",
    "({e} | {f}({e}, {e}))",
    "({e} is {t})",
    "({e} is not {t})",
    "({e} if {e} else {e})",
    "(not {e})",
    "(-{e})",
    "[{e}, {e}]",
    "{{'a': {e}, 'name': {e}}}",
)
BLOCKS = (
    "{s}{s}",
    "{{{{ {e} }}}}",
    "{{{{ {e} }}}}{s}",
    "text {{{{ {e} }}}}",
    "{{% if {e} %}}{s}{{% else %}}{s}{{% endif %}}",
    "{{% for x in {e} %}}{s}{{% endfor %}}",
    "{{% for x in rows %}}{{{{ loop.index }}}}{s}{{% endfor %}}",
    "{{% for x in {e} if {e} %}}{s}{{% endfor %}}",
    "{{% set x = {e} %}}{s}",
    "{{% set x %}}{s}{{% endset %}}{s}",
    "{{% with x = {e} %}}{s}{{% endwith %}}",
)


def _expression(chance: Random, depth: int) -> str:
    if depth <= 0 or chance.random() < 0.2:
        return chance.choice(NAMES if chance.random() < 0.6 else LITERALS)
    return _filled(chance.choice(SHAPES), chance, depth - 1)


def _source(chance: Random, depth: int) -> str:
    if depth <= 0:
        return chance.choice(("", "text ", "{{ a }}", "{# note #}", "{{ x | default(rows) }}"))
    return _filled(chance.choice(BLOCKS), chance, depth - 1)


def _filled(shape: str, chance: Random, depth: int) -> str:
    """Puts something new into every hole of a shape."""
    makers: dict[str, Callable[[], str]] = {
        "e": lambda: _expression(chance, depth),
        "s": lambda: _source(chance, depth),
        "o": lambda: chance.choice(OPERATORS),
        "k": lambda: chance.choice(KEYS),
        "f": lambda: chance.choice(sorted(FILTERS)),
        "t": lambda: chance.choice(TESTS),
    }
    parts = [
        literal + (makers[hole]() if hole else "")
        for literal, hole, _, _ in Formatter().parse(shape)
    ]
    return "".join(parts)


# A seed is drawn rather than a tree: thousands of templates then cost what a few trees would.
seeds = st.integers(0, 2**48)
expressions = seeds.map(lambda seed: _expression(Random(seed), 3))
sources = seeds.map(lambda seed: _source(Random(seed), 4))
junk = st.text(st.sampled_from("{}%#-+'\"\\()[]|.,:=*~<> \n0ae_é\u0300\x00\u2028"), max_size=40)
tokens = st.lists(
    st.sampled_from(
        [
            "{{",
            "}}",
            "{%",
            "%}",
            "{#",
            "#}",
            "{{-",
            "-}}",
            " ",
            "\n",
            "'",
            '"',
            "\\",
            "(",
            ")",
            "[",
            "]",
            "{",
            "}",
            "|",
            ".",
            ",",
            ":",
            "a",
            "if",
            "for",
            "in",
            "not",
            "else",
            "elif",
            "endif",
            "endfor",
            "set",
            "endset",
            "with",
            "endwith",
            "=",
            "is",
            "defined",
            "upper",
            "1",
            "0x1",
            "1e9",
            "_",
            "__class__",
            "secrets",
            "raw",
            "endraw",
            "*",
            "**",
            "~",
            "é",
            "recursive",
            "macro",
            "call",
            "block",
            "import",
            "include",
            "extends",
            "filter",
            "do",
            "loop",
            "print",
        ]
    ),
    max_size=40,
).map(" ".join)


def _outcome(work: Callable[[], Any]) -> tuple[str, Any]:
    """A value, or a refusal of ours; any other exception fails the law."""
    try:
        return "value", work()
    except Invalid as refusal:
        output = refusal
    assert output.code.startswith("template_")
    assert output.detail
    return output.code, output.detail


def _is_plain(value: Any) -> bool:
    json.dumps(value, allow_nan=False)
    return True


@settings(max_examples=200, deadline=None)
@given(st.one_of(sources, tokens, junk), contexts)
def test_a_template_gives_plain_data_or_a_refusal(source: str, context: dict[str, Any]) -> None:
    before = json.dumps(context)
    code, made = _outcome(lambda: parse_template(source, SMALL).value(context))
    assert code != "value" or _is_plain(made)
    assert json.dumps(context) == before


@settings(max_examples=100, deadline=None)
@given(st.one_of(sources, tokens, junk), seeds)
def test_a_template_ends_in_time_on_large_data(source: str, seed: int) -> None:
    chance = Random(seed)
    context = {
        "a": {"items": "x" * chance.randrange(100_000), "name": list(range(2_000)), "a": None},
        "rows": [{"a": number, "name": f"row {number}"} for number in range(1_000)],
    }
    begun = time.thread_time()
    _outcome(lambda: parse_template(source, LIMITS).value(context))
    assert time.thread_time() - begun < RUNAWAY


@settings(max_examples=100, deadline=None)
@given(st.one_of(sources, tokens), contexts)
def test_rendering_is_deterministic_down_to_the_fuel(source: str, context: dict[str, Any]) -> None:
    code, template = _outcome(lambda: parse_template(source, SMALL))
    if code != "value":
        return
    first, second = RenderMeter(SMALL), RenderMeter(SMALL)
    once = _outcome(lambda: template.render_with(context, first))
    again = _outcome(lambda: template.render_with(context, second))
    assert (once, first.fuel) == (again, second.fuel)


@settings(max_examples=100, deadline=None)
@given(st.one_of(sources, tokens, junk), contexts)
def test_a_template_that_was_read_has_no_syntax_error_left(
    source: str, context: dict[str, Any]
) -> None:
    """The verdict on the language falls when a template is read, and never later."""
    reading, template = _outcome(lambda: parse_template(source, SMALL))
    again, _ = _outcome(lambda: parse_template(source, SMALL))
    assert reading == again
    if reading != "value":
        return
    rendering, _ = _outcome(lambda: template.value(context))
    assert rendering in {
        "value",
        "template_undefined",
        "template_value",
        "template_too_large",
        "template_too_much_work",
    }


@settings(max_examples=100, deadline=None)
@given(st.one_of(expressions, tokens, junk), contexts)
def test_bare_and_braced_conditions_agree(source: str, context: dict[str, Any]) -> None:
    bare, first = _outcome(lambda: parse_predicate(source, SMALL).test(context))
    if bare not in {"value", "template_undefined", "template_value"}:
        return
    braced, second = _outcome(lambda: parse_predicate("{{ " + source + " }}", SMALL).test(context))
    assert (bare, first) == (braced, second)


payloads = st.one_of(
    text,
    tokens,
    sources,
    st.sampled_from(
        [
            "{{ 7*7 }}",
            "{% raw %}",
            "{{ secrets.key }}",
            "[secret key]",
            "{#",
            "${7*7}",
            "#{7*7}",
            "{{ ''.__class__ }}",
            "\x00",
            "%s",
            "{0}",
            "\u2028",
            "<script>",
            "{{",
            "}}",
        ]
    ),
)


@settings(max_examples=200, deadline=None)
@given(payloads)
def test_data_comes_out_as_it_went_in(payload: str) -> None:
    context = {"x": payload, "o": {"k": payload}, "l": [payload]}
    for source in (
        "{{ x }}",
        "{{ o.k }}",
        "{{ l[0] }}",
        "{{ x ~ '' }}",
        "{{ l | join }}",
        "{{ x | default('') }}",
        "{% for i in l %}{{ i }}{% endfor %}",
        "{% set y = x %}{{ y }}",
        "{% set y %}{{ x }}{% endset %}{{ y }}",
        "{{ x if true }}",
        "{{ l | first }}",
        "{{ '' or x }}",
        "{{ x | replace('', '') }}",
    ):
        once = parse_template(source, LIMITS).value(context)
        assert once == payload
        # A second hop through another template changes nothing either.
        assert parse_template("{{ x }}", LIMITS).render({"x": once}) == payload
    assert parse_template("<{{ x }}>", LIMITS).render(context) == f"<{payload}>"
    assert compile_config({"a": "{{ x }}", "b": "{{ o }}"}, None, LIMITS).render(context) == {
        "a": payload,
        "b": {"k": payload},
    }


@settings(max_examples=100, deadline=None)
@given(data)
def test_json_survives_the_journey_through_text(value: Any) -> None:
    shown = parse_template("{{ x | tojson }}", LIMITS).render({"x": value})
    assert isinstance(shown, str)
    assert json.loads(shown) == value
    assert parse_template("{{ x }}", LIMITS).value({"x": value}) == value


@settings(max_examples=100, deadline=None)
@given(
    payloads, st.lists(st.sampled_from(["{{ x }}", "{{ secrets.k }}", "text", "\n"]), max_size=6)
)
def test_only_the_template_itself_names_secrets(payload: str, pieces: list[str]) -> None:
    template = parse_template("".join(pieces), LIMITS, secrets=True)
    made = template.value({"x": payload}) if pieces != ["{{ x }}"] else payload
    named = pieces.count("{{ secrets.k }}")
    if named:
        assert isinstance(made, SecretText)
        assert sum(part == SecretRef("k") for part in made.parts) == named
        assert "".join(part for part in made.parts if isinstance(part, str)) == "".join(
            {"{{ x }}": payload, "{{ secrets.k }}": ""}.get(piece, piece) for piece in pieces
        )
    else:
        assert isinstance(made, str)


@settings(max_examples=100, deadline=None)
@given(data)
def test_a_config_without_templates_is_the_same_object(value: Any) -> None:
    assume(not any(mark in json.dumps(value, ensure_ascii=False) for mark in ("{{", "{%", "{#")))
    assert compile_config(value, None, LIMITS).render({}) is value
