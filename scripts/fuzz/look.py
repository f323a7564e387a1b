"""Lets schemathesis loose on a server that listens, in a process of its own."""

from __future__ import annotations

import asyncio
import json
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final

import orjson

from mainspring.surfaces.rest.openapi import operations
from scripts.fuzz import filling
from scripts.fuzz.known import Known

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
_HOOKS: Final = f"hooks = {json.dumps(str(Path(filling.__file__).resolve()))}\n"
PHASES: Final = "examples,coverage,fuzzing,stateful"
# How many of the examples of a body are given to schemathesis itself.
_EXAMPLES: Final = 3


@dataclass(frozen=True, slots=True)
class Verdict:
    """What came of it: the numbers, and the findings as text."""

    ok: bool
    operations: int
    cases: int
    findings: int
    text: str


@dataclass(frozen=True, slots=True)
class Plan:
    """How long to look, and at what."""

    examples: int = 100
    phases: str = PHASES
    seconds: int | None = None
    seed: int | None = None
    only: Sequence[str] = ()
    without: Sequence[str] = ()
    headers: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))


async def look(address: str, document: dict[str, Any], known: Known, plan: Plan) -> Verdict:
    """One run of schemathesis; its folder is gone afterwards, its words are kept."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        described = orjson.dumps(_with_examples(document, known))
        (folder / "openapi.json").write_bytes(described)
        (folder / filling.FILE).write_text(json.dumps(asdict(known)), encoding="utf-8")
        (folder / "schemathesis.toml").write_text(_HOOKS, encoding="utf-8")
        process = await asyncio.create_subprocess_exec(
            *_command(address, document, plan), cwd=folder,
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


def _command(address: str, document: dict[str, Any], plan: Plan) -> list[str]:
    command = [
        sys.executable, "-m", "schemathesis.cli", "--config-file", "schemathesis.toml",
        "run", "openapi.json", "--url", address, "--checks", ",".join(CHECKS),
        "--phases", plan.phases, "--max-examples", str(plan.examples), "--request-timeout", "60",
        "--generation-database", "none", "--continue-on-failure", "--no-color",
        "--suppress-health-check", "all", "--warnings", "off",
        "--report", "json", "--report-json-path", "report.json",
    ]  # fmt: skip
    for name, value in plan.headers.items():
        command += ["--header", f"{name}: {value}"]
    for name in (*_streams(document), *plan.without):
        command += ["--exclude-operation-id", name]
    for name in plan.only:
        command += ["--include-operation-id", name]
    command += [] if plan.seconds is None else ["--max-time", str(plan.seconds)]
    command += [] if plan.seed is None else ["--seed", str(plan.seed)]
    return command


def _with_examples(document: dict[str, Any], known: Known) -> dict[str, Any]:
    """Chance alone never writes a definition that is right, so some are given."""
    for _, _, operation in operations(document):
        bodies = known.bodies.get(operation["operationId"], ())[:_EXAMPLES]
        for content in operation.get("requestBody", {}).get("content", {}).values():
            if bodies:
                content["examples"] = {
                    f"example {n}": {"value": body} for n, body in enumerate(bodies)
                }
    return document


def _streams(document: dict[str, Any]) -> list[str]:
    """Operations whose answer may go on until its reader leaves."""
    return [
        operation["operationId"]
        for _, _, operation in operations(document)
        if "text/event-stream" in operation["responses"].get("200", {}).get("content", {})
    ]
