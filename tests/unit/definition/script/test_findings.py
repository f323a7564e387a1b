"""What is wrong with a script is said by name, with its line and column and a way out."""

from __future__ import annotations

import pytest

from mainspring.contracts.errors import Finding
from mainspring.definition.script import LONGEST, find_script_problems
from tests.unit.definition.script.examples import EXAMPLES, HOSTILE

GRANTABLE = frozenset().union(*EXAMPLES.values()) | {"automation_kv.get"}
KNOWN = GRANTABLE | {"confirm_action", "admin_list"}


def _judged(source: str, granted: set[str] | None = None) -> list[Finding]:
    return find_script_problems(source, granted, KNOWN, GRANTABLE)


@pytest.mark.parametrize("source", EXAMPLES)
def test_every_example_is_sound(source: str) -> None:
    assert _judged(source) == []
    assert _judged(source, EXAMPLES[source]) == []


@pytest.mark.parametrize(
    ("source", "quoted"),
    [
        ('import fs from "node:fs"', "'node:fs'"),
        ('import type { A } from "npm:a"', "'npm:a'"),
        ('import a = require("fs")', "'fs'"),
        ('const a = require("fs")', "'fs'"),
        ('export * from "https://evil.example/x.ts"', "'https://evil.example/x.ts'"),
        ('await import("./a.ts")', "'./a.ts'"),
        ("await import(where)", "computed"),
        ('import "' + "a" * 5_000 + '"', "'" + "a" * 100 + "'"),
    ],
)
def test_an_import_of_anything_but_the_sdk_is_refused_by_name(source: str, quoted: str) -> None:
    (found,) = _judged(f"\n\n{source}")

    assert (found.pointer, found.code) == ("/source", "script_import")
    assert found.detail.startswith("line 3, column ")
    assert quoted in found.detail
    assert "http_fetch" in (found.suggestion or "")


@pytest.mark.parametrize(
    "source",
    [
        "eval('1'); new Function('return 1')()",
        "console.log(import.meta)",
        'import { kv } from "mainspring"; await kv.get("a")',
        'const { brains: b } = await import("mainspring"); await b.search()',
        "// {{key}}\nreturn 1",
        "brains.automation_kv.get({ key: 'a' })",
    ],
)
def test_what_the_sandbox_holds_is_not_refused(source: str) -> None:
    assert _judged(source, {"search"}) == []


def test_a_secret_where_none_is_put_in_is_refused_by_its_name_and_place() -> None:
    (found,) = _judged("const a = 1;\nconst key = 'Bearer {{stripe_key}}';")

    assert found.detail == "line 2, column 21: the secret 'stripe_key' is not replaced here."
    assert found.code == "template_secret"
    assert "headers" in (found.suggestion or "")


@pytest.mark.parametrize(
    "text", [r"'\x7b{key}}'", r"'{\u007bkey}}'", r"`{{k\u{65}y}}`", "'{{key\\\n}}'", r"'{{key}\}'"]
)
def test_a_secret_that_is_written_with_an_escape_is_reported(text: str) -> None:
    (found,) = _judged(f"brains.http_fetch({{ url: 'https://a.com/', query: {{ a: {text} }} }})")

    assert found.code == "template_secret"
    assert "{{key}}" in (found.suggestion or "")


def test_a_name_that_no_secret_has_is_reported_in_a_request() -> None:
    (found,) = _judged("brains.http_fetch({ url: 'https://a.com/{{Key}}' })")

    assert (found.code, found.suggestion) == ("secret_name", "Did you mean 'key'?")
    assert _judged("const greeting = 'Dear {{Name}}'") == []


def test_an_unknown_capability_is_reported_once_with_the_nearest_name() -> None:
    (found,) = _judged("await brains.serch({});\nawait brains.serch({});")

    assert found.detail == "line 1, column 7: there is no capability called 'serch'."
    assert (found.code, found.suggestion) == ("unknown_capability", "Did you mean 'search'?")


def test_a_call_that_is_not_granted_is_reported() -> None:
    source = "await brains.search({});\nawait brains.get_board({});"

    (found,) = _judged(source, {"search"})

    assert found.detail == "line 2, column 7: get_board is called and not granted."
    assert found.code == "not_granted"
    assert _judged(source) == []


@pytest.mark.parametrize("name", ["confirm_action", "admin_list", "admin_unheard_of"])
def test_what_no_automation_may_have_is_refused_even_when_it_was_granted(name: str) -> None:
    (found,) = _judged(f"await brains.{name}({{}})", {name})

    assert found.code == "never_granted"
    assert name in found.detail


@pytest.mark.parametrize("source", ["const = 3", "if (a {", "}", "'"])
def test_what_cannot_be_read_is_reported(source: str) -> None:
    assert {found.code for found in _judged(source)} == {"script_syntax"}


@pytest.mark.parametrize(
    ("source", "code"),
    [("", "script_length"), ("a" * (LONGEST + 1), "script_length"), ("a\x00", "script_nul")],
)
def test_a_script_has_its_bounds(source: str, code: str) -> None:
    assert [found.code for found in _judged(source)] == [code]


def test_the_longest_script_is_taken() -> None:
    assert _judged("//" + "é" * (LONGEST - 2)) == []


@pytest.mark.parametrize("kind", HOSTILE)
def test_a_hostile_text_is_judged_and_reported_in_few_sentences(kind: str) -> None:
    found = _judged(HOSTILE[kind])

    assert len(found) <= 50
    assert all(len(one.detail) < 400 for one in found)
    # The only one that is a lawful program: a value in very many parentheses.
    assert found or kind == "parentheses that close"
