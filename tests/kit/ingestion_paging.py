"""Reading from an integration to the end, as the gate does it, at a moment that a test chooses."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from mainspring.contracts.context import CallContext
from mainspring.contracts.integration import Item, ItemBatch, ReadItems, UnreadableItem


@dataclass(slots=True)
class Still:
    """A clock that is fixed until it is moved."""

    at: datetime

    def now(self) -> datetime:
        return self.at

    def monotonic(self) -> float:
        return 0.0


async def all_portions(
    read: ReadItems,
    ctx: CallContext,
    arguments: Mapping[str, Any],
    cursor: Mapping[str, Any] | None = None,
) -> tuple[list[Item | UnreadableItem], list[ItemBatch]]:
    """Every portion until there is no more at once; each cursor goes through JSON in between."""
    portions: list[ItemBatch] = []
    while not portions or portions[-1].more:
        portions.append(await read(ctx, arguments, cursor))
        cursor = json.loads(json.dumps(portions[-1].cursor))
    return [one for portion in portions for one in portion.items], portions
