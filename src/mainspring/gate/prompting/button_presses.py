"""Answering by a button: the member whose chat it is decides, as if they stood at the inbox.

The log of events brings what was pressed. A press counts only with the secret that went out in
that very message, from the account and the chat that the member has linked, and for the wording
that the message showed: a draft that was changed since is not sent by an old button.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Final
from uuid import UUID
from weakref import WeakValueDictionary

from mainspring.contracts.integration import PromptMessage
from mainspring.gate.prompting import prompts
from mainspring.gate.prompting.buttons import read_press
from mainspring.gate.prompting.chat_linking import link_chat
from mainspring.gate.prompting.deciding import decide
from mainspring.gate.prompting.prompt_delivery import TELEGRAM
from mainspring.store.database_errors import log_and_convert_error
from mainspring.workspace.accounts.rows import find_member_account

if TYPE_CHECKING:
    from mainspring.contracts.context import Transaction
    from mainspring.contracts.event import Event
    from mainspring.gate.call import Gate
    from mainspring.gate.prompting.prompt_delivery import MemberChats
    from mainspring.store.database import Database

log = logging.getLogger(__name__)

CONSUMER: Final = "prompts"
_AT_ONCE: Final = 8
_STARTED: Final = "telegram.started"
_PRESSED: Final = "telegram.button_pressed"


class ButtonPressConsumer:
    """The consumer of the log that answers for people."""

    def __init__(self, database: Database, gate: Gate, chats: MemberChats) -> None:
        self._database = database
        self._gate = gate
        self._chats = chats
        self._presses: asyncio.Queue[Event] = asyncio.Queue()
        # Only while something of that workspace is under way.
        self._rooms: WeakValueDictionary[UUID, asyncio.Semaphore] = WeakValueDictionary()

    async def handle(self, tx: Transaction, events: Sequence[Event]) -> Callable[[], None] | None:
        """Links chats in the reader's transaction; what was pressed is answered after it."""
        for event in events:
            if event.type == _STARTED and event.replay_of is None:
                await link_chat(tx, event.workspace_id, event.payload)
        found = [one for one in events if one.type == _PRESSED and one.replay_of is None]

        def after() -> None:
            for event in found:
                self._presses.put_nowait(event)

        return after if found else None

    async def run(self, stop: asyncio.Event) -> None:
        """Answers what was pressed until ``stop`` is set.

        A press that is lost with its process is not repeated: nothing was sent, and whoever
        pressed sees the buttons still there.
        """
        async with asyncio.TaskGroup() as under_way:
            while not stop.is_set():
                with contextlib.suppress(TimeoutError):
                    event = await asyncio.wait_for(self._presses.get(), 0.5)
                    under_way.create_task(self._heard(event))

    async def _heard(self, event: Event) -> None:
        """One press; a few of one workspace at a time, so that none waits for another's."""
        space = event.workspace_id
        room = self._rooms.setdefault(space, asyncio.Semaphore(_AT_ONCE))
        try:
            async with room:
                await self.answer_press(space, event.payload)
        except Exception as error:
            log.warning("Could not handle a button press: %s", log_and_convert_error(error).detail)

    async def answer_press(self, workspace_id: UUID, payload: Any) -> str | None:
        """Does what a press asks for; what is shown for it, None where it was not heard."""
        press = read_press(str(payload.get("data", "")))
        if press is None:
            return None
        async with self._database.acquire() as connection:
            found = await prompts.find_pressed_prompt(
                connection, workspace_id, press.prompt_id, press.secret, TELEGRAM
            )
            if found is None:
                return None
            prompt, place = found
            # A press may come before the place of its message is stored, and names it as well.
            place = {**{key: payload.get(key) for key in ("chat_id", "message_id")}, **place}
            mine = await find_member_account(connection, workspace_id, prompt.member_id, TELEGRAM)
            role = await prompts.load_role(connection, workspace_id, prompt.member_id)
        if mine is None or role is None or not _same_person(mine.settings, payload):
            return None
        decision = await decide(self._database, self._gate, prompt, place, role, press)
        prompter, ctx = await self._chats.over(TELEGRAM, workspace_id, prompt.member_id)
        if decision.is_open:
            # The buttons stay: what kept it from being decided may pass.
            await prompter.send(ctx, PromptMessage(decision.text, link=self._chats.page(prompt)))
        else:
            await prompter.close(ctx, place, decision.text)
        return decision.text


def _same_person(settings: Any, payload: Any) -> bool:
    linked = (settings.get("chat_id"), settings.get("user_id"))
    return None not in linked and linked == (payload.get("chat_id"), payload.get("user_id"))
