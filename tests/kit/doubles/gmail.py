"""Gmail's API v1 on loopback: one mailbox with threads, a history, attachments and sending."""

from __future__ import annotations

import base64
import contextlib
import re
import time
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from email import message_from_bytes
from email.message import Message
from email.policy import default
from typing import Any

from tests.kit.doubles.google import GoogleDouble, ReceivedRequest, answer, refusal
from tests.kit.scripted_server import serving

ADDRESS = "ada@example.com"
_OURS = "/gmail/v1/users/me/"


def coded(data: bytes) -> str:
    """Base64 as Gmail writes it."""
    return base64.urlsafe_b64encode(data).decode().rstrip("=")


def leaf(kind: str, data: bytes, **headers: str) -> dict[str, Any]:
    """A part of text without parts of its own."""
    named = [{"name": name.replace("_", "-"), "value": value} for name, value in headers.items()]
    body = {"size": len(data), "data": coded(data)}
    return {"mimeType": kind, "filename": "", "headers": named, "body": body}


def branch(kind: str, *parts: dict[str, Any]) -> dict[str, Any]:
    """A part that is made of parts, each with its place in the tree as Gmail numbers it."""
    return {
        "mimeType": kind,
        "filename": "",
        "headers": [],
        "body": {"size": 0},
        "parts": list(parts),
    }


def attached(filename: str, kind: str, data: bytes) -> dict[str, Any]:
    """A file; its bytes are fetched by themselves."""
    return {"mimeType": kind, "filename": filename, "headers": [], "file": data}


def _fits(message: dict[str, Any], wanted: dict[str, str]) -> bool:
    """Whether a search finds a message, by the few operators that are known here."""
    headers = {one["name"].lower(): one["value"] for one in message["payload"]["headers"]}
    own = wanted.get("rfc822msgid")
    return (
        ("in" not in wanted or wanted["in"].upper() in message["labelIds"])
        and wanted.get("to", "") in headers.get("to", "")
        and int(message["internalDate"]) >= int(wanted.get("after", "0")) * 1000
        and (own is None or headers.get("message-id") == f"<{own}>")
    )


