"""The workshop: where scripts are built and run, one for each process of the house.

Nothing is started before the first script: most commands never need one. From then on a few
processes are kept warm, because starting one takes longer than many scripts do.
"""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Mapping
from contextlib import AsyncExitStack
from typing import TYPE_CHECKING, Any, Final
from uuid import UUID

import orjson

from mainspring.actions.script.builds import ScriptBuild, ScriptBuildCache
from mainspring.actions.script.problems import build_error, process_ended_error
from mainspring.actions.script.sandbox.caps import ProcessLimits
from mainspring.actions.script.sandbox.pool import SandboxPool
from mainspring.actions.script.sandbox.process import Frame, SandboxProcess
from mainspring.actions.script.sandbox.walls import Isolation
from mainspring.actions.script.schema import DEFAULT_WALL
from mainspring.actions.script.talk import AnswerMcp, ScriptConversation
from mainspring.actions.script.voice import OutputRecorder
from mainspring.contracts.context import StepContext
from mainspring.contracts.limits import Limits
from mainspring.contracts.secret import ScriptSecrets
from mainspring.definition.script import mark_of
from mainspring.definition.secret_use import locate_script_secrets

if TYPE_CHECKING:
    from mainspring.store.database import Database

# Taking the types away is quick; a source that takes longer is made to take longer.
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
        # How many scripts run at once; none: as many as the machine's cores carry.
        self.most: int | None = None
        # How a script's own MCP client is answered; the surfaces hand it in.
        self.speak: AnswerMcp | None = None

    async def run(self, ctx: StepContext, config: Mapping[str, Any]) -> Any:
        """Runs a script to its end; what it returned."""
        source = config["source"]
        wall = float(config.get("wall_seconds", DEFAULT_WALL))
        build, start = await asyncio.gather(
            self._builds.of(ctx.actor.workspace_id, source), ctx.start()
        )
        voice = OutputRecorder(ctx, self._limits.script_output_bytes)
        caps = ProcessLimits(wall, round(wall), self._limits.script_memory_mb)
        names = sorted({grant.capability for grant in ctx.grants})
        # Nobody who sends data to this try can know the mark of its secrets.
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
                voice,
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
                await voice.close()
            await ctx.say("end", await _end(process, problem), last=True)
        if problem is not None:
            raise problem
        return value

    async def build(self, workspace_id: UUID, source: str) -> ScriptBuild:
        """Builds a source ahead of its first run, so that its author learns what is wrong."""
        return await self._builds.of(workspace_id, source)

    async def walls(self) -> Isolation:
        """What holds scripts on this machine."""
        return await (await self._open()).walls()

    async def aclose(self) -> None:
        """Ends every process."""
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
    # A signal counts as a shell counts it.
    left = end.exit_code if end.exit_code >= 0 else 128 - end.exit_code
    code = 0 if problem is None else left if end.reason else 1
    told = {"exit_code": code, "reason": end.reason, "cpu_ms": end.cpu_ms, "peak_kb": end.peak_kb}
    return orjson.dumps(told).decode()
