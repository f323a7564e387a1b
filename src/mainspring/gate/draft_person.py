"""The person who answers a draft that a program wants to have sent.

A program cannot agree to a draft. It gets the address of the page where a person sees exactly
what would be sent. A client that opens that page for its person can wait for the answer.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import parse_qsl, urlencode, urlsplit, urlunsplit

from mainspring.contracts.context import ClientWait
from mainspring.contracts.errors import PersonRequired
from mainspring.gate.drafts import OUTCOME, STATUS, missing_draft_error

if TYPE_CHECKING:
    from uuid import UUID

    from mainspring.store.walls import WorkspaceDatabase

_FIRST_CONFIRMATION_POLL: Final = 0.1
_LONGEST_CONFIRMATION_POLL: Final = 1.0
_REPORT_SECONDS: Final = 5.0
_MOST_PREVIEW: Final = 300
_NEEDED: Final = "A person has to confirm this draft; a program cannot."
_MOST_PREVIEWS: Final = 2_000
# While it is sent, its result is still to come.
_OPEN: Final = frozenset({"pending", "sending"})
_READ = f"""
    SELECT d.*, {STATUS} AS stands, {OUTCOME} AS came_to FROM drafts d
    WHERE d.workspace_id = $1 AND d.id = $2
"""


def page_of(draft_id: UUID | str) -> str:
    """The path of the page where a person answers a draft."""
    return f"/inbox?draft={draft_id}"


def person_needed_error(row: Mapping[str, Any]) -> PersonRequired:
    """Tells a program that a person has to confirm this draft, and where."""
    preview = " ".join(str(row["preview"]).split())
    if len(preview) > _MOST_PREVIEW:
        preview = f"{preview[:_MOST_PREVIEW]}…"
    return PersonRequired(
        f"{_NEEDED} {preview}",
        url=page_of(row["id"]),
        command=f"mainspring drafts confirm {row['id']}",
    )


def persons_needed(problems: Sequence[PersonRequired]) -> PersonRequired:
    """The same for several drafts: one page shows all of them."""
    if len(problems) == 1:
        return problems[0]
    previews = " ".join(
        f"({number}) {one.detail.partition(_NEEDED)[2].strip()}"
        for number, one in enumerate(problems, 1)
    )
    where = problems[0].detail.partition(_NEEDED)[0]
    if len(previews) > _MOST_PREVIEWS:
        previews = f"{previews[:_MOST_PREVIEWS]}…"
    page = urlsplit(problems[0].url)
    query = urlencode([one for one in parse_qsl(page.query) if one[0] != "draft"])
    return PersonRequired(
        f"{where}A person has to confirm {len(problems)} drafts; a program cannot. {previews}",
        url=urlunsplit(page._replace(query=query)),
        command="mainspring drafts",
    )


async def wait_for_answer(
    inside: WorkspaceDatabase, row: Mapping[str, Any], wait: ClientWait
) -> Mapping[str, Any]:
    """The draft once a person has answered it, the client gave up on that, or the time is up."""
    loop = asyncio.get_running_loop()
    began, pause = loop.time(), _FIRST_CONFIRMATION_POLL
    deadline, report_at = began + wait.seconds, began
    while True:
        async with inside.acquire() as connection:
            found = await connection.fetchrow(_READ, row["workspace_id"], row["id"])
        if found is None:
            raise missing_draft_error()
        now = loop.time()
        is_dismissed = wait.dismissed is not None and wait.dismissed()
        if found["stands"] not in _OPEN or now >= deadline or is_dismissed:
            return dict(found)
        if wait.report is not None and now >= report_at:
            await wait.report(f"Waiting for a person since {now - began:.0f} s.")
            report_at = now + _REPORT_SECONDS
        await asyncio.sleep(min(pause, deadline - now))
        pause = min(pause * 1.5, _LONGEST_CONFIRMATION_POLL)
