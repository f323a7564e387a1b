"""Gmail API client.

Every request concerns the connection's mailbox. Responses are size-limited; a larger thread is read
message by message.
"""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import quote

from mainspring.contracts.context import HttpClient, HttpRequest, HttpResponse
from mainspring.contracts.errors import NotFound, Problem
from mainspring.contracts.manifest import resolve_base_address
from mainspring.contracts.provider_responses import (
    ProviderErrorReasons,
    list_in,
    malformed_response_error,
    parse_refusal,
    read_object,
    require_text,
)
from mainspring.contracts.secret import CONNECTION_TOKEN, SecretText

NAME: Final = "Gmail"
_SECONDS: Final = 30.0
_SENDING_SECONDS: Final = 60.0
_LIST_BYTES: Final = 2_000_000
_MESSAGE_BYTES: Final = 8_000_000
# How many matching sent messages are searched, newest first.
_MOST_SENT: Final = 100
# Ten megabytes as base64, and JSON overhead.
_ATTACHMENT_BYTES: Final = 14_500_000
_WORDS: Final = ProviderErrorReasons(
    busy=frozenset(
        {
            "rateLimitExceeded",
            "userRateLimitExceeded",
            "dailyLimitExceeded",
            "quotaExceeded",
            "RATE_LIMIT_EXCEEDED",
            "RESOURCE_EXHAUSTED",
        }
    ),
    reconnect=frozenset({"insufficientPermissions", "ACCESS_TOKEN_SCOPE_INSUFFICIENT"}),
)


@dataclass(frozen=True, slots=True)
class ThreadIdPage:
    """A page of thread ids, with the next page token."""

    ids: tuple[str, ...]
    next_page: str | None = None
    # The mailbox's history id; for change lists only.
    history_id: str = ""


class Gmail:
    """The API client for one base URL."""

    def __init__(self, addresses: Mapping[str, str]) -> None:
        self._base, pair = resolve_base_address(addresses, "gmail", "https://gmail.googleapis.com")
        self.hosts = frozenset({pair})

    async def profile(self, http: HttpClient) -> tuple[str, str]:
        """Return the mailbox's address and history id."""
        found = await self._get(http, "profile", {})
        return require_text(found, "emailAddress", NAME), require_text(found, "historyId", NAME)

    async def label_names(self, http: HttpClient) -> dict[str, str]:
        """Return label names by id."""
        found = await self._get(http, "labels", {})
        labels = [one for one in list_in(found, "labels", NAME) if isinstance(one, Mapping)]
        return {str(one.get("id", "")): str(one.get("name", "")) for one in labels}

    async def threads(
        self, http: HttpClient, query: str, most: int, page: str | None
    ) -> ThreadIdPage:
        """List threads that match a search, newest first, without spam and trash."""
        asked = {"q": query, "maxResults": str(most)}
        found = await self._get(http, "threads", _add_page(asked, page))
        ids = [require_text(one, "id", NAME) for one in list_in(found, "threads", NAME)]
        return ThreadIdPage(tuple(ids), _next(found))

    async def arrivals(self, http: HttpClient, since: str, page: str | None) -> ThreadIdPage:
        """List threads with new messages since a history id; 404 is Missing: too old."""
        asked = {"startHistoryId": since, "historyTypes": "messageAdded", "maxResults": "100"}
        found = await self._get(http, "history", _add_page(asked, page))
        added = [
            one
            for entry in list_in(found, "history", NAME)
            for one in list_in(entry, "messagesAdded", NAME)
        ]
        messages = [one.get("message") for one in added if isinstance(one, Mapping)]
        ids = dict.fromkeys(
            require_text(one, "threadId", NAME) for one in messages if _is_delivered(one)
        )
        return ThreadIdPage(tuple(ids), _next(found), require_text(found, "historyId", NAME))

    async def thread(self, http: HttpClient, thread_id: str) -> list[dict[str, Any]]:
        """Return a thread's messages, in order."""
        path = f"threads/{quote(thread_id, safe='')}"
        try:
            found = await self._get(http, path, {"format": "full"}, _MESSAGE_BYTES)
        except Problem as problem:
            if problem.code != "response_too_large":
                raise
            return await self._message_by_message(http, path)
        return _messages(found)

    async def outline(self, http: HttpClient, thread_id: str) -> list[dict[str, Any]]:
        """Return a thread's messages with headers only."""
        path = f"threads/{quote(thread_id, safe='')}"
        return _messages(await self._get(http, path, {"format": "metadata"}))

    async def message(self, http: HttpClient, message_id: str) -> dict[str, Any]:
        path = f"messages/{quote(message_id, safe='')}"
        return await self._get(http, path, {"format": "full"}, _MESSAGE_BYTES)

    async def attachment(self, http: HttpClient, message_id: str, attachment_id: str) -> bytes:
        """Download an attachment; its id changes with every response."""
        path = f"messages/{quote(message_id, safe='')}/attachments/{quote(attachment_id, safe='')}"
        found = await self._get(http, path, {}, _ATTACHMENT_BYTES)
        data = decode_base64(found.get("data"))
        if data is None:
            raise malformed_response_error(NAME)
        return data

    async def find_sent(self, http: HttpClient, query: str, header: str, value: str) -> str | None:
        """Find the message with this header among search results."""
        asked = {"q": query, "maxResults": str(_MOST_SENT)}
        for one in list_in(await self._get(http, "messages", asked), "messages", NAME):
            found_id = require_text(one, "id", NAME)
            only = {"format": "metadata", "metadataHeaders": header}
            try:
                found = await self._get(http, f"messages/{quote(found_id, safe='')}", only)
            except NotFound:
                # Deleted since it was listed.
                continue
            if _has_header(found.get("payload"), header, value):
                return found_id
        return None

    async def send(
        self, http: HttpClient, message: bytes, thread_id: str | None, boundary: str
    ) -> str:
        """Send a message; return its id."""
        told = {} if thread_id is None else {"threadId": thread_id}
        request = self._request(
            "POST",
            "/upload/gmail/v1/users/me/messages/send",
            {"uploadType": "multipart"},
            headers={"Content-Type": f'multipart/related; boundary="{boundary}"'},
            body=build_related_body(told, "message/rfc822", message, boundary),
            seconds=_SENDING_SECONDS,
        )
        return require_text(await _answer(http, request), "id", NAME)

    async def _message_by_message(self, http: HttpClient, path: str) -> list[dict[str, Any]]:
        """Read a thread message by message; of a too large message, its headers and snippet."""
        found = []
        for one in _messages(await self._get(http, path, {"format": "metadata"})):
            try:
                found.append(await self.message(http, require_text(one, "id", NAME)))
            except Problem as problem:
                if problem.code != "response_too_large":
                    raise
                found.append({**one, "tooLarge": True})
        return found

    async def _get(
        self, http: HttpClient, path: str, query: Mapping[str, str], most: int = _LIST_BYTES
    ) -> dict[str, Any]:
        return await _answer(
            http, self._request("GET", f"/gmail/v1/users/me/{path}", query, most=most)
        )

    def _request(
        self,
        method: str,
        path: str,
        query: Mapping[str, str],
        *,
        headers: Mapping[str, str] | None = None,
        body: bytes | None = None,
        seconds: float = _SECONDS,
        most: int = _LIST_BYTES,
    ) -> HttpRequest:
        bearer = SecretText(("Bearer ", CONNECTION_TOKEN))
        return HttpRequest(
            method=method,
            url=f"{self._base}{path}",
            headers={"Authorization": bearer, "Accept": "application/json", **(headers or {})},
            query=query,
            body=body,
            timeout_seconds=seconds,
            max_bytes=most,
            follow_redirects=False,
        )


