"""A declarative integration becomes an ordinary definition; a bad one is reported at its place."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from mainspring.contracts.errors import Invalid
from mainspring.contracts.limits import Limits
from mainspring.definition.secret_use import find_secret_uses
from mainspring.definition.validate import validate
from mainspring.recipes.compiling import compile_automation
from mainspring.registry import build_registry
from tests.kit.declarative_integration import HOST, PRINTED, URL


def compiled(template: dict[str, Any]) -> dict[str, Any]:
    return compile_automation("integration", template, name="", description="")


def changed(*edits: tuple[str, Any]) -> dict[str, Any]:
    """The printed object with other values at some places; None takes one out."""
    made = copy.deepcopy(PRINTED)
    for pointer, value in edits:
        *way, last = pointer.strip("/").split("/")
        inside: Any = made
        for part in way:
            inside = inside[int(part)] if isinstance(inside, list) else inside[part]
        key: Any = int(last) if isinstance(inside, list) else last
        if value is None:
            del inside[key]
        else:
            inside[key] = value
    return made


def test_a_step_that_was_written_manually_is_judged_when_it_is_saved() -> None:
    made = compiled(PRINTED)
    config = made["plan"][0]["config"]
    config["url"] = "https://me@evil.example/"
    config["mapping"] = {**config["mapping"], "title": "{{price|round}}", "body": "{{" * 9_000}
    config["query"] = {"key": "{{ secrets.key }}"}
    report = validate(made, build_registry(Limits()), Limits())
    assert {(one.pointer, one.code) for one in report.findings} >= {
        ("/plan/0/config/url", "bad_url"),
        ("/plan/0/config/mapping/title", "template_filter"),
        ("/plan/0/config/mapping/body", "template_long"),
    }
    config["mapping"] = "a page"
    (found,) = validate(made, build_registry(Limits()), Limits()).findings
    assert (found.pointer, found.code) == ("/plan/0/config/mapping", "type")


def test_the_printed_object_is_an_ordinary_definition() -> None:
    made = compiled(PRINTED)
    (step,) = made["plan"]
    assert made["triggers"] == [
        {"id": "cron-1", "type": "schedule", "config": {"cron": "0 * * * *", "timezone": "UTC"}}
    ]
    assert (step["step_id"], step["action"]) == ("snapshot", "ingest_from_endpoint")
    assert step["config"]["mapping"] == PRINTED["mapping"]
    assert made["grants"] == [
        {
            "capability": "ingest_from_endpoint",
            "params": {"hosts": [HOST], "method": "GET", "url": URL},
        }
    ]
    report = validate(made, build_registry(Limits()), Limits())
    assert (report.findings, report.warnings) == ((), ())
    (use,) = find_secret_uses(made, Limits())
    assert (use.secret, use.site, use.part) == ("publisher.CMC_API_KEY", f"{HOST}:443", "headers")


def test_the_words_of_the_recipe_count_before_those_of_the_object() -> None:
    made = compile_automation("integration", PRINTED, name="Coins", description="Hourly.")
    assert (made["name"], made["description"], made["goal"]) == ("Coins", "Hourly.", "Hourly.")


def test_several_endpoints_are_read_one_after_another() -> None:
    other = {
        "op": "news",
        "method": "POST",
        "url": f"https://{HOST}/news",
        "json": {"limit": 50},
        "paging": {"kind": "cursor", "next": "$.next_cursor", "param": "cursor"},
        "mapping": {**PRINTED["mapping"], "page_type": "crypto_news"},
        "cursor": {"field": "$.updated_at", "param": "since"},
    }
    both = [PRINTED["endpoints"][0], other]
    made = compiled({**PRINTED, "rate": {"min_seconds": 2}, "endpoints": both})
    first, second = (one["config"] for one in made["plan"])
    assert first["rate"] == {"min_seconds": 2}
    assert second["rate"] == {"min_seconds": 2, "waits_first": True}
    assert second["mapping"]["page_type"] == "crypto_news"
    assert len(made["grants"]) == 2
    report = validate(made, build_registry(Limits()), Limits())
    assert report.findings == ()


BAD: list[tuple[str, Any, str, str]] = [
    ("/trigger/kind", "webhook", "/trigger/kind", "enum"),
    ("/trigger/cron", "every hour", "/trigger/cron", "cron_fields"),
    ("/trigger", None, "/trigger", "required"),
    ("/endpoints", [], "/endpoints", "min_items"),
    ("/auth/type", "oauth", "/auth/type", "enum"),
    ("/auth/secret_name", "cmc_api_key", "/auth/secret_name", "pattern"),
    ("/auth/secret_name", "OTHER", "/endpoints/0/headers/X-CMC_PRO_API_KEY", "secret_not_declared"),
    ("/auth", None, "/endpoints/0/headers/X-CMC_PRO_API_KEY", "secret_not_declared"),
    ("/endpoints/0/headers", {}, "/auth/secret_name", "secret_not_referenced"),
    (
        "/endpoints/0/headers/X-A",
        "{{cmc_api_key}}",
        "/endpoints/0/headers/X-A",
        "not_a_publisher_secret",
    ),
    (
        "/endpoints/0/headers/X-A",
        "{{ secrets.key }}",
        "/endpoints/0/headers/X-A",
        "not_a_publisher_secret",
    ),
    (
        "/endpoints/0/headers/X-A",
        "{{publisher.CMC_API_KEY",
        "/endpoints/0/headers/X-A",
        "template_braces",
    ),
    (
        "/endpoints/0/url",
        f"https://{HOST}/{{{{publisher.CMC_API_KEY}}}}/x",
        "/endpoints/0/url",
        "template_in_url",
    ),
    ("/endpoints/0/url", "https://me@a.example/", "/endpoints/0/url", "bad_url"),
    ("/endpoints/0/url", "ftp://a.example/", "/endpoints/0/url", "bad_url"),
    ("/endpoints/0/headers/Host", "b.example", "/endpoints/0/headers", "bad_header"),
    (
        "/endpoints/0/paging",
        {"kind": "link", "size": 5},
        "/endpoints/0/paging/size",
        "false_schema",
    ),
    ("/endpoints/0/method", "DELETE", "/endpoints/0/method", "enum"),
    ("/endpoints/0/json", {"a": 1}, "/endpoints/0/json", "body_not_allowed"),
    ("/endpoints/0/body", "x", "/endpoints/0/body", "additional_properties"),
    ("/endpoints/0/op", "Take it", "/endpoints/0/op", "pattern"),
    (
        "/endpoints/0/paging",
        {"kind": "cursor", "next": "$.a[*]", "param": "c"},
        "/endpoints/0/paging/next",
        "path_not_singular",
    ),
    (
        "/endpoints/0/paging",
        {"kind": "page", "param": "limit"},
        "/endpoints/0/paging/param",
        "param_twice",
    ),
    (
        "/endpoints/0/paging",
        {"kind": "page", "param": "p", "size": 5},
        "/endpoints/0/paging",
        "paging_size",
    ),
    ("/endpoints/0/paging", {"kind": "offset"}, "/endpoints/0/paging/kind", "enum"),
    (
        "/endpoints/0/paging",
        {"kind": "link", "max_pages": 4_000},
        "/endpoints/0/paging/max_pages",
        "maximum",
    ),
    (
        "/endpoints/0/cursor",
        {"field": "updated_at", "param": "since"},
        "/endpoints/0/cursor/field",
        "path_syntax",
    ),
    ("/mapping", None, "/endpoints/0", "mapping_missing"),
    ("/mapping/iterate", "data[*]", "/mapping/iterate", "path_syntax"),
    ("/mapping/page_type", "email", "/mapping/page_type", "reserved_page_type"),
    ("/mapping/page_type", "Crypto Coin", "/mapping/page_type", "pattern"),
    ("/mapping/source_ref", "latest", "/mapping/source_ref", "source_ref_fixed"),
    ("/mapping/source_ref", "{{symbol}}@{{run_iso_hour}}", "/mapping/source_ref", "run_variable"),
    ("/mapping/source_ref_prefix", "install:", "/mapping/source_ref_prefix", "reserved_page_name"),
    ("/mapping/source_ref_prefix", "{{a}}:", "/mapping/source_ref_prefix", "prefix_template"),
    ("/mapping/title", "{{quote.USD.price:.2f}}", "/mapping/title", "format_spec"),
    ("/mapping/title", "${price:,.0f}", "/mapping/title", "format_spec"),
    ("/mapping/title", "{{name | upper}}", "/mapping/title", "template_filter"),
    ("/mapping/title", "{{publisher.CMC_API_KEY}}", "/mapping/title", "secret_in_mapping"),
    ("/mapping/title", "{% if a %}x{% endif %}", "/mapping/title", "template_statement"),
    ("/mapping/title", "{{name", "/mapping/title", "template_braces"),
    ("/mapping/title", "{{}}", "/mapping/title", "template_empty"),
    ("/mapping/title", "{{a..b}}", "/mapping/title", "template_path"),
    ("/mapping/frontmatter/rank", 1, "/mapping/frontmatter/rank", "type"),
    ("/mapping/frontmatter/a:b", "x", "/mapping/frontmatter/a:b", "frontmatter_name"),
    ("/rate", {"min_seconds": 3_600}, "/rate/min_seconds", "maximum"),
    ("/paging", {"kind": "link"}, "/paging", "additional_properties"),
]


@pytest.mark.parametrize(("where", "value", "pointer", "code"), BAD)
def test_a_bad_object_is_reported_at_its_place(
    where: str, value: Any, pointer: str, code: str
) -> None:
    with pytest.raises(Invalid) as refused:
        compiled(changed((where, value)))
    result = [(one.pointer, one.code) for one in refused.value.findings]
    assert (pointer, code) in result


def test_a_secret_goes_to_one_host_and_never_into_a_body() -> None:
    twin = {**PRINTED["endpoints"][0], "op": "twin", "url": "https://other.example/"}
    with pytest.raises(Invalid) as refused:
        compiled({**PRINTED, "endpoints": [PRINTED["endpoints"][0], twin]})
    assert [one.code for one in refused.value.findings] == ["secret_two_hosts"]
    body = {"deep": [{"key": "{{publisher.CMC_API_KEY}}"}]}
    post = {**PRINTED["endpoints"][0], "method": "POST", "json": body}
    with pytest.raises(Invalid) as refused:
        compiled({**PRINTED, "endpoints": [post, {**post, "json": {}}]})
    result = [(one.pointer, one.code) for one in refused.value.findings]
    assert ("/endpoints/0/json/deep/0/key", "secret_not_allowed_here") in result
    assert ("/endpoints/1/op", "op_twice") in result
