"""A conversation with one script in its sandbox, as the worker would hold it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from mainspring.actions.script.sandbox.caps import ProcessLimits
from mainspring.actions.script.sandbox.pool import SandboxPool
from mainspring.actions.script.sandbox.process import Frame, ProcessExit, SandboxProcess

BEGAN = 1_700_000_000_000
AT = BEGAN + 5_000
Answer = Callable[[dict[str, Any]], dict[str, Any]]


@dataclass(slots=True)
class ScriptOutput:
    """Everything that came out of one script."""

    last: dict[str, Any] = field(default_factory=dict)
    stdout: str = ""
    stderr: str = ""
    asked: list[dict[str, Any]] = field(default_factory=list)
    ended: ProcessExit | None = None
    pid: int | None = None

    @property
    def done(self) -> Any:
        assert "done" in self.last, (self.last, self.ended, self.stderr)
        return self.last["done"]

    @property
    def failed(self) -> dict[str, Any]:
        assert "failed" in self.last, (self.last, self.ended, self.stderr)
        found = self.last["failed"]
        assert isinstance(found, dict)
        return found

    @property
    def reason(self) -> str | None:
        assert self.ended is not None
        return self.ended.reason


def echo(request: dict[str, Any]) -> dict[str, Any]:
    return {"value": request.get("arguments")}


def first_frame(js: str, **more: Any) -> dict[str, Any]:
    return {
        "kind": "run",
        "nonce": "a-nonce-of-a-test",
        "js": js,
        "began": BEGAN,
        "seed": "0123456789abcdef" * 4,
        "env": {},
        "names": ["http_fetch", "automation_kv.get"],
        "trigger": {"type": "manual", "payload": {"city": "Bern"}},
        "input": {"n": 1},
        "run": {"id": "run-1", "automation_id": "a-1", "attempt": 1, "mode": "live"},
        **more,
    }


def body(text: str) -> str:
    """A script from the inside of its function."""
    return f"export default async ({{ brains, kv, event, input, runtime }}) => {{ {text} }}"


async def run(
    sandboxes: SandboxPool,
    js: str,
    caps: ProcessLimits | None = None,
    answer: Answer = echo,
    **more: Any,
) -> ScriptOutput:
    async with sandboxes.taken(caps) as process:
        return await talk(process, first_frame(js, **more), answer)


async def talk(
    process: SandboxProcess, frame: dict[str, Any], answer: Answer = echo
) -> ScriptOutput:
    output = ScriptOutput()
    await process.send(frame)
    async with asyncio.timeout(180):
        async for item in process:
            if not isinstance(item, Frame):
                setattr(output, item.stream, getattr(output, item.stream) + item.text)
            elif asked := item.body.get("call") or item.body.get("mcp"):
                output.asked.append(item.body)
                await process.send({"answer": asked, "at": AT, **answer(item.body)})
            else:
                output.last = item.body
        output.ended = await process.ended()
    output.pid = process.pid
    return output
