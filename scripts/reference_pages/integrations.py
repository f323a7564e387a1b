"""One page for each built-in integration, made from its manifest, its parts and its README."""

from __future__ import annotations

import importlib
import re
from pathlib import Path
from typing import Any

from scripts.reference_pages.markdown import code, fields, page, sentence, shape, table

_FOLDER = Path(__file__).resolve().parents[2] / "src" / "mainspring" / "integrations"
_INDEX = _FOLDER.parents[2] / "docs" / "integrations" / "index.md"
_TABLE = re.compile(r"(<!-- integrations -->\n).*?(\n<!-- /integrations -->)", re.DOTALL)


def integration_pages() -> dict[str, str]:
    """The pages by file name; the index has a written text and a table that is made here."""
    loader = importlib.import_module("mainspring.integration_loader")
    settings = importlib.import_module("mainspring.settings").Settings(home=Path("/nowhere"))
    found = loader.load_integrations(settings)
    built_in = [one for one in found if (_FOLDER / one.id / "README.md").is_file()]
    rows = [
        (f"[{one.name}]({one.id}.md)", one.manifest["description"], _kind(one)) for one in built_in
    ]
    heads = ("Integration", "What it does", "Connect with")
    text = _INDEX.read_text(encoding="utf-8")
    index = _TABLE.sub(lambda part: part[1] + table(heads, rows) + part[2], text)
    return {"index.md": index, **{f"{one.id}.md": _page(one) for one in built_in}}


def _page(one: Any) -> str:
    sections = _sections(one.id)
    return page(
        one.name,
        one.manifest["description"],
        _connect(one),
        _part("Set up", sections.get("Set up")),
        _actions(one),
        _part("Example step", sections.get("A step")),
        _sources(one),
        _events(one),
        _boards(one),
        _part("Limits", sections.get("Limits")),
        f"## Details\n\nID: {code(one.id)}. Quality tier: "
        f"[{one.manifest['tier']}](../contributing/add-an-integration.md#tiers). {_hosts(one)}",
    )


def _kind(one: Any) -> str:
    kinds = {
        "oauth": "sign-in (OAuth 2.0)",
        "none": "nothing",
        "operator": "a setting of the server",
        "secret": "a secret",
    }
    return kinds.get(one.manifest["auth"]["kind"], "a key or password")


def _connect(one: Any) -> str:
    auth = one.manifest["auth"]
    if auth["kind"] not in ("oauth", "token"):
        return f"## Connect\n\n{auth['how']}"
    lines = [f"## Connect\n\n{auth['how']}"]
    command = "mainspring integrations"
    lines.append(f"```sh\n{command} connect {one.id}\n{command} test {one.id}\n```")
    lines.append(f"In the browser, open **Integrations → {one.name}**.")
    scopes = ", ".join(map(code, auth.get("scopes", ())))
    if scopes:
        lines.append(f"Scopes: {scopes}.")
    rows = [
        (
            code(entry["name"]),
            entry["label"],
            "yes" if entry.get("required", True) else "no",
            "yes" if entry.get("secret", False) else "no",
            entry.get("help", ""),
        )
        for entry in auth.get("fields", ())
    ]
    lines.append(table(("Field", "Label", "Required", "Secret", "Help"), rows))
    return "\n\n".join(line for line in lines if line)


def _actions(one: Any) -> str:
    parts = [
        f"### {entry.id}\n\n{entry.description.strip()}\n\n"
        + ("Held as a draft until a person approves it.\n\n" if entry.write is not None else "")
        + fields(entry.input_schema)
        for entry in (*one.capabilities, *one.actions)
        if hasattr(entry, "id")
    ]
    return "\n\n".join(["## Actions", *parts]) if parts else ""


def _sources(one: Any) -> str:
    rows = [
        (
            f"{code('fetch_from_integration')} with {code('source: ' + source.name)}",
            ", ".join(
                f"{code(name)} ({shape(entry)})"
                for name, entry in source.input_schema.get("properties", {}).items()
            ),
        )
        for source in one.sources
    ]
    rows += [
        (f"{code('watch_integration')}, {code(poll.name)}", sentence(poll.description))
        for poll in one.polls
    ]
    return "## Read and watch\n\n" + table(("Call", "Parameters or content"), rows) if rows else ""


def _events(one: Any) -> str:
    rows = [(code(entry.type), sentence(entry.description)) for entry in one.events]
    return "## Events\n\n" + table(("Event", "Published when"), rows) if rows else ""


def _boards(one: Any) -> str:
    rows = [
        (code(adapter.kind), code(operation.id), sentence(operation.description))
        for adapter in one.adapters
        for operation in adapter.operations
    ]
    return "## Board links\n\n" + table(("Kind", "Operation", "Rows"), rows) if rows else ""


def _hosts(one: Any) -> str:
    hosts = ", ".join(map(code, one.manifest.get("hosts", ())))
    return f"Credentials are sent only to {hosts}." if hosts else ""


def _part(title: str, text: str | None) -> str:
    return f"## {title}\n\n{text}" if text else ""


def _sections(name: str) -> dict[str, str]:
    text = (_FOLDER / name / "README.md").read_text(encoding="utf-8")
    parts = re.split(r"^## (.+)$", text, flags=re.MULTILINE)
    return dict(zip(parts[1::2], (part.strip() for part in parts[2::2]), strict=True))
