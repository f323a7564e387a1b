"""The protocol with one script: it sends requests, the gate decides, the results go back.

Whatever ends the run ends the process: a budget that is spent, a lease that is lost. A refusal that
the script can handle is a result like any other.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections import deque
from collections.abc import Awaitable, Callable, Coroutine, Iterable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any, Final

import orjson

from mainspring.actions.script.output_recorder import OutputRecorder
from mainspring.actions.script.sandbox.caps import ProcessLimits
from mainspring.actions.script.sandbox.process import Frame, OutputChunk, SandboxProcess
from mainspring.contracts.context import CallResult, StepContext
from mainspring.contracts.errors import (
    BudgetExceeded,
    DeadlineExceeded,
    InternalError,
    Invalid,
    LimitExceeded,
    Problem,
)
from mainspring.contracts.limits import Limits
from mainspring.contracts.model import Usage
from mainspring.contracts.secret import ScriptSecrets
from mainspring.definition.strict_json import check_value
from mainspring.gate.usage_markers import Marker, UsageMarkerParser

# Usage that a script reports for its own models, batched for the ledger.

_ONE_BY_ONE: Final = 100
# Pending reports are recorded once they reach this fraction of what was recorded before.
_PART: Final = 10
_SEVERAL: Final = "several"


class UsageAccumulator:
    """The usage of one attempt, on its way to the ledger."""

    def __init__(self) -> None:
        self._booked = 0
        self._tokens, self._cost = 0, Decimal(0)
        self._held: Usage | None = None

    def add(self, usage: Usage) -> Usage | None:
        """Add one report; returns what must be recorded now."""
        if not _count_tokens(usage) and not usage.cost_usd:
            return None
        self._held = usage if self._held is None else _add_usage(self._held, usage)
        enough = (
            self._booked < _ONE_BY_ONE
            or (0 < _count_tokens(self._held) * _PART >= self._tokens)
            or (0 < self._held.cost_usd * _PART >= self._cost)
        )
        return self.rest() if enough else None

    def rest(self) -> Usage | None:
        """What is still pending, to be recorded now."""
        held, self._held = self._held, None
        if held is not None:
            self._booked += 1
            self._tokens += _count_tokens(held)
            self._cost += held.cost_usd
        return held


def _count_tokens(usage: Usage) -> int:
    return usage.input_tokens + usage.output_tokens


def _add_usage(one: Usage, other: Usage) -> Usage:
    return Usage(
        one.model if one.model == other.model else _SEVERAL,
        one.input_tokens + other.input_tokens,
        one.output_tokens + other.output_tokens,
        one.cost_usd + other.cost_usd,
        reported=one.reported,
    )


# The errors of scripts that failed.

_LONGEST: Final = 600
_FRAME_MB: Final = ProcessLimits().frame_bytes >> 20
_LONGEST_NAME: Final = 100


def script_error(failed: Mapping[str, Any]) -> Problem:
    """The script threw an uncaught error, which a retry would repeat."""
    name, message = str(failed.get("name") or "Error"), str(failed.get("message") or "")
    name = name[:_LONGEST_NAME]
    return Invalid(
        f"The script stopped: {name}: {message[:_LONGEST]}{_format_script_location(failed)}",
        code="script_failed",
        suggestion="Its output shows how far it got: `mainspring runs output`.",
    )


def build_error(failed: Mapping[str, Any]) -> Problem:
    """The source is not valid TypeScript."""
    message = str(failed.get("message") or "it cannot be read")
    return Invalid(
        f"The script is not valid TypeScript: "
        f"{message[:_LONGEST]}{_format_script_location(failed)}",
        code="script_syntax",
    )


def process_ended_error(reason: str | None, exit_code: int, wall_seconds: float) -> Problem:
    """The process ended without reporting the result of the script."""
    match reason:
        case "wall":
            return DeadlineExceeded(
                f"The script ran for longer than its {wall_seconds:g} seconds and was killed.",
                code="script_wall",
                retryable=False,
                suggestion="Raise wall_seconds, or do less in one run.",
            )
        case "cpu":
            return LimitExceeded(
                "The script used more processor time than it may and was killed.",
                code="script_cpu",
                retryable=False,
                suggestion="Look for a loop that does not end.",
            )
        case "memory":
            return LimitExceeded(
                "The script used more memory than it may and was killed.",
                code="script_memory",
                retryable=False,
                suggestion="Work on a part at a time, and release what is done.",
            )
        case "output":
            return LimitExceeded(
                "The script wrote far more output than is kept and was killed.",
                code="script_output",
                retryable=False,
                suggestion="Log less, or save what is long as an artifact.",
            )
        case "answer":
            return LimitExceeded(
                f"The script answered or sent a message of more than {_FRAME_MB} MB and was "
                "killed.",
                code="script_answer",
                retryable=False,
                suggestion="Return less, or save what is long as an artifact.",
            )
        case _ if exit_code == 0:
            return Invalid(
                "The script ended its own process before it was done.",
                code="script_left",
                suggestion="Use return instead of Deno.exit().",
            )
        case _:
            return InternalError(
                f"The script's process ended early with exit code {exit_code}.",
                code="script_crashed",
            )


def _format_script_location(failed: Mapping[str, Any]) -> str:
    line, column = failed.get("line"), failed.get("column")
    if not isinstance(line, int):
        return ""
    # The runtime prefix comes before its first line.
    known = isinstance(column, int) and line > 1
    return f" (main.ts, line {line}" + (f", column {column})" if known else ")")


# Answers one MCP message: token, method, headers and body in; status, headers, body out.
AnswerMcp = Callable[[Mapping[str, Any]], Awaitable[Mapping[str, Any]]]

# Wraps waits for other scripts; raises ``LimitExceeded`` when too many wait already.
ReleaseSlot = Callable[[SandboxProcess], AbstractAsyncContextManager[None]]

# Capabilities that wait for runs, which may need the slot of this script.
_WAITS: Final = frozenset({"run_automation_once"})
_FULL: Final = "scripts_waiting"
# Concurrent calls of one script; further ones are queued.
_AT_ONCE: Final = 16
# The maximum queue length; above it, the script blocks.
_MOST_HELD: Final = 256
_MOST_HELD_BYTES: Final = 16 * 1_048_576
# How often a script is warned about unreadable usage reports.
_SAID_OF_MARKS: Final = 3


@dataclass(slots=True)
class ScriptConversation:
    """One script, from start to end."""

    ctx: StepContext
    process: SandboxProcess
    recorder: OutputRecorder
    wall_seconds: float
    # The secrets that the approved source names.
    secrets: ScriptSecrets = field(default_factory=ScriptSecrets)
    speak: AnswerMcp | None = None
    limits: Limits = field(default_factory=Limits)
    resting: ReleaseSlot | None = None
    # An error that ends the run; the process is ended and this is the result.
    _fatal: BaseException | None = None
    # The errors of refused calls, newest last.
    _problems: deque[Problem] = field(default_factory=lambda: deque(maxlen=100))
    # Whether the script has sent its final message.
    _over: bool = False
    _held_bytes: int = 0
    _marks: UsageMarkerParser = field(default_factory=UsageMarkerParser)
    _usage: UsageAccumulator = field(default_factory=UsageAccumulator)
    _ignored: int = 0
    _bookings: set[asyncio.Task[None]] = field(default_factory=set)
    _booking: asyncio.Lock = field(default_factory=asyncio.Lock)
    _turns: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(_AT_ONCE))

    async def hold(self, first: Mapping[str, Any]) -> Any:
        """Start the script and answer it until it is done; returns its value, or raises its
        problem.
        """
        asked: set[asyncio.Task[None]] = set()
        last: Mapping[str, Any] | None = None
        await self.process.send(first)
        try:
            async for said in self.process:
                if not isinstance(said, Frame):
                    self._hear(said)
                elif "done" in said.body or "failed" in said.body:
                    last, self._over = said.body, True
                else:
                    self._held_bytes += said.size
                    _start_task(self._answer(said), asked)
                    await self._catch_up(asked)
            if last is not None and "done" in last:
                await self._finish(asked)
            # What was printed last counts as well.
            self._count(self._marks.close(), rest=True)
            await asyncio.gather(*self._bookings)
        finally:
            for task in (begun := [*asked, *self._bookings]):
                task.cancel()
            await asyncio.gather(*begun, return_exceptions=True)
        if self._fatal is not None:
            raise self._fatal
        if last is not None and "done" in last:
            return last["done"]
        if last is not None:
            raise self._failure(last["failed"])
        end = await self.process.ended()
        raise process_ended_error(end.reason, end.exit_code, self.wall_seconds)

    async def _finish(self, asked: set[asyncio.Task[None]]) -> None:
        """Complete the calls that a script started and did not await, and report them."""
        try:
            async with asyncio.timeout(self.wall_seconds):
                while asked:
                    await asyncio.wait(set(asked))
        except TimeoutError:
            raise process_ended_error("wall", 0, self.wall_seconds) from None

    def _hear(self, said: OutputChunk) -> None:
        """Record its output, and count the usage of its own models."""
        if said.stream == "stderr":
            self.recorder.hear("err", said.text)
            return
        self.recorder.hear("out", said.text)
        self._count(self._marks.feed(said.text))

    def _count(self, marks: Iterable[Marker], *, rest: bool = False) -> None:
        found: list[Usage | None] = []
        for mark in marks:
            if isinstance(mark, Usage):
                found.append(self._usage.add(mark))
            elif self._ignored < _SAID_OF_MARKS:
                self._ignored += 1
                self.recorder.hear("err", f"{mark.reason}\n")
        if rest:
            found.append(self._usage.rest())
        if books := [usage for usage in found if usage is not None]:
            _start_task(self._book(books), self._bookings)

    async def _book(self, found: Sequence[Usage]) -> None:
        try:
            async with self._booking:
                for usage in found:
                    gone = await self.ctx.report_usage(
                        usage.model, usage.input_tokens, usage.output_tokens, usage.cost_usd
                    )
                    if gone is not None:
                        raise gone
        except asyncio.CancelledError:
            raise
        except BaseException as fatal:
            self._break_off(fatal)

    async def _catch_up(self, asked: set[asyncio.Task[None]]) -> None:
        """A script that sends requests faster than they are answered blocks."""
        if len(asked) <= _MOST_HELD and self._held_bytes <= _MOST_HELD_BYTES:
            return
        ended = asyncio.ensure_future(self.process.ended())
        while self.process.is_alive and asked:
            await asyncio.wait({*asked, ended}, return_when=asyncio.FIRST_COMPLETED)
            if len(asked) <= _MOST_HELD and self._held_bytes <= _MOST_HELD_BYTES:
                break
        ended.cancel()

    async def _answer(self, frame: Frame) -> None:
        """Call for the script; what ends the run ends the script."""
        said = frame.body
        try:
            async with self._turns:
                if "call" in said:
                    await self._call(said)
                elif "mcp" in said:
                    await self._speak(said)
        except asyncio.CancelledError:
            raise
        except BaseException as fatal:
            self._break_off(fatal)
        finally:
            self._held_bytes -= frame.size

    def _break_off(self, fatal: BaseException) -> None:
        self._fatal = self._fatal or fatal
        self.process.kill("killed")

    async def _call(self, said: Mapping[str, Any]) -> None:
        number, arguments = said["call"], said.get("arguments")
        capability = str(said.get("capability"))
        try:
            if not isinstance(arguments, dict):
                raise Invalid("Arguments are an object.", code="arguments")
            check_value(arguments, self.limits)
        except Invalid as unfit:
            called = CallResult(self.ctx.clock.now(), problem=unfit)
        else:
            called = await self._called(capability, arguments)
        await self._check_budget(look=False)
        answer: dict[str, Any] = {"answer": number, "at": round(called.at.timestamp() * 1000)}
        if called.problem is None:
            answer["value"] = called.value
        elif isinstance(called.problem, BudgetExceeded):
            raise called.problem
        else:
            self._problems.append(called.problem)
            if self._over:
                self.recorder.hear(
                    "err", f"Nothing waited for {capability[:100]}: {called.problem.detail}\n"
                )
            answer["problem"] = called.problem.as_dict()
        await self.process.send(answer)

    async def _called(self, capability: str, arguments: Mapping[str, Any]) -> CallResult:
        try:
            async with self._rest(capability):
                return await self.ctx.called(capability, arguments, secrets=self.secrets)
        except LimitExceeded as full:
            if full.code != _FULL:
                raise
            return CallResult(self.ctx.clock.now(), problem=full)

    def _rest(self, capability: str) -> AbstractAsyncContextManager[None]:
        if self.resting is None or capability not in _WAITS:
            return contextlib.nullcontext()
        return self.resting(self.process)

    async def _spoken(self, answer: Mapping[str, Any]) -> Mapping[str, Any]:
        if self.speak is None:
            return {"status": 503, "headers": {}, "body": ""}
        try:
            async with self._rest(_get_called_tool(answer)):
                return await self.speak(answer)
        except LimitExceeded as full:
            if full.code != _FULL:
                raise
            body = orjson.dumps(full.as_dict()).decode()
            return {
                "status": full.status,
                "headers": {"content-type": "application/problem+json"},
                "body": body,
            }

    async def _speak(self, answer: Mapping[str, Any]) -> None:
        http = await self._spoken(answer)
        await self._check_budget(look=True)
        at = round(self.ctx.clock.now().timestamp() * 1000)
        await self.process.send({"answer": answer["mcp"], "at": at, "http": http})

    async def _check_budget(self, *, look: bool) -> None:
        """A cap that is reached ends the script, once the call that reached it is done."""
        gone = await self.ctx.used_up(look=look)
        if gone is not None:
            raise gone

    def _failure(self, failed: Any) -> Problem:
        """What the script threw; an unhandled refusal is the step's own problem."""
        told = failed if isinstance(failed, Mapping) else {}
        for refused in self._problems:
            if refused.as_dict() == told.get("problem"):
                return refused
        return script_error(told)


def _get_called_tool(answer: Mapping[str, Any]) -> str:
    """The tool that an MCP message calls; empty when it calls none."""
    try:
        message = orjson.loads(str(answer.get("body") or ""))
    except ValueError:
        return ""
    params = message.get("params") if isinstance(message, dict) else None
    return str(params.get("name") or "") if isinstance(params, dict) else ""


def _start_task(work: Coroutine[Any, Any, None], asked: set[asyncio.Task[None]]) -> None:
    task = asyncio.create_task(work)
    asked.add(task)
    task.add_done_callback(asked.discard)
