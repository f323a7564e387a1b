"""Parsing untrusted export files into resources.

Nothing is opened, run or stored here. Problems are reported with file and pointer, as in
``automations/report.json#/plan/0/config``; any problem rejects the whole import.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

from mainspring.contracts.errors import Finding, Invalid
from mainspring.contracts.limits import Limits
from mainspring.definition.strict_json import join_pointer, read_json
from mainspring.definition.suggestions import suggest_nearest
from mainspring.recipes.carrying.model import (
    FOLDER_OF,
    KINDS,
    TITLE_OF,
    ResourceKind,
    WorkspaceContent,
    WorkspaceResource,
    assign_slugs,
    build_file_slugs,
    find_case_collisions,
    is_part,
)
from mainspring.recipes.carrying.references import ResourceReference, fill_all, mark_all
from mainspring.workspace.import_export import FORMAT

# Conversion between resources and file texts; no file is opened here.

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
    """Format a value as canonical JSON."""
    return json.dumps(value, indent=2, sort_keys=True, ensure_ascii=False) + "\n"


def to_files(carried: WorkspaceContent) -> dict[str, str]:
    """Return every file by path, in path order."""
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
    """Extract script sources from a definition, by file name."""
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
    """Find every script step with its pointer."""
    if isinstance(value, Mapping):
        if value.get("action") == SCRIPT and isinstance(value.get("config"), Mapping):
            yield at, value
        for key, one in value.items():
            yield from find_script_steps(one, join_pointer(at, key))
    elif isinstance(value, list):
        for place, one in enumerate(value):
            yield from find_script_steps(one, join_pointer(at, place))


def _map_script_steps(value: Any, change: Callable[[Mapping[str, Any]], dict[str, Any]]) -> Any:
    """Apply a function to every script step."""
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
    """Insert script sources into a definition, and return which file each came from.

    ``read`` gets a file name and its pointer; None: it has reported the problem.
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


# A single file with automations, treated as a workspace of only these.


def read_one_file(value: Any) -> WorkspaceContent:
    """Parse an export of automations, or one definition."""
    listed: Any = [value]
    if isinstance(value, Mapping) and value.get("format") == FORMAT:
        listed = value.get("automations")
    if not isinstance(listed, list):
        raise _no_automations_error("/automations")
    things = []
    for place, document in enumerate(listed):
        if not isinstance(document, Mapping) or not isinstance(document.get("name"), str):
            raise _no_automations_error(join_pointer("", "automations", place))
        thing = WorkspaceResource("automation", str(place), document)
        things.append(thing.with_inside(mark_all(thing.inside, {})))
    return WorkspaceContent(tuple(thing for _, thing in assign_slugs(things)))


def _no_automations_error(pointer: str) -> Invalid:
    detail = "This is not a definition or an export of automations."
    return Invalid(detail, code="invalid_import", findings=[Finding(pointer, detail, "type")])


MOST_FILES: Final = 5_000
MOST_FINDINGS: Final = 100
LONGEST_PATH: Final = 300
LONGEST_NAME: Final = 200
LONGEST_PROMPT: Final = 4_000
_KIND_OF: Final = {folder: kind for kind, folder in FOLDER_OF.items()}
_WHOLE: Final = re.compile(rf"({'|'.join(_KIND_OF)})/([^/]+)\.json")
_BESIDE: Final = re.compile(r"automations/([^/]+)/([^/]+)\.ts|boards/([^/]+)/rows/([^/]+)\.jsonl")
_PAGE: Final = re.compile(rf"boards/([^/]+)/{re.escape(DASHBOARD)}")
_ALONE: Final = (MARKER, SETTINGS, RECIPES)
# Placeholder for invalid JSON, which has been reported.
_BROKEN: Final = object()


def is_ours(path: str) -> bool:
    """Report whether a path is one of the export format."""
    if path in _ALONE:
        return True
    found = _WHOLE.fullmatch(path) or _BESIDE.fullmatch(path) or _PAGE.fullmatch(path)
    if found is None or len(path) > LONGEST_PATH:
        return False
    parts = [part for part in found.groups() if part is not None]
    return all(is_part(part) for part in parts if part not in _KIND_OF)


def read_files(files: Mapping[str, str], limits: Limits) -> WorkspaceContent:
    """Parse all files, or raise ``Invalid`` with their problems."""
    reader = _WorkspaceFileReader(files, limits)
    carried = reader.read()
    if reader.findings:
        raise Invalid(
            "Nothing was imported: the files have problems.",
            code="invalid_import",
            findings=reader.findings,
        )
    return carried


