"""The command line: every command with its words, and every exit code."""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from typing import Any

from scripts.reference_pages.markdown import code, page, sentence, table


def cli_page() -> str:
    typer_main = importlib.import_module("typer.main")
    root = typer_main.get_command(importlib.import_module("mainspring.__main__").command_line())
    parts = [
        part for path, command in _commands("mainspring", root) for part in _help(path, command)
    ]
    words = table(("Word", "Default", "Meaning"), map(_word, root.params))
    parts = ["## Before any command", words, *parts]
    lead = f"{sentence(root.help)} What each exit code means is in [exit codes](exit-codes.md)."
    return page("Command line", lead, *parts)


def exits_page() -> str:
    exits = importlib.import_module("mainspring.surfaces.cli.exits").EXITS
    rows = [(code(number), output) for number, output in exits]
    lead = "What the number means with which a command of `mainspring` ends."
    return page("Exit codes", lead, table(("Code", "Meaning"), rows))


def _commands(path: str, command: Any) -> Iterator[tuple[str, Any]]:
    for name, child in sorted(getattr(command, "commands", {}).items()):
        if not child.hidden:
            # A group that does something by itself has words of its own.
            if not hasattr(child, "commands") or child.params:
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
    return name, code(entry.default) if plain and entry.default != "" else "", sentence(entry.help)
