"""Whatever is handed in as a script is read, judged and woven, and nothing is raised."""

from __future__ import annotations

import resource

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mainspring.definition.script import (
    LONGEST,
    derive_grants,
    find_script_problems,
    read_script,
    read_script_grants,
    rewrite_script,
)
from mainspring.definition.script.parser import MOST_ANGLES

_PIECES = st.sampled_from(
    [
        "import ",
        "{ brains as b }",
        " from ",
        '"mainspring"',
        "export ",
        "default ",
        "main",
        "\n",
        "\r\n",
        ";",
        "{",
        "}",
        "(",
        ")",
        "`",
        "${",
        "'",
        '"',
        "\\",
        "//",
        "/*",
        "*/",
        "{{",
        "}}",
        "key",
        "brains",
        ".",
        "http_fetch",
        "({ url: ",
        "headers: ",
        "[",
        "]",
        "=>",
        "async ",
        "function ",
        "await ",
        "return ",
        "é",
        "😀",
        "\ufeff",
        "#!",
        "\x00",
        "declare const a;",
        "<",
        ">",
        "class A ",
        "const ",
        " = ",
        "1",
        ",",
        "\\u{",
        "type ",
        "enum ",
        "\u2028",
    ]
)
_TEXTS = st.one_of(st.text(), st.lists(_PIECES, max_size=40).map("".join))


@settings(max_examples=300, deadline=None)
@given(_TEXTS)
def test_any_text_is_read_and_judged(source: str) -> None:
    script = read_script(source)
    lines = source.count("\n") + 1
    places = [
        one.place
        for found in (script.imports, script.calls, script.placeholders, script.faults)
        for one in found
    ]

    assert all(1 <= place.line <= lines and place.column >= 1 for place in places)
    assert all(one.pointer == "/source" for one in find_script_problems(source, None, (), ()))
    assert derive_grants(source) == read_script_grants({"source": source})


@settings(max_examples=300, deadline=None)
@given(_TEXTS)
def test_any_text_keeps_its_lines_when_it_is_woven(source: str) -> None:
    added = 0 if read_script(source.removeprefix("\ufeff")).entry == "default" else 1

    assert rewrite_script(source).count("\n") == source.count("\n") + added


@pytest.mark.parametrize("piece", ["f<a,", "f<a|", "a<a<", "f<a,a,a,a,"])
def test_a_text_that_can_be_read_in_ever_more_ways_costs_little(piece: str) -> None:
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    for number in (MOST_ANGLES // piece.count("<"), LONGEST // len(piece)):
        text = piece * number
        assert read_script(text).faults
        assert find_script_problems(text, None, (), ())[0].code in {
            "script_syntax",
            "script_angles",
        }
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 400_000
