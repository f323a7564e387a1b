"""Builds and runs scripts; one runner per process of the application.

Nothing is started before the first script: most commands never need one. From then on a few
processes are kept warm, because starting one takes longer than many scripts do.
"""

from __future__ import annotations

import asyncio
import hashlib
import secrets
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Mapping
from contextlib import AsyncExitStack
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final
from uuid import UUID

import orjson

from mainspring.actions.script.conversation import (
    AnswerMcp,
    ScriptConversation,
    build_error,
    process_ended_error,
)
from mainspring.actions.script.output_recorder import OutputRecorder
from mainspring.actions.script.sandbox.caps import ProcessLimits
from mainspring.actions.script.sandbox.isolation import Isolation
from mainspring.actions.script.sandbox.pool import SandboxPool
from mainspring.actions.script.sandbox.process import Frame, SandboxProcess
from mainspring.contracts.context import StepContext
from mainspring.contracts.limits import Limits
from mainspring.contracts.secret import ScriptSecrets
from mainspring.definition.script import mark_of, rewrite_script
from mainspring.definition.secret_use import locate_script_secrets

if TYPE_CHECKING:
    from mainspring.store.database import Database


# Builds: sources with their types stripped, cached.

# Incremented when the same source would be built differently.
_EDITION: Final = b"2\0"
_REMEMBERED: Final = 64

_FIND = "SELECT js, source_map FROM script_builds WHERE workspace_id = $1 AND hash = $2"
_KEEP = """
    INSERT INTO script_builds (workspace_id, hash, js, source_map) VALUES ($1, $2, $3, $4)
    ON CONFLICT DO NOTHING
"""


@dataclass(frozen=True, slots=True)
class ScriptBuild:
    """The code that is run in place of a source."""

    js: str
    source_map: str | None = None


BuildScript = Callable[[str], Awaitable[ScriptBuild]]


class ScriptBuildCache:
    """The builds of this installation: cached in memory, stored in the table, or created."""

    def __init__(self, database: Database | None, make: BuildScript) -> None:
        self._database = database
        self._make = make
        self._remembered: OrderedDict[bytes, ScriptBuild] = OrderedDict()

    async def of(self, workspace_id: UUID, source: str) -> ScriptBuild:
        """The build of a source; ``Invalid`` when it is not valid TypeScript."""
        digest = hashlib.sha256(_EDITION + source.encode("utf-8", "surrogatepass")).digest()
        found = self._remembered.get(digest)
        if found is not None:
            self._remembered.move_to_end(digest)
            return found
        build = await self._kept(workspace_id, digest) or await self._made(
            workspace_id, digest, source
        )
        self._remembered[digest] = build
        if len(self._remembered) > _REMEMBERED:
            self._remembered.popitem(last=False)
        return build

    async def _kept(self, workspace_id: UUID, digest: bytes) -> ScriptBuild | None:
        if self._database is None:
            return None
        row = await self._database.fetchrow(_FIND, workspace_id, digest)
        return None if row is None else ScriptBuild(row["js"], row["source_map"])

    async def _made(self, workspace_id: UUID, digest: bytes, source: str) -> ScriptBuild:
        build = await self._make(await asyncio.to_thread(rewrite_script, source))
        if self._database is not None:
            await self._database.execute(_KEEP, workspace_id, digest, build.js, build.source_map)
        return build


# The config schema of a script step, for its form and validation.

SOURCE_CHARACTERS: Final = 200_000
LEAST_WALL: Final = 5
MOST_WALL: Final = 300
DEFAULT_WALL: Final = 60

_EXAMPLE: Final = """\
import { brains } from "https://brains/sdks/automation-sdk-v1.ts";

const board = await brains.get_board({ name: "Revenue weekly" });
console.log(`${board.data.datasets.default.rows.length} rows`);
return { rows: board.data.datasets.default.rows.length };
"""


def build_script_config_schema() -> dict[str, Any]:
    """Source and grants are approved as written, so neither may be a template."""
    return {
        "type": "object",
        "required": ["source"],
        "additionalProperties": False,
        "properties": {
            "source": {
                "type": "string",
                "minLength": 1,
                "maxLength": SOURCE_CHARACTERS,
                "description": "The whole file, main.ts. Write secrets as {{name}}, in the url, "
                "headers and query of http_fetch.",
                "x-mainspring-scope": "none",
                "x-mainspring-widget": "typescript",
            },
            "grants": {
                "type": "array",
                "maxItems": 100,
                "description": "What it may call. Default: derived from the source.",
                "x-mainspring-scope": "none",
                "items": {
                    "type": "object",
                    "required": ["tool"],
                    "additionalProperties": False,
                    "properties": {
                        "tool": {"type": "string", "minLength": 1, "maxLength": 200},
                        "params": {"type": "object"},
                    },
                },
            },
            "input": {"description": "Any JSON value; the script sees it as `input`."},
            "wall_seconds": {
                "type": "integer",
                "minimum": LEAST_WALL,
                "maximum": MOST_WALL,
                "default": DEFAULT_WALL,
                "description": "How long it may run before it is killed.",
                "x-mainspring-scope": "none",
            },
            "output_schema": {
                "type": "object",
                "description": "JSON Schema of what it returns. Default: anything.",
                "x-mainspring-scope": "none",
            },
        },
        "examples": [{"source": _EXAMPLE, "grants": [{"tool": "get_board"}]}],
        "x-mainspring-anti-examples": [
            {"value": {}, "reason": "which file?"},
            {"value": {"source": ""}, "reason": "an empty file does nothing"},
            {"value": {"source": "return 1", "wall_seconds": 1}, "reason": "too short to start"},
            {
                "value": {"source": "return 1", "grants": [{"capability": "get_board"}]},
                "reason": "a grant of a script names its tool",
            },
        ],
    }


