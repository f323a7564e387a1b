"""Where a recipe lies: a .json file, a folder, or a .zip of such a folder.

A folder is for writing: the script, the preview and the examples are files of their own beside
``recipe.json``. What comes of it is the one document that is published; the files are in it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Final, Protocol

from mainspring.contracts.errors import Finding, Invalid, NotFound
from mainspring.contracts.limits import Limits
from mainspring.definition.json_text import read_json
from mainspring.definition.words import suggest_nearest
from mainspring.recipes.compiling.bare import is_bare, wrap_bare_recipe
from mainspring.recipes.package.archive import RecipeArchive, is_archive
from mainspring.recipes.package.entries import (
    MOST_BYTES,
    entry_error,
    format_entry_name,
    name_fault,
)
from mainspring.recipes.package.folder import RecipeFolder, read_plain

RECIPE: Final = "recipe.json"
PREVIEW: Final = "preview.md"
EXAMPLES: Final = "examples/"
_SOURCE_FILE: Final = "/template/script/source_file"


class FileSource(Protocol):
    """Files by their names, each read once and within a bound."""

    @property
    def names(self) -> Sequence[str]: ...

    def read(self, name: str, most: int) -> bytes: ...


def read_place(path: Path, limits: Limits | None = None) -> dict[str, Any]:
    """The document of a recipe at a place of this machine, not judged yet."""
    limits = limits or Limits()
    try:
        # The place itself was named by whoever asks, so a link to it is theirs.
        place = path.resolve(strict=True)
    except (OSError, RuntimeError):
        detail = f"There is nothing at {path}."
        hint = "Name a .json, a folder or a .zip."
        raise NotFound(detail, code="no_recipe", suggestion=hint) from None
    if place.is_dir():
        return _assemble_document(RecipeFolder(place), limits)
    data = read_plain(place, MOST_BYTES + 1, path.name)
    if is_archive(data):
        return read_archive(data, limits)
    document = _require_object(read_json(data, limits), path.name)
    return wrap_bare_recipe(document) if is_bare(document) else document


def read_archive(data: bytes, limits: Limits | None = None) -> dict[str, Any]:
    """The document of a recipe that was handed in as a .zip, not judged yet."""
    return _assemble_document(RecipeArchive(data), limits or Limits())


def _assemble_document(shelf: FileSource, limits: Limits) -> dict[str, Any]:
    root = _find_root(shelf.names)
    there = {name.removeprefix(root): name for name in shelf.names if name.startswith(root)}
    files = _RecipeFiles(shelf, there, limits)
    document = _require_object(files.json(RECIPE), RECIPE)
    document = _insert_source(document, files)
    if PREVIEW in there:
        if "preview" in document:
            detail = f"The preview stands in {RECIPE} and in {PREVIEW}."
            raise _build_pointer_error("/preview", detail, "twice", "Keep one of them.")
        document["preview"] = files.text(PREVIEW)
    return _insert_examples(document, files)


class _RecipeFiles:
    """The files of one recipe, by their names below its folder."""

    def __init__(self, shelf: FileSource, there: dict[str, str], limits: Limits) -> None:
        self._shelf = shelf
        self._limits = limits
        self.there = there

    def text(self, name: str) -> str:
        data = self._shelf.read(self.there[name], self._limits.json_bytes)
        try:
            return data.decode()
        except UnicodeDecodeError:
            raise entry_error(
                f"The file {format_entry_name(name)} is not UTF-8.", "entry_encoding"
            ) from None

    def json(self, name: str) -> Any:
        data = self._shelf.read(self.there[name], self._limits.json_bytes)
        try:
            return read_json(data, self._limits)
        except Invalid as wrong:
            raise Invalid(
                f"{name}: {wrong.detail}",
                code=wrong.code,
                findings=[replace(one, detail=f"{name}: {one.detail}") for one in wrong.findings],
                suggestion=wrong.suggestion,
            ) from None


def _find_root(names: Sequence[str]) -> str:
    """The folder that holds the recipe: the top, or the only folder there, as most tools pack."""
    if RECIPE in names:
        return ""
    tops = {name.partition("/")[0] for name in names}
    if len(tops) == 1:
        root = f"{tops.pop()}/"
        if root + RECIPE in names:
            return root
    hint = suggest_nearest(RECIPE, [name for name in names if "/" not in name])
    raise entry_error(f"There is no {RECIPE} here.", "no_recipe", hint)


def _require_object(value: Any, name: str) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise entry_error(f"{name}: a recipe is a JSON object.", "type")
    return value


def _insert_source(document: dict[str, Any], files: _RecipeFiles) -> dict[str, Any]:
    """The document with the text of its script in place of the name of the file."""
    template = document.get("template")
    script = template.get("script") if isinstance(template, dict) else None
    name = script.get("source_file") if isinstance(script, dict) else None
    if not isinstance(template, dict) or not isinstance(script, dict) or not isinstance(name, str):
        return document
    if "source" in script:
        detail = "The script has a source and a source_file."
        raise _build_pointer_error(_SOURCE_FILE, detail, "twice", "Keep one of them.")
    fault = name_fault(name)
    if fault is not None:
        raise _build_pointer_error(
            _SOURCE_FILE,
            f"The file {format_entry_name(name)} is refused: {fault}.",
            "bad_entry_name",
        )
    if name not in files.there:
        hint = suggest_nearest(name, files.there)
        raise _build_pointer_error(
            _SOURCE_FILE, f"There is no file {format_entry_name(name)} beside it.", "no_file", hint
        )
    rest = {key: value for key, value in script.items() if key != "source_file"}
    filled = {**rest, "source": files.text(name)}
    return {**document, "template": {**template, "script": filled}}


def _insert_examples(document: dict[str, Any], files: _RecipeFiles) -> dict[str, Any]:
    names = sorted(
        name for name in files.there if name.startswith(EXAMPLES) and name.endswith(".json")
    )
    written = document.get("examples", [])
    if not names or not isinstance(written, list):
        return document
    return {**document, "examples": [*written, *(files.json(name) for name in names)]}


def _build_pointer_error(
    pointer: str, detail: str, code: str, suggestion: str | None = None
) -> Invalid:
    finding = Finding(pointer, detail, code, suggestion)
    return Invalid(detail, code=code, findings=[finding], suggestion=suggestion)
