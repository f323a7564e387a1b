"""Google Drive over real HTTP: files become pages, their text comes later, new ones are made."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from mainspring.contracts.context import CallContext
from mainspring.contracts.errors import (
    NotFound,
    PermissionDenied,
    Problem,
    ReconnectRequired,
    UpstreamError,
)
from mainspring.contracts.integration import Integration, Item, UnreadableItem
from mainspring.contracts.limits import Limits
from mainspring.integrations.drive import integration
from mainspring.integrations.drive.sources import TOO_LARGE
from tests.kit.doubles.drive import ADDRESS, DriveDouble, drive_double
from tests.kit.doubles.google import TOKEN, busy, failed, refusal, scope_missing
from tests.kit.handler_context import visiting
from tests.kit.ingestion_paging import Still, all_portions
from tests.kit.scripted_server import http_answer

NOW = datetime(2026, 6, 1, 12, 0, tzinfo=UTC)
DOCUMENT = "application/vnd.google-apps.document"
UPLOAD = "POST /upload/drive/v3/files"


@dataclass(slots=True)
class DriveConnection:
    """A drive, and the integration that is connected to it."""

    double: DriveDouble
    built: Integration
    ctx: CallContext
    clock: Still

    async def fetched(self, **value: Any) -> list[Item | UnreadableItem]:
        return (await all_portions(self.built.sources[0].read, self.ctx, value))[0]

    async def looked(self, cursor: Any, poll: int = 0) -> tuple[list[Item | UnreadableItem], Any]:
        found, portions = await all_portions(self.built.polls[poll].read, self.ctx, {}, cursor)
        return found, portions[-1].cursor

    async def made(self, **value: Any) -> Any:
        return await self.built.capabilities[0].handler(self.ctx, value)


@asynccontextmanager
async def visit() -> AsyncIterator[DriveConnection]:
    clock = Still(NOW)
    async with (
        drive_double() as double,
        visiting(
            double.pair,
            integration="drive",
            secrets={"token": TOKEN},
            clock=clock,
            limits=Limits(http_response_bytes=2_000_000, http_request_bytes=2_000_000),
        ) as ctx,
    ):
        yield DriveConnection(double, integration({"drive": double.url}), ctx, clock)


def _told(found: list[Item | UnreadableItem]) -> dict[str, str]:
    return {
        one.payload["file_id"]: one.event for one in found if isinstance(one, Item) and one.event
    }


async def test_words_find_files_and_no_sign_in_them_leaves_its_quotes() -> None:
    async with visit() as one:
        name = "Ada's \\ plan' or name contains '"
        one.double.put("f1", name, b"x", description="A plan")
        one.double.put("f2", "other", b"x")
        (page,) = await one.fetched(query=name)
        assert isinstance(page, Item)
        assert (page.source_ref, page.type, page.title, page.body) == (
            "drive:file:f1",
            "gdrive_file",
            name,
            "",
        )
        assert page.frontmatter == {
            "file_id": "f1",
            "name": name,
            "mime_type": "text/plain",
            "owners": [ADDRESS],
            "created": "2026-01-01T00:00:00.000Z",
            "modified": "2026-06-01T11:59:00.000Z",
            "web_link": "https://drive/f1",
            "size": 1,
            "description": "A plan",
        }
        for at in range(130):
            one.double.put(f"n{at}", f"note {at}")
        one.double.page_size = 60
        assert len(await one.fetched(query="note", limit=125)) == 125
        assert len(await one.fetched(query="note", limit=250)) == 130
        one.double.files["n0"].pop("name")
        one.double.planned = {
            "GET /drive/v3/files": [http_answer(200, b'{"files": [{"id": "z"}]}')]
        }
        (broken,) = await one.fetched(query="note")
        assert isinstance(broken, UnreadableItem)
        assert await one.built.account(one.ctx) == ADDRESS


async def test_a_poll_tells_what_is_added_and_changed_and_survives_a_lost_place() -> None:
    async with visit() as one:
        one.double.put("f1", "One", modifiedTime="2026-05-20T00:00:00.000Z")
        one.double.put("f0", "Ancient", modifiedTime="2020-01-01T00:00:00.000Z")
        found, cursor = await one.looked(None)
        assert ([item.source_ref for item in found], _told(found)) == (["drive:file:f1"], {})
        assert (await one.looked(cursor))[0] == []

        one.double.page_size = 2
        one.clock.at += timedelta(minutes=10)
        one.double.put("f1", "One more", modifiedTime="2026-06-01T12:05:00.000Z")
        one.double.put("f2", "Two", createdTime="2026-06-01T12:06:00.000Z")
        one.double.put("f3", "Shared", sharedWithMeTime="2026-06-01T12:07:00.000Z")
        one.double.put("f4", "Gone")
        one.double.remove("f4")
        one.double.put("f5", "Bin", trashed=True)
        found, moved = await one.looked(cursor)
        assert _told(found) == {
            "f1": "drive.file_changed",
            "f2": "drive.file_added",
            "f3": "drive.file_added",
        }
        assert "f4" not in {item.source_ref.rpartition(":")[2] for item in found}
        assert (await one.looked(moved))[0] == []

        # The place is not known any more: by date since the last look, and not from years ago.
        one.double.oldest = 10_000
        one.double.put(
            "f6",
            "Late",
            createdTime="2026-06-01T12:11:00.000Z",
            modifiedTime="2026-06-01T12:11:00.000Z",
        )
        found, cursor = await one.looked(moved)
        assert "f6" in _told(found)
        assert "drive:file:f0" not in {item.source_ref for item in found}
        one.double.oldest = 0
        assert (await one.looked(cursor))[0] == []


async def test_the_text_of_documents_and_small_files_comes_with_a_poll_of_its_own() -> None:
    async with visit() as one:
        one.double.put("doc", "Doc", "\ufeffHällo\r\nyou".encode(), mimeType=DOCUMENT)
        one.double.files["doc"].pop("size")
        one.double.put("txt", "a.txt", b"Plain \xff text")
        one.double.put("web", "a.html", b"<p>Hi <script>x</script>there", mimeType="text/html")
        one.double.put("pdf", "a.pdf", b"%PDF", mimeType="application/pdf")
        one.double.put("huge", "b.txt", b"x" * 400_001)
        found, cursor = await one.looked(None, poll=1)
        texts = {item.source_ref: item.body for item in found if isinstance(item, Item)}
        assert texts == {
            "drive:file:doc": "Hällo\nyou",
            "drive:file:txt": "Plain \ufffd text",
            "drive:file:web": "Hi there",
            "drive:file:huge": TOO_LARGE,
        }
        # The page says the same of the file as the one that came before its text.
        (result,) = [item for item in await one.fetched(query="a.txt") if isinstance(item, Item)]
        (same,) = [item for item in found if item.source_ref == "drive:file:txt"]
        assert isinstance(same, Item)
        assert (same.frontmatter, same.title) == (result.frontmatter, result.title)
        one.double.put("txt", "a.txt", b"Newer")
        one.double.put("doc", "Doc", b"", mimeType=DOCUMENT)
        one.double.put("big", "Large", b"y" * 900_000, mimeType=DOCUMENT)
        one.double.put("locked", "Locked", b"z", mimeType=DOCUMENT)
        locked = "GET /drive/v3/files/locked/export"
        one.double.planned = {locked: [refusal(403, "cannotExport", "Not allowed")]}
        found, _ = await one.looked(cursor, poll=1)
        pages = {item.source_ref: item for item in found if isinstance(item, Item)}
        assert {ref: page.body for ref, page in pages.items()} == {
            "drive:file:txt": "Newer",
            "drive:file:big": TOO_LARGE,
            "drive:file:doc": "",
        }
        # A text that is empty now is empty on its page too; a page without one keeps it.
        assert {page.keeps_body for page in pages.values()} == {False}
        assert result.keeps_body
        broken = {
            item.source_ref: item.problem.code for item in found if isinstance(item, UnreadableItem)
        }
        assert broken == {"drive:file:locked": "provider_403"}


async def test_a_file_is_made_once_and_a_refusal_says_that_nothing_was_made() -> None:
    async with visit() as one:
        given = {"name": "Minutes „A“", "content": "# Größe\n", "mime_type": DOCUMENT}

        async def problem(**more: Any) -> Problem:
            with pytest.raises(Problem) as caught:
                await one.made(**{**given, **more})
            return caught.value

        one.double.planned = {
            UPLOAD: [
                failed(),
                busy(5),
                refusal(403, "insufficientFilePermissions", "No"),
                scope_missing(),
                refusal(403, "userRateLimitExceeded"),
                http_answer(200, b"x"),
            ]
        }
        result = [await problem() for _ in range(6)]
        assert [one.unsent for one in result] == [None, True, True, True, True, None]
        kinds = [
            UpstreamError,
            UpstreamError,
            PermissionDenied,
            ReconnectRequired,
            UpstreamError,
            UpstreamError,
        ]
        assert [type(one) for one in result] == kinds
        assert isinstance(await problem(folder_id="none"), NotFound)
        one.double.planned = {"GET /drive/v3/files": [failed()]}
        assert (await problem()).unsent is True
        assert (await problem(content="ü" * 500_000)).findings[0].pointer == "/content"
        slides = "application/vnd.google-apps.presentation"
        assert (await problem(mime_type=slides)).findings[0].pointer == "/mime_type"
        assert one.double.messages == []

        one.double.put("folder", "Folder")
        made = await one.made(**given, folder_id="folder")
        # The answer was lost, and it is tried again.
        assert await one.made(**given, folder_id="folder") == made == {"file_id": "new1"}
        (sent,) = one.double.messages
        assert (sent["name"], sent["mimeType"], sent["parents"]) == (
            given["name"],
            DOCUMENT,
            ["folder"],
        )
        assert sent["kind"] == "text/plain; charset=UTF-8"
        assert one.double.contents["new1"] == given["content"].encode()


async def test_a_file_in_a_shared_drive_is_made_once() -> None:
    async with visit() as here:
        here.double.put("folder", "Reports", mimeType="folder", driveId="0ADshared")
        first = await here.made(name="a.md", content="x", folder_id="folder")
        again = await here.made(name="a.md", content="x", folder_id="folder")

        assert first == again
        assert len(here.double.messages) == 1


async def test_files_of_shared_drives_come_in_with_their_text() -> None:
    async with visit() as here:
        here.double.put("old", "old.txt", b"The old text", driveId="0ADshared")
        found, files = await here.looked(None)
        texts, cursor = await here.looked(None, 1)
        here.double.put("new", "new.txt", b"The new text", driveId="0ADshared")
        changed, _ = await here.looked(files)
        more, _ = await here.looked(cursor, 1)

        assert [one.source_ref for one in (*found, *changed)] == [
            "drive:file:old",
            "drive:file:new",
        ]
        bodies = [one.body for one in (*texts, *more) if isinstance(one, Item)]
        assert bodies == ["The old text", "The new text"]


async def test_an_empty_page_of_the_search_does_not_make_a_second_file() -> None:
    async with visit() as here:
        first = await here.made(name="a.md", content="x")
        here.double.empty_pages = 2
        again = await here.made(name="a.md", content="x")

        assert first == again
        assert len(here.double.messages) == 1


async def test_no_file_is_made_where_the_search_for_an_earlier_one_is_incomplete() -> None:
    async with visit() as here:
        here.double.incomplete = True
        with pytest.raises(UpstreamError, match="could not search") as refused:
            await here.made(name="a.md", content="x")
        assert (refused.value.retryable, refused.value.unsent) == (True, True)
        assert here.double.messages == []

        here.double.incomplete = False
        assert await here.made(name="a.md", content="x")


async def test_a_search_that_could_not_look_everywhere_says_so() -> None:
    async with visit() as here:
        here.double.put("f1", "report.txt", b"x")
        here.double.incomplete = True
        portion = await here.built.sources[0].read(here.ctx, {"query": "report"}, None)
        assert "could not search" in str(portion.note)
        first = await here.built.polls[0].read(here.ctx, {}, None)
        assert "could not search" in str(first.note)
