"""Telling people: the loop that brings prompts by mail and to their chats."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from typing import TYPE_CHECKING, Any, Final

from mainspring.contracts.capability import Route
from mainspring.contracts.context import Actor, Mail
from mainspring.contracts.errors import Clash, Missing, Problem
from mainspring.contracts.integration import Button
from mainspring.gate.connected.trial import context_over, learn_nothing, no_own_secrets
from mainspring.gate.prompting import rows
from mainspring.gate.prompting.buttons import NO, YES, data_of, new_secret
from mainspring.store.outage import logged_problem
from mainspring.workspace.people.addresses import address_of_member

if TYPE_CHECKING:
    from collections.abc import Mapping
    from uuid import UUID

    from mainspring.contracts.clock import Clock
    from mainspring.contracts.context import CallContext, Mailer
    from mainspring.contracts.integration import Prompter
    from mainspring.gate.connected.lines import Lines
    from mainspring.store.database import Database

log = logging.getLogger(__name__)

TELEGRAM: Final = "telegram"
_PAUSE: Final = 2.0
_MOST: Final = 20
# Nobody's message keeps the others waiting longer than this.
_SECONDS: Final = 60.0


class Chats:
    """The way to a member's own chat, over their own connection."""

    def __init__(self, lines: Lines, clock: Clock) -> None:
        self._lines = lines
        self._clock = clock

    async def over(self, workspace_id: UUID, member_id: UUID) -> tuple[Prompter, CallContext]:
        """What shows messages there, and the context in which it does."""
        integration = self._lines.named(TELEGRAM)
        if integration.prompter is None:
            raise Clash(f"{integration.name} cannot ask anybody.", code="no_prompter")
        route = Route(TELEGRAM, frozenset(integration.manifest["hosts"]), owner_id=member_id)
        way = await self._lines.open(
            workspace_id, member_id, route, own=no_own_secrets, learn=learn_nothing,
            called_by_owner=True, shared=False,
        )  # fmt: skip
        if way is None:
            raise Missing(f"{integration.name} is not connected.", code="not_connected")
        actor = Actor(workspace_id, "member", member_id)
        return integration.prompter, context_over(way, actor, self._clock)


class Telling:
    """Brings every prompt to its person, once, and tries again when that fails."""

    def __init__(
        self, database: Database, chats: Chats, mailer: Mailer | None, owner_mail: str | None,
        address: str,
    ) -> None:  # fmt: skip
        self._database = database
        self._chats = chats
        self._mailer = mailer
        self._owner_mail = owner_mail
        self._inbox = f"{address}/inbox"

    async def run(self, stop: asyncio.Event) -> None:
        """Until ``stop`` is set."""
        while not stop.is_set():
            try:
                while await self.once():
                    pass
            except Exception as error:
                log.warning("Prompts could not be sent: %s", logged_problem(error).detail)
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(stop.wait(), _PAUSE)

    async def once(self) -> int:
        """Sends what is due; answers how many prompts that were."""
        async with self._database.transaction() as tx:
            await rows.note_new(tx)
            taken = await rows.take(tx, _MOST)
        # All at once: where one does not answer, the others are told all the same.
        ends = await asyncio.gather(*map(self._tried, taken), return_exceptions=True)
        for end in ends:
            if end is not None:
                raise end
        return len(taken)

    async def _tried(self, prompt: rows.Prompt) -> None:
        """One prompt; whatever went wrong with it is counted, so that it ends some time."""
        try:
            async with asyncio.timeout(_SECONDS):
                await self._tell(prompt)
        except Exception as error:
            problem = error if isinstance(error, Problem) else logged_problem(error)
            async with self._database.transaction() as tx:
                await rows.mark_failed(tx, prompt, problem)

    async def _tell(self, prompt: rows.Prompt) -> None:
        secret = new_secret()
        async with self._database.transaction() as tx:
            seen = await rows.shown(tx, prompt)
            if seen is not None and seen.waits and seen.plain:
                # Before the message is there: whoever presses at once is known.
                await rows.keep_secret(tx, prompt, secret)
        place: Mapping[str, Any] = {}
        if seen is not None and seen.waits:
            place = await self._sent(prompt, seen, secret)
        async with self._database.transaction() as tx:
            await rows.mark_sent(tx, prompt, {**place, "hash": seen and seen.hash})

    async def _sent(self, prompt: rows.Prompt, seen: rows.Shown, secret: str) -> Mapping[str, Any]:
        text = f"{seen.text.strip()}\n\n{self._inbox}"
        if prompt.target == TELEGRAM:
            prompter, ctx = await self._chats.over(prompt.workspace_id, prompt.member_id)
            return await prompter.send(ctx, text, _buttons(prompt, secret) if seen.plain else ())
        return await self._mailed(prompt, text)

    async def _mailed(self, prompt: rows.Prompt, text: str) -> Mapping[str, Any]:
        """A mail leads to the inbox and decides nothing: whoever reads mail may be a program."""
        if self._mailer is None:
            raise Missing("No mail server is set for this installation.", code="mail_not_set_up")
        to = await address_of_member(
            self._database, prompt.workspace_id, prompt.member_id, self._owner_mail
        )
        if to is None:
            raise Missing("This member has no address for mail.", code="owner_mail_missing")
        mail = Mail(
            to=(to,), subject="Something waits for your yes or no", text=text,
            headers={"Auto-Submitted": "auto-generated"},
        )  # fmt: skip
        await self._mailer.send(mail, key=str(prompt.id))
        return {"to": to}


def _buttons(prompt: rows.Prompt, secret: str) -> tuple[Button, ...]:
    yes, no = ("Send it", "Discard") if prompt.about == "draft" else ("Yes", "No")
    return (
        Button(yes, data_of(YES, prompt.id, secret)),
        Button(no, data_of(NO, prompt.id, secret)),
    )
