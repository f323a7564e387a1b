"""A secret may be where it is put in, and nowhere else; what is refused is named."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from typing import Any

import pytest

from mainspring.app import build_registry
from mainspring.contracts.errors import Finding
from mainspring.contracts.limits import Limits
from mainspring.definition.secret_use import find_secret_uses
from mainspring.definition.validate import validate
from tests.kit.bench import document, step

LIMITS = Limits()
WORDS = build_registry(LIMITS)
PLACEHOLDER = "{{ secrets.the_key }}"

FETCH = {
    "url": "https://one.test/",
    "method": "POST",
    "headers": {"X": "y"},
    "query": {"q": "1"},
    "json": {"deep": ["text"]},
}
WHOLE = document(
    step("fetch", "http_fetch", FETCH),
    step("form", "http_fetch", {"url": "https://one.test/", "method": "POST", "form": {"f": "x"}}),
    step("text", "http_fetch", {"url": "https://one.test/", "method": "POST", "text": "x"}),
    step("data", "transform_data", {"output": {"deep": ["text"]}}),
    step("wait", "delay", {"seconds": 1}, when="true == inputs.go"),
    step(
        "each",
        "for_each",
        {
            "items": "{{ [1] }}",
            "steps": [
                step("inner", "transform_data", {"output": "text"}),
                step("sent", "http_fetch", {"url": "https://one.test/", "headers": {"X": "y"}}),
            ],
        },
    ),
    step("say", "notification", {"title": "text", "message_template": "text"}),
    step("call", "callback_webhook", {"url": "https://one.test/", "body": {"deep": "text"}}),
    step("keep", "automation_kv.set", {"key": "text", "value": {"deep": "text"}}),
    step("mail", "send_email", {"to": ["a@example.com"], "subject": "text", "text": "text"}),
    step("post", "slack_post", {"channel": "C1", "text": "text", "token": "{{ secrets.bot }}"}),
    inputs={
        "schema": {
            "type": "object",
            "required": ["go"],
            "properties": {
                "go": {"type": "boolean", "description": "text"},
                "note": {"type": "string", "default": "text"},
            },
        }
    },
    triggers=[
        {
            "type": "schedule",
            "config": {"cron": "0 9 * * *", "timezone": "UTC"},
            "inputs": {"go": True, "note": "text"},
        }
    ],
    execution={
        "concurrency_key": "text",
        "on_failure": [
            step("sorry", "notification", {"title": "text"}),
            step("told", "http_fetch", {"url": "https://one.test/", "query": {"q": "1"}}),
        ],
    },
    metadata={"tags": ["text"]},
)
# Texts that may hold one: the beginning of a pointer is enough.
PLACES = (
    "/plan/0/config/headers",
    "/plan/0/config/query",
    "/plan/5/config/steps/1/config/headers",
    "/execution/on_failure/1/config/query",
)


def _texts(value: Any, at: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    if isinstance(value, str):
        yield at
    elif isinstance(value, dict):
        for key, entry in value.items():
            yield from _texts(entry, (*at, key))
    elif isinstance(value, list):
        for place, entry in enumerate(value):
            yield from _texts(entry, (*at, place))


def _with(at: tuple[Any, ...], text: str) -> dict[str, Any]:
    changed = copy.deepcopy(WHOLE)
    inner: Any = changed
    for part in at[:-1]:
        inner = inner[part]
    inner[at[-1]] = text
    return changed


def _pointer(at: tuple[Any, ...]) -> str:
    return "".join(f"/{part}" for part in at)


def _findings(changed: dict[str, Any]) -> tuple[Finding, ...]:
    return validate(changed, WORDS, LIMITS).findings


def test_the_example_is_sound_as_it_is() -> None:
    assert _findings(WHOLE) == ()


@pytest.mark.parametrize("at", list(_texts(WHOLE)), ids=_pointer)
def test_a_placeholder_in_any_other_place_is_refused(at: tuple[Any, ...]) -> None:
    pointer = _pointer(at)
    findings = _findings(
        _with(at, f"a {PLACEHOLDER}" if "url" not in at else f"https://one.test/{PLACEHOLDER}")
    )
    allowed = pointer.startswith(PLACES) or (at[-1] == "url" and at[0] in ("plan", "execution"))
    if allowed or pointer == "/plan/10/config/token":
        assert [entry for entry in findings if entry.code == "template_secret"] == []
        return
    here = [entry for entry in findings if entry.pointer == pointer]
    assert here, findings
    named = [entry for entry in here if entry.code == "template_secret"]
    # A text with a closed list of values, or a pattern, is refused for that alone.
    if named:
        assert "the_key" in named[0].detail
        assert "headers" in (named[0].suggestion or "")
    else:
        assert at[-1] in (
            "step_id",
            "action",
            "method",
            "type",
            "cron",
            "schema_version",
            "when",
            "timezone",
        )


@pytest.mark.parametrize(
    "at",
    [
        ("name",),
        ("goal",),
        ("plan", 0, "config", "json", "deep", 0),
        ("metadata", "tags", 0),
        ("plan", 3, "config", "output", "deep", 0),
        ("triggers", 0, "inputs", "note"),
        ("inputs", "schema", "properties", "note", "default"),
        ("execution", "concurrency_key"),
        ("plan", 5, "config", "steps", 0, "config", "output"),
        ("plan", 6, "config", "title"),
        ("plan", 7, "config", "body", "deep"),
        ("plan", 8, "config", "value", "deep"),
        ("plan", 9, "config", "text"),
        ("plan", 10, "config", "text"),
    ],
    ids=_pointer,
)
def test_it_is_refused_by_name_where_it_would_be_sent_as_it_is(at: tuple[Any, ...]) -> None:
    for spelt in (PLACEHOLDER, "{{secrets.the_key}}", "{{- secrets . the_key -}}"):
        found = [entry for entry in _findings(_with(at, spelt)) if entry.pointer == _pointer(at)]
        assert [entry.code for entry in found] == ["template_secret"]
        assert "'the_key'" in found[0].detail


def test_a_condition_and_a_key_cannot_hold_one_either() -> None:
    asked = copy.deepcopy(WHOLE)
    asked["plan"][4]["when"] = "secrets.the_key == 'x'"
    [found] = _findings(asked)
    assert (found.pointer, found.code) == ("/plan/4/when", "template_secret")
    assert "'the_key'" in found.detail

    keyed = copy.deepcopy(WHOLE)
    keyed["plan"][0]["config"]["headers"] = {PLACEHOLDER: "x"}
    assert "template_secret" in {entry.code for entry in _findings(keyed)}


def test_a_bare_name_where_a_secret_is_allowed_suggests_the_right_spelling() -> None:
    for at, result in (
        (("plan", 0, "config", "headers", "X"), True),
        (("plan", 0, "config", "url"), True),
        (("plan", 6, "config", "title"), False),
    ):
        text = "{{api_key}}" if at[-1] != "url" else "https://one.test/{{api_key}}"
        [found] = _findings(_with(at, text))
        assert (found.pointer, found.code) == (_pointer(at), "unknown_variable")
        assert ("{{ secrets.api_key }}" in (found.suggestion or "")) is result


def test_every_use_of_a_secret_is_found_with_where_it_goes() -> None:
    changed = copy.deepcopy(WHOLE)
    changed["plan"][0]["config"]["headers"] = {"X": "{{ secrets.a }}:{{ secrets.b }}"}
    changed["plan"][5]["config"]["steps"][1]["config"]["url"] = (
        "https://two.test:8443/{{ secrets.c }}"
    )
    changed["execution"]["on_failure"][1]["config"]["query"] = {"q": "{{ secrets.d }}"}
    changed["triggers"].append({"type": "webhook", "config": {"signature": {"secret": "e"}}})
    assert _findings(changed) == ()

    found = {(use.secret, use.action, use.site) for use in find_secret_uses(changed, LIMITS)}

    assert found == {
        ("a", "http_fetch", "one.test:443"),
        ("b", "http_fetch", "one.test:443"),
        ("c", "http_fetch", "two.test:8443"),
        ("d", "http_fetch", "one.test:443"),
        ("bot", "slack_post", ""),
        ("e", "webhook", ""),
    }
