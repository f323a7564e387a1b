"""What a recipe says it asks for is held against what its compiled template asks for."""

from __future__ import annotations

from typing import Any

import pytest

from mainspring.authoring.authors import AUTHORED_BY
from mainspring.authoring.draft import HOSTS_NOTE
from mainspring.contracts.limits import Limits
from mainspring.recipes.package import (
    InstallOwner,
    ReferenceValues,
    compile_definition,
    find_faulty_settings,
    read_package,
    validate_filled,
    validate_package,
)
from mainspring.recipes.package.example_recipes import build_good_recipe
from mainspring.recipes.package.validation import RESERVED_METADATA
from mainspring.registry import build_registry

LIMITS = Limits()
WORDS = build_registry(LIMITS)
SOURCE = """\
const answer = await brains.http_fetch({ url: "https://api.example.com/", headers: {
  "X-Key": "{{ api_key }}" } });
await brains.append_board_rows({ board_id: "{{ install.site_board.id }}", rows: [{ a: 1 }] });
return answer.status;
"""
GRANTS = [
    {"capability": "append_board_rows", "params": {"board_id": "{{ install.site_board.id }}"}},
    {"capability": "http_fetch", "params": {"hosts": ["api.example.com"]}},
]


def scripted(**changes: Any) -> dict[str, Any]:
    script = {
        "source": SOURCE,
        "triggers": [{"kind": "cron", "cron": "0 7 * * *", "tz": "UTC"}],
        "tool_grants": [
            {"tool": "append_board_rows", "params": {"board_id": "{{ install.site_board.id }}"}},
            {"tool": "http_fetch"},
        ],
        "http_fetch_hosts": ["api.example.com"],
        **changes.pop("script", {}),
    }
    stored = {
        key: part
        for key, part in build_good_recipe().items()
        if key not in ("settings", "examples")
    }
    return {
        **stored,
        "grants": GRANTS,
        "hosts": ["api.example.com"],
        "requires": {"secrets": [{"name": "api_key", "reason": "It is asked for a key."}]},
        "template": {"script": script},
        **changes,
    }


def planned(step: dict[str, Any], **envelope: Any) -> dict[str, Any]:
    definition = {
        "schema_version": "1.2",
        "name": "One step",
        "goal": "Do it.",
        "plan": [{"step_id": "one", **step}],
    }
    keep = (
        "format",
        "format_version",
        "slug",
        "version",
        "kind",
        "name",
        "description",
        "publisher",
        "category",
    )
    head = {key: build_good_recipe()[key] for key in keep}
    return {**head, "template": {"definition": definition}, **envelope}


def said(document: dict[str, Any]) -> set[tuple[str, str]]:
    found = validate_package(read_package(document, LIMITS), WORDS, LIMITS)
    return {(one.pointer, one.code) for one in found}


def test_a_script_that_says_what_it_asks_for_is_taken() -> None:
    assert said(scripted()) == set()
    own = [{"capability": name} for name in ("automation_kv.get", "automation_kv.set")]
    assert said(scripted(grants=[*GRANTS, *own])) == set()


HIDDEN: dict[str, tuple[dict[str, Any], set[tuple[str, str]]]] = {
    "a tool that is granted and not told": (
        {
            "script": {
                "tool_grants": [
                    {"tool": "http_fetch"},
                    {"tool": "append_board_rows"},
                    {"tool": "archive_board"},
                ]
            }
        },
        {("/grants", "hidden_grant")},
    ),
    "a host that is granted and not told": (
        {"script": {"http_fetch_hosts": ["api.example.com", "drop.example.net"]}},
        {("/grants", "hidden_grant"), ("/hosts", "hidden_host")},
    ),
    "another port of a host": (
        {"hosts": ["api.example.com:8443"]},
        {("/hosts", "hidden_host")},
    ),
    "a secret that is sent and not told": (
        {"requires": {}},
        {("/requires/secrets", "hidden_secret")},
    ),
    "another secret than is told": (
        {"requires": {"secrets": [{"name": "api_kei", "reason": "A slip."}]}},
        {("/requires/secrets", "hidden_secret"), ("/requires/secrets/0/name", "unused_secret")},
    ),
    "a publisher's secret that nothing uses": (
        {
            "requires": {
                "secrets": [{"name": "api_key", "reason": "x"}],
                "publisher_secrets": [{"name": "API_KEY", "reason": "x"}],
            }
        },
        {("/requires/publisher_secrets/0/name", "unused_secret")},
    ),
    "one grant twice": (
        {"grants": [*GRANTS, GRANTS[0]]},
        {("/grants/2", "grant_twice")},
    ),
    "a trigger that is none": (
        {"script": {"triggers": [{"kind": "cron", "cron": "0 7 * * * *", "tz": "UTC"}]}},
        {("/template/script/triggers/0/config/cron", "cron_fields")},
    ),
    "an import of another program": (
        {"script": {"source": 'import fs from "node:fs";\n' + SOURCE}},
        {("/template/script/source", "script_import")},
    ),
    "an id in the script": (
        {"script": {"source": SOURCE + "// 01900000-0000-7000-8000-00000000000b"}},
        {("/template/script/source", "hard_coded_id")},
    ),
    "an id in capitals in a grant of the script": (
        {
            "script": {
                "tool_grants": [
                    {"tool": "http_fetch"},
                    {
                        "tool": "append_board_rows",
                        "params": {"board_id": "01900000-0000-7000-8000-00000000ABCD"},
                    },
                ]
            }
        },
        {
            ("/template/script/tool_grants/1/params/board_id", "hard_coded_id"),
            ("/grants", "hidden_grant"),
            ("/grants/0", "unused_grant"),
        },
    ),
}


