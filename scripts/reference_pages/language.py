"""The language of definitions and recipes: their schemas, and templates."""

from __future__ import annotations

import importlib
import json
from datetime import UTC, datetime
from uuid import UUID

from scripts.reference_pages.markdown import as_json, code, page, table

# What a template can read; each name of the run has its sentence.
NAMES = {
    "inputs": "The run's inputs, defaults filled in.",
    "trigger": "The payload of what started the run.",
    "steps": "The output of every step before this one: `steps.<name>`, or `<name>` alone.",
    "item, index": "Inside `for_each`: the item (or the name given by `as`) and its number from 0.",
    "secrets": "Only where a field takes secrets, and only as `{{ secrets.name }}`.",
}
RUN = {
    "id": "The run's id.",
    "started_at": "When it began, in ISO 8601.",
    "automation_id": "Its automation.",
    "automation_name": "The automation's name.",
    "automation_version": "The version it runs.",
    "trigger_type": "`manual`, or the type of the trigger.",
    "trigger_id": "The trigger, or nothing for a run by hand.",
    "workspace_id": "Its workspace.",
    "search_space_id": "The same under an older name.",
    "creator_id": "Who made the automation.",
    "attempt": "1, and one more each time the run is retried.",
    "failed_step_id": "In `on_failure` only: the step that failed.",
    "error": "In `on_failure` only: the problem, with `detail`, `code`, `status` and more.",
}


def definition_schema() -> str:
    return as_json(
        importlib.import_module("mainspring.definition.schema").build_definition_schema()
    )


def filter_schema() -> str:
    return as_json(importlib.import_module("mainspring.definition.filters").FILTER_SCHEMA)


def recipe_schema() -> str:
    return as_json(
        importlib.import_module("mainspring.recipes.package.schema").build_recipe_schema()
    )


def templates_page() -> str:
    templates = importlib.import_module("mainspring.definition.templates")
    # A name that has no sentence there stops the generator.
    wording = importlib.import_module("mainspring.definition.templates.filter_help")
    filters = [
        (
            code(name),
            ", ".join(_parameter(*entry) for entry in made.parameters),
            wording.FILTER_WORDS[name],
        )
        for name, made in sorted(templates.FILTERS.items())
    ]
    tests = [(code(name), wording.TEST_WORDS[name]) for name in sorted(templates.TESTS)]
    reserved = ", ".join(map(code, sorted(templates.RESERVED)))
    return page(
        "Templates",
        "The syntax of Jinja, with `if`, `for`, `set` and `with`, these filters and these tests, "
        "and nothing else: no calls, no attributes of objects, no names but those handed in. A "
        "dot or a bracket looks up a key or an index. A name that does not exist is an error.",
        "A text that is exactly one expression keeps the type of its value, unless its field "
        "takes text alone. A condition (`when`) may be written with or without braces.",
        "## Names",
        table(("Name", "Value"), [(code(name), output) for name, output in NAMES.items()]),
        "## The run",
        table(("Name", "Value"), [(code(f"run.{name}"), RUN[name]) for name in _run_names()]),
        "## Filters",
        table(("Filter", "Parameters", "Result"), filters),
        "## Tests",
        table(("Test", "Holds when"), tests),
        "## Reserved names",
        f"A step may not be called: {reserved}.",
    )


def _run_names() -> list[str]:
    """As the engine builds them, so that a name without a sentence stops the generator."""
    templates = importlib.import_module("mainspring.definition.templates")
    nobody, now = UUID(int=0), datetime.now(UTC)
    failure = templates.RunFailure("", {})
    facts = templates.RunFacts(nobody, now, nobody, "", 1, "", None, nobody, None, 1, failure)
    return list(facts.as_data())


def _parameter(name: str, default: object) -> str:
    required = importlib.import_module("mainspring.definition.templates.filters").REQUIRED
    if default is required:
        return code(name)
    return code(f"{name}={json.dumps(default, ensure_ascii=False)}")
