"""What is not part of the language is refused when it is read, in a sentence that helps."""

from __future__ import annotations

import pytest

from mainspring.contracts.errors import Invalid
from mainspring.contracts.limits import Limits
from mainspring.definition.templates import parse_template

LIMITS = Limits()


def refusal(source: str) -> Invalid:
    with pytest.raises(Invalid) as caught:
        parse_template(source, LIMITS)
    return caught.value


@pytest.mark.parametrize(
    ("source", "code", "text"),
    [
        ("{{ x() }}", "template_unsupported", "called"),
        ("{{ x.upper() }}", "template_unsupported", "called"),
        ("{{ 'a'|upper() ('b') }}", "template_unsupported", "called"),
        ("{% macro m() %}{% endmacro %}", "template_unsupported", "Macros"),
        ("{% call m() %}{% endcall %}", "template_unsupported", "Call blocks"),
        ("{% include 'x' %}", "template_unsupported", "include"),
        ("{% import 'x' as y %}", "template_unsupported", "import"),
        ("{% from 'x' import y %}", "template_unsupported", "import"),
        ("{% extends 'x' %}", "template_unsupported", "extend"),
        ("{% block x %}{% endblock %}", "template_unsupported", "Blocks"),
        ("{% filter upper %}{% endfilter %}", "template_unsupported", "Filter blocks"),
        ("{% autoescape true %}{% endautoescape %}", "template_unsupported", "Autoescape"),
        ("{% set x.y = 1 %}", "template_unsupported", "Namespaces"),
        ("{% do x %}", "template_unsupported", "'do'"),
        ("{% break %}", "template_unsupported", "'break'"),
        ("{% while x %}", "template_unsupported", "'while'"),
        ("{% for x in y recursive %}{% endfor %}", "template_unsupported", "recursive"),
        ("{{ x|join(*y) }}", "template_unsupported", "arguments"),
        ("{{ x|join(**y) }}", "template_unsupported", "arguments"),
        ("{{ x is defined(1) }}", "template_unsupported", "no arguments"),
        ("{{ x[1:2, 3] }}", "template_unsupported", "not allowed here"),
        ("{{ x|nope }}", "template_unknown_filter", "'nope'"),
        ("{% set x | nope %}{% endset %}", "template_unknown_filter", "'nope'"),
        ("{{ x is nope }}", "template_unknown_test", "'nope'"),
        ("{{ x is divisibleby(3) }}", "template_unknown_test", "'divisibleby'"),
        ("{{ _x }}", "template_name", "underscore"),
        ("{{ x._y }}", "template_name", "underscore"),
        ("{% for _ in x %}{% endfor %}", "template_name", "underscore"),
        ("{% set loop = 1 %}", "template_name", "reserved"),
        ("{% for loop in x %}{% endfor %}", "template_name", "reserved"),
        ("{{ x", "template_syntax", "cannot be read"),
        ("{{ }}", "template_syntax", "cannot be read"),
        ("{% if x %}", "template_syntax", "endif"),
        ("{% endif %}", "template_syntax", "cannot be read"),
        ("{{ 'x }}", "template_syntax", "cannot be read"),
        ("{# x", "template_syntax", "comment"),
        ("{% raw %}x", "template_syntax", "raw"),
        ("{{ a b }}", "template_syntax", "cannot be read"),
        ("{{ 'a' == }}", "template_syntax", "cannot be read"),
        ("{{ x ? y : z }}", "template_syntax", "cannot be read"),
        ("{{ x && y }}", "template_syntax", "cannot be read"),
        ("{{ '\\xzz' }}", "template_syntax", "escape"),
        ("{{ '\\ud800' }}", "template_syntax", "escape"),
        ("{{ '\\x00' }}", "template_syntax", "escape"),
        ("{{ '\\N{NO SUCH NAME}' }}", "template_syntax", "escape"),
        ("{{ '\\U00110000' }}", "template_syntax", "escape"),
        ("{{ \ud800 }}", "template_syntax", "surrogate"),
        ("{{ " + "9" * 700 + " }}", "template_value", "too large"),
        ("{{ 0x" + "f" * 600 + " }}", "template_value", "too large"),
        ("{{ 1e999 }}", "template_value", "too large"),
        ("{{ 1٣ }}", "template_syntax", "not a number"),
        ("{{ ٣.٤ }}", "template_syntax", "cannot be read"),
        ("{{ " + "[" * 30 + "]" * 30 + " }}", "template_too_complex", "too complex"),
        ("{{ " + "not " * 100 + "x }}", "template_too_complex", "too complex"),
        ("{{ 1" + " + 1" * 100 + " }}", "template_too_complex", "too complex"),
        ("{{ x" + ".y" * 100 + " }}", "template_too_complex", "too complex"),
        ("{{ a }}" * 1_100, "template_too_complex", "too complex"),
    ],
)
def test_the_sentence_names_what_is_wrong(source: str, code: str, text: str) -> None:
    caught = refusal(source)
    assert caught.code == code
    assert text in caught.detail
    assert caught.detail.endswith(".")
    assert len(caught.detail) < 400


def test_the_sentence_says_the_line() -> None:
    assert refusal("a\nb\n{{ x | nope }}").detail.startswith("Line 3: ")
    assert refusal("a\n\n{{ x() }}").detail.startswith("Line 3: ")
    assert refusal("a\n{{ x ! }}").detail.startswith("Line 2: ")
    assert refusal("{{ x\n | date('%Q') }}").detail.startswith("Line 2: ")


@pytest.mark.parametrize(
    ("source", "hint"),
    [
        ("{{ x | uper }}", "'upper'"),
        ("{{ x | truncat }}", "'truncate'"),
        ("{{ x | count }}", "'length'"),
        ("{{ x | json }}", "'tojson'"),
        ("{{ x | d }}", "'default'"),
        ("{{ x | zzzz }}", "The filters are"),
        ("{{ x is empty }}", "The tests are"),
        ("{{ x.items() }}", "for key in value"),
        ("{{ x.upper() }}", "value | upper"),
        ("{% do x %}", "The tags are"),
    ],
)
def test_a_way_out_is_suggested(source: str, hint: str) -> None:
    assert hint in (refusal(source).suggestion or "")


def test_deep_but_reasonable_templates_pass() -> None:
    deep = "{% if a %}" * 20 + "{{ [[[[[[[[[[1]]]]]]]]]] }}" + "{% endif %}" * 20
    assert parse_template(deep, LIMITS).render({"a": 1}) == "[" * 10 + "1" + "]" * 10
    long = "{{ " + " or ".join(f"a == {number}" for number in range(40)) + " }}"
    assert parse_template(long, LIMITS).value({"a": 39}) is True


def test_a_template_that_was_read_is_read_once() -> None:
    assert parse_template("{{ same }}", LIMITS) is parse_template("{{ same }}", LIMITS)


def test_what_is_kept_is_bounded() -> None:
    first = parse_template("{{ first_of_many }}", LIMITS)
    for number in range(60):
        parse_template("{{ x }}" + f"{number:05d}" * 800, LIMITS)
    again = parse_template("{{ first_of_many }}", LIMITS)
    assert again is not first
    assert again == first