@dataclass(slots=True)
class GmailDouble(GoogleDouble):
    """A mailbox: messages by id, in the order in which they came."""

    mailbox: dict[str, dict[str, Any]] = field(default_factory=dict)
    history: list[tuple[int, str]] = field(default_factory=list)
    files: dict[str, bytes] = field(default_factory=dict)
    sent: list[Message] = field(default_factory=list)
    # Older points of the history are forgotten.
    oldest: int = 1
    moment: int = 100
    page_size: int = 500
    _given: int = 0

    def put(
        self,
        message_id: str,
        thread_id: str,
        payload: dict[str, Any],
        *,
        at: int = 1_780_000_000,
        labels: tuple[str, ...] = ("INBOX",),
        **headers: str,
    ) -> None:
        """A message arrives."""
        named = [
            {"name": name.replace("_", "-"), "value": value} for name, value in headers.items()
        ]
        whole = {**payload, "headers": [*named, *payload["headers"]]}
        self.moment += 7
        self.mailbox[message_id] = {
            "id": message_id,
            "threadId": thread_id,
            "labelIds": list(labels),
            "snippet": "It begins &amp; ends",
            "historyId": str(self.moment),
            "internalDate": str(at * 1000),
            "sizeEstimate": 1000,
            "payload": whole,
        }
        self.history.append((self.moment, message_id))

    def _reply(self, asked: ReceivedRequest) -> bytes:
        if (asked.method, asked.path) == ("POST", "/upload/gmail/v1/users/me/messages/send"):
            return self._send(asked)
        if asked.method != "GET" or not asked.path.startswith(_OURS):
            return refusal(404, "notFound", "Not Found")
        name, *rest = asked.path.removeprefix(_OURS).split("/")
        if name == "profile":
            return answer(
                {
                    "emailAddress": ADDRESS,
                    "messagesTotal": len(self.mailbox),
                    "historyId": str(self.moment),
                }
            )
        if name == "labels":
            own = {"id": "Label_7", "name": "Customers", "type": "user"}
            return answer({"labels": [{"id": "INBOX", "name": "INBOX", "type": "system"}, own]})
        if name == "history":
            return self._history(asked)
        if name == "threads":
            return self._thread(rest[0], asked) if rest else self._threads(asked)
        if name == "messages":
            return self._message(rest, asked)
        return refusal(404, "notFound", "Requested entity was not found.")

    def _message(self, rest: list[str], asked: ReceivedRequest) -> bytes:
        if not rest:
            return self._searched(asked)
        if len(rest) == 3 and rest[1] == "attachments" and rest[2] in self.files:
            data = self.files[rest[2]]
            return answer({"size": len(data), "data": coded(data)})
        if len(rest) == 1 and rest[0] in self.mailbox:
            return answer(self._shown(rest[0], asked))
        return refusal(404, "notFound", "Requested entity was not found.")

    def _threads(self, asked: ReceivedRequest) -> bytes:
        if "q" not in asked.query or not 1 <= int(asked.query["maxResults"]) <= 500:
            return refusal(400, "invalidArgument", "Invalid value")
        after = re.search(r"after:(\d+)", asked.query["q"])
        since = int(after[1]) if after else 0
        fits = [one for one in self.mailbox.values() if int(one["internalDate"]) >= since * 1000]
        words = re.sub(r"\S+:\S+", "", asked.query["q"]).split()
        found = [
            one for one in fits if all(word in str(one["payload"]["headers"]) for word in words)
        ]
        ids = list(dict.fromkeys(one["threadId"] for one in reversed(found)))
        return self._paged(asked, "threads", [{"id": one, "snippet": "…"} for one in ids])

    def _paged(self, asked: ReceivedRequest, name: str, rows: list[Any], **more: str) -> bytes:
        start = int(asked.query.get("pageToken", "p0").removeprefix("p"))
        end = start + min(int(asked.query.get("maxResults", "100")), self.page_size)
        shown: dict[str, Any] = {name: rows[start:end], **more} if rows[start:end] else dict(more)
        if end < len(rows):
            shown["nextPageToken"] = f"p{end}"
        return answer({**shown, "resultSizeEstimate": len(rows)})

    def _history(self, asked: ReceivedRequest) -> bytes:
        since = int(asked.query["startHistoryId"])
        if since < self.oldest:
            return refusal(404, "notFound", "Requested entity was not found.")
        assert asked.query["historyTypes"] == "messageAdded"
        rows = []
        for at, one in self.history:
            if at > since:
                result = {key: self.mailbox[one][key] for key in ("id", "threadId", "labelIds")}
                rows.append(
                    {
                        "id": str(at),
                        "messages": [{"id": one, "threadId": result["threadId"]}],
                        "messagesAdded": [{"message": result}],
                    }
                )
        return self._paged(asked, "history", rows, historyId=str(self.moment))

    def _thread(self, thread_id: str, asked: ReceivedRequest) -> bytes:
        ids = [key for key, one in self.mailbox.items() if one["threadId"] == thread_id]
        if not ids:
            return refusal(404, "notFound", "Requested entity was not found.")
        return answer(
            {
                "id": thread_id,
                "historyId": str(self.moment),
                "messages": [self._shown(one, asked) for one in ids],
            }
        )

    def _shown(self, message_id: str, asked: ReceivedRequest) -> dict[str, Any]:
        one = self.mailbox[message_id]
        payload = self._part(one["payload"], "")
        if asked.query.get("format") == "metadata":
            only = asked.query.get("metadataHeaders", "").lower()
            headers = [one for one in payload["headers"] if only in ("", one["name"].lower())]
            payload = {"mimeType": payload["mimeType"], "headers": headers}
        return {**one, "payload": payload}

    def _part(self, part: dict[str, Any], place: str) -> dict[str, Any]:
        shown = {**part, "partId": place}
        data = shown.pop("file", None)
        if data is not None:
            # Another id for the same bytes each time, as Gmail does it.
            self._given += 1
            self.files[f"ANGj-{self._given}"] = data
            shown["body"] = {"size": len(data), "attachmentId": f"ANGj-{self._given}"}
        if "parts" in part:
            shown["parts"] = [
                self._part(one, f"{place}.{at}".lstrip(".")) for at, one in enumerate(part["parts"])
            ]
        return shown

    def _searched(self, asked: ReceivedRequest) -> bytes:
        expected = dict(re.findall(r"(\w+):(\S+)", asked.query.get("q", "")))
        assert expected.keys() <= {"in", "to", "after", "rfc822msgid"}, asked.query["q"]
        found = [
            {"id": key, "threadId": one["threadId"]}
            for key, one in reversed(self.mailbox.items())
            if _fits(one, expected)
        ]
        return self._paged(asked, "messages", found)

    def _send(self, asked: ReceivedRequest) -> bytes:
        result, kind, media = asked.related()
        if asked.query.get("uploadType") != "multipart" or kind != "message/rfc822":
            return refusal(400, "invalidArgument", "Media type is not supported.")
        mail = message_from_bytes(media, policy=default)
        if not mail["To"]:
            return refusal(400, "invalidArgument", "Recipient address required")
        self.sent.append(mail)
        self.messages.append(result)
        own = f"sent{len(self.sent)}"
        thread = result.get("threadId", own)
        # Gmail gives every mail that is sent over this API a Message-ID of its own, and keeps
        # the other headers.
        del mail["Message-ID"]
        mail["Message-ID"] = f"<CA+{len(self.sent)}@mail.gmail.com>"
        text = leaf("text/plain", b"x")
        text["headers"] = [{"name": name, "value": str(value)} for name, value in mail.items()]
        self.put(own, thread, text, at=int(time.time()), labels=("SENT",))
        return answer({"id": own, "threadId": thread, "labelIds": ["SENT"]})


@contextlib.asynccontextmanager
async def gmail_double() -> AsyncIterator[GmailDouble]:
    """Serves on a free port of loopback until the block ends."""
    async with serving(GmailDouble()) as double:
        yield double
