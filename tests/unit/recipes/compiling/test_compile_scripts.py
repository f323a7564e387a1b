"""A script of a recipe becomes the very definition that saving it would make."""

from __future__ import annotations

from typing import Any

import pytest

from mainspring.authoring.draft import new_document
from mainspring.contracts.errors import Invalid
from mainspring.recipes.compiling import compile_automation

SCRIPT: dict[str, Any] = {
    "source": 'const r = await brains.http_fetch({url: "https://api.example.com/"});\n',
    "triggers": [
        {"kind": "cron", "cron": "0 * * * *", "tz": "UTC"},
        {"kind": "page_ingested", "page_type": "email"},
    ],
    "tool_grants": [
        {"tool": "kv_get"},
        {"tool": "http_fetch", "params": {"hosts": ["api.example.com"]}},
    ],
}
WORDS = {"name": "Uptime", "description": "Looks whether it answers."}


@pytest.mark.parametrize(
    "more",
    [
        {},
        {"cost_cap_daily_usd": 0.5, "max_wall_seconds": 30, "max_llm_tokens": 500, "model": "m"},
        {"intent": "tell me when it is down", "write_policy": "auto_confirm_safe"},
        {"writes_to_boards": ["B", "a"], "dedupe_key_field": "id", "dedupe_target_field": "log"},
    ],
)
def test_a_script_is_what_saving_it_would_make(more: dict[str, Any]) -> None:
    saved, wrong = new_document(
        {**WORDS, **SCRIPT, **more, "acknowledged_http_fetch_hosts": ["API.example.com"]}
    )
    script = {**SCRIPT, **more, "http_fetch_hosts": ["API.example.com"]}
    for kind in ("automation", "integration"):
        made = compile_automation(kind, {"script": script}, **WORDS)
        assert made == saved
    assert wrong == []


def test_hosts_listed_separately_become_the_grant() -> None:
    script = {**SCRIPT, "tool_grants": [{"tool": "kv_get"}], "http_fetch_hosts": ["a.example"]}
    made = compile_automation("automation", {"script": script}, **WORDS)
    assert made["plan"][0]["config"]["grants"][1] == {
        "tool": "http_fetch",
        "params": {"hosts": ["a.example"]},
    }
    open_grant = {**script, "tool_grants": [{"tool": "http_fetch"}]}
    made = compile_automation("automation", {"script": open_grant}, **WORDS)
    assert made["plan"][0]["config"]["grants"] == [
        {"tool": "http_fetch", "params": {"hosts": ["a.example"]}}
    ]


def test_a_definition_passes_as_it_is() -> None:
    definition = {"schema_version": "1.2", "name": "Its own", "plan": []}
    made = compile_automation("automation", {"definition": definition}, **WORDS)
    assert made == {**definition, "description": WORDS["description"]}


def _script(**more: Any) -> dict[str, Any]:
    return {"script": {**SCRIPT, **more}}


_NO_ZONE = {"kind": "cron", "cron": "* * * * *"}


@pytest.mark.parametrize(
    ("template", "pointer", "code"),
    [
        ({}, "", "template_shape"),
        ({"definition": {}, "script": {}}, "", "template_shape"),
        ({"script": "main.ts"}, "/script", "type"),
        ({"script": {"source": "1"}}, "/script/triggers", "required"),
        (_script(source_file="main.ts"), "/script/source_file", "additional_properties"),
        (_script(triggers=[_NO_ZONE]), "/script/triggers/0", "missing"),
        (_script(triggers=[{"kind": "moon"}]), "/script/triggers/0/kind", "enum"),
        (
            _script(http_fetch_hosts=["https://a.example/"]),
            "/script/http_fetch_hosts/0",
            "bad_host",
        ),
        (
            _script(http_fetch_hosts=["b.example"]),
            "/script/tool_grants/1/params/hosts",
            "hosts_mismatch",
        ),
        (_script(max_wall_seconds=4_000), "/script/max_wall_seconds", "maximum"),
    ],
)
def test_what_is_wrong_is_reported_at_its_place(
    template: dict[str, Any], pointer: str, code: str
) -> None:
    with pytest.raises(Invalid) as refused:
        compile_automation("automation", template, **WORDS)
    result = [(one.pointer, one.code) for one in refused.value.findings]
    assert result[0] == (pointer, code)
