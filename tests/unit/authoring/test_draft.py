"""A draft as a definition: sizes it may have, and places reported as they were written."""

from __future__ import annotations

from typing import Any

from mainspring.authoring.draft import apply_changes, as_written, new_document
from mainspring.contracts.errors import Finding
from mainspring.contracts.limits import Limits
from mainspring.definition.model import Definition
from mainspring.definition.strict_json import hash_content
from mainspring.definition.validate import validate
from mainspring.registry import build_registry

LIMITS = Limits()
WORDS = build_registry(LIMITS)
FETCH = 'await brains.http_fetch({ url: "https://a.example/", headers: { a: "{{key}}" } });\n'
GIVEN: dict[str, Any] = {
    "name": "a draft",
    "source": FETCH,
    "triggers": [{"kind": "webhook"}],
    "tool_grants": [{"tool": "http_fetch", "params": {"hosts": ["a.example"]}}],
}


def test_a_script_may_be_as_long_as_promised_also_with_placeholders_in_it() -> None:
    line = "// what a long script is made of\n"
    source = FETCH + line * ((200_000 - len(FETCH)) // len(line))
    document, _ = new_document({**GIVEN, "source": source})
    assert len(source) > 199_000
    assert validate(document, WORDS, LIMITS).findings == ()


def test_a_definition_without_the_new_parts_keeps_its_hash() -> None:
    bare = {
        "schema_version": "1.2",
        "name": "n",
        "goal": "g",
        "plan": [{"step_id": "one", "action": "delay", "config": {"seconds": 1}}],
    }
    stored = Definition.from_json(bare).as_dict()
    assert "writes" not in stored
    assert "model" not in stored["execution"]
    # As it was before there were such parts; only the version of the language is another.
    assert hash_content({**stored, "schema_version": "1.1"}).hex()[:8] == "064b437b"


def test_a_place_in_the_definition_is_shown_as_it_was_written() -> None:
    places = {
        "/plan/0/config/source": "/source",
        "/plan/0/config/grants/2/tool": "/tool_grants/2/tool",
        "/plan/0/action": "/tool_grants",
        "/execution/max_llm_tokens": "/max_llm_tokens",
        "/writes/boards/1": "/writes_to_boards/1",
        "/triggers/1/config/timezone": "/triggers/1/tz",
        "/triggers/1/config/filters/a": "/triggers/1/filters/a",
        "/triggers/0/config": "/triggers/0",
        "/name": "/name",
    }
    result = {at: as_written(Finding(at, "x", "y")).pointer for at in places}
    assert result == places


def test_a_change_leaves_what_is_not_named_as_it_was() -> None:
    document, _ = new_document(GIVEN)
    changed, findings = apply_changes(document, {"max_wall_seconds": 90})
    assert findings == []
    config = changed["plan"][0]["config"]
    assert config == {**document["plan"][0]["config"], "wall_seconds": 90}
    assert {**changed, "plan": document["plan"]} == document
