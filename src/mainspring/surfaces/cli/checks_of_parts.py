"""The check of ``doctor`` for active automations that need a part which is missing here."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from mainspring.contracts.preflight import DefinitionOwner
from mainspring.surfaces.cli.checks import DoctorCheck
from mainspring.surfaces.cli.screen import one_line
from mainspring.surfaces.cli.words import count
from mainspring.workspace.automations import read_grants
from mainspring.workspace.judging_here import find_missing_dependencies, load_vocabulary
from mainspring.workspace.missing_parts import filter_blocking_findings

if TYPE_CHECKING:
    from mainspring.surfaces.rooms import ApplicationServices

_NAME: Final = "automation parts"
_MOST: Final = 200
_ACTIVE: Final = """
    SELECT a.workspace_id, a.id, a.name, d.document, v.grants
    FROM automations a
    JOIN automation_versions v ON v.workspace_id = a.workspace_id AND v.automation_id = a.id
        AND v.version = a.version
    JOIN definitions d ON d.workspace_id = v.workspace_id AND d.hash = v.definition_hash
    WHERE a.state = 'active' ORDER BY a.name LIMIT $1
"""
# Doctor opens the application without a mail server; "automation mail" reports on mail.
_ELSEWHERE: Final = frozenset({"mail_not_set_up", "owner_mail_missing"})


async def automation_parts(rooms: ApplicationServices) -> DoctorCheck:
    """Active automations of which no run can succeed until somebody sets up what is missing."""
    rows = await rooms.database.fetch(_ACTIVE, _MOST)
    told, ways = [], []
    for row in rows:
        space, document = row["workspace_id"], row["document"]
        words = await load_vocabulary(rooms.registry, space, document)
        found = await find_missing_dependencies(
            document,
            read_grants(row["grants"]),
            words,
            rooms.gate.models,
            rooms.gate.preflight,
            DefinitionOwner(space, row["id"]),
        )
        blocking = [
            one for one in filter_blocking_findings(document, found) if one.code not in _ELSEWHERE
        ]
        if blocking:
            told.append(f"{one_line(row['name'], 60)} ({blocking[0].detail})")
            ways.append(blocking[0].suggestion)
    if not told:
        return DoctorCheck(_NAME, "ok", "Nothing is missing that an active automation needs.")
    shown = "; ".join(told[:3])
    rest = f"; and {len(told) - 3} more" if len(told) > 3 else ""
    many = count(len(told), "active automation")
    return DoctorCheck(_NAME, "doubtful", f"{many} cannot succeed: {shown}{rest}.", ways[0])
