"""The boards that a consent speaks of, by their names.

What an automation may do is read from its definition alone, which knows a board by its id. A
person knows it by its name, so both stand in the sentence that they are asked to agree to.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Final
from uuid import UUID

from mainspring.definition.authority import Addition
from mainspring.definition.authority_words import shown

if TYPE_CHECKING:
    from mainspring.contracts.context import Transaction

_ID: Final = re.compile(r"\b[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\b")
_NAMES = "SELECT id, name FROM boards WHERE workspace_id = $1 AND id = ANY($2::uuid[])"


async def with_board_names(
    tx: Transaction, workspace_id: UUID, added: Sequence[Addition]
) -> tuple[Addition, ...]:
    """The same additions, with the name of each board that there is before its id."""
    wanted = {found for one in added for found in _ID.findall(one.says)}
    if not wanted:
        return tuple(added)
    rows = await tx.fetch(_NAMES, workspace_id, [UUID(one) for one in sorted(wanted)])
    names = {str(row["id"]): shown(row["name"]).replace('"', "'") for row in rows}

    def named(found: re.Match[str]) -> str:
        name = names.get(found[0])
        return found[0] if name is None else f'"{name}" ({found[0]})'

    return tuple(replace(one, says=_ID.sub(named, one.says)) for one in added)
