"""Untrusted files: every problem is reported with its place, and a good one is read whole."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mainspring.contracts.errors import Invalid
from mainspring.contracts.limits import Limits
from mainspring.recipes.carrying.diff import compare
from mainspring.recipes.carrying.model import WorkspaceContent, WorkspaceResource, normalize_slugs
from mainspring.recipes.carrying.workspace_files import (
    MARKER,
    MOST_FILES,
    WORKSPACE_FORMAT,
    format_json,
    is_ours,
    read_files,
    read_one_file,
    to_files,
)

LIMITS = Limits()
MARKED = {MARKER: format_json({"format": WORKSPACE_FORMAT, "version": 1})}
SCRIPT = {
    "name": "A",
    "plan": [{"step_id": "main", "action": "script", "config": {"source_file": "main.ts"}}],
}


def _files(**more: Any) -> dict[str, str]:
    return {**MARKED, **{path.replace("__", "/"): text for path, text in more.items()}}


@pytest.mark.parametrize(
    ("files", "place", "code"),
    [
        ({}, MARKER, "no_marker"),
        ({MARKER: "[]"}, f"{MARKER}#", "type"),
        ({MARKER: "{"}, f"{MARKER}#", "json_syntax"),
        ({MARKER: '{"format": "x", "version": 1}'}, f"{MARKER}#/format", "unknown_format"),
        (
            {MARKER: format_json({"format": WORKSPACE_FORMAT, "version": 2})},
            f"{MARKER}#/version",
            "unknown_version",
        ),
        (
            {MARKER: format_json({"format": WORKSPACE_FORMAT, "version": 1, "x": 1})},
            f"{MARKER}#/x",
            "unknown_key",
        ),
        ({**MARKED, "../etc/passwd": ""}, "../etc/passwd", "unknown_file"),
        ({**MARKED, "/automations/a.json": "{}"}, "/automations/a.json", "unknown_file"),
        ({**MARKED, "automations/../a.json": "{}"}, "automations/../a.json", "unknown_file"),
        ({**MARKED, "automations/nul.json": "{}"}, "automations/nul.json", "unknown_file"),
        ({**MARKED, "automations\\a.json": "{}"}, "automations\\a.json", "unknown_file"),
        ({**MARKED, "boards/A.json": "{}", "boards/a.json": "{}"}, "boards/a.json", "file_twice"),
        ({**MARKED, "boards/a.json": "null"}, "boards/a.json#", "type"),
        ({**MARKED, "boards/a.json": "[" * 70 + "]" * 70}, "boards/a.json#", "json_depth"),
        (
            {**MARKED, "boards/a.json": '{"name": "", "name": ""}'},
            "boards/a.json#",
            "json_duplicate_key",
        ),
        ({**MARKED, "boards/a.json": "{}"}, "boards/a.json#/name", "name"),
        (
            {**MARKED, "automations/a.json": format_json(SCRIPT)},
            "automations/a.json#/plan/0/config/source_file",
            "no_file",
        ),
        ({**MARKED, "automations/a/main.ts": "x"}, "automations/a/main.ts", "unused_file"),
        (
            {**MARKED, "automations/a.json": '{"name": "A", "goal": "of $board(crm)"}'},
            "automations/a.json#/goal",
            "no_reference",
        ),
        (
            {
                **MARKED,
                "automations/a.json": '{"name": "A"}',
                "automations/b.json": '{"name": "A"}',
            },
            "automations/b.json#/name",
            "name_taken",
        ),
        ({**MARKED, "prompts/a.json": '{"name": "A", "text": 7}'}, "prompts/a.json#/text", "text"),
        ({**MARKED, "recipes.json": "{}"}, "recipes.json#", "type"),
        (
            {
                **MARKED,
                "boards/a.json": '{"name": "A", "datasets": [{"name": "d", "rows_file": "rows/d.jsonl"}]}',  # noqa: E501
                "boards/a/rows/d.jsonl": '{"a": 1}\n[]\n',
            },
            "boards/a/rows/d.jsonl#/1",
            "type",
        ),
        ({**MARKED, **{f"prompts/p{n}.json": "" for n in range(MOST_FILES)}}, "", "too_many_files"),
        ({**MARKED, "prompts/a.json": "x" * (LIMITS.import_bytes + 1)}, "", "files_too_large"),
    ],
)
def test_a_bad_file_is_reported_with_its_place(
    files: dict[str, str], place: str, code: str
) -> None:
    with pytest.raises(Invalid) as refusal:
        read_files(files, LIMITS)

    found = {(one.pointer, one.code) for one in refusal.value.findings}
    assert (place, code) in found or any(at.startswith(place) and c == code for at, c in found)


def test_a_source_that_is_in_its_own_file_is_found_there() -> None:
    files = _files(
        **{
            "automations__a.json": format_json(SCRIPT),
            "automations__a__main.ts": "// $board(b)\r\n",
            "boards__b.json": '{"name": "B"}',
        }
    )

    carried = read_files(files, LIMITS)

    (one,) = carried.of("automation")
    assert one.content["plan"][0]["config"] == {"source": "// $board(b)\r\n"}
    assert one.place("/plan/0/config/source/3") == "automations/a/main.ts#/3"
    assert one.place("/plan/0/action") == "automations/a.json#/plan/0/action"


NAMES = st.text(min_size=1, max_size=20).filter(
    lambda name: bool(name.strip()) and "\x00" not in name
)
VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**53), 2**53)
    | st.text(max_size=8).filter(lambda text: "\x00" not in text and "$" not in text),
    lambda inside: (
        st.lists(inside, max_size=3)
        | st.dictionaries(st.sampled_from(["a", "B", "ü/~"]), inside, max_size=3)
    ),
    max_leaves=8,
)
THINGS = st.tuples(
    st.sampled_from(["board", "automation", "workflow"]), NAMES, VALUES, st.text(max_size=20)
)


@st.composite
def _workspaces(draw: st.DrawFn) -> WorkspaceContent:
    things: list[WorkspaceResource] = []
    seen: set[tuple[str, str]] = set()
    for number, (kind, name, value, source) in enumerate(draw(st.lists(THINGS, max_size=6))):
        if (kind, name) in seen or "\x00" in source or "$" in source:
            continue
        seen.add((kind, name))
        title = "title" if kind == "workflow" else "name"
        content: dict[str, Any] = {title: name, "extra": value}
        if kind == "automation":
            step = {"step_id": "main", "action": "script", "config": {"source": source}}
            content["plan"] = [step, {"step_id": "all", "config": {"steps": [dict(step)]}}]
        things.append(WorkspaceResource(kind, str(number), content))
    return normalize_slugs(WorkspaceContent(tuple(things)))


@settings(max_examples=25, deadline=None)
@given(_workspaces())
def test_what_is_written_is_read_back_and_written_with_the_same_bytes(
    carried: WorkspaceContent,
) -> None:
    files = to_files(carried)
    assert all(is_ours(path) for path in files)

    again = read_files(files, LIMITS)

    assert to_files(again) == files
    assert compare(carried, again) == []


def test_two_workspaces_are_compared_by_thing_whatever_the_files_are_called() -> None:
    was = read_files(
        _files(
            **{
                "boards__crm.json": '{"name": "CRM", "skills": []}',
                "automations__a.json": '{"name": "A", "goal": "$board(crm)", "plan": []}',
                "automations__b.json": '{"name": "B"}',
            }
        ),
        LIMITS,
    )
    now = read_files(
        _files(
            **{
                "boards__other.json": '{"name": "CRM", "skills": []}',
                "automations__z.json": '{"name": "A", "goal": "$board(other)", "plan": [{"x": 1}]}',
                "prompts__p.json": '{"name": "P", "text": "x"}',
            }
        ),
        LIMITS,
    )

    found = compare(was, now, widens=lambda before, after: [{"says": str(after["name"])}])

    assert [(one.what, one.path, [c["pointer"] for c in one.changes]) for one in found] == [
        ("changed", "automations/a.json", ["/plan"]),
        ("removed", "automations/b.json", []),
        ("added", "prompts/p.json", []),
    ]
    assert found[0].widens == ({"says": "A"},)


def test_one_file_with_automations_is_a_workspace_too() -> None:
    document = {"name": "A", "goal": "$board(x)"}
    export = {"format": "mainspring.export", "version": 1, "automations": [document]}

    assert read_one_file(document) == read_one_file(export)
    assert json.loads(to_files(read_one_file(export))["automations/a.json"])["goal"] == (
        "$$board(x)"
    )
    wrong: list[Any] = [[], {"format": "mainspring.export"}, {"name": 7}]
    for bad in wrong:
        with pytest.raises(Invalid):
            read_one_file(bad)
