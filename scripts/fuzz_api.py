"""Asks the REST surface what nobody would, and looks for answers that break its word.

    python -m scripts.fuzz_api                   100 examples for each operation
    python -m scripts.fuzz_api --examples 2000   a long look

It opens a house of its own in a temporary folder, puts a few automations and runs into it,
and lets schemathesis send what the published description allows and what it forbids. A
finding is an error of the server, an answer that the description does not have (another
status, another content type, another shape), a method that nobody described, or a way in
without a token. Exit code 1 means that there were findings.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import shutil
import sys
import tempfile
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import orjson
from fastapi import FastAPI

from mainspring.definition.schema import EXAMPLES
from mainspring.definition.validate import validate
from mainspring.runs.arrivals import Request
from mainspring.settings import Settings
from mainspring.surfaces.rest.app import build_api
from mainspring.surfaces.rest.openapi import describe, operations
from mainspring.surfaces.rest.serve import serve
from mainspring.wiring import House, build_worker, open_house, rooms_of
from mainspring.workspace.automations import FIRST_MEMBER, save
from mainspring.workspace.tokens import ensure_owner_token

CHECKS: Final = (
    "not_a_server_error",
    "status_code_conformance",
    "content_type_conformance",
    "response_schema_conformance",
    "response_headers_conformance",
    "unsupported_method",
    "allow_header_conformance",
    "ignored_auth",
    "use_after_free",
)
PHASES: Final = "examples,coverage,fuzzing,stateful"
# How often a place for an id is filled with one that exists.
REAL_IDS: Final = 0.6

_PLAN: Final = [{"step_id": "one", "action": "transform_data", "config": {"output": {"n": 1}}}]
_LISTEN: Final = {
    "event_type": "automation.run.failed",
    "filters": {"automation_name": {"equals": "another"}},
}
_TRIGGERS: Final = [
    {"id": "hook", "type": "webhook", "config": {}},
    {"id": "daily", "type": "schedule", "config": {"cron": "0 9 * * *", "timezone": "UTC"}},
    {"id": "ends", "type": "event", "config": _LISTEN},
]
# What stands in the tables under the names that places in addresses have.
_KNOWN: Final = {
    "automation_id": "SELECT id FROM automations",
    "run_id": "SELECT id FROM runs",
    "trigger_id": "SELECT id FROM triggers",
    "event_id": "SELECT id FROM events",
    "artifact_id": "SELECT id FROM artifacts",
    "notification_id": "SELECT id FROM notifications",
    "slug": "SELECT DISTINCT slug FROM triggers",
    "version": "SELECT DISTINCT version FROM automation_versions",
}


@dataclass(frozen=True, slots=True)
class Verdict:
    """What came of it: the numbers, and the findings as text."""

    ok: bool
    operations: int
    cases: int
    findings: int
    text: str


async def furnish(house: House, count: int = 3) -> dict[str, list[str | int]]:
    """Automations, triggers and runs to be found, and their ids by the names of places."""
    for number in range(count):
        document = {
            "schema_version": "1.1", "name": f"a thing {number}", "goal": "To be looked at.",
            "triggers": _TRIGGERS, "plan": _PLAN,
        }  # fmt: skip
        report = validate(document, house.registry, house.limits)
        assert report.definition is not None, report.findings
        async with house.database.transaction() as tx:
            saved = await save(
                tx, house.workspace_id, report.definition, report.grants, FIRST_MEMBER
            )
        await house.dispatcher.dispatch(Request(house.workspace_id, saved.automation_id))
    known: dict[str, list[str | int]] = {}
    for name, query in _KNOWN.items():
        rows = await house.database.fetch(query + " LIMIT 20")
        values = [row[0] if isinstance(row[0], int) else str(row[0]) for row in rows]
        if values:
            known[name] = values
    return known


async def fuzz(
    address: str, document: dict[str, Any], token: str,
    known: Mapping[str, Sequence[str | int]], *, examples: int, phases: str = PHASES,
    seconds: int | None = None, only: str | None = None,
) -> Verdict:  # fmt: skip
    """Lets schemathesis loose on a server that listens; it runs in a process of its own."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "openapi.json").write_bytes(orjson.dumps(_with_examples(document)))
        (folder / "schemathesis.toml").write_text(_config(known), encoding="utf-8")
        command = [
            sys.executable, "-m", "schemathesis.cli", "--config-file", "schemathesis.toml",
            "run", "openapi.json", "--url", address,
            "--header", f"Authorization: Bearer {token}", "--checks", ",".join(CHECKS),
            "--phases", phases, "--max-examples", str(examples), "--request-timeout", "20",
            "--generation-database", "none", "--continue-on-failure", "--no-color",
            "--suppress-health-check", "all", "--warnings", "off",
            "--report", "json", "--report-json-path", "report.json",
        ]  # fmt: skip
        for stream in _streams(document):
            command += ["--exclude-operation-id", stream]
        command += [] if only is None else ["--include-operation-id", only]
        command += [] if seconds is None else ["--max-time", str(seconds)]
        process = await asyncio.create_subprocess_exec(
            *command, cwd=folder,
            stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.STDOUT,
        )  # fmt: skip
        out, _ = await process.communicate()
        report = folder / "report.json"
        numbers = orjson.loads(report.read_bytes()) if report.exists() else {}
    return Verdict(
        ok=process.returncode == 0,
        operations=numbers.get("operations", {}).get("tested", 0),
        cases=numbers.get("test_cases", {}).get("generated", 0),
        findings=numbers.get("test_cases", {}).get("unique_failures", 0),
        text=out.decode("utf-8", "replace"),
    )


