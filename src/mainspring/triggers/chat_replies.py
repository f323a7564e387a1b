"""The loop that answers chat messages: composes each answer, and posts it in the same chat.

An answer is composed once and recorded before it is sent. Before each part is sent, that is
recorded too: when the process is lost in between, nobody knows whether the part arrived, so the
answer ends as ``unknown``, is reported in the inbox and is never sent again.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Mapping, Sequence
from datetime import timedelta
from typing import TYPE_CHECKING, Any, Final

import orjson

from mainspring.actions.agent.question import ANSWER_QUESTION
from mainspring.connections.accounts.connection_test import (
    build_connection_context,
    ignore_values,
    reveal_no_secrets,
)
from mainspring.contracts.chat import ChatChannel
from mainspring.contracts.context import Actor, CallContext
from mainspring.contracts.errors import Conflict, NotFound, Problem, UpstreamError, as_problem
from mainspring.contracts.ids import generate_id
from mainspring.contracts.model import NO_MODEL
from mainspring.contracts.roles import Role
from mainspring.gate.callers import CapabilityCaller
from mainspring.runs.rows import Hook, no_hook
from mainspring.store.database import is_lost_connection
from mainspring.store.database_errors import log_and_convert_error
from mainspring.workspace import chats
from mainspring.workspace.accounts import rows
from mainspring.workspace.alerts import Alert, post_alert
from mainspring.workspace.chats import ChatAnswer

if TYPE_CHECKING:
    from mainspring.connections.accounts.account_connections import AccountConnections
    from mainspring.contracts.clock import Clock
    from mainspring.gate.call import Gate
    from mainspring.runs.answers import RunResult, RunWaiter
    from mainspring.store.database import Database

log = logging.getLogger(__name__)

_PAUSE: Final = 0.5
_MOST: Final = 8
_MOST_WAITING: Final = 50
_CLEAN_SECONDS: Final = 600.0
# Telegram shows the indicator for five seconds.
_TYPING_SECONDS: Final = 4.0
_SEND_SECONDS: Final = 60.0
# The rest of a longer answer is in its run.
MOST_PARTS: Final = 8
_LONGEST_PAUSE: Final = 900.0
_ROLE = """
    SELECT m.role FROM members m JOIN users u ON u.id = m.user_id
    WHERE m.workspace_id = $1 AND m.user_id = $2 AND u.disabled_at IS NULL
