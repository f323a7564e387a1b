"""What the doubles of Google's APIs share: authentication, refusals and uploads."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from email import message_from_bytes
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

from tests.kit.scripted_server import ScriptedDouble, http_answer

TOKEN = "ya29.a0-a-token-of-a-test"
JSON = "Content-Type: application/json; charset=UTF-8"


def answer(value: Any, status: int = 200) -> bytes:
    """A JSON answer, as all of these APIs give it."""
    return http_answer(status, json.dumps(value).encode(), JSON)


def refusal(status: int, reason: str, message: str = "No.", *headers: str) -> bytes:
    """A refusal in Google's envelope."""
    inner = {"domain": "global", "reason": reason, "message": message}
    body = {"error": {"code": status, "message": message, "errors": [inner]}}
    return http_answer(status, json.dumps(body).encode(), JSON, *headers)


def scope_missing() -> bytes:
    """How the newer servers say that the token was not given enough."""
    info = {
        "@type": "type.googleapis.com/google.rpc.ErrorInfo",
        "reason": "ACCESS_TOKEN_SCOPE_INSUFFICIENT",
        "domain": "googleapis.com",
    }
    text = "Request had insufficient authentication scopes."
    error = {"code": 403, "message": text, "status": "PERMISSION_DENIED", "details": [info]}
    return answer({"error": error}, 403)


def busy(seconds: int) -> bytes:
    return refusal(429, "rateLimitExceeded", "Too many.", f"Retry-After: {seconds}")


def failed() -> bytes:
    return refusal(500, "backendError", "Backend Error")


def elsewhere(url: str) -> bytes:
    return http_answer(302, b"", f"Location: {url}")


@dataclass(frozen=True, slots=True)
class ReceivedRequest:
    """One request, taken apart."""

    method: str
    path: str
    query: dict[str, str]
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> dict[str, Any]:
        found = json.loads(self.body)
        assert isinstance(found, dict)
        return found

    def related(self) -> tuple[dict[str, Any], str, bytes]:
        """The two parts of an upload: the metadata, the type of the media, and the media."""
        head = f"Content-Type: {self.headers['content-type']}\r\n\r\n".encode()
        whole = message_from_bytes(head + self.body)
        assert whole.get_content_type() == "multipart/related"
        boundary = whole.get_boundary()
        assert boundary is not None
        parts = self.body.split(f"--{boundary}".encode())
        assert len(parts) == 4
        assert parts[3].strip() == b"--"
        result, media = (one.removeprefix(b"\r\n").partition(b"\r\n\r\n") for one in parts[1:3])
        kind = message_from_bytes(media[0] + b"\r\n\r\n").get("content-type", "")
        return json.loads(result[2]), kind, media[2].removesuffix(b"\r\n")


@dataclass(slots=True)
class GoogleDouble(ScriptedDouble):
    """Checks the token, answers what was planned for a path, or lets the API answer."""

    # Answers instead, by method and path, such as "GET /gmail/v1/users/me/threads".
    planned: dict[str, list[bytes]] = field(default_factory=dict)
    asked: list[ReceivedRequest] = field(default_factory=list)
    # Open notification channels by their id, and every id that was used.
    channels: dict[str, dict[str, Any]] = field(default_factory=dict)
    used_channels: set[str] = field(default_factory=set)

    def watch(self, asked: ReceivedRequest) -> bytes:
        """A watch request: ids are unique for ever, and an address has to be https."""
        sent = asked.json
        if sent.get("type") != "web_hook" or not 1 <= len(sent.get("id", "")) <= 64:
            return refusal(400, "required", "Required")
        if not sent.get("address", "").startswith("https://"):
            return refusal(400, "push.webhookUrlNotHttps", "WebHook callback must be HTTPS")
        if sent["id"] in self.used_channels:
            return refusal(400, "channelIdNotUnique", f"Channel id {sent['id']} not unique")
        self.used_channels.add(sent["id"])
        made = {
            "kind": "api#channel",
            "id": sent["id"],
            "resourceId": f"resource-{len(self.used_channels)}",
            "resourceUri": f"{self.url}{asked.path}",
            "token": sent.get("token", ""),
            "expiration": sent.get("expiration", ""),
        }
        self.channels[sent["id"]] = {**made, "address": sent["address"]}
        return answer(made)

    def stop_channel(self, asked: ReceivedRequest) -> bytes:
        """Only the pair of both ids stops a channel."""
        sent = asked.json
        known = self.channels.get(sent.get("id", ""))
        if known is None or known["resourceId"] != sent.get("resourceId"):
            return refusal(404, "notFound", "Channel not found")
        del self.channels[sent["id"]]
        return b"HTTP/1.1 204 No Content\r\n\r\n"

    def notify(self, channel: dict[str, Any], state: str) -> dict[str, str]:
        """The headers of a notification, which has no body."""
        return {
            "X-Goog-Channel-ID": channel["id"],
            "X-Goog-Channel-Token": channel["token"],
            "X-Goog-Channel-Expiration": "Tue, 19 Nov 2030 01:13:52 GMT",
            "X-Goog-Resource-ID": channel["resourceId"],
            "X-Goog-Resource-URI": channel["resourceUri"],
            "X-Goog-Resource-State": state,
            "X-Goog-Message-Number": "1" if state == "sync" else "2",
        }

    def _respond(self, head: bytes, headers: dict[str, str], body: bytes) -> bytes:
        method, target, _ = head.decode().split(" ", 2)
        split = urlsplit(target)
        query = {name: values[-1] for name, values in parse_qs(split.query).items()}
        one = ReceivedRequest(method, unquote(split.path), query, headers, body)
        self.asked.append(one)
        if headers.get("authorization") != f"Bearer {TOKEN}":
            return refusal(401, "authError", "Invalid Credentials")
        planned = self.planned.get(f"{method} {one.path}")
        return planned.pop(0) if planned else self._reply(one)

    def _reply(self, asked: ReceivedRequest) -> bytes:
        raise NotImplementedError

    def count(self, method: str, path: str) -> int:
        """How often something was asked for."""
        return sum(1 for one in self.asked if (one.method, one.path) == (method, path))
