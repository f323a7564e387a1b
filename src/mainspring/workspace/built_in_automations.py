"""Automations generated for recurring requests of a person.

An hourly dataset refresh or a polled mailbox is an ordinary automation with a trigger, one step and
the one grant it needs. It is listed, paused and edited like any other. It is active at once when a
person requested it; when a program did, it waits for consent.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final
from uuid import UUID

from mainspring.contracts.display_text import clean_name
from mainspring.contracts.errors import InternalError
from mainspring.contracts.limits import Limits
from mainspring.contracts.registry import Vocabulary
from mainspring.definition.validate import validate
from mainspring.workspace.automation_states import archive
from mainspring.workspace.automations import create, find_automation_ids, lock_names, set_state
from mainspring.workspace.consents import agree_or_ask

if TYPE_CHECKING:
    from mainspring.contracts.context import Actor, Transaction

_LONGEST_NAME: Final = 120
_MOST_TRIED: Final = 1_000


class BuiltInAutomations:
    """Creates generated automations; available once the registry is built."""

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._words: Vocabulary | None = None

    def open(self, vocabulary: Vocabulary) -> None:
        self._words = vocabulary

    async def create(
        self,
        tx: Transaction,
        workspace_id: UUID,
        actor: Actor,
        *,
        name: str,
        goal: str,
        cron: str,
        steps: Sequence[Mapping[str, Any]],
        timezone: str = "UTC",
        tags: Sequence[str] = (),
    ) -> UUID:
        """Save and activate an automation that runs these steps on a schedule; return its id.

        When a program requested it, it waits for consent first. Each step calls one capability with
        constant arguments and gets a grant for exactly that. A name in use gets a numeric suffix.
        Problems in the schedule or a step raise ``Invalid``.
        """
        if self._words is None:
            raise InternalError("Nothing is open here that this could work on.", retryable=False)
        await lock_names(tx, workspace_id)
        document = {
            "schema_version": "1.2",
            "name": await _choose_free_name(
                tx, workspace_id, clean_name(name)[:_LONGEST_NAME].strip()
            ),
            "goal": goal[:1_000],
            "triggers": [
                {
                    "id": "schedule",
                    "type": "schedule",
                    "config": {"cron": cron, "timezone": timezone, "misfire": "fire_once"},
                }
            ],
            "plan": [dict(step) for step in steps],
            # Exactly these calls and no others of the kind.
            "grants": [
                {"capability": step["action"], "params": dict(step["config"])} for step in steps
            ],
            "metadata": {"tags": list(tags)},
        }
        report = await asyncio.to_thread(validate, document, self._words, self._limits)
        saved = await create(
            tx, workspace_id, report.accepted(), report.grants, actor.id, report.traits
        )
        asked = await agree_or_ask(tx, workspace_id, saved.automation_id, actor)
        if asked is None:
            await set_state(tx, workspace_id, saved.automation_id, "active")
        return saved.automation_id


async def put_away(tx: Transaction, workspace_id: UUID, automation_id: UUID | None) -> None:
    """Archive one of them, if it exists; its runs are kept."""
    if automation_id is not None:
        await archive(tx, workspace_id, automation_id)


async def _choose_free_name(tx: Transaction, workspace_id: UUID, name: str) -> str:
    """Return the name, with the first free numeric suffix if needed; the names are locked."""
    tried = [name, *(f"{name} ({number})" for number in range(2, _MOST_TRIED))]
    for one in tried:
        if not await find_automation_ids(tx, workspace_id, [one]):
            return one
    raise InternalError("All names of this kind are taken.", retryable=False)
