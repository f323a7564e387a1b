"""A condition is one expression, bare or in braces, and what it reads must be there."""

from __future__ import annotations

from typing import Any

import pytest

from mainspring.contracts.errors import Invalid
from mainspring.contracts.limits import Limits
from mainspring.definition.templates import evaluate_predicate, parse_predicate, render_template

LIMITS = Limits()
CONTEXT: dict[str, Any] = {"a": 1, "none": None, "list": [], "text": "x", "o": {"b": {"c": 1}}}


@pytest.mark.parametrize(
    ("source", "truth"),
    [
        ("a == 1", True),
        ("a == 2", False),
        ("a", True),
        ("list", False),
        ("text", True),
        ("none", False),
        ("false", False),
        ("0", False),
        ("'false'", True),
        ("not list", True),
        ("a == 1 and text == 'x'", True),
        ("a in [1, 2]", True),
        ("missing is defined", False),
        ("missing|default(true)", True),
        ("list|length > 0", False),
        ("a > 0 if true else false", True),
        ("{'a': {'b': 1}}.a.b == 1", True),
        ("o == {'b': {'c': 1}}", True),
        ("text == '{{'", False),
        ("(a, 2)", True),
        ("\n a \n", True),
    ],
)
def test_bare_and_braced_mean_the_same(source: str, truth: bool) -> None:
    for spelled in (
        source,
        "{{ " + source + " }}",
        "  {{" + source + "}}\n",
        "{{- " + source + " -}}",
    ):
        predicate = parse_predicate(spelled, LIMITS)
        assert predicate.test(CONTEXT) is truth
        assert predicate.source == spelled


@pytest.mark.parametrize(
    "source", ["missing", "{{ missing }}", "o.x", "not missing", "missing == 1"]
)
def test_a_missing_name_is_an_error_and_not_false(source: str) -> None:
    with pytest.raises(Invalid) as refusal:
        parse_predicate(source, LIMITS).test(CONTEXT)
    assert refusal.value.code == "template_undefined"


@pytest.mark.parametrize(
    "source",
    [
        "",
        " ",
        "\n",
        "{{ }}",
        "{{ a }}{{ a }}",
        "{{ a }} and {{ a }}",
        "{{ a }} x",
        "{% if a %}{% endif %}",
        "{# a #}",
        "a }}",
        "a }} {{ b",
        "{{ a",
        "a b",
        "a == ",
        "{% raw %}a{% endraw %}",
        "a, b c",
        "a; b",
        "a }}{% if b %}{{ b",
        "{{ '{{ a }}' }} x",
        "a\n}}",
        "a #}",
        "a = 1",
    ],
)
def test_anything_but_one_expression_is_refused(source: str) -> None:
    with pytest.raises(Invalid) as refusal:
        parse_predicate(source, LIMITS)
    assert refusal.value.code == "template_syntax"


def test_a_condition_is_judged_by_the_same_grammar() -> None:
    for source in ("a()", "a.__class__", "a|nope", "a is nope", "_a"):
        with pytest.raises(Invalid):
            parse_predicate(source, LIMITS)


def test_reading_and_judging_in_one_go() -> None:
    assert evaluate_predicate("a == 1", CONTEXT, LIMITS) is True
    assert render_template("a is {{ a }}", CONTEXT, LIMITS) == "a is 1"
