"""What a template reads is known before it runs."""

from __future__ import annotations

import pytest

from mainspring.contracts.limits import Limits
from mainspring.definition.templates import TemplateReference, parse_predicate, parse_template

LIMITS = Limits()


def reads(source: str) -> set[tuple[str, bool]]:
    found = parse_template(source, LIMITS).references
    return {(".".join(reference.path), reference.guarded) for reference in found}


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("text", set()),
        ("{{ a }}", {("a", False)}),
        ("{{ steps.fetch.body }}", {("steps.fetch.body", False)}),
        ("{{ steps['fetch'].body }}", {("steps.fetch.body", False)}),
        ("{{ steps[name].body }}", {("steps", False), ("name", False)}),
        ("{{ a.b[0].c }}", {("a.b", False)}),
        ("{{ a[1:b] }}", {("a", False), ("b", False)}),
        ("{{ (a or b).c }}", {("a", False), ("b", False)}),
        ("{{ a|default(b) }}", {("a", True), ("b", False)}),
        ("{{ a.b|default('') }}", {("a.b", True)}),
        ("{{ a.b[c]|default('') }}", {("a.b", True), ("c", False)}),
        ("{{ a.b is defined }}", {("a.b", True)}),
        ("{{ a.b is not defined }}", {("a.b", True)}),
        ("{{ a is undefined }}", {("a", True)}),
        ("{{ (a + 1)|default(0) }}", {("a", False)}),
        ("{% if a is defined %}{{ a.b }}{% endif %}", {("a", True), ("a.b", True)}),
        ("{% if a.b is defined %}{{ a }}{% endif %}", {("a.b", True), ("a", True)}),
        ("{% if a is defined %}{{ b }}{% endif %}", {("a", True), ("b", False)}),
        ("{% if a is defined %}x{% else %}{{ a }}{% endif %}", {("a", True), ("a", False)}),
        ("{% if a is not defined %}x{% else %}{{ a }}{% endif %}", {("a", True)}),
        ("{% if a is undefined %}x{% elif a %}{{ a }}{% endif %}", {("a", True)}),
        ("{{ a is defined and a.b > 1 }}", {("a", True), ("a.b", True)}),
        ("{{ a is undefined or a }}", {("a", True)}),
        ("{{ a if a is defined else b }}", {("a", True), ("b", False)}),
        (
            "{% for x in rows if x.a is defined %}{{ x.a }}{{ y }}{% endfor %}",
            {("rows", False), ("y", False)},
        ),
        ("{% for x in rows %}{{ x.y }}{{ loop.index }}{% endfor %}", {("rows", False)}),
        ("{% for x in x %}{{ x }}{% endfor %}", {("x", False)}),
        ("{% for x in a %}{% endfor %}{{ x }}", {("a", False), ("x", False)}),
        ("{% for a, (b, c) in rows %}{{ a }}{{ b }}{{ c }}{% endfor %}", {("rows", False)}),
        ("{% for x in a %}{% set y = x %}{% endfor %}{{ y }}", {("a", False), ("y", False)}),
        ("{% for x in a %}{% else %}{{ x }}{% endfor %}", {("a", False), ("x", False)}),
        ("{% set x = a.b %}{{ x.c }}", {("a.b", False)}),
        ("{{ x }}{% set x = 1 %}{{ x }}", {("x", False)}),
        ("{% set x = x %}{{ x }}", {("x", False)}),
        ("{% if a %}{% set x = 1 %}{% endif %}{{ x }}", {("a", False)}),
        (
            "{% set x %}{{ a }}{% set y = 1 %}{% endset %}{{ x }}{{ y }}",
            {("a", False), ("y", False)},
        ),
        ("{% set x | replace(a, b) %}{% endset %}", {("a", False), ("b", False)}),
        ("{% with x = a %}{{ x }}{% endwith %}{{ x }}", {("a", False), ("x", False)}),
        ("{{ loop.index }}", {("loop.index", False)}),
        ("{{ {'a': b}.c ~ [d] ~ (e if f else g) }}", {(n, False) for n in "bdefg"}),
        ("{{ a|sort(attribute=b)|join(d=c) }}", {("a", False), ("b", False), ("c", False)}),
        ("{% raw %}{{ a }}{% endraw %}{# {{ b }} #}", set()),
        ("{{ true }}{{ none }}{{ 'a' }}", set()),
    ],
)
def test_free_names_are_found_with_their_paths(
    source: str, expected: set[tuple[str, bool]]
) -> None:
    assert reads(source) == expected


def test_a_reference_knows_its_line() -> None:
    assert parse_template("a\n{{ x.y }}\n{{ z }}", LIMITS).references == (
        TemplateReference(("x", "y"), 2, guarded=False),
        TemplateReference(("z",), 3, guarded=False),
    )


def test_a_predicate_has_references_too() -> None:
    assert parse_predicate("a.b > 1 and c is defined", LIMITS).references == (
        TemplateReference(("a", "b"), 1, guarded=False),
        TemplateReference(("c",), 1, guarded=True),
    )


def test_secrets_are_no_references() -> None:
    template = parse_template("{{ secrets.key }}{{ a }}", LIMITS, secrets=True)
    assert [reference.path for reference in template.references] == [("a",)]
