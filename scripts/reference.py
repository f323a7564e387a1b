"""Writes ``docs/reference/`` from the code, or checks that it is current.

    python scripts/reference.py            writes every page
    python scripts/reference.py --check    prints a diff and exits 1 if a page is stale

Each page is made from the objects the product itself uses (the registry, the tree of
errors, the table of limits ...), so a page cannot say what the code does not do. A page
whose room has not been built yet is not written, and must not be there either.
"""

from __future__ import annotations

import argparse
import ast
import difflib
import importlib
import json
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
FOLDER = ROOT / "docs" / "reference"
SOURCE = ROOT / "src"
NOTE = "<!-- Written by scripts/reference.py; change the code, then run it again. -->"

Schema = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Page:
    """One file of the reference: what it holds and the module it is made from."""

    file: str
    about: str
    needs: str
    make: Callable[[], str]


# --- pieces of Markdown ---------------------------------------------------------------


def page(title: str, lead: str, *parts: str) -> str:
    return "\n\n".join([f"# {title}", NOTE, lead, *(part for part in parts if part)]) + "\n"


def table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [_row(heads), _row(["---"] * len(heads)), *map(_row, rows)]
    return "\n".join(lines) if len(lines) > 2 else ""


def _row(cells: Sequence[str]) -> str:
    return "| " + " | ".join(cell.replace("|", "\\|").replace("\n", " ") for cell in cells) + " |"


def code(text: object) -> str:
    return f"`{text}`"


def sentence(text: str | None) -> str:
    """The first paragraph, on one line."""
    return " ".join((text or "").strip().partition("\n\n")[0].split())


def as_json(value: object) -> str:
    return json.dumps(value, indent=2, ensure_ascii=False) + "\n"


# --- errors, limits, settings ---------------------------------------------------------


def errors_page() -> str:
    kinds = importlib.import_module("mainspring.contracts.errors").KINDS
    rows = [
        (
            code(kind),
            str(made.status),
            made.title,
            "yes" if made.retryable else "no",
            sentence(made.__doc__),
        )
        for kind, made in sorted(kinds.items(), key=lambda item: (item[1].status, item[0]))
    ]
    return page(
        "Errors",
        "Every failure is one RFC 9457 problem document, the same on every surface: `type` is "
        "`urn:mainspring:problem:<kind>`, `detail` is a sentence for a person, `code` is for "
        "programs, and `errors` lists each finding with its JSON pointer.",
        "## Kinds",
        table(("Kind", "Status", "Title", "Retried", "Meaning"), rows),
        "## Codes",
        "`…` stands for a value of the case at hand. Without a code of its own, a problem "
        "carries its kind as the code.",
        table(("Code", "Said by", "Sentence"), _codes({made.__name__ for made in kinds.values()})),
    )


