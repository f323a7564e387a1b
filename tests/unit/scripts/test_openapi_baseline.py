"""The committed description of the API notices every change of the wire format."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from typing import Any

import pytest

from scripts.reference_pages import rest

DOCUMENT: dict[str, Any] = {
    "openapi": "3.1.0",
    "info": {"title": "Mainspring", "version": "1"},
    "paths": {
        "/a": {
            "get": {
                "summary": "Read it",
                "x-permission": "read",
                "parameters": [{"name": "limit", "in": "query", "schema": {"type": "integer"}}],
                "responses": {
                    "200": {"content": {"application/json": {"schema": {"$ref": "#/x"}}}},
                    "404": {"description": "Not there", **rest._PROBLEM},
                },
            }
        }
    },
    "components": {
        "schemas": {
            "A": {
                "title": "A",
                "type": "object",
                "required": ["title"],
                "properties": {
                    "title": {"type": "string", "description": "Its title", "maxLength": 5},
                    "state": {"enum": ["on", "off"], "default": "on", "examples": ["on"]},
                },
            }
        }
    },
}


def _baseline(monkeypatch: pytest.MonkeyPatch, change: Callable[[Any], object]) -> str:
    changed = copy.deepcopy(DOCUMENT)
    change(changed)
    monkeypatch.setattr(rest, "document", lambda: changed)
    return rest.openapi_baseline()


def _operation(document: Any) -> Any:
    return document["paths"]["/a"]["get"]


def _properties(document: Any) -> Any:
    return document["components"]["schemas"]["A"]["properties"]


@pytest.mark.parametrize(
    "change",
    [
        lambda document: document["paths"].update({"/b": {}}),
        lambda document: _operation(document).update({"x-permission": "edit"}),
        lambda document: _operation(document)["parameters"][0].update({"required": True}),
        lambda document: _operation(document)["responses"].pop("404"),
        lambda document: _operation(document)["responses"]["404"].update({"content": {}}),
        lambda document: _properties(document).pop("title"),
        lambda document: _properties(document)["title"].update({"maxLength": 6}),
        lambda document: _properties(document)["state"].update({"default": "off"}),
        lambda document: _properties(document)["state"]["enum"].append("paused"),
        lambda document: document["components"]["schemas"]["A"].update({"required": []}),
    ],
)
def test_a_change_of_the_wire_format_changes_the_baseline(
    monkeypatch: pytest.MonkeyPatch, change: Callable[[Any], object]
) -> None:
    before = _baseline(monkeypatch, lambda document: None)

    assert _baseline(monkeypatch, change) != before


def test_a_change_of_texts_and_of_the_order_does_not(monkeypatch: pytest.MonkeyPatch) -> None:
    def reword(document: Any) -> None:
        _operation(document)["summary"] = "Read one"
        _properties(document)["title"]["description"] = "The title"
        _properties(document)["state"]["examples"] = ["off"]
        document["info"]["version"] = "2"
        schema = document["components"]["schemas"]["A"]
        schema["properties"] = dict(reversed(schema["properties"].items()))

    before = _baseline(monkeypatch, lambda document: None)

    assert _baseline(monkeypatch, reword) == before
    assert json.loads(before)["paths"]["/a"]["get"]["responses"]["404"] == {
        "$ref": "#/components/responses/Problem"
    }
