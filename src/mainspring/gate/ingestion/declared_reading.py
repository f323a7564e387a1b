"""Reading an endpoint answer by answer, and keeping each before the next one is asked for.

Where the next answer begins is kept in the very transaction that keeps the pages of this one:
a process that is lost in between goes on from there and writes nothing twice. What is asked
with next time (the highest value so far, the ETag) counts only once the last answer is kept.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

import orjson

from mainspring.contracts.context import HttpRequest, HttpResponse
from mainspring.contracts.errors import Conflict, UpstreamError
from mainspring.contracts.integration import Item, ItemBatch, UnreadableItem
from mainspring.contracts.limits import Limits
from mainspring.definition.json_values import hash_content
from mainspring.gate.http_fetch import parse_retry_after
from mainspring.gate.ingestion.cursors import Cursor, PollCursor
from mainspring.gate.ingestion.declared_answers import items_of, parse_response
from mainspring.gate.ingestion.declared_mapping import PageMapping
from mainspring.gate.ingestion.declared_paging import (
    Place,
    build_page_request,
    max_marker,
    most_pages,
    next_page_position,
)
from mainspring.gate.ingestion.items import IngestionOrigin
from mainspring.gate.ingestion.problems import forget_problems
from mainspring.gate.ingestion.reading import IngestionResult
from mainspring.gate.ingestion.writing import IngestedBatch, ingest_items
from mainspring.store.walls import WorkspaceDatabase
from mainspring.workspace.pages.keep import PageWriter

if TYPE_CHECKING:
    from mainspring.contracts.context import CallContext, Transaction
    from mainspring.contracts.secret import SecretText

# A run leaves the rest to the next one, so that no step takes for ever.
_MOST_SECONDS: Final = 240.0
_WORTH_ANOTHER_TRY: Final = frozenset({408, 425, 429})
# A place that was kept may not be known any more where it came from.
_PLACE_GONE: Final = frozenset({400, 404, 410, 422})
# The name of a recipe is nobody's alone, so a page belongs to the automation that brought it in.
# What an install has left behind that was taken away goes on with the next one of its recipe.
_FOREIGN = """
    SELECT p.source_ref FROM pages p
    WHERE p.workspace_id = $1 AND p.source_ref = ANY($2::text[])
        AND (p.provenance ->> 'integration' IS DISTINCT FROM $3
            OR coalesce(p.provenance ->> 'automation_id', $4) <> $4 AND NOT EXISTS (
                SELECT FROM recipe_installs gone JOIN recipe_installs mine
                    ON mine.workspace_id = gone.workspace_id AND mine.recipe_id = gone.recipe_id
                WHERE gone.workspace_id = $1 AND gone.uninstalled_at IS NOT NULL
                    AND gone.entity_id::text = p.provenance ->> 'automation_id'
                    AND mine.entity_id::text = $4))
