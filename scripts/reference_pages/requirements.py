"""Requirements: what is asked, in one sentence each, and the tests that hold it."""

from __future__ import annotations

from scripts.reference_pages.markdown import page, table
from scripts.requirement_rows import Area, Requirement, in_order, read_areas


def requirements_page() -> str:
    areas = [area for area in read_areas() if area.requirements]
    rows = [row for area in areas for row in area.requirements]
    short = sum(bool(row.missing) for row in rows)
    return page(
        "Requirements",
        f"{len(rows)} requirements have tests that fail when they are no longer true, and these "
        "are they: one that no test holds yet is not listed. The name of a test is a sentence; it "
        "leads to the file the test stands in.",
        f"{short} of them are met in part: **Missing** says what the product does not do yet, and "
        "the tests hold the rest.",
        "Numbers with a dash are what is asked: S of the language and the engine, A of the "
        "automations and everything around them, C, D, P and X where sources disagreed or were "
        "silent. Numbers without a dash are checks: R of crashes and time, W of webhooks, S of "
        "what runs may do, N of the network, I of input, T of walls and sessions, M of MCP, O of "
        "what is shown and written down.",
        "Made from the files in `docs/requirements/`.",
        *(part for area in areas for part in _section(area)),
    )


def _section(area: Area) -> tuple[str, str, str]:
    rows = [
        (row.number, shown_sentence(row), "<br>".join(map(_link, row.tests)))
        for row in in_order(area.requirements)
    ]
    return f"## {area.title}", area.about, table(("Number", "Requirement", "Tests"), rows)


def shown_sentence(row: Requirement) -> str:
    return f"{row.sentence} **Missing:** {row.missing}" if row.missing else row.sentence


def _link(test: str) -> str:
    file, _, function = test.partition("::")
    output = function.removeprefix("test_").replace("_", " ") or f"all of {file}"
    return f"[{output}](../../{file})"
