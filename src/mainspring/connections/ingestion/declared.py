"""ingest_from_endpoint: one endpoint of a declarative integration, read and kept as pages.

A recipe says what is asked and how an item becomes a page; everything else is done here and
by the gate: the guard on the address, secrets, retries, the record, the bookkeeping.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal, InvalidOperation
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import parse_qsl, urlencode, urlsplit, urlunsplit

import orjson

from mainspring.connections.ingestion.cursors import Cursor, PollCursor
from mainspring.connections.ingestion.declared_mapping import (
    PageMapping,
    format_value,
    read_mapping,
)
from mainspring.connections.ingestion.declared_responses import (
    EndpointResponse,
    items_of,
    next_link,
    parse_response,
    value_at,
)
from mainspring.connections.ingestion.declared_rules import validate_endpoint, validate_mapping
from mainspring.connections.ingestion.declared_schema import INPUT, MOST_LISTED, OUTPUT, USUAL_PAGES
from mainspring.connections.ingestion.items import IngestionOrigin
from mainspring.connections.ingestion.reader import IngestionResult
from mainspring.connections.ingestion.writing import IngestedBatch, forget_problems, ingest_items
from mainspring.contracts.capability import Annotations, Audience, Capability, Effect, require_part
from mainspring.contracts.context import HttpRequest, HttpResponse
from mainspring.contracts.errors import Conflict, Finding, InternalError, UpstreamError
from mainspring.contracts.integration import Item, ItemBatch, UnreadableItem
from mainspring.contracts.limits import Limits
from mainspring.contracts.outcome import Unchanged
from mainspring.contracts.toolset import Toolset
from mainspring.definition.jsonpath import parse_path
from mainspring.definition.strict_json import hash_content
from mainspring.outbound.http_fetch import parse_retry_after
from mainspring.store.database import WorkspaceDatabase
from mainspring.workspace.pages.writer import PageWriter, get_page_writer

if TYPE_CHECKING:
    from mainspring.contracts.capability import CapabilityHandler
    from mainspring.contracts.context import CallContext, Transaction
    from mainspring.contracts.secret import SecretText
    from mainspring.store.database import Database


# Page after page: what the next request says, and when there is none.

_LONGEST_NEXT: Final = 2_000

Place = Mapping[str, Any] | None


@dataclass(frozen=True, slots=True)
class PageRequest:
    """What a request says beyond what its endpoint always says."""

    # The whole address, where an answer gave it.
    url: str | None
    params: Mapping[str, Any]


def most_pages(paging: Mapping[str, Any] | None) -> int:
    """How many answers one run reads at most."""
    return 1 if paging is None else int(paging.get("max_pages", USUAL_PAGES))


def build_page_request(
    arguments: Mapping[str, Any], place: Place, since: str | None
) -> PageRequest:
    """What is asked for at one place of a reading."""
    paging, cursor = arguments.get("paging") or {}, arguments.get("cursor")
    if place is not None and "url" in place:
        return PageRequest(_without(str(place["url"]), arguments.get("query") or {}), {})
    params: dict[str, Any] = {}
    if paging.get("kind") == "page":
        params[paging["param"]] = place["page"] if place else paging.get("start", 1)
        if "size_param" in paging:
            params[paging["size_param"]] = paging["size"]
    elif place is not None and "cursor" in place:
        params[paging["param"]] = place["cursor"]
    if cursor is not None and since is not None:
        params[cursor["param"]] = since
    return PageRequest(None, params)


def _without(url: str, query: Mapping[str, Any]) -> str:
    """An address without what the endpoint says anyway, such as a key that was echoed."""
    parts = urlsplit(url)
    kept = [pair for pair in parse_qsl(parts.query, keep_blank_values=True) if pair[0] not in query]
    return urlunsplit((parts.scheme, parts.netloc, parts.path, urlencode(kept), ""))


def next_page_position(
    paging: Mapping[str, Any] | None,
    place: Place,
    response: HttpResponse,
    answer: EndpointResponse,
    found: int,
    limits: Limits,
) -> Place:
    """Where the next page is; None after the last one."""
    kind = (paging or {}).get("kind")
    if paging is None or kind is None:
        return None
    if kind == "page":
        full = found >= paging["size"] if "size" in paging else found > 0
        number = place["page"] if place else paging.get("start", 1)
        return {"page": number + 1} if full else None
    if kind == "link":
        there = next_link(response.headers.get("link"), response.url)
        return None if there is None else {"url": there}
    result = value_at(answer, paging["next"], limits)
    if result is None or result is False or result == "":
        return None
    if isinstance(result, dict | list | bool):
        raise _unreadable()
    text = format_value(result, answer.spelt)
    if len(text) > _LONGEST_NEXT:
        raise _unreadable()
    return {"cursor": text}


def _unreadable() -> UpstreamError:
    detail = "The response's next-page value is neither text nor a number."
    return UpstreamError(detail, code="paging_unreadable", retryable=False)


def max_marker(
    so_far: str | None, items: list[Any], answer: EndpointResponse, field: str, limits: Limits
) -> str | None:
    """The highest of what grows from item to item; numbers by size, anything else as text."""
    path = parse_path(field, limits)
    for item in items:
        found = path.find(item)
        if found and isinstance(found[0], str | int | float) and not isinstance(found[0], bool):
            text = format_value(found[0], answer.spelt)
            if text and len(text) <= _LONGEST_NEXT and (so_far is None or _above(text, so_far)):
                so_far = text
    return so_far


def _above(one: str, other: str) -> bool:
    numbers = _number(one), _number(other)
    if numbers[0] is not None and numbers[1] is not None:
        return numbers[0] > numbers[1]
    return one > other


def _number(text: str) -> Decimal | None:
    try:
        number = Decimal(text)
    except InvalidOperation:
        return None
    return number if number.is_finite() else None


# Reading an endpoint answer by answer, and keeping each before the next one is asked for.

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
                found.notes.append("Another process has read further meanwhile.")
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
    detail = "A page with this source_ref already exists from another source."
    problem = Conflict(
        detail, code="page_of_another", suggestion="Choose another source_ref_prefix."
    )
    return UnreadableItem(one.source_ref, problem)


def _circles(place: Place, seen: list[Place], *, same: bool) -> bool:
    """Whether the next answer was there before; pages by number show it by what they say."""
    return place is not None and (place in seen or (same and "page" in place))


def _circle() -> UpstreamError:
    detail = "The pages form a loop: the next page was already read."
    return UpstreamError(detail, code="paging_circle", retryable=False)


INGEST: Final = "ingest_from_endpoint"
_MOST_ERRORS: Final = 50

Arguments = Mapping[str, Any]


def declared_capability(limits: Limits, database: Database | None) -> Capability:
    """The capability; a registry that only describes has no database."""
    return Capability(
        id=INGEST,
        description="Read an endpoint of a declarative integration\n\n"
        "Calls an approved host, maps each item to a page and stores new and changed "
        "ones. source_ref prevents duplicates. Secrets can be used in headers and "
        "query.",
        input_schema=INPUT,
        output_schema=OUTPUT,
        handler=_ingest(limits, database),
        annotations=Annotations(
            toolset=Toolset.RUNS,
            effect=Effect.KEEP,
            seconds=30.0,
            secret_arguments=frozenset({"headers", "query"}),
            judge=_findings,
            judges_saved=True,
            stub=_nothing,
            subject=lambda given, _: given.get("source"),
            # Only a grant says which hosts are approved, and only a run has one.
            audience=Audience.RUNS,
        ),
    )


def _findings(arguments: Arguments) -> Sequence[Finding]:
    return [*validate_endpoint(arguments), *validate_mapping(arguments["mapping"])]


def _ingest(limits: Limits, database: Database | None) -> CapabilityHandler:
    async def ingest(ctx: CallContext, arguments: Arguments) -> dict[str, Any] | Unchanged:
        if ctx.run is None:
            raise InternalError("An endpoint is read by a run alone.", retryable=False)
        space = ctx.actor.workspace_id
        # No slug of a recipe is taken for an integration of the house.
        source = f"recipe:{arguments['source']}"
        reading = DeclaredEndpointReader(
            ctx,
            arguments,
            read_mapping(arguments["mapping"]),
            IngestionOrigin(source, source),
            replace(get_page_writer(ctx), source=source),
            WorkspaceDatabase(require_part(database), space),
            PollCursor(space, ctx.run.automation_id, arguments["op"]),
            limits,
        )
        found = await reading.read()
        result = _describe_endpoint_result(arguments, found)
        return result if found.slugs or found.broken else Unchanged(result)

    return ingest


def _describe_endpoint_result(arguments: Arguments, found: IngestionResult) -> dict[str, Any]:
    result: dict[str, Any] = {
        "source": arguments["source"],
        "op": arguments["op"],
        "ingested_count": len(found.slugs),
        "page_slugs": found.slugs[:MOST_LISTED],
        "more": found.more,
    }
    if found.broken:
        result["errors"] = [
            {"source_ref": one.source_ref, "detail": one.problem.detail, "code": one.problem.code}
            for one in found.broken[:_MOST_ERRORS]
        ]
    notes = list(found.notes)
    if found.known:
        notes.append(f"{found.known} more were there already and say the same.")
    if found.more:
        notes.append("There is more than one run reads; the next run continues from here.")
    if notes:
        result["note"] = " ".join(notes)
    return result


def _nothing(arguments: Arguments) -> dict[str, Any]:
    """What a dry run answers: it reads nothing, because what is read is kept."""
    return {
        "source": arguments["source"],
        "op": arguments["op"],
        "ingested_count": 0,
        "page_slugs": [],
        "more": False,
        "note": "A dry run reads nothing.",
    }
