"""Pages that tell what can be done with the integrations, for whoever looks for them.

Each action of an installed integration has one, of a type of its own. They are written when
somebody first asks for that type, and again when what they say has changed: a workspace in
which nobody asks has none. What needs a connection that no member here has is not offered; its
page goes, and comes back with the connection.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final
from uuid import UUID

from mainspring.contracts.errors import Conflict
from mainspring.workspace.pages.content import HOUSE_REF, HOUSE_SLUG, PageDraft
from mainspring.workspace.pages.writer import PageWriter, delete, ingest, restore

if TYPE_CHECKING:
    from mainspring.contracts.context import CallContext, Transaction

ACTION_TYPE: Final = "integration_action"
# Nobody in particular wrote them.
_HOUSE: Final = UUID(int=0)
_ENGINE: Final = "engine"

# Who deleted it last tells whether it comes back: what a person took away stays away.
_KNOWN = """
    SELECT id, slug, content_hash, deleted_at IS NOT NULL AS deleted,
        (SELECT t.actor_kind FROM page_timeline t
         WHERE t.workspace_id = p.workspace_id AND t.page_id = p.id AND t.action = 'deleted'
         ORDER BY t.id DESC LIMIT 1) AS deleted_by
    FROM pages p
    WHERE workspace_id = $1 AND type = $2 AND slug = ANY($3::text[])
"""
_CONNECTED = """
    SELECT DISTINCT integration FROM integration_connections
    WHERE workspace_id = $1 AND state <> 'sign_in'
"""


@dataclass(frozen=True, slots=True)
class ActionReferencePage:
    """The page of one action, and the integration that somebody must have connected for it."""

    page: PageDraft
    needs: str | None = None


def build_action_page(
    install_id: UUID,
    integration: str,
    action: str,
    body: str,
    more: Mapping[str, Any] | None = None,
) -> PageDraft:
    """The page of one action; its slug holds the id of the install."""
    return PageDraft(
        slug=f"{HOUSE_SLUG}{install_id}.{action}",
        type=ACTION_TYPE,
        title=f"{integration}: {action}",
        body=body,
        frontmatter={
            "install_id": str(install_id),
            "integration": integration,
            "action_name": action,
            **(more or {}),
        },
        source_ref=f"{HOUSE_REF}{install_id}:{action}",
        named=True,
    )


class ActionPages:
    """The pages of this installation's actions."""

    def __init__(self, pages: Sequence[ActionReferencePage] = ()) -> None:
        self._pages = {one.page.slug: one for one in pages}

    async def ensure(self, ctx: CallContext, wanted: object) -> None:
        """Writes what is missing or says something else now, if somebody asks for that type."""
        if wanted != ACTION_TYPE or not self._pages:
            return
        space, tx = ctx.actor.workspace_id, ctx.tx
        rows = await tx.fetch(_KNOWN, space, ACTION_TYPE, list(self._pages))
        known = {row["slug"]: row for row in rows}
        connected = {row["integration"] for row in await tx.fetch(_CONNECTED, space)}
        by = PageWriter(space, _ENGINE, _HOUSE, "mainspring")
        for slug, one in self._pages.items():
            if one.needs is None or one.needs in connected:
                # A page of somebody else that has its name from before keeps no other away.
                with suppress(Conflict):
                    await _write_action_page(tx, one.page, known.get(slug), by)
            elif slug in known and not known[slug]["deleted"]:
                await delete(tx, known[slug]["id"], by)


async def _write_action_page(tx: Transaction, page: PageDraft, row: Any, by: PageWriter) -> None:
    if row is not None and row["deleted"]:
        if row["deleted_by"] != _ENGINE:
            return
        await restore(tx, row["id"], by)
    if row is None or row["content_hash"] != page.hash:
        await ingest(tx, page, by)
