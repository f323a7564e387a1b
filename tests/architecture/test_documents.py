"""The pages people read: links lead somewhere, decision records are numbered and listed."""

from __future__ import annotations

import re
from pathlib import Path

from mainspring.app import build_registry
from mainspring.contracts.limits import Limits
from mainspring.definition.strict_json import read_json
from mainspring.definition.validate import validate
from tests.architecture.tree import ROOT, files_under, shown

LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")
FENCE = re.compile(r"```.*?```", re.DOTALL)
DECISIONS = ROOT / "docs" / "decisions"
DECISION_NAME = re.compile(r"(\d{4})(-[a-z0-9]+){1,6}\.md")
DECISION_TITLE = re.compile(r"# (\d{4})\. (.+)\n\n## Status\n\n(Accepted|Superseded by \d{4})\b")

TUTORIAL = ROOT / "docs" / "get-started" / "first-automation.md"


def _pages() -> list[Path]:
    return [path for path in files_under(ROOT) if path.suffix == ".md"]


def _anchors(page: Path) -> set[str]:
    """The anchors that headings get: lower case, punctuation gone, dashes for spaces."""
    text = FENCE.sub("", page.read_text(encoding="utf-8"))
    headings = [line.lstrip("#").strip() for line in text.splitlines() if line.startswith("#")]
    return {re.sub(r"[^\w\- ]", "", head.lower()).replace(" ", "-") for head in headings}


def _is_broken(page: Path, link: str) -> bool:
    target, _, anchor = link.partition("#")
    aimed = (page.parent / target).resolve() if target else page
    if not aimed.exists():
        return True
    return bool(anchor) and aimed.suffix == ".md" and anchor not in _anchors(aimed)


def test_every_link_inside_the_project_leads_somewhere() -> None:
    broken = [
        f"{shown(page)}: {link}"
        for page in _pages()
        for link in LINK.findall(FENCE.sub("", page.read_text(encoding="utf-8")))
        if "://" not in link and not link.startswith("mailto:") and _is_broken(page, link)
    ]

    assert broken == []


def test_every_page_of_the_documentation_can_be_reached_from_its_index() -> None:
    reached: set[Path] = set()
    waiting = [ROOT / "docs" / "index.md"]
    while waiting:
        page = waiting.pop()
        if page in reached or not page.is_file() or page.suffix != ".md":
            continue
        reached.add(page)
        links = LINK.findall(page.read_text(encoding="utf-8"))
        waiting += [(page.parent / link.partition("#")[0]).resolve() for link in links]
    pages = {page for page in _pages() if page.is_relative_to(ROOT / "docs")}

    assert sorted(map(shown, pages - reached)) == []


def _decision_records() -> list[Path]:
    return sorted(path for path in DECISIONS.iterdir() if path.name != "README.md")


def test_decision_records_are_numbered_and_named_by_a_short_title() -> None:
    records = _decision_records()
    names = [DECISION_NAME.fullmatch(path.name) for path in records]

    assert [path.name for path, name in zip(records, names, strict=True) if name is None] == []
    numbers = [int(name[1]) for name in names if name is not None]
    assert numbers == list(range(1, len(records) + 1))


def test_decision_records_have_the_same_headings() -> None:
    expected = ["## Status", "## Context", "## Decision", "## Consequences"]

    for path in _decision_records():
        headings = [line for line in path.read_text().splitlines() if line.startswith("## ")]
        assert headings == expected, path.name


def test_the_index_of_decision_records_lists_number_title_and_status() -> None:
    listed = [
        line.rpartition(" | ")[0]
        for line in (DECISIONS / "README.md").read_text().splitlines()
        if line.startswith("| 0")
    ]
    expected = []
    for path in _decision_records():
        head = DECISION_TITLE.match(path.read_text())
        assert head is not None, path.name
        assert path.name.startswith(f"{head[1]}-"), path.name
        expected.append(f"| {head[1]} | [{head[2]}]({path.name}) | {head[3]}")

    assert listed == expected


def test_the_tutorial_shows_what_the_validator_really_says() -> None:
    limits = Limits()
    (printed,) = re.findall(r"```json\n(.*?)```", TUTORIAL.read_text(encoding="utf-8"), re.DOTALL)
    (finding,) = validate(read_json(printed, limits), build_registry(limits), limits).findings
    shown_there = re.sub(r"\s+", " ", TUTORIAL.read_text(encoding="utf-8"))

    assert f"{finding.pointer}: {finding.detail} {finding.suggestion}" in shown_there
    mended = read_json(printed.replace("notificaton", "notification"), limits)
    assert validate(mended, build_registry(limits), limits).findings == ()
