"""Things as the text of files, and back; no file is opened here.

A file is written in one way only: keys in order, two blanks, a line feed at the end. What
people read as text of its own stands in a file of its own: the source of a script, the page of
a dashboard, rows one to a line. Reading notes every problem with its file and place, and
answers nothing by halves.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

from mainspring.definition.pointers import join_pointer
from mainspring.recipes.carrying.carried import KINDS, WorkspaceContent, WorkspaceResource
from mainspring.recipes.carrying.naming import build_file_slugs

WORKSPACE_FORMAT: Final = "mainspring.workspace"
VERSION: Final = 1
MARKER: Final = "mainspring.json"
SETTINGS: Final = "settings.json"
RECIPES: Final = "recipes.json"
SCRIPT: Final = "script"
SOURCE_FILE: Final = "source_file"
DASHBOARD_FILE: Final = "dashboard_file"
ROWS_FILE: Final = "rows_file"
DASHBOARD: Final = "dashboard.html"


def format_json(value: Any) -> str:
    """The one spelling of a value in a file."""
    return json.dumps(value, indent=2, sort_keys=True, ensure_ascii=False) + "\n"


def to_files(carried: WorkspaceContent) -> dict[str, str]:
    """Every file by its path, in the order of the paths."""
    files = {
        MARKER: format_json(
            {"format": WORKSPACE_FORMAT, "version": VERSION, "needs": carried.needs}
        )
    }
    if carried.settings:
        files[SETTINGS] = format_json(carried.settings)
    if carried.recipes:
        files[RECIPES] = format_json(list(carried.recipes))
    for kind in KINDS:
        for thing in carried.of(kind):
            files |= _iterate_resource_files(thing)
    return dict(sorted(files.items()))


def _iterate_resource_files(thing: WorkspaceResource) -> Iterator[tuple[str, str]]:
    folder = thing.path.removesuffix(".json")
    content = dict(thing.content)
    if thing.kind == "automation":
        content, beside = _split_sources(content)
        yield from ((f"{folder}/{name}", text) for name, text in beside.items())
    if thing.kind == "board":
        if content.get("dashboard") is not None:
            yield f"{folder}/{DASHBOARD}", content.pop("dashboard")
            content[DASHBOARD_FILE] = DASHBOARD
        if thing.rows:
            content["datasets"], beside = _split_rows(thing)
            yield from ((f"{folder}/{name}", text) for name, text in beside.items())
    yield thing.path, format_json(content)


def _split_rows(thing: WorkspaceResource) -> tuple[list[dict[str, Any]], dict[str, str]]:
    datasets = [dict(one) for one in thing.content["datasets"]]
    names = build_file_slugs([one["name"] for one in datasets])
    beside = {}
    for dataset, slug in zip(datasets, names, strict=True):
        if dataset["name"] in thing.rows:
            dataset[ROWS_FILE] = f"rows/{slug}.jsonl"
            beside[dataset[ROWS_FILE]] = "".join(map(_format_row_line, thing.rows[dataset["name"]]))
    return datasets, beside


def _format_row_line(row: Mapping[str, Any]) -> str:
    return json.dumps(row, sort_keys=True, ensure_ascii=False, separators=(",", ":")) + "\n"


def _split_sources(document: dict[str, Any]) -> tuple[dict[str, Any], dict[str, str]]:
    """The definition with each source left out, and the sources by the names of their files."""
    found = [step for _, step in find_script_steps(document) if isinstance(_get_source(step), str)]
    slugs = build_file_slugs([str(step.get("step_id", "main")) for step in found])
    names = {id(step): f"{slug}.ts" for step, slug in zip(found, slugs, strict=True)}
    beside = {names[id(step)]: _get_source(step) for step in found}

    def split(step: Mapping[str, Any]) -> dict[str, Any]:
        if id(step) not in names:
            return dict(step)
        config = {key: value for key, value in step["config"].items() if key != "source"}
        return {**step, "config": {**config, SOURCE_FILE: names[id(step)]}}

    return _map_script_steps(document, split), beside


def _get_source(step: Mapping[str, Any]) -> Any:
    return step["config"].get("source")


def find_script_steps(value: Any, at: str = "") -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Every step that is a script, wherever it stands, with its pointer."""
    if isinstance(value, Mapping):
        if value.get("action") == SCRIPT and isinstance(value.get("config"), Mapping):
            yield at, value
        for key, one in value.items():
            yield from find_script_steps(one, join_pointer(at, key))
    elif isinstance(value, list):
        for place, one in enumerate(value):
            yield from find_script_steps(one, join_pointer(at, place))


def _map_script_steps(value: Any, change: Callable[[Mapping[str, Any]], dict[str, Any]]) -> Any:
    """The value with every step that is a script changed."""
    if isinstance(value, Mapping):
        is_step = value.get("action") == SCRIPT and isinstance(value.get("config"), Mapping)
        inside = change(value) if is_step else value
        return {key: _map_script_steps(one, change) for key, one in inside.items()}
    if isinstance(value, list):
        return [_map_script_steps(one, change) for one in value]
    return value


def join_sources(
    document: Any, read: Callable[[str, str], str | None]
) -> tuple[Any, dict[str, str]]:
    """The definition with each source back in it, and which file each of them came from.

    ``read`` is given the name of a file and the pointer that asks for it; None: it has told why
    there is none.
    """
    beside: dict[str, str] = {}
    places = {id(step): at for at, step in find_script_steps(document)}

    def join(step: Mapping[str, Any]) -> dict[str, Any]:
        config = dict(step["config"])
        at = places.get(id(step), "")
        if SOURCE_FILE in config and "source" not in config:
            name = config.pop(SOURCE_FILE)
            source = read(name, join_pointer(at, "config", SOURCE_FILE))
            if source is not None:
                config["source"] = source
                beside[join_pointer(at, "config", "source")] = name
        return {**step, "config": config}

    return _map_script_steps(document, join), beside
