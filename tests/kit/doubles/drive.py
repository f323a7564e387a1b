"""Google Drive's API v3 on loopback: files, searches, changes, exports and uploads."""

from __future__ import annotations

import contextlib
import re
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from typing import Any

from tests.kit.doubles.google import GoogleDouble, ReceivedRequest, answer, refusal
from tests.kit.scripted_server import http_answer, serving

ADDRESS = "ada@example.com"
_TERM = re.compile(r"'((?:[^'\\]|\\.)*)'")


def unquoted(query: str) -> list[str]:
    """The texts that are in a query, as Drive reads them."""
    return [re.sub(r"\\(.)", r"\1", one) for one in _TERM.findall(query)]


@dataclass(slots=True)
class DriveDouble(GoogleDouble):
    """Files by id, their contents, and every change in its order."""

    files: dict[str, dict[str, Any]] = field(default_factory=dict)
    contents: dict[str, bytes] = field(default_factory=dict)
    changes: list[tuple[str, bool]] = field(default_factory=list)
    page_size: int = 1_000
    # Places before this one are not known any more.
    oldest: int = 0
    # Whether a search says that it could not look everywhere, and finds nothing.
    incomplete: bool = False
    # So many pages of a search come empty before those with files.
    empty_pages: int = 0

    def put(self, file_id: str, name: str, content: bytes = b"", **result: Any) -> None:
        """A file is made, or changed."""
        self.contents[file_id] = content
        self.files[file_id] = {
            "id": file_id,
            "name": name,
            "mimeType": "text/plain",
            "trashed": False,
            "owners": [{"displayName": "Ada", "emailAddress": ADDRESS}],
            "createdTime": "2026-01-01T00:00:00.000Z",
            "modifiedTime": "2026-06-01T11:59:00.000Z",
            "webViewLink": f"https://drive/{file_id}",
            "size": str(len(content)),
            **result,
        }
        self.changes.append((file_id, False))

    def remove(self, file_id: str) -> None:
        del self.files[file_id]
        self.changes.append((file_id, True))

    def _reply(self, asked: ReceivedRequest) -> bytes:
        if (asked.method, asked.path) == ("POST", "/upload/drive/v3/files"):
            return self._upload(asked)
        if (asked.method, asked.path) == ("POST", "/drive/v3/changes/watch"):
            if "pageToken" not in asked.query:
                return refusal(400, "required", "Required parameter: pageToken")
            return self.watch(asked)
        if (asked.method, asked.path) == ("POST", "/drive/v3/channels/stop"):
            return self.stop_channel(asked)
        name, *rest = asked.path.removeprefix("/drive/v3/").split("/")
        if asked.method != "GET" or not asked.path.startswith("/drive/v3/"):
            return refusal(404, "notFound", "Not Found")
        if name == "about" and asked.query.get("fields"):
            return answer({"user": {"emailAddress": ADDRESS, "displayName": "Ada"}})
        if name == "changes":
            return self._changes(rest, asked)
        if name == "files" and not rest:
            return self._search(asked)
        if name == "files" and rest[0] in self.files:
            return self._content(rest, asked)
        return refusal(404, "notFound", f"File not found: {rest}.")

    def _search(self, asked: ReceivedRequest) -> bytes:
        query, texts = asked.query["q"], unquoted(asked.query["q"])
        if "appProperties has" in query:
            found = [
                one
                for one in self.files.values()
                if one.get("appProperties", {}).get(texts[0]) == texts[1]
            ]
        elif query.startswith("modifiedTime >= "):
            found = [one for one in self.files.values() if one["modifiedTime"] >= texts[0]]
        elif query == _words(query):
            word = texts[0].lower()
            found = [
                one
                for one in self.files.values()
                if word in one["name"].lower()
                or word in self.contents[one["id"]].decode("latin-1").lower()
            ]
        else:
            return refusal(400, "invalid", "Invalid Value")
        wide = _everywhere(asked)
        live = [one for one in found if not one["trashed"] and (wide or "driveId" not in one)]
        if self.incomplete:
            return answer({"files": [], "incompleteSearch": True})
        start = int(asked.query.get("pageToken", "p0").removeprefix("p"))
        if self.empty_pages and live:
            self.empty_pages -= 1
            return answer({"files": [], "incompleteSearch": False, "nextPageToken": f"p{start}"})
        end = start + min(int(asked.query["pageSize"]), self.page_size)
        shown: dict[str, Any] = {"files": live[start:end], "incompleteSearch": False}
        if end < len(live):
            shown["nextPageToken"] = f"p{end}"
        return answer(shown)

    def _changes(self, rest: list[str], asked: ReceivedRequest) -> bytes:
        if rest == ["startPageToken"]:
            return answer({"startPageToken": str(len(self.changes))})
        start = int(asked.query["pageToken"])
        if start < self.oldest:
            return refusal(400, "invalid", "Invalid Value")
        end = start + min(int(asked.query["pageSize"]), self.page_size)
        rows = [
            {"changeType": "file", "removed": gone, "fileId": one}
            | ({} if gone or one not in self.files else {"file": self.files[one]})
            for one, gone in self.changes[start:end]
            if _everywhere(asked) or "driveId" not in self.files.get(one, {})
        ]
        shown: dict[str, Any] = {"changes": rows}
        more = end < len(self.changes)
        shown["nextPageToken" if more else "newStartPageToken"] = str(min(end, len(self.changes)))
        return answer(shown)

    def _content(self, rest: list[str], asked: ReceivedRequest) -> bytes:
        file = self.files[rest[0]]
        is_document = file["mimeType"].startswith("application/vnd.google-apps.")
        if rest[1:] == ["export"]:
            if not is_document:
                return refusal(403, "fileNotExportable", "Export only supports Docs Editors files.")
            return http_answer(
                200, self.contents[rest[0]], f"Content-Type: {asked.query['mimeType']}"
            )
        if "driveId" in file and asked.query.get("supportsAllDrives") != "true":
            return refusal(404, "notFound", f"File not found: {rest[0]}.")
        if asked.query.get("alt") != "media":
            return answer(file)
        if is_document:
            return refusal(403, "fileNotDownloadable", "Only files with binary content.")
        return http_answer(200, self.contents[rest[0]], f"Content-Type: {file['mimeType']}")

    def _upload(self, asked: ReceivedRequest) -> bytes:
        result, kind, media = asked.related()
        assert asked.query["uploadType"] == "multipart"
        parents = [self.files.get(one) for one in result.get("parents", ())]
        shared = {one["driveId"] for one in parents if one and "driveId" in one}
        if None in parents or (shared and asked.query.get("supportsAllDrives") != "true"):
            return refusal(404, "notFound", "File not found: .")
        result |= {"driveId": shared.pop()} if shared else {}
        own = f"new{len(self.messages) + 1}"
        self.messages.append({**result, "kind": kind})
        self.put(own, content=media, **result)
        return answer({"id": own})


def _everywhere(asked: ReceivedRequest) -> bool:
    """Whether files of shared drives are listed: only where both parameters say so."""
    names = ("includeItemsFromAllDrives", "supportsAllDrives")
    return all(asked.query.get(name) == "true" for name in names)


def _words(query: str) -> str:
    """The query as the words in it must be written, so that a quote that got out is noticed."""
    terms = _TERM.findall(query)
    return (
        f"(name contains '{terms[0]}' or fullText contains '{terms[0]}') and trashed = false"
        if terms
        else ""
    )


@contextlib.asynccontextmanager
async def drive_double() -> AsyncIterator[DriveDouble]:
    """Serves on a free port of loopback until the block ends."""
    async with serving(DriveDouble()) as double:
        yield double
