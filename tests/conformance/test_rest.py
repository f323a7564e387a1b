"""One suite over every route: it says what it does, who may call it and what may go wrong."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

from mainspring.app import application_services, build_application, build_registry
from mainspring.contracts.errors import KINDS
from mainspring.contracts.limits import Limits
from mainspring.definition.json_schema import check_schema
from mainspring.settings import Settings
from mainspring.store.database import Database
from mainspring.store.database_source import ExternalDatabaseSource
from mainspring.surfaces.rest.app import build_api
from mainspring.surfaces.rest.openapi import describe, operations

PROBLEM_TYPE = "application/problem+json"
PROBLEM = {"$ref": "#/components/schemas/Problem"}
# Whole documents are judged by the language, which has a schema of its own.
JUDGED = {"DefinitionDocument", "ImportDocument", "Arguments"}

Operation = dict[str, Any]


@pytest_asyncio.fixture
async def document(tmp_path: Path) -> dict[str, Any]:
    """The description of the whole surface; no database is needed to write it."""
    settings, limits = Settings(home=tmp_path), Limits()
    nowhere = ExternalDatabaseSource("postgresql://nowhere")
    database = Database(nowhere, name="a test", pool_size=1, idle_seconds=1)
    application = build_application(settings, limits, build_registry(limits), database)
    try:
        return describe(build_api(application_services(application)))
    finally:
        await application.egress.aclose()


@pytest.fixture
def all_operations(document: dict[str, Any]) -> dict[str, Operation]:
    return {f"{method} {path}": entry for path, method, entry in operations(document)}


def test_there_is_a_surface_to_judge(all_operations: dict[str, Operation]) -> None:
    assert "get /api/v1/health" in all_operations
    assert "get /api/v1/vocabulary" in all_operations


def test_every_route_is_under_one_prefix(document: dict[str, Any]) -> None:
    assert [path for path in document["paths"] if not path.startswith("/api/v1/")] == []


def test_every_route_has_a_name_a_tag_and_a_sentence(
    all_operations: dict[str, Operation],
) -> None:
    names = Counter(entry["operationId"] for entry in all_operations.values())

    assert [name for name, times in names.items() if times > 1] == []
    assert [name for name in names if not re.fullmatch(r"[a-z]+(_[a-z0-9]+)+", name)] == []
    assert [route for route, entry in all_operations.items() if len(entry["tags"]) != 1] == []
    # What the framework would make of the name of a function is no sentence of ours.
    made_up = {name.replace("_", " ").title() for name in names}
    assert [
        route
        for route, entry in all_operations.items()
        if not entry.get("summary") or entry["summary"] in made_up
    ] == []


def test_every_problem_is_described_by_the_one_document(
    all_operations: dict[str, Operation],
) -> None:
    # Red health is an answer and no problem: it says what is wrong with the application.
    answers = {("get /api/v1/health", "503"), ("get /api/v1/health/ready", "503")}
    others = [
        (route, status)
        for route, entry in all_operations.items()
        for status, response in entry["responses"].items()
        if int(status) >= 400
        and (route, status) not in answers
        and response["content"].get(PROBLEM_TYPE, {}).get("schema") != PROBLEM
    ]

    assert others == []


def test_every_route_says_what_may_go_wrong(all_operations: dict[str, Operation]) -> None:
    silent = [
        (route, status)
        for route, entry in all_operations.items()
        for status in _expected(entry)
        if str(status) not in entry["responses"]
    ]

    assert silent == []


def _expected(entry: Operation) -> set[int]:
    statuses = {500}
    places = {one["in"] for one in entry.get("parameters", ())}
    if entry.get("security"):
        statuses |= {401, 422}
    if entry["x-permission"] != "open":
        statuses.add(403)
    if "path" in places:
        statuses |= {404, 422}
    if "requestBody" in entry:
        statuses |= {413, 415, 422}
    return statuses


def test_every_status_is_one_that_an_error_or_an_answer_has(
    all_operations: dict[str, Operation],
) -> None:
    known = {made.status for made in KINDS.values()} | {200, 201, 202, 204, 206, 304, 431, 503}

    assert {
        int(status) for entry in all_operations.values() for status in entry["responses"]
    } <= known


def test_every_answer_has_a_shape(all_operations: dict[str, Operation]) -> None:
    shapeless = [
        (route, status)
        for route, entry in all_operations.items()
        for status, response in entry["responses"].items()
        if status not in {"204", "304"}
        and not any(
            media_type != "application/json" or content.get("schema")
            for media_type, content in response.get("content", {}).items()
        )
    ]

    assert shapeless == []


def test_a_token_is_asked_for_where_one_is_needed(
    document: dict[str, Any], all_operations: dict[str, Operation]
) -> None:
    open_ones = {route for route, entry in all_operations.items() if not entry.get("security")}

    assert document["components"]["securitySchemes"]["bearer"]["scheme"] == "bearer"
    # Health, what carries a signature of its own, and the ways in which somebody signs in.
    assert open_ones == {
        "get /api/v1/health",
        "get /api/v1/health/live",
        "get /api/v1/health/ready",
        "get /api/v1/artifacts/{artifact_id}/content",
        "post /api/v1/automations/{automation_id}/hooks/{slug}",
        # The path is the credential.
        "post /api/v1/hooks/{token}",
        "get /api/v1/forms/{token}",
        "post /api/v1/forms/{token}",
        "post /api/v1/integrations/slack/interactions/{workspace_id}",
        "post /api/v1/push-channels/{workspace_id}/{channel_id}",
        "get /api/v1/public-address/proof",
        "post /api/v1/session",
        "post /api/v1/session/link",
        "post /api/v1/session/link/look",
        "post /api/v1/session/terminal",
        "post /api/v1/session/terminal/collect",
    }


def test_a_body_is_a_shape_that_refuses_what_it_does_not_know(
    document: dict[str, Any], all_operations: dict[str, Operation]
) -> None:
    lax = []
    for route, entry in all_operations.items():
        for content in entry.get("requestBody", {}).get("content", {}).values():
            name = content["schema"].get("$ref", "").rpartition("/")[2]
            schema = document["components"]["schemas"].get(name, {})
            strict = schema.get("additionalProperties") is False
            if schema.get("type") == "object" and not strict and name not in JUDGED:
                lax.append(route)

    assert lax == []


def test_every_part_of_the_description_is_a_schema(document: dict[str, Any]) -> None:
    for name, schema in document["components"]["schemas"].items():
        whole = {"$defs": document["components"]["schemas"], **schema}
        found = check_schema(_rooted(whole), Limits(json_bytes=10_000_000), "")
        assert found == [], name


def _rooted(node: Any) -> Any:
    """The same schema standing alone: its parts are looked for in itself."""
    if isinstance(node, list):
        return [_rooted(entry) for entry in node]
    if not isinstance(node, dict):
        return node
    return {
        key: value.replace("#/components/schemas/", "#/$defs/")
        if key == "$ref" and isinstance(value, str)
        else _rooted(value)
        for key, value in node.items()
    }


def test_every_reference_leads_to_a_part(document: dict[str, Any]) -> None:
    parts = {f"#/components/schemas/{name}" for name in document["components"]["schemas"]}

    assert set(_references(document)) - parts == set()


def _references(node: Any) -> list[str]:
    if isinstance(node, list):
        return [found for entry in node for found in _references(entry)]
    if not isinstance(node, dict):
        return []
    own = [node["$ref"]] if isinstance(node.get("$ref"), str) else []
    return own + [found for entry in node.values() for found in _references(entry)]
