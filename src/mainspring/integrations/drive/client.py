"""Google Drive API client."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import quote

from mainspring.contracts.context import HttpClient, HttpRequest, HttpResponse
from mainspring.contracts.errors import UpstreamError
from mainspring.contracts.google_channels import explain_watch_error
from mainspring.contracts.manifest import resolve_base_address
from mainspring.contracts.provider_responses import (
    ProviderErrorReasons,
    malformed_response_error,
    parse_error_detail,
    parse_refusal,
    read_object,
    require_text,
)
from mainspring.contracts.secret import CONNECTION_TOKEN, SecretText

NAME: Final = "Google Drive"
TEXT_BYTES: Final = 800_000
_SECONDS: Final = 30.0
_BYTES: Final = 4_000_000
_FILE: Final = (
    "id,name,mimeType,description,owners(displayName,emailAddress),createdTime,modifiedTime,"
    "sharedWithMeTime,webViewLink,size,trashed,parents"
)
_WORDS: Final = ProviderErrorReasons(
    busy=frozenset(
        {
            "rateLimitExceeded",
            "userRateLimitExceeded",
            "dailyLimitExceeded",
            "sharingRateLimitExceeded",
            "RATE_LIMIT_EXCEEDED",
            "RESOURCE_EXHAUSTED",
        }
    ),
    reconnect=frozenset({"insufficientPermissions", "ACCESS_TOKEN_SCOPE_INSUFFICIENT"}),
)
INCOMPLETE: Final = "Google Drive could not search everywhere."
# A search that pages without end is not followed.
_MOST_PAGES: Final = 20
_EVERYWHERE: Final = {"supportsAllDrives": "true", "includeItemsFromAllDrives": "true"}


@dataclass(frozen=True, slots=True)
class FilePage:
    """A page of files, with the next page token or the change token."""

    items: tuple[Mapping[str, Any], ...]
    next_page: str | None = None
    next_start: str | None = None
    # Drive did not search everywhere, so files may be missing.
    incomplete: bool = False


class Drive:
    """The API client for one base URL."""

    def __init__(self, addresses: Mapping[str, str]) -> None:
        self._base, pair = resolve_base_address(addresses, "drive", "https://www.googleapis.com")
        self.hosts = frozenset({pair})

    async def account(self, http: HttpClient) -> str:
        """Return the drive's owner."""
        found = await self._get(http, "about", {"fields": "user(emailAddress,displayName)"})
        return require_text(found.get("user"), "emailAddress", NAME)

    async def search(self, http: HttpClient, query: str, most: int, page: str | None) -> FilePage:
        """List files that match a query in Drive's query language."""
        asked = {
            "q": query,
            "pageSize": str(most),
            "fields": f"nextPageToken,incompleteSearch,files({_FILE})",
            "spaces": "drive",
            **_EVERYWHERE,
        }
        found = await self._get(http, "files", _add_page(asked, page))
        return FilePage(
            _objects(found, "files"),
            _optional(found, "nextPageToken"),
            incomplete=found.get("incompleteSearch") is True,
        )

    async def start_token(self, http: HttpClient) -> str:
        """Return the token from which changes will be listed."""
        found = await self._get(http, "changes/startPageToken", {"supportsAllDrives": "true"})
        return require_text(found, "startPageToken", NAME)

    async def changes(self, http: HttpClient, token: str) -> FilePage:
        """List added and changed files since a token; removals are skipped."""
        asked = {
            "pageToken": token,
            "pageSize": "100",
            "fields": "nextPageToken,newStartPageToken,"
            f"changes(changeType,removed,fileId,time,file({_FILE}))",
            "spaces": "drive",
            **_EVERYWHERE,
        }
        found = await self._get(http, "changes", asked)
        files = [one.get("file") for one in _objects(found, "changes") if not one.get("removed")]
        return FilePage(
            tuple(one for one in files if isinstance(one, Mapping)),
            _optional(found, "nextPageToken"),
            _optional(found, "newStartPageToken"),
        )

    async def export(self, http: HttpClient, file_id: str, kind: str) -> bytes:
        """Export a Google document in another format."""
        path = f"files/{quote(file_id, safe='')}/export"
        return (await self._answer(http, path, {"mimeType": kind}, TEXT_BYTES)).body

    async def download(self, http: HttpClient, file_id: str) -> bytes:
        """Download a file."""
        path = f"files/{quote(file_id, safe='')}"
        asked = {"alt": "media", "supportsAllDrives": "true"}
        return (await self._answer(http, path, asked, TEXT_BYTES)).body

    async def find_created(self, http: HttpClient, mark: str) -> str | None:
        """Find the file that an earlier attempt created, by its marker property.

        A false negative would create a duplicate: the search covers shared drives, follows empty
        pages, and fails when Drive did not search everywhere.
        """
        has = f"appProperties has {{ key='mainspring_call' and value='{mark}' }}"
        page: str | None = None
        for _ in range(_MOST_PAGES):
            found = await self.search(http, has, 10, page)
            if found.items:
                return require_text(found.items[0], "id", NAME)
            page = found.next_page
            if found.incomplete:
                break
            if page is None:
                return None
        raise UpstreamError(
            f"{INCOMPLETE} Whether the file was made before is not known, so it is not made now.",
            code="drive_incomplete",
            unsent=True,
        )

    async def create(
        self, http: HttpClient, told: Mapping[str, Any], kind: str, content: bytes, boundary: str
    ) -> str:
        """Create a file with metadata and content in one request; return its id."""
        head = (
            f"--{boundary}\r\nContent-Type: application/json; charset=UTF-8\r\n\r\n"
            f"{json.dumps(told)}\r\n--{boundary}\r\nContent-Type: {kind}\r\n\r\n"
        )
        body = b"".join((head.encode(), content, f"\r\n--{boundary}--\r\n".encode()))
        query = {"uploadType": "multipart", "supportsAllDrives": "true", "fields": "id"}
        kind_of_all = {"Content-Type": f'multipart/related; boundary="{boundary}"'}
        request = self._request("POST", "/upload/drive/v3/files", query, kind_of_all, body)
        return require_text(
            read_object(_check_response(await http.send(request)), NAME), "id", NAME
        )

    async def watch(self, http: HttpClient, channel: Mapping[str, Any]) -> dict[str, Any]:
        """Have changes of all files reported to a channel."""
        token = await self.start_token(http)
        query = {"pageToken": token, "spaces": "drive", **_EVERYWHERE}
        response = await self._post(http, "changes/watch", query, channel)
        problem = parse_refusal(response, NAME, _WORDS)
        if problem is not None:
            raise explain_watch_error(problem, parse_error_detail(response).reasons)
        return read_object(response, NAME)

    async def stop(self, http: HttpClient, channel: Mapping[str, Any]) -> None:
        """Stop a channel; one that has expired is stopped."""
        response = await self._post(http, "channels/stop", {}, channel)
        problem = parse_refusal(response, NAME, _WORDS)
        if problem is not None and response.status != 404:
            raise problem

    async def _post(
        self, http: HttpClient, path: str, query: Mapping[str, str], body: Mapping[str, Any]
    ) -> HttpResponse:
        headers = {"Content-Type": "application/json; charset=UTF-8"}
        return await http.send(
            self._request("POST", f"/drive/v3/{path}", query, headers, json.dumps(body).encode())
        )

    async def _get(self, http: HttpClient, path: str, query: Mapping[str, str]) -> dict[str, Any]:
        return read_object(await self._answer(http, path, query, _BYTES), NAME)

    async def _answer(
        self, http: HttpClient, path: str, query: Mapping[str, str], most: int
    ) -> HttpResponse:
        request = self._request("GET", f"/drive/v3/{path}", query, most=most)
        return _check_response(await http.send(request))

    def _request(
        self,
        method: str,
        path: str,
        query: Mapping[str, str],
        headers: Mapping[str, str] | None = None,
        body: bytes | None = None,
        most: int = _BYTES,
    ) -> HttpRequest:
        bearer = SecretText(("Bearer ", CONNECTION_TOKEN))
        return HttpRequest(
            method=method,
            url=f"{self._base}{path}",
            headers={"Authorization": bearer, **(headers or {})},
            query=query,
            body=body,
            timeout_seconds=_SECONDS,
            max_bytes=most,
            follow_redirects=False,
        )


def _check_response(response: HttpResponse) -> HttpResponse:
    problem = parse_refusal(response, NAME, _WORDS)
    if problem is not None:
        raise problem
    return response


def _add_page(request: Mapping[str, str], page: str | None) -> Mapping[str, str]:
    return request if page is None else {**request, "pageToken": page}


def _optional(found: Mapping[str, Any], name: str) -> str | None:
    value = found.get(name)
    return value if isinstance(value, str) and value else None


def _objects(found: Mapping[str, Any], name: str) -> tuple[Mapping[str, Any], ...]:
    value = found.get(name, [])
    if not isinstance(value, list):
        raise malformed_response_error(NAME)
    return tuple(one for one in value if isinstance(one, Mapping))
