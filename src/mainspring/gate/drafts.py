"""Holding an outside write: it becomes a draft that a person must agree to."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from mainspring.contracts.capability import Capability
from mainspring.contracts.context import Transaction
from mainspring.contracts.errors import Fault
from mainspring.contracts.ids import new_id
from mainspring.contracts.outcome import Held
from mainspring.gate.ask import Ask, digest, spelled

_INSERT = """
    INSERT INTO drafts (workspace_id, id, run_id, step, item, capability, arguments,
        arguments_hash, preview, expires_at, actor_kind, actor_id)
    VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)
"""


async def hold(
    tx: Transaction,
    ask: Ask,
    capability: Capability,
    arguments: Mapping[str, Any],
    expires_at: datetime,
) -> Held:
    """Keeps the exact arguments and what a person will be shown; nothing leaves."""
    if capability.write is None:
        raise Fault(f"{capability.id} has nothing to hold.")
    held = Held(new_id(), capability.write.preview(arguments), expires_at)
    run = ask.run
    await tx.execute(
        _INSERT, ask.actor.workspace_id, held.draft_id, run and run.id, run and run.step,
        run.item if run else "", capability.id, arguments, digest(spelled(arguments)),
        held.preview, held.expires_at, ask.actor.kind, ask.actor.id,
    )  # fmt: skip
    return held
