"""An S3-compatible store on loopback: it checks every signature by itself.

It shares no code with the product. A request whose signature, body hash, date or bucket is
wrong is refused as the real ones refuse it, and nothing is changed.
"""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import hmac
import re
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from urllib.parse import quote, unquote

KEY_ID = "AKIDOFTESTS"
KEY = "s3cret/key+of=tests"
BUCKET = "files"
_AUTHORIZATION = re.compile(
    r"AWS4-HMAC-SHA256 Credential=([^/]+)/(\d{8})/([a-z0-9-]+)/s3/aws4_request, "
    r"SignedHeaders=([a-z0-9;-]+), Signature=([0-9a-f]{64})"
)


@dataclass
class ReceivedRequest:
    """One request as it was sent on the wire."""

    method: str
    path: str
    query: str
    headers: dict[str, str]
    body: bytes


@dataclass
class Bucket:
    """What lies in the store, and how it behaves."""

    region: str = "us-east-1"
    objects: dict[str, bytes] = field(default_factory=dict)
    written: dict[str, datetime] = field(default_factory=dict)
    page: int = 2
    # Statuses to answer with before anything else is done.
    troubles: list[int] = field(default_factory=list)
    silent: bool = False
    requests: list[ReceivedRequest] = field(default_factory=list)
    refusals: list[str] = field(default_factory=list)
    port: int = 0

    @property
    def url(self) -> str:
        return f"s3+http://127.0.0.1:{self.port}/{BUCKET}/kept/here?region={self.region}"

    def answer(self, asked: ReceivedRequest) -> tuple[int, bytes]:
        self.requests.append(asked)
        if self.troubles:
            return self.troubles.pop(0), b"<Error/>"
        wrong = self._wrong(asked)
        if wrong:
            self.refusals.append(wrong)
            return 403, f"<Error><Code>{wrong}</Code></Error>".encode()
        if asked.path == f"/{BUCKET}":
            return 200, self._listed(dict(_pairs(asked.query)))
        bucket, _, key = unquote(asked.path).removeprefix("/").partition("/")
        if bucket != BUCKET:
            return 404, b"<Error><Code>NoSuchBucket</Code></Error>"
        if asked.method == "PUT":
            self.objects[key], self.written[key] = asked.body, datetime.now(UTC)
            return 200, b""
        if asked.method == "DELETE":
            self.objects.pop(key, None)
            return 204, b""
        if key not in self.objects:
            return 404, b"<Error><Code>NoSuchKey</Code></Error>"
        return 200, self.objects[key]

    def _listed(self, query: dict[str, str]) -> bytes:
        after = query.get("continuation-token", "")
        keys = sorted(k for k in self.objects if k.startswith(query["prefix"]) and k > after)
        shown, more = keys[: self.page], keys[self.page :]
        parts = [
            f"<Contents><Key>{key}</Key><LastModified>"
            f"{self.written[key]:%Y-%m-%dT%H:%M:%S.000Z}</LastModified><Size>1</Size></Contents>"
            for key in shown
        ]
        if more:
            parts.append(f"<NextContinuationToken>{shown[-1]}</NextContinuationToken>")
        return f"<ListBucketResult>{''.join(parts)}</ListBucketResult>".encode()

    def _wrong(self, asked: ReceivedRequest) -> str:
        found = _AUTHORIZATION.fullmatch(asked.headers.get("authorization", ""))
        if found is None:
            return "AccessDenied"
        key_id, day, region, signed, signature = found.groups()
        stamp = asked.headers.get("x-amz-date", "")
        if key_id != KEY_ID:
            return "InvalidAccessKeyId"
        if signed.split(";") != sorted(signed.split(";")):
            return "AuthorizationHeaderMalformed"
        if region != self.region or stamp[:8] != day:
            return "AuthorizationHeaderMalformed"
        moment = datetime.strptime(stamp, "%Y%m%dT%H%M%SZ").replace(tzinfo=UTC)
        if abs(datetime.now(UTC) - moment) > timedelta(minutes=15):
            return "RequestTimeTooSkewed"
        if asked.headers.get("x-amz-content-sha256") != hashlib.sha256(asked.body).hexdigest():
            return "XAmzContentSHA256Mismatch"
        if not {"host", "x-amz-date", "x-amz-content-sha256"} <= set(signed.split(";")):
            return "AccessDenied"
        right = _signature(asked, signed.split(";"), stamp, region)
        return "" if hmac.compare_digest(right, signature) else "SignatureDoesNotMatch"


def _signature(asked: ReceivedRequest, signed: list[str], stamp: str, region: str) -> str:
    lines = [asked.method, quote(unquote(asked.path), safe="/~")]
    lines.append(
        "&".join(
            sorted(f"{quote(n, safe='~')}={quote(v, safe='~')}" for n, v in _pairs(asked.query))
        )
    )
    lines += [f"{name}:{asked.headers[name].strip()}" for name in signed]
    lines += ["", ";".join(signed), asked.headers["x-amz-content-sha256"]]
    scope = [stamp[:8], region, "s3", "aws4_request"]
    digest = hashlib.sha256("\n".join(lines).encode()).hexdigest()
    text = "\n".join(["AWS4-HMAC-SHA256", stamp, "/".join(scope), digest])
    key = b"AWS4" + KEY.encode()
    for piece in scope:
        key = hmac.digest(key, piece.encode(), "sha256")
    return hmac.digest(key, text.encode(), "sha256").hex()


def _pairs(query: str) -> list[tuple[str, str]]:
    pieces = [piece.partition("=") for piece in query.split("&") if piece]
    return [(unquote(name), unquote(value)) for name, _, value in pieces]


@contextlib.asynccontextmanager
async def s3_server(bucket: Bucket) -> AsyncIterator[Bucket]:
    """Serves the bucket on a free port of loopback until the block ends."""
    tasks: set[asyncio.Task[None]] = set()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        tasks.add(task)
        with contextlib.suppress(OSError, asyncio.IncompleteReadError, asyncio.CancelledError):
            while True:
                asked = await _read(reader)
                if bucket.silent:
                    bucket.requests.append(asked)
                    continue
                status, body = bucket.answer(asked)
                length = b"" if status == 204 else b"Content-Length: %d\r\n" % len(body)
                writer.write(b"HTTP/1.1 %d -\r\n%s\r\n" % (status, length) + body)
                await writer.drain()
        writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    bucket.port = server.sockets[0].getsockname()[1]
    try:
        yield bucket
    finally:
        server.close()
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await server.wait_closed()


async def _read(reader: asyncio.StreamReader) -> ReceivedRequest:
    head = (await reader.readuntil(b"\r\n\r\n")).decode("ascii")
    first, *lines = head.strip().split("\r\n")
    method, target, _ = first.split(" ")
    named = (line.partition(":") for line in lines)
    headers = {name.lower(): value.strip() for name, _, value in named}
    body = await reader.readexactly(int(headers.get("content-length", "0")))
    path, _, query = target.partition("?")
    return ReceivedRequest(method, path, query, headers, body)
