"""Writes ``docs/reference/`` and ``docs/integrations/`` from the code, or checks them.

    python -m scripts.reference            writes every page
    python -m scripts.reference --check    prints a diff and exits 1 if a page is stale

Each page is made from the objects the product itself uses (the registry, the tree of
errors, the table of limits ...), so a page cannot say what the code does not do. A page
whose room has not been built yet is not written, and must not be there either.
"""

from __future__ import annotations

import argparse
import difflib
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec
from pathlib import Path

from scripts.reference_pages import (
    commands,
    integrations,
    language,
    requirements,
    rest,
    roles,
    rules,
    vocabulary,
)
from scripts.reference_pages.markdown import page, table

FOLDER = Path(__file__).resolve().parents[1] / "docs" / "reference"
INTEGRATIONS = FOLDER.with_name("integrations")


@dataclass(frozen=True, slots=True)
class Page:
    """One file of the reference: what it holds and the module it is made from."""

    file: str
    about: str
    needs: str
    make: Callable[[], str]


PAGES = (
    Page("errors.md", "Every error.", "mainspring.contracts.errors", rules.errors_page),
    Page("limits.md", "Every limit.", "mainspring.contracts.limits", rules.limits_page),
    Page("settings.md", "Every setting.", "mainspring.settings", rules.settings_page),
    Page("actions.md", "What a step may name.", "mainspring.app", vocabulary.actions_page),
    Page(
        "capabilities.md",
        "What the system can do.",
        "mainspring.app",
        vocabulary.capabilities_page,
    ),
    Page("triggers.md", "What may start a run.", "mainspring.app", vocabulary.triggers_page),
    Page("events.md", "Every type of event.", "mainspring.app", vocabulary.events_page),
    Page(
        "definition.schema.json",
        "The JSON Schema of a definition.",
        "mainspring.definition.schema",
        language.definition_schema,
    ),
    Page(
        "filter.schema.json",
        "The JSON Schema of an event filter.",
        "mainspring.definition.filters",
        language.filter_schema,
    ),
    Page(
        "recipe.schema.json",
        "The JSON Schema of a recipe.",
        "mainspring.recipes.package.schema",
        language.recipe_schema,
    ),
    Page(
        "templates.md",
        "Filters, tests and names of templates.",
        "mainspring.definition.templates",
        language.templates_page,
    ),
    Page("rest.md", "Every route.", "mainspring.surfaces.rest.app", rest.rest_page),
    Page(
        "openapi.json",
        "The OpenAPI document without texts, for comparing versions.",
        "mainspring.surfaces.rest.app",
        rest.openapi_baseline,
    ),
    Page("roles.md", "Who may do what.", "mainspring.surfaces.rest.app", roles.roles_page),
    Page("cli.md", "Every command.", "mainspring.__main__", commands.cli_page),
    Page("exit-codes.md", "Every exit code.", "mainspring.surfaces.cli.exits", commands.exits_page),
    Page(
        "requirements.md",
        "What is asked, and the tests that hold it.",
        "scripts.requirement_rows",
        requirements.requirements_page,
    ),
)


def is_built(module: str) -> bool:
    spec = find_spec(module)
    # A folder without an __init__ is found too, but nothing has been built in it.
    return spec is not None and spec.origin is not None


@cache
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


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="Writes the reference, or checks it.")
    parser.add_argument("--check", action="store_true", help="print a diff and exit 1 if stale")
    parser.add_argument("--folder", type=Path, default=FOLDER, help="where the pages are")
    asked = parser.parse_args(arguments)
    made = written()
    connected = integrations.integration_pages()
    if not asked.check:
        write(asked.folder, made)
        write(INTEGRATIONS, connected)
        return 0
    differences = [*stale(asked.folder, made), *stale(INTEGRATIONS, connected)]
    if differences:
        print("\n\n".join(differences))
        print("\nThe reference is not current; run: python -m scripts.reference")
        return 1
    print(f"The reference is current: {len(made) + len(connected)} pages.")
    return 0


if __name__ == "__main__":
    sys.exit(main())
