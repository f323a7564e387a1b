"""What a template leaves open is filled in as data, and never becomes anything more."""

from __future__ import annotations

from typing import Any

import pytest

from mainspring.contracts.errors import Invalid
from mainspring.definition.script.parser import read_script
from mainspring.recipes.package import InstalledReference, InstallOwner, ReferenceValues, fill
from mainspring.recipes.package.references import find_reference_problems, find_references

BOARD = "01900000-0000-7000-8000-00000000000b"
FILLING = ReferenceValues(
    InstallOwner("01900000-0000-7000-8000-000000000002", "ada@example.com"),
    {"board": InstalledReference(BOARD, "Ada's board")},
    {"site": "a.example", "n": 3, "half": 0.5, "on": True, "empty": ""},
)


def filled(value: Any, key: str = "x", **settings: Any) -> Any:
    filling = ReferenceValues(FILLING.owner, FILLING.installs, {**FILLING.settings, **settings})
    return fill({key: value}, filling)[key]


FILLED: dict[str, tuple[Any, Any]] = {
    "an id": ("{{ install.board.id }}", BOARD),
    "without blanks": ("{{install.board.id}}", BOARD),
    "a number keeps its type": ("{{ install.settings.n }}", 3),
    "a truth value keeps its type": ("{{ install.settings.on }}", True),
    "empty text": ("{{ install.settings.empty }}", ""),
    "in a text": ("https://{{ install.settings.site }}/", "https://a.example/"),
    "a number in a text": ("at most {{ install.settings.n }}", "at most 3"),
    "a truth value in a text": ("{{ install.settings.on }}!", "true!"),
    "twice": ("{{ install.settings.n }}{{ install.settings.n }}", "33"),
    "whoever installs": ("{{ install.owner.email }}", "ada@example.com"),
    "in a list": (["{{ install.settings.site }}"], ["a.example"]),
    "deep inside": ({"a": [{"b": "{{ install.board.name }}"}]}, {"a": [{"b": "Ada's board"}]}),
    "beside a template of runs": ("{{ run.id }} {{ install.settings.n }}", "{{ run.id }} 3"),
    "other templates are left alone": ("{{ inputs.install }}", "{{ inputs.install }}"),
    "an id in an expression": (
        "{{ rows | first == '{{ install.board.id }}' }}",
        "{{ rows | first == '" + BOARD + "' }}",
    ),
}


@pytest.mark.parametrize("case", FILLED)
def test_a_reference_is_filled(case: str) -> None:
    written, expected = FILLED[case]
    made = filled(written)

    assert made == expected
    assert type(made) is type(expected)


def test_a_condition_stays_text() -> None:
    assert filled("{{ install.settings.on }}", "when") == "true"


UNFIT: dict[str, tuple[str, dict[str, Any], str]] = {
    "an expression": ("{{ install.settings.v }}", {"v": "{{ secrets.key }}"}, "value_is_template"),
    "a statement": ("{{ install.settings.v }}", {"v": "{% if x %}"}, "value_is_template"),
    "a comment": ("a {{ install.settings.v }}", {"v": "{# x"}, "value_is_template"),
    "half of it here, half there": (
        "{{ install.settings.v }}{{ install.settings.w }}",
        {"v": "{", "w": "{ secrets.key }}"},
        "value_is_template",
    ),
    "half of it beside": (
        "{{{ install.settings.v }}",
        {"v": "{ secrets.key }}"},
        "value_is_template",
    ),
    "text in an expression": (
        "{{ '{{ install.settings.v }}' }}",
        {"v": "' ~ secrets.key ~ '"},
        "reference_in_expression",
    ),
    "no value": ("{{ install.settings.nothing }}", {}, "no_value"),
    "no dependency": ("{{ install.page.id }}", {}, "no_value"),
    "no such part": ("{{ install.board.rows }}", {}, "no_value"),
}


@pytest.mark.parametrize("case", UNFIT)
def test_what_would_become_more_than_data_is_refused_at_its_place(case: str) -> None:
    written, settings, code = UNFIT[case]
    with pytest.raises(Invalid) as wrong:
        filled(written, **settings)

    assert {(one.pointer, one.code) for one in wrong.value.findings} == {("/x", code)}


@pytest.mark.parametrize("quote", ['"', "'", "`"])
@pytest.mark.parametrize(
    "value",
    ['"; await brains.delete_board({}); "', "'; x(); '", "`; ${x()}", "\\", "a\nb", "*/ x()", "🜂"],
)
def test_text_in_a_script_stays_inside_its_quotes(quote: str, value: str) -> None:
    source = f"const said = {quote}{{{{ install.settings.v }}}}{quote};\nreturn said;"
    made = filled(source, "source", v=value)

    head, tail = f"const said = {quote}", f"{quote};\nreturn said;"
    assert made.startswith(head)
    assert made.endswith(tail)
    inner = made[len(head) : -len(tail)]
    assert not set(inner) & set("\"'`$\n*;(){}")
    assert (
        inner.encode().decode("unicode_escape").encode("utf-16", "surrogatepass").decode("utf-16")
        == value
    )
    assert not read_script(made).calls


def test_a_reference_that_leads_nowhere_is_reported_with_what_was_meant() -> None:
    template = {
        "a": "{{ install.bord.id }}",
        "b": "{{ install.settings.sit }}",
        "c": "{{ install.board }}",
        "{{ install.board.id }}": 1,
    }
    found = {
        one.pointer: one
        for one in find_reference_problems(template, {"board": {}}, {"site": "string"}, "/template")
    }

    assert found["/template/a"].suggestion == "Did you mean 'board'?"
    assert found["/template/b"].suggestion == "Did you mean 'site'?"
    assert found["/template/c"].code == "bad_reference"
    assert found["/template/{{ install.board.id }}"].code == "bad_reference"
    assert len(found) == 4


def test_a_long_text_of_open_braces_is_read_once() -> None:
    text = "{{ install.board.id }}" + "{{ " * 100_000
    assert sum(1 for _ in find_references({"a": text})) == 1
