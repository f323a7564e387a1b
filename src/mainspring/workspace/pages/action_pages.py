"""Generated reference pages for the actions of integrations.

Each action of an installed integration has a page of a type of its own. They are written on the
first query for that type and updated when their content changes. Actions that need a connection
which no member here has are not listed; their page returns with the connection.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final
from uuid import UUID

from mainspring.contracts.errors import Conflict
from mainspring.workspace.pages.content import (
    GENERATED_REF_PREFIX,
    GENERATED_SLUG_PREFIX,
    PageDraft,
)
from mainspring.workspace.pages.writer import PageWriter, delete, ingest, restore

if TYPE_CHECKING:
    from mainspring.contracts.context import CallContext, Transaction

ACTION_TYPE: Final = "integration_action"
# The author of generated pages.
_SYSTEM_AUTHOR: Final = UUID(int=0)
_ENGINE: Final = "engine"

# The last deletion decides whether a page returns: pages deleted by a person stay deleted.
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
    """The page of an action, and the integration that must be connected for it."""

    page: PageDraft
    needs: str | None = None


def build_action_page(
    install_id: UUID,
    integration: str,
    action: str,
    body: str,
    more: Mapping[str, Any] | None = None,
) -> PageDraft:
    """Build the page of an action; its slug contains the install's id."""
    return PageDraft(
        slug=f"{GENERATED_SLUG_PREFIX}{install_id}.{action}",
        type=ACTION_TYPE,
        title=f"{integration}: {action}",
        body=body,
        frontmatter={
            "install_id": str(install_id),
            "integration": integration,
            "action_name": action,
            **(more or {}),
        },
        source_ref=f"{GENERATED_REF_PREFIX}{install_id}:{action}",
        named=True,
    )


class ActionPages:
    """The reference pages of this installation's actions."""

    def __init__(self, pages: Sequence[ActionReferencePage] = ()) -> None:
        self._pages = {one.page.slug: one for one in pages}

    async def ensure(self, ctx: CallContext, wanted: object) -> None:
        """Write missing and changed pages when a caller queries that type."""
        if wanted != ACTION_TYPE or not self._pages:
            return
        space, tx = ctx.actor.workspace_id, ctx.tx
        rows = await tx.fetch(_KNOWN, space, ACTION_TYPE, list(self._pages))
        known = {row["slug"]: row for row in rows}
        connected = {row["integration"] for row in await tx.fetch(_CONNECTED, space)}
        by = PageWriter(space, _ENGINE, _SYSTEM_AUTHOR, "mainspring")
        for slug, one in self._pages.items():
            if one.needs is None or one.needs in connected:
                # A person's older page with the same slug does not block the others.
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
