"""The loop that sends prompts by mail, to Telegram and to Slack."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from typing import TYPE_CHECKING, Any, Final

from mainspring.connections.accounts.connection_test import (
    build_connection_context,
    ignore_values,
    reveal_no_secrets,
)
from mainspring.contracts.capability import ConnectionRoute
from mainspring.contracts.context import Actor, Mail
from mainspring.contracts.errors import Conflict, NotFound, Problem
from mainspring.contracts.integration import Button, PromptMessage
from mainspring.gate.draft_sending import page_of
from mainspring.gate.prompting import prompts
from mainspring.gate.prompting.buttons import NO, OPTIONS, YES, data_of, new_secret
from mainspring.gate.prompting.prompts import fits_mail
from mainspring.gate.prompting.slack_identities import slack_account
from mainspring.store.database_errors import log_and_convert_error
from mainspring.workspace.people.email_addresses import find_member_address

if TYPE_CHECKING:
    from collections.abc import Mapping
    from uuid import UUID

    from mainspring.connections.accounts.account_connections import AccountConnections
    from mainspring.contracts.clock import Clock
    from mainspring.contracts.context import CallContext, Mailer
    from mainspring.contracts.integration import Prompter
    from mainspring.store.database import Database

log = logging.getLogger(__name__)

TELEGRAM: Final = "telegram"
SLACK: Final = "slack"
_PAUSE: Final = 2.0
_MOST: Final = 20
# Nobody's message keeps the others waiting longer than this.
_SECONDS: Final = 60.0


class MemberChats:
    """The way to a member's chat.

    A Telegram bot belongs to one member, so only their own connection leads to their chat. A Slack
    app serves a whole Slack workspace, so the workspace's connection does as well.
    """

    def __init__(self, lines: AccountConnections, clock: Clock, address: str = "") -> None:
        self._lines = lines
        self._clock = clock
        self._address = address.rstrip("/")

    def prompter(self, target: str) -> Prompter:
        """What shows messages there."""
        integration = self._lines.named(target)
        if integration.prompter is None:
            raise Conflict(f"{integration.name} cannot send approval requests.", code="no_prompter")
        return integration.prompter

    def page(self, prompt: prompts.Prompt) -> str:
        """Where a person sees what a prompt is about, and can answer it."""
        if prompt.about == "draft":
            return f"{self._address}{page_of(prompt.about_id)}"
        return f"{self._address}/inbox?item={prompt.about_id}"

    async def over(
        self, target: str, workspace_id: UUID, member_id: UUID
    ) -> tuple[Prompter, CallContext]:
        """What shows messages there, and the context in which it does."""
        prompter, integration = self.prompter(target), self._lines.named(target)
        route = ConnectionRoute(
            target, frozenset(integration.manifest["hosts"]), owner_id=member_id
        )
        way = await self._lines.open(
            workspace_id,
            member_id,
            route,
            own=reveal_no_secrets,
            learn=ignore_values,
            called_by_owner=True,
            shared=target == SLACK,
        )
        if way is None:
            raise NotFound(f"{integration.name} is not connected.", code="not_connected")
        actor = Actor(workspace_id, "member", member_id)
        return prompter, build_connection_context(way, actor, self._clock)


class PromptDelivery:
    """Brings every prompt to its person, once, and tries again when that fails."""

    def __init__(
        self, database: Database, chats: MemberChats, mailer: Mailer | None, owner_mail: str | None
    ) -> None:
        self._database = database
        self._chats = chats
        self._mailer = mailer
        self._owner_mail = owner_mail

    async def run(self, stop: asyncio.Event) -> None:
        """Until ``stop`` is set."""
        while not stop.is_set():
            try:
                while await self.once():
                    pass
            except Exception as error:
                log.warning(
                    "Could not send approval requests: %s", log_and_convert_error(error).detail
                )
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(stop.wait(), _PAUSE)

    async def once(self) -> int:
        """Sends what is due; answers how many prompts that were."""
        async with self._database.transaction() as tx:
            await prompts.queue_new_prompts(tx)
            taken = await prompts.claim_due_prompts(tx, _MOST)
        # All at once: where one does not answer, the others are told all the same.
        ends = await asyncio.gather(*map(self._tried, taken), return_exceptions=True)
        for end in ends:
            if end is not None:
                raise end
        return len(taken)

    async def _tried(self, prompt: prompts.Prompt) -> None:
        """One prompt; whatever went wrong with it is counted, so that it ends some time."""
        try:
            async with asyncio.timeout(_SECONDS):
                await self._tell(prompt)
        except Exception as error:
            problem = error if isinstance(error, Problem) else log_and_convert_error(error)
            async with self._database.transaction() as tx:
                await prompts.mark_failed(tx, prompt, problem)

    async def _tell(self, prompt: prompts.Prompt) -> None:
        secret = new_secret()
        async with self._database.transaction() as tx:
            fits = (
                fits_mail if prompt.target == "email" else self._chats.prompter(prompt.target).fits
            )
            seen = await prompts.read_prompt_content(tx, prompt, fits)
            if seen is not None and seen.waits and seen.plain:
                # Before the message is there: whoever presses at once is known.
                await prompts.store_button_secret(tx, prompt, secret, seen)
        place: Mapping[str, Any] = {}
        if seen is not None and seen.waits:
            place = await self._sent(prompt, seen, secret)
        async with self._database.transaction() as tx:
            await prompts.mark_sent(tx, prompt, {**place, "hash": seen and seen.hash})

    async def _sent(
        self, prompt: prompts.Prompt, seen: prompts.PromptContent, secret: str
    ) -> Mapping[str, Any]:
        text, link = seen.text.strip(), self._chats.page(prompt)
        if prompt.target == "email":
            return await self._send_mail(prompt, f"{text}\n\n{link}")
        recipient = ""
        if prompt.target == SLACK:
            async with self._database.acquire() as connection:
                recipient = await slack_account(connection, prompt.workspace_id, prompt.member_id)
        buttons = _buttons(prompt, seen, secret) if seen.plain else ()
        where = (prompt.target, prompt.workspace_id, prompt.member_id)
        prompter, ctx = await self._chats.over(*where)
        return await prompter.send(ctx, PromptMessage(text, link, buttons, recipient))

    async def _send_mail(self, prompt: prompts.Prompt, text: str) -> Mapping[str, Any]:
        """A mail leads to the inbox and decides nothing: whoever reads mail may be a program."""
        if self._mailer is None:
            raise NotFound("No mail server is configured.", code="mail_not_set_up")
        to = await find_member_address(
            self._database, prompt.workspace_id, prompt.member_id, self._owner_mail
        )
        if to is None:
            raise NotFound("This member has no mail address.", code="owner_mail_missing")
        mail = Mail(
            to=(to,),
            subject="Your approval is needed",
            text=text,
            headers={"Auto-Submitted": "auto-generated"},
        )
        await self._mailer.send(mail, key=str(prompt.id))
        return {"to": to}


def _buttons(
    prompt: prompts.Prompt, seen: prompts.PromptContent, secret: str
) -> tuple[Button, ...]:
    yes, no = ("Approve", "Decline")
    answers = [(one.label, OPTIONS[number]) for number, one in enumerate(seen.options)]
    answers = [*(answers or [(yes, YES)]), (no, NO)]
    return tuple(Button(label, data_of(answer, prompt.id, secret)) for label, answer in answers)
