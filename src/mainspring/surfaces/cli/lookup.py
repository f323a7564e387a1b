"""Find an automation by its name, its id, or the first characters of its id.

Names are unique among automations that are not archived. Ids start with their time, so a list in
id order finds the ids with a prefix without a query of its own.
"""

from __future__ import annotations

import string
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar
from uuid import UUID

from mainspring.contracts.errors import Conflict, Invalid, NotFound
from mainspring.surfaces.cli.documents import is_storable
from mainspring.surfaces.cli.formatting import hint
from mainspring.surfaces.cli.pages_of_rows import list_automations_at, list_rows

if TYPE_CHECKING:
    from mainspring.surfaces.cli.http_client import ApiClient
    from mainspring.surfaces.services import ApplicationServices

Found = TypeVar("Found")
# Lists automations, the newest first: ``state``, ``search``, ``after`` and ``most``.
Pages = Callable[..., Awaitable[list[dict[str, Any]]]]

# An id begins with its time: fewer characters than this name a stretch of days.
SHORTEST_PREFIX = 4
_HEX_DIGITS = frozenset(string.hexdigits)
_DIGITS = 32
_PAGE = 500


async def find_automation(
    services: ApplicationServices, text: str, *, archived_first: bool = False
) -> dict[str, Any]:
    """The automation that is meant, as the list shows it; archived ones come last."""
    from mainspring.surfaces.cli.local import local
    from mainspring.workspace.automation_list import list_automations

    async with local(services).acquire() as connection:
        pages = partial(list_automations, connection, services.workspace_id)
        return await _find(pages, text, archived_first=archived_first)


async def find_automation_at(
    client: ApiClient, text: str, *, archived_first: bool = False
) -> dict[str, Any]:
    """The same, as the server lists them."""
    pages = partial(list_automations_at, client)
    return await _find(pages, text, archived_first=archived_first)


async def find_in_use(services: ApplicationServices, text: str) -> dict[str, Any]:
    """The same, and not archived."""
    from mainspring.surfaces.cli.local import local
    from mainspring.workspace.uninstalled import is_uninstalled

    found = await find_automation(services, text)
    if found["state"] == "archived":
        async with local(services).acquire() as connection:
            gone = await is_uninstalled(connection, services.workspace_id, found["id"])
        if gone:
            raise Conflict(
                "The automation was uninstalled.",
                code="uninstalled",
                suggestion=f"{hint('codex', 'recover', found['id'])} restores it.",
            )
        raise _archived_error(found)
    return found


async def find_in_use_at(client: ApiClient, text: str) -> dict[str, Any]:
    """The automation that is meant, as the server lists it; an archived one is an error."""
    found = await find_automation_at(client, text)
    if found["state"] == "archived":
        raise _archived_error(found)
    return found


def _archived_error(found: dict[str, Any]) -> Conflict:
    return Conflict(
        "The automation is archived.",
        code="archived",
        suggestion=f"{hint('restore', found['id'])} restores it.",
    )


async def find_name_at(client: ApiClient, name: str) -> dict[str, Any] | None:
    """The automation with exactly this name that is not archived, if there is one."""
    return await _living(partial(list_automations_at, client), name)


async def _find(pages: Pages, text: str, *, archived_first: bool) -> dict[str, Any]:
    if is_storable(text):
        lookups = [_living, _by_id, _put_away]
        for lookup in reversed(lookups) if archived_first else lookups:
            found = await lookup(pages, text)
            if found is not None:
                return found
    from mainspring.definition.suggestions import suggest_nearest

    names = [row["name"] for row in await pages(most=_PAGE)]
    raise NotFound(
        f"There is no automation called {text[:60]!r}, and none whose id begins with it.",
        code="no_automation",
        suggestion=suggest_nearest(text, names) or f"{hint('list')} shows all of them.",
    )


async def _living(pages: Pages, name: str) -> dict[str, Any] | None:
    rows = await _list_by_name(pages, name, None)
    return rows[0] if rows else None


async def _put_away(pages: Pages, name: str) -> dict[str, Any] | None:
    rows = await _list_by_name(pages, name, "archived")
    if len(rows) > 1:
        raise Conflict(
            f"There are {len(rows)} archived automations called {name[:60]!r}.",
            code="ambiguous_name",
            suggestion=f"Name one by its id: {', '.join(str(row['id']) for row in rows[:5])}.",
        )
    return rows[0] if rows else None


async def _list_by_name(pages: Pages, name: str, state: str | None) -> list[dict[str, Any]]:
    """Every automation with exactly this name; the list only knows parts of names."""
    found: list[dict[str, Any]] = []
    after: UUID | None = None
    while name:
        rows = await pages(state=state, search=name, after=after, most=_PAGE)
        found += [row for row in rows if row["name"] == name]
        if len(rows) < _PAGE:
            break
        after = _id_of(rows[-1])
    return found


async def _by_id(pages: Pages, text: str) -> dict[str, Any] | None:
    async def page(before: UUID | None) -> Sequence[dict[str, Any]]:
        listed = [await pages(state=state, after=before, most=2) for state in (None, "archived")]
        return sorted((row for rows in listed for row in rows), key=_id_of, reverse=True)

    if len(text) < SHORTEST_PREFIX:
        return None
    found = await beginning_with(text, page, _id_of)
    if len(found) > 1:
        raise Conflict(
            f"There are several automations whose id begins with {text[:40]!r}.",
            code="ambiguous_id",
            suggestion="Give more characters of the id, or the name.",
        )
    return found[0] if found else None


async def find_one(
    text: str,
    page: Callable[[UUID | None], Awaitable[Sequence[Found]]],
    id_of: Callable[[Found], UUID],
    *,
    kind: str,
) -> Found:
    """The one thing whose id begins like this, out of a list that goes by id."""
    if len(text) < SHORTEST_PREFIX:
        raise Invalid(
            f"At least {SHORTEST_PREFIX} characters of an id are needed.",
            code=f"{kind}_id_short",
            suggestion="The list shows the ids.",
        )
    found = await beginning_with(text, page, id_of)
    if len(found) != 1:
        many = f"There is no {kind}" if not found else f"There are several {kind}s"
        raise NotFound(f"{many} whose id begins with {text[:40]!r}.", code=f"no_{kind}")
    return found[0]


async def find_row_at(client: ApiClient, path: str, text: str, *, kind: str) -> dict[str, Any]:
    """The row of a list of the API whose id begins like this."""

    async def page(before: UUID | None) -> Sequence[dict[str, Any]]:
        return await list_rows(client, path, 2, {}, after=before)

    return await find_one(text, page, _id_of, kind=kind)


async def beginning_with(
    text: str,
    page: Callable[[UUID | None], Awaitable[Sequence[Found]]],
    id_of: Callable[[Found], UUID],
) -> list[Found]:
    """At most two whose ids begin like this: ``page`` gives the newest before an id."""
    digits = text.replace("-", "").lower()
    if not digits or len(digits) > _DIGITS or not _HEX_DIGITS.issuperset(digits):
        return []
    after_last = int(digits.ljust(_DIGITS, "f"), 16) + 1
    rows = await page(UUID(int=after_last) if after_last < 2**128 else None)
    return [row for row in rows if id_of(row).hex.startswith(digits)][:2]


def _id_of(row: dict[str, Any]) -> UUID:
    return UUID(str(row["id"]))