"""


@dataclass(frozen=True, slots=True)
class EndpointCursor:
    """From where a reading goes on, and what it asks with."""

    # Where the next answer begins; None: at the beginning.
    place: Place = None
    since: str | None = None
    # The highest value of the answers so far, for when the last of them is kept.
    high: str | None = None
    # What the first answer said of itself; it counts when all have been read.
    fresh: Mapping[str, str] | None = None
    tags: Mapping[str, str] | None = None

    def as_cursor(self, shape: str) -> dict[str, Any]:
        told = {"place": self.place, "since": self.since, "high": self.high, "fresh": self.fresh}
        kept = {name: value for name, value in {**told, "tags": self.tags}.items() if value}
        return {"shape": shape, **kept}

    def ended(self) -> EndpointCursor:
        """After the last answer: the next reading begins anew, with what this one has learnt."""
        return EndpointCursor(since=self.high or self.since, tags=self.fresh)

    def again(self) -> EndpointCursor:
        """From the beginning, with what it asked with before."""
        return EndpointCursor(since=self.since)


def load_endpoint_cursor(cursor: Cursor, shape: str, initial: str | None) -> EndpointCursor:
    """What was kept; a place and tags say nothing once the request or the mapping is another."""
    kept = cursor or {}
    since = kept.get("since") or initial
    if kept.get("shape") != shape:
        return EndpointCursor(since=since)
    return EndpointCursor(
        kept.get("place"), since, kept.get("high"), kept.get("fresh"), kept.get("tags")
    )


@dataclass(frozen=True, slots=True)
class DeclaredEndpointReader:
    """One call's way through one endpoint."""

    ctx: CallContext
    given: Mapping[str, Any]
    mapping: PageMapping
    origin: IngestionOrigin
    by: PageWriter
    house: WorkspaceDatabase
    mark: PollCursor
    limits: Limits

    async def read(self) -> IngestionResult:
        """Everything that is new, to the end or as far as one run goes."""
        async with self.house.acquire() as link:
            kept = await self.mark.read(link)
        initial = (self.given.get("cursor") or {}).get("initial")
        now = load_endpoint_cursor(kept, self._shape, initial)
        found, begun = IngestionResult(), self.ctx.clock.monotonic()
        resumed, last = now.place is not None, b""
        seen: list[Place] = []
        for number in range(most_pages(self.given.get("paging"))):
            await self._wait(number)
            response = await self.ctx.http.send(self._request(now))
            if resumed and number == 0 and response.status in _PLACE_GONE:
                now, resumed = now.again(), False
                await self._wait(1)
                response = await self.ctx.http.send(self._request(now))
            if response.status == 304 and now.tags:
                found.notes.append("Nothing has changed since the last time.")
                return found
            self._check_status(response)
            seen.append(now.place)
            after, portion = self._taken(response, now)
            circles = _circles(after.place, seen, same=response.body == last)
            if circles:
                after = now.again()
            whole = self._whole(portion, now.place)
            ingested = await self._kept(portion, whole, kept, self._place(after))
            if ingested is None:
                found.notes.append("Somebody else has read on meanwhile.")
                return found
            found.add(ingested, portion)
            if circles:
                raise _circle()
            now, kept, last = after, self._place(after), response.body
            found.more = now.place is not None
            if not found.more or self.ctx.clock.monotonic() - begun > _MOST_SECONDS:
                return found
        return found

    def _taken(
        self, response: HttpResponse, now: EndpointCursor
    ) -> tuple[EndpointCursor, ItemBatch]:
        """What an answer brought, and where the reading stands after it."""
        answer = parse_response(response.body, self.limits)
        items = items_of(answer, self.given["mapping"]["iterate"], self.limits)
        pages = [
            self.mapping.page(one, answer, self._place_name(now.place, number))
            for number, one in enumerate(items)
        ]
        high, cursor = now.high, self.given.get("cursor")
        if cursor is not None:
            high = max_marker(high or now.since, items, answer, cursor["field"], self.limits)
        fresh = now.fresh if now.place is not None else self._tags_of(response)
        paging = self.given.get("paging")
        place = next_page_position(paging, now.place, response, answer, len(items), self.limits)
        after = replace(now, place=place, high=high, fresh=fresh, tags=None)
        return (after if place is not None else after.ended()), ItemBatch(pages)

    @property
    def _shape(self) -> str:
        """What an ETag was given for: this request, mapped like this."""
        asked = {name: str(self.given.get(name)) for name in ("url", "query", "headers", "mapping")}
        return hash_content(asked).hex()[:16]

    @property
    def _remembers(self) -> bool:
        return any(self.given.get(name) for name in ("paging", "conditional", "cursor"))

    def _place(self, standing: EndpointCursor) -> Cursor:
        return standing.as_cursor(self._shape) if self._remembers else None

    def _place_name(self, place: Place, number: int) -> str:
        """Where an item without a name stood; the same place is the same problem."""
        page = (place or {}).get("page")
        return f"{self.given['op']}{'' if page is None else f' page {page}'} item {number + 1}"

    async def _wait(self, number: int) -> None:
        rate = self.given.get("rate") or {}
        if rate and (number or rate.get("waits_first")):
            await asyncio.sleep(float(rate["min_seconds"]))

    def _request(self, now: EndpointCursor) -> HttpRequest:
        asked = build_page_request(self.given, now.place, now.since)
        method, body = self.given.get("method", "GET"), None
        headers: dict[str, str | SecretText] = dict(self.given.get("headers") or {})
        query: dict[str, str | SecretText] = dict(self.given.get("query") or {})
        given = {name.lower() for name in headers}
        if "accept" not in given:
            headers["Accept"] = "application/json"
        if method == "POST":
            body = orjson.dumps({**(self.given.get("json") or {}), **asked.params})
            headers["Content-Type"] = "application/json"
        else:
            query |= {name: str(value) for name, value in asked.params.items()}
        if now.place is None and now.tags and self.given.get("conditional"):
            headers |= now.tags
        return HttpRequest(
            method,
            asked.url or self.given["url"],
            headers,
            query,
            body,
            timeout_seconds=float(min(30, self.limits.http_seconds)),
            max_bytes=self.limits.http_response_bytes,
            follow_redirects=method == "GET",
        )

    def _tags_of(self, response: HttpResponse) -> dict[str, str] | None:
        """What an answer is known by, as the headers that ask for a newer one."""
        if not self.given.get("conditional"):
            return None
        pairs = (("If-None-Match", "etag"), ("If-Modified-Since", "last-modified"))
        said = {name: response.headers.get(header, "") for name, header in pairs}
        return {name: text for name, text in said.items() if text and len(text) < 1_000} or None

    def _check_status(self, response: HttpResponse) -> None:
        status = response.status
        if 200 <= status < 300:
            return
        helps = status in _WORTH_ANOTHER_TRY or status >= 500
        wait = response.headers.get("retry-after") if helps else None
        raise UpstreamError(
            f"{self.given['source']} answered {self.given['op']} with status {status}.",
            code="http_status",
            retryable=helps,
            retry_after=parse_retry_after(wait, self.ctx.clock.now(), self.limits.retry_seconds),
            suggestion="Look whether the key in the publisher vault is still good."
            if status in (401, 403)
            else None,
        )

    def _whole(self, portion: ItemBatch, place: Place) -> list[str]:
        """The places whose items can be read now, whatever stood there before."""
        return [
            self.mapping.place_ref(self._place_name(place, number))
            for number, one in enumerate(portion.items)
            if isinstance(one, Item)
        ]

    async def _kept(
        self, portion: ItemBatch, whole: list[str], read_from: Cursor, to: Cursor
    ) -> IngestedBatch | None:
        """Writes a portion and where the next one begins; None: somebody else has moved on."""
        tries = 0

        async def work(tx: Transaction) -> IngestedBatch | None:
            nonlocal tries
            tries += 1
            if self._remembers:
                stands = await self.mark.hold(tx)
                # After a broken connection it may have been this very portion that moved it.
                if stands != read_from and not (tries > 1 and stands == to):
                    return None
                if to != stands:
                    await self.mark.move(tx, to)
            made = await self._written(tx, portion)
            await forget_problems(tx, self.by.workspace_id, self.origin.integration, whole)
            return made

        return await self.house.run_retrying(work)

    async def _written(self, tx: Transaction, portion: ItemBatch) -> IngestedBatch:
        refs = [one.source_ref for one in portion.items if isinstance(one, Item)]
        space = self.by.workspace_id
        asked = (space, refs, self.origin.integration, str(self.by.automation_id))
        rows = await tx.fetch(_FOREIGN, *asked) if refs else []
        foreign = {row["source_ref"] for row in rows}
        items = [_not_ours(one) if one.source_ref in foreign else one for one in portion.items]
        return await ingest_items(tx, items, self.origin, self.by, self.limits)


def _not_ours(one: Item | UnreadableItem) -> UnreadableItem:
    detail = "There is a page by this source_ref that somebody else has brought in or written."
    problem = Conflict(
        detail, code="page_of_another", suggestion="Choose another source_ref_prefix."
    )
    return UnreadableItem(one.source_ref, problem)


def _circles(place: Place, seen: list[Place], *, same: bool) -> bool:
    """Whether the next answer was there before; pages by number show it by what they say."""
    return place is not None and (place in seen or (same and "page" in place))


def _circle() -> UpstreamError:
    detail = "The pages lead in a circle: what was said to be the next one was there before."
    return UpstreamError(detail, code="paging_circle", retryable=False)