async def _answer(http: HttpClient, request: HttpRequest) -> dict[str, Any]:
    response: HttpResponse = await http.send(request)
    problem = parse_refusal(response, NAME, _WORDS)
    if problem is not None:
        raise problem
    return read_object(response, NAME)


def build_related_body(result: Mapping[str, Any], kind: str, media: bytes, boundary: str) -> bytes:
    """Build a multipart/related body: metadata and content."""
    head = (
        f"--{boundary}\r\nContent-Type: application/json; charset=UTF-8\r\n\r\n"
        f"{json.dumps(result)}\r\n--{boundary}\r\nContent-Type: {kind}\r\n\r\n"
    )
    return b"".join((head.encode(), media, f"\r\n--{boundary}--\r\n".encode()))


def decode_base64(data: Any) -> bytes | None:
    """Decode URL-safe base64, often without padding."""
    if not isinstance(data, str):
        return None
    try:
        plain = data.rstrip("=")
        return base64.b64decode(plain + "=" * (-len(plain) % 4), altchars=b"-_", validate=True)
    except (binascii.Error, ValueError):
        return None


def _is_delivered(message: Any) -> bool:
    """Report whether a message was received or sent; drafts were not."""
    if not isinstance(message, Mapping):
        return False
    labels = message.get("labelIds")
    return not {"DRAFT", "SPAM", "TRASH", "CHAT"} & set(labels if isinstance(labels, list) else ())


def _has_header(payload: Any, header: str, value: str) -> bool:
    headers = list_in(payload, "headers", NAME) if isinstance(payload, Mapping) else []
    return any(
        isinstance(one, Mapping)
        and str(one.get("name", "")).lower() == header.lower()
        and str(one.get("value", "")).strip() == value
        for one in headers
    )


def _messages(found: Mapping[str, Any]) -> list[dict[str, Any]]:
    messages = [one for one in list_in(found, "messages", NAME) if isinstance(one, dict)]
    if not messages:
        raise NotFound("The thread has no messages any more.", code="thread_empty")
    return messages


def _add_page(request: dict[str, str], page: str | None) -> dict[str, str]:
    return request if page is None else {**request, "pageToken": page}


def _next(found: Mapping[str, Any]) -> str | None:
    page = found.get("nextPageToken")
    return page if isinstance(page, str) and page else None