"""

EMPTY: Final = "Done."
NO_MODEL_TEXT: Final = (
    "No model is connected, so I cannot answer. An admin connects one in Mainspring under Models."
)


class ChatReplies:
    """Answers chat messages of all workspaces; any number of processes may do so."""

    def __init__(
        self,
        database: Database,
        gate: Gate,
        lines: AccountConnections,
        runs: RunWaiter,
        clock: Clock,
        address: str,
        *,
        lease: timedelta = chats.LEASE,
        hook: Hook = no_hook,
    ) -> None:
        self._database = database
        self._gate = gate
        self._lines = lines
        self._runs = runs
        self._clock = clock
        self._address = address.rstrip("/")
        self._lease = lease
        self._hook = hook
        self._cleaned = float("-inf")

    async def run(self, stop: asyncio.Event) -> None:
        """Answer until stopped; no error ends it."""
        while not stop.is_set():
            try:
                while await self.once() and not stop.is_set():
                    pass
            except Exception as error:
                log.warning("Could not answer chats: %s", log_and_convert_error(error).detail)
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(stop.wait(), _PAUSE)

    async def once(self) -> int:
        """One round; returns how many answers were worked on."""
        await self._clean()
        await self._report_lost()
        composed = await self._compose_ended()
        async with self._database.transaction() as tx:
            claimed = await chats.claim_answers(tx, _MOST, self._lease)
        await asyncio.gather(*(self._answer(one) for one in claimed))
        return composed + len(claimed)

    async def _clean(self) -> None:
        now = self._clock.monotonic()
        if now - self._cleaned >= _CLEAN_SECONDS:
            self._cleaned = now
            async with self._database.transaction() as tx:
                await chats.delete_expired(tx)

    async def _report_lost(self) -> None:
        async with self._database.transaction() as tx:
            for answer in await chats.end_lost(tx):
                problem = UpstreamError(
                    "The process that sent the answer stopped, so it is unknown whether the "
                    "answer arrived.",
                    code="chat_unknown",
                    retryable=False,
                )
                await self._report(tx, answer, problem)

    async def _compose_ended(self) -> int:
        """The texts of answers whose run has ended, or has answered by a step."""
        async with self._database.transaction() as tx:
            waiting = await chats.list_waiting(tx, _MOST_WAITING)
        composed = 0
        for answer, automation in waiting:
            assert answer.run_id is not None
            result = await self._runs.read(answer.workspace_id, answer.run_id)
            ready = result is not None and (
                result.final or (answer.by_step and result.answer is not None)
            )
            async with self._database.transaction() as tx:
                if ready and result is not None:
                    text = self._describe_result(answer, automation, result)
                    await chats.set_composed(tx, answer, text)
                    composed += 1
                else:
                    await chats.look_later(tx, answer)
        return composed

    def _describe_result(self, answer: ChatAnswer, automation: str, result: RunResult) -> str:
        where = f"{self._address}/runs/{answer.run_id}"
        if answer.by_step and result.answer is not None:
            return _format_answer(result.answer, where)
        if result.status == "succeeded":
            # Without its step, nothing else of the run is shown.
            return EMPTY if answer.by_step else _format_output(result.output)
        ended = result.status.replace("_", " ")
        return f"{automation} did not finish: {ended}. Members can read why: {where}"

    async def _answer(self, answer: ChatAnswer) -> None:
        """Compose and send one answer; whatever goes wrong is recorded with it."""
        try:
            channel, ctx = await self._open(answer)
            text = answer.text
            if text is None:
                text = await self._converse(answer, channel, ctx)
                async with self._database.transaction() as tx:
                    if not await chats.store_text(tx, answer, text):
                        return
                    await chats.remember_answer(tx, answer, text)
                self._hook("composed")
            await self._send(answer, channel, ctx, text)
        except Exception as error:
            if is_lost_connection(error):
                # The lease expires, and another process goes on.
                return
            problem = error if isinstance(error, Problem) else log_and_convert_error(error)
            await self._fail(answer, problem, sending=False)

    async def _open(self, answer: ChatAnswer) -> tuple[ChatChannel, CallContext]:
        """The connection that received the message: an answer never goes over another one."""
        integration = self._lines.named(answer.via)
        async with self._database.acquire() as connection:
            row = await rows.find(connection, answer.workspace_id, answer.connection_id)
        if row.state != "ready":
            raise NotFound(f"{integration.name} is not connected any more.", code="not_connected")
        if integration.chat is None:
            raise Conflict(f"{integration.name} cannot answer chats.", code="no_chat")
        way = self._lines.over(
            integration,
            row,
            frozenset(integration.manifest["hosts"]),
            own=reveal_no_secrets,
            learn=ignore_values,
        )
        actor = Actor(answer.workspace_id, "member", row.owner_id)
        return integration.chat, build_connection_context(way, actor, self._clock)

    async def _converse(self, answer: ChatAnswer, channel: ChatChannel, ctx: CallContext) -> str:
        """The answer of the agent, or why there is none, for the person to read."""
        async with self._database.acquire() as connection:
            history = await chats.read_history(connection, answer)
            row = await connection.fetchrow(_ROLE, answer.workspace_id, answer.member_id)
        if row is None or answer.member_id is None:
            return "You are not a member of this workspace any more."
        while history and history[-1][0]:
            history.pop()
        if not history:
            return "This conversation was forgotten. Write your question again."
        actor = Actor(answer.workspace_id, "member", answer.member_id, role=Role(row["role"]))
        earlier = [
            {"by": "agent" if ours else "person", "text": text} for ours, text in history[:-1]
        ]
        given = {"question": history[-1][1], "history": earlier}
        typing = asyncio.create_task(_show_typing(answer, channel, ctx))
        try:
            found = await self._gate.direct(CapabilityCaller(actor), ANSWER_QUESTION, given)
            return str(found["text"])
        except Problem as problem:
            if is_lost_connection(problem):
                raise
            return _explain(problem)
        finally:
            typing.cancel()
            await asyncio.gather(typing, return_exceptions=True)

    async def _send(
        self, answer: ChatAnswer, channel: ChatChannel, ctx: CallContext, text: str
    ) -> None:
        parts = split_text(text, channel, self._rest_note(answer))
        for number in range(answer.parts_sent, len(parts)):
            async with self._database.transaction() as tx:
                if not await chats.begin_part(tx, answer):
                    return
            try:
                async with asyncio.timeout(_SEND_SECONDS):
                    await channel.send(ctx, answer.place, parts[number])
            except Exception as error:
                await self._fail(answer, as_problem(error), sending=True)
                return
            self._hook("sent")
            async with self._database.transaction() as tx:
                await chats.end_part(tx, answer, last=number + 1 == len(parts))
        self._hook("recorded")

    def _rest_note(self, answer: ChatAnswer) -> str:
        if answer.run_id is None:
            return "… The rest is too long for this chat."
        return f"… The rest is too long for this chat: {self._address}/runs/{answer.run_id}"

    async def _fail(self, answer: ChatAnswer, problem: Problem, *, sending: bool) -> None:
        """Try again where nothing was sent; otherwise say that it did not arrive, or may not."""
        unsent = not sending or problem.unsent is True
        async with self._database.transaction() as tx:
            if unsent and problem.retryable and answer.tries + 1 < chats.TRIES:
                wanted = problem.retry_after
                seconds = min(
                    2.0 ** (answer.tries + 1) if wanted is None else wanted, _LONGEST_PAUSE
                )
                await chats.retry_answer(tx, answer, timedelta(seconds=seconds), problem)
                return
            await chats.end_answer(tx, answer, "failed" if unsent else "unknown", problem)
            await self._report(tx, answer, problem)

    async def _report(self, tx: Any, answer: ChatAnswer, problem: Problem) -> None:
        """Only the answer of a run belongs to somebody's automation, and is reported there."""
        if answer.automation_id is None:
            log.info("A chat answer did not arrive: %s", problem.detail)
            return
        await post_alert(
            tx,
            Alert(
                generate_id(),
                answer.workspace_id,
                answer.automation_id,
                answer.run_id,
                "warning",
                "A chat answer may not have arrived",
                problem.detail,
                mail=False,
            ),
        )


