"""JSON, TypeScript and Python blocks of the documentation are valid; every block has a language.

Definitions, and steps and triggers out of definitions, go through the validator. TypeScript is
checked against the types of the SDK. Shell blocks run in ``test_guides``.
"""

from __future__ import annotations

import ast
import json
import os
import re
import subprocess
import sys
import sysconfig
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

import pytest

from mainspring.actions.script.sdk.generator import generate_types
from mainspring.app import build_registry
from mainspring.contracts.errors import Finding
from mainspring.contracts.limits import Limits
from mainspring.definition.validate import validate
from tests.acceptance.commands import PATIENCE, ROOT
from tests.kit.doc_blocks import SHELL, Block, read_blocks

DOCS: Final = ROOT / "docs"
PAGES: Final = sorted((DOCS / "get-started").glob("*.md")) + sorted((DOCS / "guides").glob("*.md"))
# Output, and texts that are no code.
PLAIN: Final = frozenset({"text"})
LANGUAGES: Final = SHELL | PLAIN | {"json", "ts", "python"}
# The tutorial has one mistake on purpose, which the reader corrects.
ON_PURPOSE: Final = "notificaton"
DENO: Final = f"{sysconfig.get_path('scripts')}/deno"
_STEPS: Final = re.compile(r"steps\.(\w+)")
_INPUTS: Final = re.compile(r'inputs\.(\w+)|"input_mapping": \{"(\w+)"')
# A tool of an MCP server that the reader has connected.
CONNECTED: Final = "'notes."
# A template that starts with the id of a step instead of ``steps``.
_BARE: Final = re.compile(r"\{\{\s*(board|page)\.")
_IMPORT: Final = re.compile(r"^import .*$", re.MULTILINE)


def _blocks(language: str) -> Iterator[tuple[str, Block]]:
    for page in PAGES:
        for block in read_blocks(page.read_text(encoding="utf-8")):
            if block.language == language:
                yield f"{page.parent.name}/{page.name}:{block.line}", block


def test_every_block_has_a_language_that_is_checked() -> None:
    for page in PAGES:
        for block in read_blocks(page.read_text(encoding="utf-8")):
            assert block.language in LANGUAGES, f"{page.name}:{block.line}"


def test_a_block_is_left_out_only_with_a_reason(capsys: pytest.CaptureFixture[str]) -> None:
    left_out = [
        f"{page.parent.name}/{page.name}:{block.line}: {block.reason}"
        for page in PAGES
        for block in read_blocks(page.read_text(encoding="utf-8"))
        if block.reason is not None
    ]

    with capsys.disabled():
        sys.stdout.write("\n  ".join([f"\n{len(left_out)} blocks are not run:", *left_out, ""]))
    assert [one for one in left_out if len(one.rpartition(": ")[2]) < 10] == []


def _whole(given: Any, text: str) -> Mapping[str, Any] | None:
    """The definition that a block is or is a part of; nothing for other JSON."""
    if not isinstance(given, dict):
        return None
    value: dict[str, Any] = given
    if "step_id" in value and "action" in value:
        value = {"plan": [value]}
    elif "type" in value and "config" in value:
        value = {"triggers": [value], "plan": []}
    elif not {"plan", "execution"} & value.keys():
        return None
    if "schema_version" in value:
        return value
    steps = {one["step_id"] for one in value.get("plan", ())}
    earlier = sorted({*_STEPS.findall(text), *_BARE.findall(text)} - steps) or ["first"]
    first = [
        {"step_id": one, "action": "transform_data", "config": {"output": {}}} for one in earlier
    ]
    inputs = {
        name: {"type": "string", "default": ""}
        for pair in _INPUTS.findall(text)
        for name in pair
        if name
    }
    return {
        "schema_version": "1.2",
        "name": "An example",
        "goal": "It is part of a page.",
        "inputs": {"schema": {"type": "object", "properties": inputs}},
        **value,
        "plan": [*first, *value.get("plan", ())],
    }


def _findings(text: str, limits: Limits) -> tuple[Finding, ...]:
    whole = _whole(json.loads(text), text)
    found = () if whole is None else validate(whole, build_registry(limits), limits).findings
    return tuple(one for one in found if CONNECTED not in one.detail)


def test_json_parses_and_definitions_and_their_parts_are_valid() -> None:
    limits = Limits()
    wrong = {
        place: [(one.pointer, one.detail) for one in findings]
        for place, block in _blocks("json")
        if ON_PURPOSE not in block.text and (findings := _findings(block.text, limits))
    }

    assert wrong == {}


def test_a_wrong_step_in_a_page_would_be_found() -> None:
    limits = Limits()

    assert _findings('{"step_id": "a", "action": "nope", "config": {}}', limits)
    assert not _findings('{"status": 422}', limits)


def _module(text: str) -> str:
    """A script as a module: it may return, and what it does not say comes from elsewhere."""
    body = _IMPORT.sub("", text)
    return (
        'import "./mainspring.d.ts";\n'
        "declare const shape: any;\n"
        f"export async function main() {{\n{body}\n}}\n"
    )


def test_typescript_fits_the_types_of_the_sdk(tmp_path: Path) -> None:
    (tmp_path / "mainspring.d.ts").write_text(generate_types(build_registry(Limits())))
    places = {}
    for number, (place, block) in enumerate(_blocks("ts")):
        (tmp_path / f"block{number}.ts").write_text(_module(block.text), encoding="utf-8")
        places[f"block{number}.ts"] = place

    ended = subprocess.run(
        [DENO, "check", "--no-remote", "--no-config", *places],
        cwd=tmp_path,
        env={**os.environ, "DENO_DIR": str(tmp_path / "deno"), "NO_COLOR": "1"},
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )

    assert len(places) > 3
    assert ended.returncode == 0, (places, ended.stderr)


def test_python_parses() -> None:
    for place, block in _blocks("python"):
        ast.parse(block.text, place)


def test_blocks_are_read_with_their_comments_files_and_output() -> None:
    text = (
        "Save this as `a.json`:\n\n```json\n{}\n```\n\n<!-- not run: needs a Google account -->\n"
        "```sh\nmainspring x\n```\n\n<!-- fails -->\n```bash\nmainspring y\n```\n\n"
        "```text\n✗ no\n```\n\n```console\n$ curl \\\n  -X z\nanswer\n```\n"
    )
    saved, left_out, failing, _, console = read_blocks(text)

    assert (saved.file, saved.text) == ("a.json", "{}\n")
    assert left_out.reason == "needs a Google account"
    assert (failing.fails, failing.script) == (True, "mainspring y\n")
    assert (console.script, console.output) == ("curl \\\n  -X z\n", "  -X z\nanswer")
