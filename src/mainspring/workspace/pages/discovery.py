"""Pages that tell what can be done with the integrations, for whoever looks for them.

Each action of an installed integration has one, of a type of its own. They are written when
somebody first asks for that type, and again when what they say has changed: a workspace in
which nobody asks has none.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final
from uuid import UUID

from mainspring.workspace.pages.content import Writing
from mainspring.workspace.pages.keep import Writer, ingest

if TYPE_CHECKING:
    from mainspring.contracts.context import CallContext

ACTION_TYPE: Final = "integration_action"
# Nobody in particular wrote them.
_HOUSE: Final = UUID(int=0)

_KNOWN = """
    SELECT slug, content_hash FROM pages
    WHERE workspace_id = $1 AND type = $2 AND slug = ANY($3::text[])
"""


def action_page(install_id: UUID, integration: str, action: str, body: str) -> Writing:
    """The page of one action; its slug holds the id of the install."""
    return Writing(
        slug=f"integration-action.{install_id}.{action}",
        type=ACTION_TYPE,
        title=f"{integration}: {action}",
        body=body,
        frontmatter={
            "install_id": str(install_id),
            "integration": integration,
            "action_name": action,
        },
        source_ref=f"install:{install_id}:{action}",
        named=True,
    )


class Discovery:
    """The pages of this installation's actions."""

    def __init__(self, pages: Sequence[Writing] = ()) -> None:
        self._pages = {page.slug: page for page in pages}

    async def ensure(self, ctx: CallContext, wanted: object) -> None:
        """Writes what is missing or says something else now, if somebody asks for that type."""
        if wanted != ACTION_TYPE or not self._pages:
            return
        space = ctx.actor.workspace_id
        rows = await ctx.tx.fetch(_KNOWN, space, ACTION_TYPE, list(self._pages))
        known = {row["slug"]: row["content_hash"] for row in rows}
        by = Writer(space, "engine", _HOUSE, "mainspring")
        for slug, page in self._pages.items():
            if known.get(slug) != page.hash:
                await ingest(ctx.tx, page, by)
