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
from scripts.fuzz.known_values import KnownValues

_COOKIE: Final = "Cookie"
# It takes the token away and looks for an answer; a cookie would still be there.
_TOKENS: Final = "ignored_auth"
CHECKS: Final = (
    "not_a_server_error",
    "status_code_conformance",
    "content_type_conformance",
    "response_schema_conformance",
    "response_headers_conformance",
    "unsupported_method",
    "allow_header_conformance",
    _TOKENS,
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


async def look(address: str, document: dict[str, Any], known: KnownValues, plan: Plan) -> Verdict:
    """One run of schemathesis; its folder is gone afterwards, its words are kept."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        shown = _with_examples(document, known)
        described = orjson.dumps(_without_tokens(shown) if _COOKIE in plan.headers else shown)
        (folder / "openapi.json").write_bytes(described)
        (folder / filling.FILE).write_text(json.dumps(asdict(known)), encoding="utf-8")
        (folder / "schemathesis.toml").write_text(_HOOKS, encoding="utf-8")
        process = await asyncio.create_subprocess_exec(
            *_command(address, document, plan),
            cwd=folder,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
        )
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
    checks = [one for one in CHECKS if one != _TOKENS or _COOKIE not in plan.headers]
    command = [
        sys.executable,
        "-m",
        "schemathesis.cli",
        "--config-file",
        "schemathesis.toml",
        "run",
        "openapi.json",
        "--url",
        address,
        "--checks",
        ",".join(checks),
        "--phases",
        plan.phases,
        "--max-examples",
        str(plan.examples),
        "--request-timeout",
        "60",
        "--generation-database",
        "none",
        "--continue-on-failure",
        "--no-color",
        "--suppress-health-check",
        "all",
        "--warnings",
        "off",
        "--report",
        "json",
        "--report-json-path",
        "report.json",
    ]
    for name, value in plan.headers.items():
        command += ["--header", f"{name}: {value}"]
    for name in (*_streams(document), *plan.without):
        command += ["--exclude-operation-id", name]
    for name in plan.only:
        command += ["--include-operation-id", name]
    command += [] if plan.seconds is None else ["--max-time", str(plan.seconds)]
    command += [] if plan.seed is None else ["--seed", str(plan.seed)]
    return command


def _with_examples(document: dict[str, Any], known: KnownValues) -> dict[str, Any]:
    """Chance alone never writes a definition that is right, so some are given; and ids are."""
    for path, _, operation in operations(document):
        given = [one for one in operation.get("parameters", ()) if one["in"] == "path"]
        named = filling.politely(path, {one["name"]: None for one in given}, known.values)
        for one in given:
            if named[one["name"]] is not None:
                one["example"] = named[one["name"]]
        shown = known.bodies.get(operation["operationId"], ())[:_EXAMPLES]
        bodies = [filling.politely(path, body, known.values) for body in shown]
        for content in operation.get("requestBody", {}).get("content", {}).values():
            if bodies:
                content["examples"] = {
                    f"example {n}": {"value": body} for n, body in enumerate(bodies)
                }
    return document


def _without_tokens(document: dict[str, Any]) -> dict[str, Any]:
    """For a caller with a cookie: a token that was drawn would be read in its place."""
    for _, _, operation in operations(document):
        operation.pop("security", None)
    return document


def _streams(document: dict[str, Any]) -> list[str]:
    """Operations whose answer may go on until its reader leaves."""
    return [
        operation["operationId"]
        for _, _, operation in operations(document)
        if "text/event-stream" in operation["responses"].get("200", {}).get("content", {})
    ]
