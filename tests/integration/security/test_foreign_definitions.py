"""Validating, showing, storing or rehearsing a definition runs nothing of it, whatever its origin.

Workflows as other systems export them, texts in YAML and hostile definitions of ours are sent to
every entry point that takes a definition or a request. The effects are seen from outside: by an
address that nobody may call, files, a variable and a secret that nobody may open or show, by the
processes that were started, and by what the tables hold.
"""

from __future__ import annotations

import resource
from collections import Counter
from collections.abc import Sequence
from contextlib import AbstractAsyncContextManager
from datetime import timedelta
from itertools import cycle
from pathlib import Path
from typing import Any, Final
from uuid import UUID

import pytest

from mainspring.app import build_registry, build_scheduler
from mainspring.settings import Settings
from mainspring.surfaces.cli import ApplicationFactory, exits
from mainspring.surfaces.cli.context import CommandContext
from mainspring.surfaces.cli.screen import Screen
from mainspring.surfaces.cli.validate import validate_files
from mainspring.surfaces.services import ApplicationServices
from tests.kit.definition_entry_points import (
    ENDPOINTS,
    WATCH,
    ImportAnswer,
    ImportHarness,
    faults,
    porch,
    tables,
    watched,
)
from tests.kit.foreign_documents import Bait, ForeignDocument, exports, yaml_texts
from tests.kit.hostile_definitions import RIGHT, hostile

# One entry point for each document, in turn; those that take longest come less often.
TURNS: Final = (
    "validate",
    "save",
    "import",
    "review",
    "validate",
    "propose",
    "save",
    "refine whole",
    "import",
    "refine by edits",
    "run as",
    "refine by words",
    "fire",
    "change",
    "validate",
    "read when",
    "save",
    "import",
)
# What would leave or change something, and is right as it is.
TRIED: Final = {
    "step fetch",
    "step post",
    "step call back",
    "step mail",
    "step channel",
    "step phone",
    "step event",
    "step page",
    "policy safe",
    "script side effects",
}
MEGABYTES: Final = 256


