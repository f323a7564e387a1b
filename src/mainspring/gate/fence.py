"""The fence: a call that writes for a run does so only while that run is its caller's.

A run that another worker took over has a higher fence. The row is held until the end of the
transaction, so a takeover comes before the write or after it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from mainspring.contracts.errors import Conflict
from mainspring.gate.capability_call import CapabilityCall

if TYPE_CHECKING:
    from mainspring.contracts.context import Transaction

LEASE_LOST: Final = "lease_lost"

_HOLD = """
    SELECT 1 AS held FROM runs WHERE workspace_id = $1 AND id = $2 AND fence = $3
    AND status = 'running' FOR KEY SHARE
"""


async def check_fence(tx: Transaction, ask: CapabilityCall) -> None:
    """Holds the run of a call, or refuses a caller who has lost it."""
    if ask.run is None:
        return
    row = await tx.fetchrow(_HOLD, ask.actor.workspace_id, ask.run.id, ask.fence)
    if row is None:
        raise lost_run_error()


def lost_run_error() -> Conflict:
    return Conflict("Another worker has taken this run over.", code=LEASE_LOST)