def _codes(classes: set[str]) -> list[tuple[str, str, str]]:
    """Each code that the source writes down, with the first sentence in words that goes with it."""
    found: dict[tuple[str, str], str] = {}
    for path in sorted(SOURCE.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"), path.name)):
            if isinstance(node, ast.Call):
                for name, made, said in _code_of(node, classes):
                    if not any(map(str.isalpha, found.get((name, made), ""))):
                        found[name, made] = said
    return [(code(name), made, said) for (name, made), said in sorted(found.items())]


def _code_of(node: ast.Call, classes: set[str]) -> Iterator[tuple[str, str, str]]:
    name = node.func.id if isinstance(node.func, ast.Name) else ""
    named = {word.arg: word.value for word in node.keywords}
    if name == "Finding":
        given = dict(zip(("pointer", "detail", "code"), node.args, strict=False)) | named
        detail, value = given.get("detail"), given.get("code")
    elif name in classes:
        detail, value = (node.args[0] if node.args else named.get("detail")), named.get("code")
    else:
        return
    if isinstance(value, ast.Constant) and isinstance(value.value, str):
        yield value.value, name, _said(detail)


def _said(node: ast.expr | None) -> str:
    """The text of an expression as far as it is written down."""
    match node:
        case ast.Constant(value=str() as text):
            return text
        case ast.JoinedStr(values=values):
            return "".join(map(_said, values))
        case ast.BinOp(left=left, op=ast.Add(), right=right):
            return _said(left) + _said(right)
        case _:
            return "…"


def limits_page() -> str:
    limits = importlib.import_module("mainspring.contracts.limits").all_limits()
    rows = [
        (code(name), f"{default:,}", unit, code(f"MAINSPRING_LIMIT_{name.upper()}"), said)
        for name, default, unit, said in limits
    ]
    return page(
        "Limits",
        "Sizes and counts nothing may exceed. An operator sets any of them with the variable "
        "beside it; a limit that is not in this table does not exist.",
        table(("Limit", "Default", "Unit", "Variable", "What it bounds"), rows),
    )


def settings_page() -> str:
    settings = importlib.import_module("mainspring.settings").all_settings()
    rows = [(code(variable), default, said) for variable, default, said in settings]
    return page(
        "Settings",
        "Read from the environment once, at the start. A value that cannot be used stops the "
        "start and is named.",
        table(("Variable", "Default", "Meaning"), rows),
    )


# --- the vocabulary -------------------------------------------------------------------


def _registry() -> Any:
    limits = importlib.import_module("mainspring.contracts.limits").Limits()
    return importlib.import_module("mainspring.wiring").build_registry(limits)


def fields(schema: Schema) -> str:
    """The properties of an object schema as a table; other shapes as JSON."""
    properties: Mapping[str, Any] = schema.get("properties", {})
    if not properties:
        return sentence(schema.get("description")) or f"```json\n{as_json(schema)}```"
    required = set(schema.get("required", ()))
    rows = [
        (
            code(name),
            shape(entry),
            "required" if name in required else default_of(entry),
            sentence(entry.get("description") or entry.get("title")),
        )
        for name, entry in properties.items()
    ]
    return table(("Key", "Type", "Default", "Meaning"), rows)


def shape(schema: Any) -> str:
    """What kind of value a schema wants, in a few words."""
    if not isinstance(schema, Mapping):
        return "anything"
    if "const" in schema:
        return code(json.dumps(schema["const"]))
    if "enum" in schema:
        return ", ".join(code(json.dumps(value)) for value in schema["enum"])
    if "type" not in schema:
        choices = schema.get("anyOf") or schema.get("oneOf")
        return " or ".join(dict.fromkeys(map(shape, choices))) if choices else "anything"
    named = schema["type"]
    kind = named if isinstance(named, str) else " or ".join(named)
    return f"{kind} ({schema['format']})" if "format" in schema else kind


def default_of(schema: Any) -> str:
    known = isinstance(schema, Mapping) and "default" in schema
    return code(json.dumps(schema["default"], ensure_ascii=False)) if known else ""


def actions_page() -> str:
    registry = _registry()
    parts = [
        f"## {name}\n\n{entry.description.strip()}\n\n{fields(entry.config_schema)}\n\n"
        + (
            f"Output: {shape_of_output(entry.output_schema)}"
            if entry.output_schema is not None
            else "Output: in the shape that the step declares."
        )
        for name, entry in sorted(registry.actions.items())
    ]
    return page(
        "Actions",
        "What a step of a plan may name in `action`. The id of a capability may stand there "
        "too: the step is then a direct call, and its `config` are the arguments "
        "([capabilities](capabilities.md)).",
        *parts,
    )


def shape_of_output(schema: Schema) -> str:
    keys = ", ".join(code(key) for key in schema.get("properties", {}))
    return f"{shape(schema)} with {keys}." if keys else f"{shape(schema)}."


def capabilities_page() -> str:
    registry = _registry()
    rows, parts = [], []
    for name, entry in sorted(registry.capabilities.items()):
        notes = entry.annotations
        effect = "held for a person" if entry.write is not None else notes.effect.value
        rows.append((f"[{name}](#{name.replace('.', '')})", effect, sentence(entry.label)))
        secret = ", ".join(map(code, sorted(notes.secret_arguments)))
        parts.append(
            f"## {name}\n\n{entry.description.strip()}\n\n{fields(entry.input_schema)}\n\n"
            f"Result: {shape_of_output(entry.output_schema)}"
            + (f"\n\nA secret may stand in: {secret}." if secret else "")
        )
    return page(
        "Capabilities",
        "Everything the system can do, each behind the gate. `read` changes nothing, `keep` "
        "writes what the workspace keeps, `send` leaves the house.",
        table(("Capability", "Effect", "What it does"), rows),
        *parts,
    )


def triggers_page() -> str:
    registry = _registry()
    parts = [
        f"## {name}\n\n{entry.description.strip()}\n\n### Config\n\n{fields(entry.config_schema)}"
        f"\n\n### Payload\n\n{fields(entry.payload_schema)}"
        for name, entry in sorted(registry.triggers.items())
    ]
    return page(
        "Triggers",
        "What may start a run besides a person. `config` stands in the definition; the payload "
        "is what templates see as `trigger`.",
        *parts,
    )


def events_page() -> str:
    registry = _registry()
    parts = [
        f"## {name}\n\n{entry.description.strip()}\n\n{fields(entry.payload_schema)}"
        for name, entry in sorted(registry.events.items())
    ]
    return page("Events", "Every declared type of event and the shape of its payload.", *parts)


# --- the language ---------------------------------------------------------------------


def definition_schema() -> str:
    return as_json(importlib.import_module("mainspring.definition.schema").definition_schema())


def filter_schema() -> str:
    return as_json(importlib.import_module("mainspring.definition.filters").FILTER_SCHEMA)


# --- the command line -----------------------------------------------------------------


def cli_page() -> str:
    typer_main = importlib.import_module("typer.main")
    root = typer_main.get_command(importlib.import_module("mainspring.surfaces.cli").app)
    parts = [
        part for path, command in _commands("mainspring", root) for part in _help(path, command)
    ]
    return page("Command line", sentence(root.help), *parts)


def _commands(path: str, command: Any) -> Iterator[tuple[str, Any]]:
    for name, child in sorted(getattr(command, "commands", {}).items()):
        if not child.hidden:
            if not hasattr(child, "commands"):
                yield f"{path} {name}", child
            yield from _commands(f"{path} {name}", child)


def _help(path: str, command: Any) -> Iterator[str]:
    shown = [entry for entry in command.params if not getattr(entry, "hidden", False)]
    words = [_argument(entry) for entry in shown if entry.param_type_name == "argument"]
    yield f"## {path}"
    yield "\n\n".join(" ".join(text.split()) for text in (command.help or "").split("\n\n"))
    yield "```sh\n" + " ".join([path, "[OPTIONS]", *words]) + "\n```"
    yield table(("Word", "Default", "Meaning"), (_word(entry) for entry in shown))


def _argument(entry: Any) -> str:
    name = entry.name.upper() + ("..." if entry.nargs == -1 else "")
    return name if entry.required else f"[{name}]"


def _word(entry: Any) -> tuple[str, str, str]:
    if entry.param_type_name == "argument":
        name = code(entry.name.upper())
    else:
        name = ", ".join(map(code, [*entry.opts, *entry.secondary_opts]))
    if entry.required:
        return name, "required", sentence(entry.help)
    plain = isinstance(entry.default, str | int | float) and not isinstance(entry.default, bool)
    return name, code(entry.default) if plain else "", sentence(entry.help)


# --- all pages ------------------------------------------------------------------------

PAGES = (
    Page(
        "errors.md",
        "Every kind of error and every code.",
        "mainspring.contracts.errors",
        errors_page,
    ),
    Page("limits.md", "Every limit with its default.", "mainspring.contracts.limits", limits_page),
    Page("settings.md", "Every setting.", "mainspring.settings", settings_page),
    Page("actions.md", "What a step may name.", "mainspring.wiring", actions_page),
    Page("capabilities.md", "What the system can do.", "mainspring.wiring", capabilities_page),
    Page("triggers.md", "What may start a run.", "mainspring.wiring", triggers_page),
    Page("events.md", "Every type of event.", "mainspring.wiring", events_page),
    Page(
        "definition.schema.json",
        "The JSON Schema of a definition.",
        "mainspring.definition.schema",
        definition_schema,
    ),
    Page(
        "filter.schema.json",
        "The JSON Schema of an event filter.",
        "mainspring.definition.filters",
        filter_schema,
    ),
    Page("cli.md", "Every command.", "mainspring.surfaces.cli", cli_page),
)


def is_built(module: str) -> bool:
    spec = find_spec(module)
    # A folder without an __init__ is found too, but nothing has been built in it.
    return spec is not None and spec.origin is not None


def written() -> dict[str, str]:
    """Every page that can be made today, by file name, and the list of them."""
    ready = [entry for entry in PAGES if is_built(entry.needs)]
    made = {entry.file: entry.make() for entry in ready}
    rows = [(f"[{entry.file}]({entry.file})", entry.about) for entry in ready]
    lead = "Made from the code, so it says what the code does."
    made["index.md"] = page("Reference", lead, table(("Page", "What it holds"), rows))
    return made


def stale(folder: Path, made: Mapping[str, str]) -> list[str]:
    """A diff from what is there to what should be, for each page that is not current."""
    there = {path.name: path.read_text(encoding="utf-8") for path in sorted(folder.glob("*"))}
    found: list[str] = []
    for name in sorted(there.keys() | made.keys()):
        old, new = there.get(name, ""), made.get(name, "")
        lines = difflib.unified_diff(
            old.splitlines(), new.splitlines(), f"{name} (there)", f"{name} (current)", lineterm=""
        )
        if old != new:
            found.append("\n".join(lines))
    return found


def write(folder: Path, made: Mapping[str, str]) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for path in folder.glob("*"):
        if path.name not in made:
            path.unlink()
    for name, text in made.items():
        (folder / name).write_text(text, encoding="utf-8")


def main() -> int:
    parser = argparse.ArgumentParser(description="Writes the reference, or checks it.")
    parser.add_argument("--check", action="store_true", help="print a diff and exit 1 if stale")
    parser.add_argument("--folder", type=Path, default=FOLDER, help="where the pages are")
    asked = parser.parse_args()
    made = written()
    if not asked.check:
        write(asked.folder, made)
        return 0
    differences = stale(asked.folder, made)
    if differences:
        print("\n\n".join(differences))
        print("\nThe reference is not current; run: python scripts/reference.py")
        return 1
    print(f"The reference is current: {len(made)} pages.")
    return 0


if __name__ == "__main__":
    sys.exit(main())
