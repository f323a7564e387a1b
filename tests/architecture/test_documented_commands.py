"""Commands and JSON in the guides are real: names, options and definitions are checked."""

from __future__ import annotations

import json
import re
import textwrap
from pathlib import Path

import pytest

from mainspring.app import build_registry
from mainspring.contracts.limits import Limits
from mainspring.definition.strict_json import read_json
from mainspring.definition.validate import validate
from tests.architecture.tree import ROOT, shown

FOLDERS = ("get-started", "concepts", "guides")
PAGES = [page for name in FOLDERS for page in sorted((ROOT / "docs" / name).glob("*.md"))]
BLOCK = re.compile(r"^( *)```(\w+)\n(.*?)^\1```$", re.DOTALL | re.MULTILINE)
INLINE = re.compile(r"`mainspring ([^`]+)`")
CALL = re.compile(r"(?:^|[|&;(]|&& )\s*(?:mainspring|\./start) +([^\n|)]+)", re.MULTILINE)
QUOTED = re.compile(r"'[^']*'|\"[^\"]*\"")
OPTION = re.compile(r"(?<!\S)(--?[a-z][a-z-]*)")
HOME = re.compile(r"^--home \S+ ")
GLOBAL = {"--json", "--server", "--no-color", "--version", "--help", "--port"}
# The tutorial shows what the validator says about this spelling mistake.
ON_PURPOSE = "notificaton"


def _commands() -> dict[str, set[str]]:
    """The generated reference: each command with its options."""
    text = (ROOT / "docs" / "reference" / "cli.md").read_text(encoding="utf-8")
    found = {}
    for section in text.split("\n## mainspring ")[1:]:
        name, _, rest = section.partition("\n")
        found[name.strip()] = set(re.findall(r"(?<![\w-])(--?[a-z][a-z-]*)", rest))
    return found


def _blocks(page: Path, language: str) -> list[str]:
    text = page.read_text(encoding="utf-8")
    return [textwrap.dedent(body) for _, kind, body in BLOCK.findall(text) if kind == language]


def _calls(page: Path) -> list[str]:
    shell = "\n".join(_blocks(page, "bash")).replace("\\\n", " ")
    prose = BLOCK.sub("", page.read_text(encoding="utf-8"))
    return CALL.findall(shell) + [call.replace("\n", " ") for call in INLINE.findall(prose)]


def _named(words: list[str], known: dict[str, set[str]]) -> str | None:
    """The longest beginning of a call that is a command; a group counts by its own name."""
    for size in (3, 2, 1):
        name = " ".join(words[:size])
        if name in known or any(other.startswith(f"{name} ") for other in known):
            return name
    return None


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_documented_commands_and_options_exist(page: Path) -> None:
    known = _commands()
    unknown = []
    for call in _calls(page):
        plain = QUOTED.sub("''", HOME.sub("", call)).partition(" -- ")[0].partition(" #")[0]
        options = set(OPTION.findall(plain)) - GLOBAL
        words = [word for word in plain.split() if not word.startswith("-")]
        name = _named(words, known) if words else ""
        if name is None or not options <= known.get(name, set()):
            unknown.append(call)

    assert unknown == [], shown(page)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_documented_definitions_are_valid(page: Path) -> None:
    limits = Limits()
    for text in _blocks(page, "json"):
        value = json.loads(text)
        if not isinstance(value, dict) or "schema_version" not in value or ON_PURPOSE in text:
            continue
        report = validate(read_json(text, limits), build_registry(limits), limits)
        assert report.findings == (), shown(page)
