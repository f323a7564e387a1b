"""The pages of Get started do what they say: their commands run against a new server."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from mainspring.app import build_registry
from mainspring.contracts.limits import Limits
from mainspring.definition.validate import validate
from tests.acceptance.commands import Mainspring
from tests.kit.doc_blocks import SHELL, PageSession, read_blocks

DOCS = Path(__file__).resolve().parents[2] / "docs"
PAGES = sorted((DOCS / "get-started").glob("*.md"))


def _commands(page: Path) -> list[int]:
    """The lines of the blocks that are run."""
    blocks = read_blocks(page.read_text(encoding="utf-8"))
    return [one.line for one in blocks if one.language in SHELL and one.reason is None]


# Pages whose commands another test covers; each with its reason.
ELSEWHERE = {
    "install.md": "It builds and installs the product: tests/conformance/test_wheel.py does.",
    "troubleshooting.md": "It needs a failed run: commands are checked by name and option.",
}


@pytest.fixture
def session(mainspring: Mainspring, tmp_path: Path) -> Iterator[PageSession]:
    with mainspring.started("up", "--json", "--port", "0") as process:
        yield PageSession(tmp_path, *_ready(process), mainspring.environment())
        process.terminate()
        process.wait(60)


def _ready(process: subprocess.Popen[str]) -> tuple[str, int]:
    assert process.stdout is not None
    lines = []
    for line in process.stdout:
        lines.append(line)
        state = json.loads(line) if line.startswith("{") else {}
        if state.get("state") == "ready":
            return state["address"], _pid_of_worker(state["parts"])
    raise AssertionError("".join(lines))


def _pid_of_worker(parts: list[dict[str, Any]]) -> int:
    return next(int(part["pid"]) for part in parts if part["name"] == "worker")


@pytest.mark.parametrize(
    "page",
    [page for page in PAGES if page.name not in ELSEWHERE and _commands(page)],
    ids=lambda page: page.name,
)
def test_the_commands_of_a_page_run(session: PageSession, page: Path) -> None:
    session.read(page)

    assert session.ran == _commands(page)


def _first_document(text: str) -> Any:
    """Parses all of a block, which may hold several documents."""
    found: list[Any] = []
    while text.strip():
        value, end = json.JSONDecoder().raw_decode(text := text.lstrip())
        found.append(value)
        text = text[end:]
    return found[0]


@pytest.mark.parametrize(
    "page", [*PAGES, *sorted((DOCS / "guides").glob("*.md"))], ids=lambda page: page.name
)
def test_json_blocks_parse_and_definitions_are_valid(page: Path) -> None:
    limits = Limits()
    registry = build_registry(limits)
    for block in read_blocks(page.read_text(encoding="utf-8")):
        if block.language != "json" or block.reason is not None:
            continue
        value = _first_document(block.text)
        if isinstance(value, dict) and "plan" in value and "schema_version" in value:
            findings = validate(value, registry, limits).findings
            codes = {finding.pointer for finding in findings}
            # The tutorial has one mistake on purpose, which the reader corrects.
            assert codes <= ({"/plan/2/action"} if block.file else set()), findings


def test_a_block_that_is_not_run_has_a_reason() -> None:
    pages = [*PAGES, *sorted((DOCS / "guides").glob("*.md"))]
    blocks = [one for page in pages for one in read_blocks(page.read_text(encoding="utf-8"))]

    assert [one for one in blocks if one.reason is not None and len(one.reason) < 10] == []


def test_blocks_are_read_with_their_comments_files_and_output() -> None:
    text = (
        "Save this as `a.json`:\n\n```json\n{}\n```\n\n<!-- not run: needs a Google account -->\n"
        "```sh\nmainspring x\n```\n\n```bash\nmainspring y\n```\n\n```text\n✗ no\n```\n\n"
        "```console\n$ curl \\\n  -X z\nanswer\n```\n"
    )
    saved, left_out, failing, _, console = read_blocks(text)

    assert (saved.file, saved.text) == ("a.json", "{}\n")
    assert left_out.reason == "needs a Google account"
    assert (failing.fails, failing.script) == (True, "mainspring y\n")
    assert (console.script, console.output) == ("curl \\\n  -X z\n", "  -X z\nanswer")


def test_examples_in_commands_become_the_values_that_were_shown(tmp_path: Path) -> None:
    first, second = "01900000-0000-7000-8000-000000000001", "01900000-0000-7000-8000-000000000002"
    session = PageSession(tmp_path, "http://127.0.0.1:9", 77, {"PATH": ""})
    session.shown = f"POST http://127.0.0.1:9/api/v1/automations/{second}/fire mwh_real"

    script = f"kill -9 5; curl http://127.0.0.1:8420/api/v1/automations/{first}/fire mwh_example"

    made = "".join(session._with_values(script))
    assert made == f"kill -9 77; curl http://127.0.0.1:9/api/v1/automations/{second}/fire mwh_real"