class _WorkspaceFileReader:
    def __init__(self, files: Mapping[str, str], limits: Limits) -> None:
        self._files, self._limits = files, limits
        self._used: set[str] = set()
        self.findings: list[Finding] = []

    def read(self) -> WorkspaceContent:
        if not self._paths_are_good() or not self._is_marked():
            return WorkspaceContent()
        things = [
            thing
            for path, found in ((path, _WHOLE.fullmatch(path)) for path in sorted(self._files))
            if found is not None
            for thing in self._thing(path, _KIND_OF[found[1]], found[2])
        ]
        settings = self._object(SETTINGS) if SETTINGS in self._files else {}
        recipes = self._recipes() if RECIPES in self._files else ()
        carried = WorkspaceContent(tuple(things), settings or {}, recipes)
        self._look_for_unused()
        self._look_for_doubles(carried)
        self._follow(carried)
        return carried

    def _note(self, pointer: str, detail: str, code: str, suggestion: str | None = None) -> None:
        if len(self.findings) < MOST_FINDINGS:
            self.findings.append(Finding(pointer, detail, code, suggestion))

    def _paths_are_good(self) -> bool:
        if len(self._files) > MOST_FILES:
            self._note("", f"At most {MOST_FILES:,} files are read.", "too_many_files")
            return False
        size = sum(len(text.encode("utf-8", "replace")) for text in self._files.values())
        if size > self._limits.import_bytes:
            most = self._limits.import_bytes
            detail = f"The files are {size:,} bytes together; at most {most:,} are read."
            self._note("", detail, "files_too_large", "Leave the rows of boards out.")
            return False
        for path in self._files:
            if not is_ours(path):
                shown = path[:LONGEST_PATH]
                detail = f"{shown!r} is not a file of a workspace."
                self._note(shown, detail, "unknown_file", "Take it out, or give it another name.")
        for first, second in find_case_collisions(self._files):
            detail = f"{first!r} and {second!r} are one file where capitals do not count."
            self._note(second, detail, "file_twice", "Give one of them another name.")
        return not self.findings

    def _is_marked(self) -> bool:
        if MARKER not in self._files:
            detail = f"There is no {MARKER}, so this is not a workspace as files."
            self._note(MARKER, detail, "no_marker", "`mainspring export --folder` writes one.")
            return False
        marker = self._object(MARKER)
        if marker is None:
            return False
        if marker.get("format") != WORKSPACE_FORMAT:
            detail = f"The format of a workspace as files is {WORKSPACE_FORMAT!r}."
            self._note(f"{MARKER}#/format", detail, "unknown_format")
        version = marker.get("version")
        if type(version) is not int or version != VERSION:
            detail = f"This release reads version {VERSION} of workspaces as files."
            self._note(f"{MARKER}#/version", detail, "unknown_version")
        self._only(MARKER, marker, ("format", "version", "needs"))
        return not self.findings

    def _thing(self, path: str, kind: ResourceKind, slug: str) -> list[WorkspaceResource]:
        content = self._object(path)
        if content is None:
            return []
        title = content.get(TITLE_OF[kind])
        if not isinstance(title, str) or not title.strip() or len(title) > LONGEST_NAME:
            name = TITLE_OF[kind]
            detail = f"The {name} must be text of 1 to {LONGEST_NAME} characters."
            self._note(f"{path}#/{name}", detail, name)
            return []
        if kind == "automation":
            return [self._automation(slug, content)]
        if kind == "board":
            return [self._board(slug, content)]
        if kind == "prompt":
            self._prompt(path, content)
        return [WorkspaceResource(kind, slug, content)]

    def _automation(self, slug: str, content: dict[str, Any]) -> WorkspaceResource:
        here = f"automations/{slug}.json#"
        joined, beside = join_sources(
            content, lambda name, at: self._text(f"automations/{slug}", name, f"{here}{at}")
        )
        paths = {at: f"automations/{slug}/{name}" for at, name in beside.items()}
        return WorkspaceResource("automation", slug, joined, beside=paths)

    def _board(self, slug: str, content: dict[str, Any]) -> WorkspaceResource:
        folder, here = f"boards/{slug}", f"boards/{slug}.json#"
        beside = {}
        if DASHBOARD_FILE in content and "dashboard" not in content:
            name = content.pop(DASHBOARD_FILE)
            page = self._text(folder, name, f"{here}/{DASHBOARD_FILE}")
            if page is not None:
                content["dashboard"] = page
                beside["/dashboard"] = f"{folder}/{name}"
        rows: dict[str, list[dict[str, Any]]] = {}
        datasets = content.get("datasets")
        for place, dataset in enumerate(datasets if isinstance(datasets, list) else ()):
            if isinstance(dataset, dict) and ROWS_FILE in dataset:
                at = f"{here}{join_pointer('', 'datasets', place, ROWS_FILE)}"
                name = dataset.pop(ROWS_FILE)
                text = self._text(folder, name, at)
                if text is not None and isinstance(dataset.get("name"), str):
                    rows[dataset["name"]] = self._lines(f"{folder}/{name}", text)
                    beside[join_pointer("", "rows", dataset["name"])] = f"{folder}/{name}"
        return WorkspaceResource("board", slug, content, rows, beside)

    def _prompt(self, path: str, content: Mapping[str, Any]) -> None:
        text = content.get("text")
        if not isinstance(text, str) or not 0 < len(text) <= LONGEST_PROMPT:
            detail = f"The text must be text of 1 to {LONGEST_PROMPT:,} characters."
            self._note(f"{path}#/text", detail, "text")
        self._only(path, content, ("name", "text"))

    def _recipes(self) -> tuple[Mapping[str, Any], ...]:
        found = self._value(RECIPES)
        if isinstance(found, list) and all(isinstance(one, dict) for one in found):
            return tuple(found)
        if found is not _BROKEN:
            self._note(f"{RECIPES}#", "This must be a list of installed recipes.", "type")
        return ()

    def _lines(self, path: str, text: str) -> list[dict[str, Any]]:
        rows = []
        for number, line in enumerate(text.split("\n")):
            if not line.strip():
                continue
            row = self._parsed(line, f"{path}#{join_pointer('', number)}")
            if isinstance(row, dict):
                rows.append(row)
            elif row is not _BROKEN:
                self._note(f"{path}#{join_pointer('', number)}", "A row is an object.", "type")
        return rows

    def _text(self, folder: str, name: Any, at: str) -> str | None:
        """The text of a file that another one names."""
        path = f"{folder}/{name}"
        if not isinstance(name, str) or not is_ours(path) or path not in self._files:
            shown = str(name)[:100]
            self._note(at, f"There is no file {shown!r} in {folder}/.", "no_file")
            return None
        self._used.add(path)
        text = self._files[path]
        if "\x00" in text or len(text.encode("utf-8", "replace")) > self._limits.import_bytes:
            self._note(f"{path}#", "The file holds what is no text.", "file_encoding")
            return None
        return text

    def _object(self, path: str) -> dict[str, Any] | None:
        found = self._value(path)
        if isinstance(found, dict):
            return found
        if found is not _BROKEN:
            self._note(f"{path}#", "The file must hold one JSON object.", "type")
        return None

    def _value(self, path: str) -> Any:
        return self._parsed(self._files[path], f"{path}#")

    def _parsed(self, text: str, at: str) -> Any:
        try:
            return read_json(text, self._limits)
        except Invalid as problem:
            for one in problem.findings:
                self._note(f"{at}{one.pointer}", one.detail, one.code, one.suggestion)
            return _BROKEN

    def _only(self, path: str, value: Mapping[str, Any], known: tuple[str, ...]) -> None:
        for key in value:
            if key not in known:
                hint = suggest_nearest(key, known)
                at = f"{path}#{join_pointer('', key)}"
                self._note(at, f"There is no {key[:64]!r} in this file.", "unknown_key", hint)

    def _look_for_unused(self) -> None:
        if self.findings:
            # The file that names it may be the broken one.
            return
        for path in sorted(self._files.keys() - self._used - set(_ALONE)):
            if _WHOLE.fullmatch(path) is None:
                self._note(path, "No other file names this one.", "unused_file", "Take it out.")

    def _look_for_doubles(self, carried: WorkspaceContent) -> None:
        kinds: tuple[ResourceKind, ...] = ("automation", "prompt")
        for kind in kinds:
            seen: set[str] = set()
            for thing in carried.of(kind):
                if thing.name in seen:
                    detail = f"There are two {kind}s called {thing.name!r} in here."
                    self._note(f"{thing.path}#/name", detail, "name_taken")
                seen.add(thing.name)

    def _follow(self, carried: WorkspaceContent) -> None:
        for thing in carried.resources:
            if thing.kind == "prompt":
                continue
            _, lost = fill_all(thing.inside, self._known)
            for one in lost:
                detail = (
                    f"{one.text[:100]!r} is not a whole reference."
                    if one.reference is None
                    else f"There is no {one.reference.path}, which {one.text[:150]!r} refers to."
                )
                hint = "To escape text that looks like a reference, use two dollar signs."
                self._note(thing.place(one.pointer), detail, "no_reference", hint)

    def _known(self, reference: ResourceReference) -> str | None:
        return str(reference) if reference.path in self._files else None