async def _show_typing(answer: ChatAnswer, channel: ChatChannel, ctx: CallContext) -> None:
    if channel.typing is None:
        return
    while True:
        with contextlib.suppress(Problem):
            await channel.typing(ctx, answer.place)
        await asyncio.sleep(_TYPING_SECONDS)


def split_text(text: str, channel: ChatChannel, rest: str) -> list[str]:
    """The parts of a text, each of which is one message; a very long one ends with a note."""
    parts: list[str] = []
    left = text.strip() or EMPTY
    while left:
        if len(parts) == MOST_PARTS:
            parts.append(rest)
            break
        end = _find_end(left, channel)
        parts.append(left[:end].rstrip() or left[:end])
        left = left[end:].strip()
    return parts


def _find_end(text: str, channel: ChatChannel) -> int:
    """Where the first part ends: all that fits, up to a line or a word."""
    if channel.fits(text):
        return len(text)
    low, high = 1, len(text)
    while low < high:
        middle = (low + high + 1) // 2
        if channel.fits(text[:middle]):
            low = middle
        else:
            high = middle - 1
    for mark in ("\n", " "):
        place = text.rfind(mark, low // 2, low)
        if place > 0:
            return place
    return low


def _explain(problem: Problem) -> str:
    if problem.code == NO_MODEL:
        return NO_MODEL_TEXT
    hint = f" {problem.suggestion}" if problem.suggestion else ""
    return f"I could not answer: {problem.detail}{hint}"


def _format_answer(answer: Mapping[str, Any], where: str) -> str:
    """The answer of a respond step as a chat shows it."""
    if "text" in answer:
        return str(answer["text"])
    if "body" in answer:
        return _format_output(answer["body"])
    if "redirect" in answer:
        return str(answer["redirect"])
    return f"The answer is a file: {where}" if "artifact" in answer else EMPTY


def _format_output(output: Any) -> str:
    """A text as it is; of an object with a text, that text; anything else as JSON."""
    if output is None:
        return EMPTY
    if isinstance(output, str):
        return output
    if isinstance(output, Mapping) and isinstance(output.get("text"), str):
        return str(output["text"])
    if isinstance(output, Sequence | Mapping) and not output:
        return EMPTY
    return orjson.dumps(output, option=orjson.OPT_INDENT_2).decode()