# Stripping types is fast; a source that takes longer is malicious.
_BUILD_SECONDS: Final = 10.0
_MCP: Final = "/mcp"


class ScriptRunner:
    """Builds and runs scripts, each in a process that is used once."""

    def __init__(
        self, limits: Limits, *, address: str, warm: int, database: Database | None = None
    ) -> None:
        self._limits = limits
        self._address = address
        self._warm = warm
        self._builds = ScriptBuildCache(database, self._built)
        self._stack = AsyncExitStack()
        self._opening: asyncio.Task[SandboxPool] | None = None
        # How many scripts run at once; None: depends on the number of cores.
        self.most: int | None = None
        # Answers a script's own MCP client; provided by the interfaces.
        self.speak: AnswerMcp | None = None

    async def run(self, ctx: StepContext, config: Mapping[str, Any]) -> Any:
        """Run a script to its end and return its result."""
        source = config["source"]
        wall = float(config.get("wall_seconds", DEFAULT_WALL))
        build, start = await asyncio.gather(
            self._builds.of(ctx.actor.workspace_id, source), ctx.start()
        )
        recorder = OutputRecorder(ctx, self._limits.script_output_bytes)
        caps = ProcessLimits(wall, round(wall), self._limits.script_memory_mb)
        names = sorted({grant.capability for grant in ctx.grants})
        # Data sent to this attempt cannot contain the marker of its secrets.
        spelt = ScriptSecrets(locate_script_secrets(source), secrets.token_hex(16))
        first = {
            "kind": "run",
            "nonce": secrets.token_hex(16),
            "js": build.js.replace(mark_of(source), spelt.mark),
            "began": round(start.began_at.timestamp() * 1000),
            "seed": start.seed.hex(),
            "env": {"BRAINS_MCP_URL": self._address + _MCP, "BRAINS_RUN_TOKEN": start.token},
            "names": names,
            "trigger": ctx.facts.get("trigger"),
            "input": config.get("input", ctx.facts.get("inputs")),
            "run": _build_run_info(ctx),
        }
        sandboxes = await self._open()
        async with sandboxes.taken(caps) as process:
            talk = ScriptConversation(
                ctx,
                process,
                recorder,
                wall,
                spelt,
                self.speak,
                self._limits,
                sandboxes.resting,
            )
            value, problem = None, None
            try:
                value = await talk.hold(first)
            except Exception as error:
                problem = error
            finally:
                await recorder.close()
            await ctx.say("end", await _end(process, problem), last=True)
        if problem is not None:
            raise problem
        return value

    async def build(self, workspace_id: UUID, source: str) -> ScriptBuild:
        """Build a source before its first run, so that its author sees the problems."""
        return await self._builds.of(workspace_id, source)

    async def read_isolation(self) -> Isolation:
        """The isolation of scripts on this machine."""
        return await (await self._open()).read_isolation()

    async def aclose(self) -> None:
        """End every process."""
        if self._opening is not None:
            await asyncio.gather(self._opening, return_exceptions=True)
        await self._stack.aclose()

    async def _open(self) -> SandboxPool:
        if self._opening is None or (self._opening.done() and self._opening.exception()):
            self._opening = asyncio.create_task(self._opened())
        return await asyncio.shield(self._opening)

    async def _opened(self) -> SandboxPool:
        return await self._stack.enter_async_context(SandboxPool(warm=self._warm, most=self.most))

    async def _built(self, source: str) -> ScriptBuild:
        sandboxes = await self._open()
        async with sandboxes.taken(ProcessLimits(_BUILD_SECONDS, round(_BUILD_SECONDS))) as process:
            await process.send({"kind": "build", "nonce": secrets.token_hex(16), "source": source})
            async for said in process:
                if not isinstance(said, Frame):
                    continue
                if "built" in said.body:
                    return ScriptBuild(said.body["built"]["js"], said.body["built"].get("map"))
                if "failed" in said.body:
                    raise build_error(said.body["failed"])
            end = await process.ended()
            raise process_ended_error(end.reason, end.exit_code, _BUILD_SECONDS)


def _build_run_info(ctx: StepContext) -> dict[str, Any]:
    """What a script may know about its own run."""
    facts = ctx.facts.get("run") or {}
    return {
        **{name: facts[name] for name in facts if not isinstance(facts[name], bytes)},
        "step": ctx.run.step,
        "item": ctx.run.item,
        "try": ctx.run.attempt,
    }


async def _end(process: SandboxProcess, problem: Exception | None) -> str:
    end = await process.ended()
    # The exit code of a signal, as in a shell.
    left = end.exit_code if end.exit_code >= 0 else 128 - end.exit_code
    code = 0 if problem is None else left if end.reason else 1
    told = {"exit_code": code, "reason": end.reason, "cpu_ms": end.cpu_ms, "peak_kb": end.peak_kb}
    return orjson.dumps(told).decode()