async def _sent(made: ImportHarness) -> list[ImportAnswer]:
    """Every other export and all of the rest, each to one or two entry points."""
    turns = cycle(TURNS)
    everything, found = made.everything(), []
    exported = [what for what in everything if what.kind == "export"]
    # The arrangements change from node to node.
    some = [what for place, what in enumerate(exported) if (place + place // 4) % 2 == 0]
    for what in (*some, *everything[len(exported) :]):
        found.append(await made.send(what, next(turns)))
        if what.kind == "ours":
            found.append(await made.send(what, "validate"))
    return found


def _peak() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1_024


async def _tried(made: ImportHarness) -> list[dict[str, Any]]:
    """Dry runs of what would leave or change something."""
    runs = []
    for what in made.everything():
        if what.name in TRIED:
            again = {**(what.document or {}), "name": f"tried {what.name}"}
            saved = await made.done("/automations", again)
            result = await made.done(f"/automations/{saved['id']}/run", {"dry_run": True})
            runs.append(UUID(result["run_id"]))
    async with made.bench.worker(slots=4):
        return [await made.bench.until(run_id) for run_id in runs]


async def test_no_entry_point_runs_a_definition_and_a_dry_run_sends_nothing(
    database_url: str, tmp_path: Path, subtests: pytest.Subtests
) -> None:
    async with porch(database_url, tmp_path) as made:
        everything, before = made.everything(), _peak()
        with watched(made):
            output = await _sent(made)
        scheduler = build_scheduler(made.application)
        fired = await scheduler.once(made.application.clock.now() + timedelta(days=1))
        stored, calls, grown = await tables(made), made.listener.connections, _peak() - before

        with subtests.test("every door has seen every kind"):
            kinds = Counter(what.kind for what in everything)
            assert (kinds["export"] >= 140, kinds["yaml"] >= 25, kinds["ours"] >= 60) == (True,) * 3
            assert len({what.name for what in everything}) == len(everything)
            assert {one.entry_point for one in output} == ENDPOINTS.keys()
            assert min(Counter(one.entry_point for one in output).values()) >= 9
        with subtests.test("each is refused with places, or is text and a proposal"):
            assert [f"{wrong}: {one.label}" for one in output for wrong in faults(made, one)] == []
        with subtests.test("nothing was run, called, opened or shown"):
            assert WATCH.noticed() == []
            assert (calls, fired) == (0, 0)
            assert not (made.folder / "touched").exists()
            assert stored.pop("states") == {"paused"}
            assert {name: count for name, count in stored.items() if count} == {}
            assert grown <= MEGABYTES
        with subtests.test("a definition is right or refused, and a script is built, not begun"):
            # A script that never ends is right: nobody has waited for it.
            right = [
                one.what.name for one in output if one.entry_point == "validate" and _is_right(one)
            ]
            assert set(right) == RIGHT
        with subtests.test("a proposal takes no more words by an answer than by a request"):
            await _has_bounds(made)
        with subtests.test("a dry run sends nothing and changes nothing"):
            runs = await _tried(made)
            _changed_nothing(made, runs, await tables(made))


def _is_right(said: ImportAnswer) -> bool:
    return said.status == 200 and bool(said.body["ok"])


async def _has_bounds(made: ImportHarness) -> None:
    begun = await made.done("/proposals", {"text": "blorb the frotz", "by": "rules"})
    [words] = [one["id"] for one in begun["questions"] if one["kind"] == "words"]
    answers = {words: "blorb and " * 50_000}
    path = f"/proposals/{begun['proposal_id']}"
    result = await made.post(f"{path}/refine", {"answers": answers})
    assert (result.status_code, result.json().get("code")) == (422, "answer_unusable")
    assert result.json()["errors"][0]["pointer"] == f"/answers/{words}"


def _changed_nothing(
    made: ImportHarness, runs: Sequence[dict[str, Any]], kept: dict[str, Any]
) -> None:
    assert len(runs) == len(TRIED)
    assert {run["mode"] for run in runs} == {"dry_run"}
    outcomes = Counter(call["outcome"] for run in runs for call in run["calls"])
    assert outcomes.keys() <= {"read", "pretended", "denied", "failed"}
    assert outcomes["pretended"] >= 6
    # It reads as a run would; whatever else it would send stays here.
    assert [head.split(b"\r\n")[0] for head in made.listener.requests] == [b"GET /read HTTP/1.1"]
    for name in ("drafts", "events", "pages", "artifacts", "automation_kv", "firings"):
        assert kept[name] == 0, name
    assert kept["states"] == {"paused"}
    shown = str(runs)
    assert [name for name, value in made.planted.items() if value in shown] == []
    assert not (made.folder / "touched").exists()


def _no_house(settings: Settings) -> AbstractAsyncContextManager[ApplicationServices]:
    raise AssertionError(f"a file is judged without a house: {settings.home}")


def test_a_file_of_strangers_is_judged_by_the_command_line_and_nothing_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "read.txt").write_text("planted-in-a-file")
    monkeypatch.setenv("MAINSPRING_HOME", str(tmp_path))
    monkeypatch.setenv("MAINSPRING_PLANTED", "planted-in-a-variable")
    bait = Bait(
        "http://127.0.0.1:9", f"{tmp_path}/touched", f"{tmp_path}/read.txt", "MAINSPRING_PLANTED"
    )
    ours = [
        what for place, what in enumerate(hostile(bait)) if place % 3 == 0 or "odd" in what.name
    ]
    some: list[ForeignDocument] = [*list(exports(bait))[::9], *yaml_texts(bait), *ours]
    files = []
    for number, what in enumerate(some):
        place = tmp_path / f"{number}.json"
        place.write_text(what.text)
        files.append(str(place))
    with WATCH.open([bait.touch, bait.read], []):
        code = validate_files(
            CommandContext(ApplicationFactory(_no_house, build_registry)), Screen(), files
        )
    assert code == exits.INVALID
    assert WATCH.noticed() == []
    assert not (tmp_path / "touched").exists()
    output = capsys.readouterr()
    assert "planted-in" not in output.out + output.err
    assert "Traceback" not in output.err
    # A name clears no screen and turns no line round.
    assert [sign for sign in ("\x1b[2J", "\x07", "\u202e") if sign in output.out] == []