@pytest.mark.parametrize("case", HIDDEN)
def test_what_is_hidden_or_spare_is_named(case: str) -> None:
    changes, expected = HIDDEN[case]

    assert said(scripted(**changes)) == expected


def test_a_connection_is_shown_by_its_name() -> None:
    step = {
        "action": "fetch_from_integration",
        "config": {"source": "github", "input": {"repo": "a/b"}},
    }
    granted = [{"capability": "fetch_from_integration"}]
    expected = {"connections": [{"integration": "github", "reason": "Issues are read there."}]}
    found = said(planned(step, grants=granted))
    assert ("/requires/connections", "hidden_connection") in found
    assert said(planned(step, grants=granted, requires=expected)) == found - {
        ("/requires/connections", "hidden_connection")
    }


def test_a_connection_that_an_expression_decides_is_not_taken() -> None:
    step = {
        "action": "fetch_from_integration",
        "config": {"source": "{{ inputs.source }}", "input": {}},
    }
    document = planned(step, grants=[{"capability": "fetch_from_integration"}])
    document["template"]["definition"]["inputs"] = {
        "schema": {"type": "object", "properties": {"source": {"type": "string", "default": "x"}}}
    }
    found = validate_package(read_package(document, LIMITS), WORDS, LIMITS)
    assert [(one.pointer, one.code) for one in found] == [("/grants", "hidden_connection")]


MAPPING = {
    "iterate": "$.a[*]",
    "page_type": "news_item",
    "source_ref_prefix": "n:",
    "source_ref": "{{id}}",
    "title": "{{title}}",
}
READS = {
    "source": "site-note",
    "op": "items",
    "url": "https://a.example/x",
    "method": "GET",
    "mapping": MAPPING,
}
READ_GRANT = {
    "capability": "ingest_from_endpoint",
    "params": {"hosts": ["a.example"], "method": "GET", "url": READS["url"]},
}


def test_pages_come_in_under_the_slug_of_the_recipe_alone() -> None:
    result = {"grants": [READ_GRANT], "hosts": ["a.example"]}
    for source, expected in (("site-note", False), ("coinmarketcap-top10", True)):
        step = {"action": "ingest_from_endpoint", "config": {**READS, "source": source}}
        document = planned(step, **result)
        document["template"]["definition"]["grants"] = [READ_GRANT]
        place = ("/template/definition/plan/0/config/source", "slug_of_another")
        assert said(document) == ({place} if expected else set())

    declared = {
        "name": "CoinMarketCap Top10",
        "mapping": MAPPING,
        "trigger": {"kind": "cron", "cron": "0 * * * *"},
        "endpoints": [{"op": "items", "url": READS["url"]}],
    }
    head = {**planned({"action": "delay"}, **result), "kind": "integration"}
    own = {**head, "name": "CoinMarketCap Top10", "template": declared}
    assert said(own) == set()
    made = compile_definition(read_package(own, LIMITS), declared)
    assert made["plan"][0]["config"]["source"] == "site-note", "no name stands for a slug"
    other = {**declared, "slug": "coinmarketcap-top10"}
    assert said({**head, "template": other}) == {("/template/slug", "slug_of_another")}


def test_reserved_marks_cannot_be_used_by_others() -> None:
    assert {AUTHORED_BY, HOSTS_NOTE} <= RESERVED_METADATA
    for mark in RESERVED_METADATA:
        document = planned({"action": "transform_data", "config": {"output": 1}})
        document["template"]["definition"]["metadata"] = {"tags": ["a"], "note": 1, mark: "x"}
        assert said(document) == {(f"/template/definition/metadata/{mark}", "reserved_metadata")}


def test_real_values_lead_nowhere_else_than_the_recipe_says() -> None:
    url = "https://{{ install.settings.site }}.example.com/{{ install.settings.path }}"
    definition = planned({"action": "http_fetch", "config": {"url": url}})["template"]
    site = "{{ install.settings.site }}.example.com"
    granted = [{"capability": "http_fetch", "params": {"hosts": [site]}}]
    definition["definition"]["grants"] = granted
    named = [
        {"name": name, "label": name, "type": "string", "example": "api"}
        for name in ("site", "path")
    ]
    fixed = {
        "grants": [{"capability": "http_fetch", "params": {"hosts": ["api.example.com"]}}],
        "hosts": ["api.example.com"],
    }
    follows = {"grants": granted, "hosts": [site]}

    def wrong(result: dict[str, Any], **settings: str) -> tuple[set[str], list[str]]:
        head = planned({"action": "delay"}, **result)
        whole = {**head, "settings": named, "template": definition}
        package = read_package(whole, LIMITS)
        assert validate_package(package, WORDS, LIMITS) == []
        filling = ReferenceValues(
            InstallOwner("x", "a@example.com"), {}, {"path": "api", **settings}
        )
        found = validate_filled(package, filling, WORDS, LIMITS)
        blamed = find_faulty_settings(package, filling, WORDS, LIMITS) if found else []
        return {one.code for one in found}, blamed

    assert wrong(follows, site="blog", path="@x/?a=b#c") == (set(), [])
    assert wrong(fixed, site="blog") == ({"hidden_grant", "hidden_host"}, ["site"])


@pytest.mark.parametrize("kind", ["board", "workflow", "bundle"])
def test_what_calls_nothing_asks_for_nothing(kind: str) -> None:
    templates = {
        "board": {"name": "B"},
        "workflow": {"title": "W"},
        "bundle": {"members": [{"slug": "other"}]},
    }
    asked = {"grants": [{"capability": "http_fetch"}], "hosts": ["a.example"], "requires": {}}
    head = planned({"action": "transform_data", "config": {"output": 1}})
    document = {**head, "kind": kind, "template": templates[kind], **asked}
    assert said(document) == {("/grants", "unused_grant"), ("/hosts", "unused_grant")}
