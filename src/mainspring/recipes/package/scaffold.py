"""Scaffold for a new recipe: a folder that passes validation as it is.

It is small and functional, so that authors can start by changing texts.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final

from mainspring.contracts.errors import Conflict, Finding, Invalid
from mainspring.contracts.limits import Limits
from mainspring.definition.json_schema import compile_schema
from mainspring.recipes.package.loader import PREVIEW, RECIPE
from mainspring.recipes.package.template_schemas import SLUG

_SCRIPT: Final = """\
// Says how many boards there are, when that has changed.
import { brains, kv } from "mainspring";

const { boards } = await brains.list_boards();
const before = await kv.get("boards", -1);
if (boards.length === before) return { boards: boards.length };
const title = `{{ install.settings.greeting }}: ${boards.length}`;
await brains.inbox.post_notification({ title });
await kv.set("boards", boards.length);
return { boards: boards.length };
"""

_SOME_URL: Final = "https://api.example.com/items"

_Parts = tuple[dict[str, Any], dict[str, str]]


def scaffold(name: str, kind: str, into: Path) -> list[Path]:
    """Write the files of a new recipe; existing files are never overwritten."""
    findings = compile_schema(SLUG, Limits()).findings(name, "/name")
    if findings:
        raise Invalid(findings[0].detail, code="bad_name", findings=findings)
    if kind not in _KINDS:
        detail = f"There is no kind of recipe called {kind!r}."
        raise Invalid(detail, code="bad_kind", findings=[Finding("/kind", detail, "bad_kind")])
    root = into / name
    if root.exists():
        raise Conflict(
            f"{root} is there already.",
            code="folder_there",
            suggestion="Choose another folder with --into, or remove that one first.",
        )
    more, files = _KINDS[kind](name)
    document = {**_build_envelope(name, kind), **more}
    wanted = {
        RECIPE: json.dumps(document, indent=2, ensure_ascii=False) + "\n",
        PREVIEW: "What people see once it is installed.\n",
        **files,
    }
    return [_write_text(root / file, text) for file, text in wanted.items()]


def _write_text(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path


def _build_title(name: str) -> str:
    return name.replace("-", " ").capitalize()


def _build_envelope(name: str, kind: str) -> dict[str, Any]:
    return {
        "format": "mainspring.recipe",
        "format_version": 1,
        "slug": name,
        "version": "0.1.0",
        "kind": kind,
        "name": _build_title(name),
        "description": "What it does for the person who installs it.",
        "publisher": "Me",
        "category": "other",
        "tags": [],
    }


def _build_board(name: str) -> _Parts:
    columns = [
        {"key": "title", "label": "Title"},
        {"key": "state", "field_type": "select", "options": ["open", "done"]},
    ]
    dataset = {"name": "default", "columns": columns, "dedupe_key_field": "title"}
    rows = {"default": [{"title": "The first one", "state": "open"}]}
    return {"template": {"name": _build_title(name), "datasets": [dataset], "rows": rows}}, {}


def _build_automation(name: str) -> _Parts:
    del name
    tools = ["inbox.post_notification", "list_boards"]
    greeting = {"name": "greeting", "label": "How it begins", "type": "string", "default": "Boards"}
    script = {
        "source_file": "main.ts",
        "triggers": [{"kind": "cron", "cron": "0 7 * * *", "tz": "UTC"}],
        "tool_grants": [{"tool": tool} for tool in tools],
    }
    more = {
        "grants": [{"capability": one} for one in tools],
        "settings": [greeting],
        "template": {"script": script},
    }
    example = {"name": "a new board", "says": "One notification with the number of boards."}
    return more, {"main.ts": _SCRIPT, "examples/first.json": json.dumps(example, indent=2) + "\n"}


def _build_workflow(name: str) -> _Parts:
    template = {
        "title": _build_title(name),
        "charter": "What should be true at the end.",
        "kpis": [],
        "deadlines": [],
    }
    return {"template": template}, {}


def _build_integration(name: str) -> _Parts:
    template = {
        "auth": {"type": "none"},
        "trigger": {"kind": "cron", "cron": "0 * * * *"},
        "endpoints": [{"op": "list", "method": "GET", "url": _SOME_URL}],
        "mapping": {
            "iterate": "$.items[*]",
            "page_type": "item",
            "source_ref_prefix": f"{name}:",
            "source_ref": "{{id}}",
            "title": "{{title}}",
        },
    }
    bounds = {"hosts": ["api.example.com"], "method": "GET", "url": _SOME_URL}
    grant = {"capability": "ingest_from_endpoint", "params": bounds}
    return {"grants": [grant], "hosts": ["api.example.com"], "template": template}, {}


def _build_bundle(name: str) -> _Parts:
    return {"template": {"members": [{"slug": f"{name}-board", "reason": "Where it notes."}]}}, {}


_KINDS: Final[Mapping[str, Callable[[str], _Parts]]] = {
    "board": _build_board,
    "automation": _build_automation,
    "workflow": _build_workflow,
    "integration": _build_integration,
    "bundle": _build_bundle,
}