def _with_examples(document: dict[str, Any]) -> dict[str, Any]:
    """Chance alone never writes a definition that is right, so some are given."""
    shown = {f"example {n}": {"value": one.document} for n, one in enumerate(EXAMPLES)}
    for _, _, operation in operations(document):
        for content in operation.get("requestBody", {}).get("content", {}).values():
            if content["schema"].get("$ref", "").endswith("/DefinitionDocument"):
                content["examples"] = shown
    return document


def _config(known: Mapping[str, Sequence[str | int]]) -> str:
    """Places in addresses are filled with real ids often enough to get past the first look."""
    lines = []
    for name, values in known.items():
        lines += [f"[dictionaries.{name}]", f"values = {json.dumps(list(values))}"]
        lines += [f'[parameters."path.{name}"]', f'dictionary = "{name}"']
        lines += [f"probability = {REAL_IDS}"]
    return "\n".join(lines) + "\n"


def _streams(document: dict[str, Any]) -> list[str]:
    """Operations whose answer may go on until its reader leaves."""
    return [
        operation["operationId"]
        for _, _, operation in operations(document)
        if "text/event-stream" in operation["responses"].get("200", {}).get("content", {})
    ]


@asynccontextmanager
async def _open_server(home: Path) -> AsyncIterator[tuple[House, FastAPI, str, str]]:
    async with open_house(Settings(home=home)) as house:
        rooms = rooms_of(house)
        file = await ensure_owner_token(house.database, home, house.workspace_id, FIRST_MEMBER)
        stop = asyncio.Event()
        port: asyncio.Future[int] = asyncio.get_running_loop().create_future()
        settings = Settings(home=home, port=0)
        app, worker = build_api(rooms), build_worker(house)
        working = asyncio.create_task(worker.run())
        serving = asyncio.create_task(serve(app, settings, ready=port.set_result, stop=stop))
        try:
            yield house, app, f"http://127.0.0.1:{await port}", file.read_text().strip()
        finally:
            stop.set()
            worker.stop()
            await asyncio.gather(serving, working)


async def _look(home: Path, examples: int, seconds: int | None) -> Verdict:
    async with _open_server(home) as (house, app, address, token):
        known = await furnish(house)
        return await fuzz(address, describe(app), token, known, examples=examples, seconds=seconds)


def main() -> None:
    parser = argparse.ArgumentParser(description="Fuzz the REST surface.")
    parser.add_argument("--examples", type=int, default=100, help="for each operation")
    parser.add_argument("--seconds", type=int, default=None, help="go on until they are over")
    asked = parser.parse_args()
    folder = Path(tempfile.mkdtemp(prefix="mainspring-fuzz-"))
    folder.chmod(0o711)  # the database may run as a user of its own
    try:
        verdict = asyncio.run(_look(folder / "home", asked.examples, asked.seconds))
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    print(verdict.text)
    print(
        f"{verdict.operations} operations, {verdict.cases} cases, {verdict.findings} findings: "
        + ("as described" if verdict.ok else "NOT as described, see above")
    )
    sys.exit(0 if verdict.ok else 1)


if __name__ == "__main__":
    main()
