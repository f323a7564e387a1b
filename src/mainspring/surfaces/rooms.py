"""What every surface is handed by whoever builds the house."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from uuid import UUID

    from mainspring.contracts.clock import Clock
    from mainspring.contracts.limits import Limits
    from mainspring.contracts.registry import Registry
    from mainspring.runs.control import Control
    from mainspring.runs.dispatch import Dispatcher
    from mainspring.runs.watch import Watcher
    from mainspring.runs.worker import Worker
    from mainspring.settings import Settings
    from mainspring.store.database import Database
    from mainspring.store.wake import Waker
    from mainspring.workspace.vault import Vault


@dataclass(frozen=True, slots=True)
class Rooms:
    """The open house, as far as a surface may use it."""

    settings: Settings
    limits: Limits
    registry: Registry
    database: Database
    clock: Clock
    vault: Vault
    waker: Waker
    dispatcher: Dispatcher
    control: Control
    workspace_id: UUID
    # A worker over this house; it works once its run is awaited.
    hire: Callable[[Watcher], Worker]
