"""Artifacts in an S3-compatible store, through the same guarded way out as every call.

The store is the operator's own choice, so its one host and port may be a private
address; no other host is ever called with its keys, and no redirect is followed.
"""

from __future__ import annotations

import hashlib
import hmac
import re
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import cast
from urllib.parse import parse_qsl, quote
from uuid import UUID

from mainspring.contracts.clock import Clock
from mainspring.contracts.context import HttpRequest, HttpResponse
from mainspring.contracts.errors import Invalid, UpstreamError
from mainspring.contracts.limits import Limits
from mainspring.contracts.secret import SecretText
from mainspring.outbound.egress import Egress, UrlTarget, parse_url
from mainspring.workspace.artifacts.blobs import BlobKey, read_path

# AWS Signature Version 4 over headers, as S3 and everything like it checks it.

ALGORITHM = "AWS4-HMAC-SHA256"
_UNRESERVED = "-._~"


@dataclass(frozen=True, slots=True)
class SigV4Credentials:
    """Who signs, and for which region. The secret key is never shown."""

    key_id: str
    key: str = field(repr=False)
    region: str = "us-east-1"
    service: str = "s3"


def sign_headers(
    credentials: SigV4Credentials,
    method: str,
    host: str,
    path: str,
    *,
    query: Mapping[str, str],
    headers: Mapping[str, str],
    body: bytes,
    now: datetime,
) -> dict[str, str]:
    """The headers of a request with its date, the hash of its body and its signature.

    ``path`` is not yet encoded. ``host`` is as the Host header says it.
    """
    moment = now.astimezone(UTC).strftime("%Y%m%dT%H%M%SZ")
    digest = hashlib.sha256(body).hexdigest()
    given = {**headers, "x-amz-content-sha256": digest, "x-amz-date": moment}
    lines = {name.lower(): " ".join(value.split()) for name, value in given.items()}
    lines["host"] = host
    names = sorted(lines)
    signed = ";".join(names)
    canonical = "\n".join(
        (
            method,
            quote(path, safe="/" + _UNRESERVED),
            canonical_query(query),
            *(f"{name}:{lines[name]}" for name in names),
            "",
            signed,
            digest,
        )
    )
    scope = f"{moment[:8]}/{credentials.region}/{credentials.service}/aws4_request"
    hashed = hashlib.sha256(canonical.encode()).hexdigest()
    text = f"{ALGORITHM}\n{moment}\n{scope}\n{hashed}"
    signature = hmac.new(_key(credentials, moment[:8]), text.encode(), hashlib.sha256).hexdigest()
    given["Authorization"] = (
        f"{ALGORITHM} Credential={credentials.key_id}/{scope}, "
        f"SignedHeaders={signed}, Signature={signature}"
    )
    return given


def canonical_query(query: Mapping[str, str]) -> str:
    """Names and values encoded, then sorted."""
    pairs = sorted(
        (quote(name, safe=_UNRESERVED), quote(value, safe=_UNRESERVED))
        for name, value in query.items()
    )
    return "&".join(f"{name}={value}" for name, value in pairs)


def _key(credentials: SigV4Credentials, day: str) -> bytes:
    key = f"AWS4{credentials.key}".encode()
    for part in (day, credentials.region, credentials.service, "aws4_request"):
        key = hmac.new(key, part.encode(), hashlib.sha256).digest()
    return key


SCHEMES = ("s3+https://", "s3+http://")
# What was saved under a larger limit can still be fetched after the limit was lowered.
_LARGEST = 67_108_864
_PAGE = "500"
_MOST_PAGES = 10_000
_WORTH_ANOTHER_TRY = frozenset({408, 409, 425, 429})
_BUCKET = re.compile(r"[a-z0-9][a-z0-9._-]{1,62}")
_PREFIX = re.compile(r"[A-Za-z0-9._/-]*")
_REGION = re.compile(r"[a-z0-9-]{1,40}")
_ENTRY = re.compile(
    r"<Contents>(?:(?!</Contents>).)*?<Key>([^<]*)</Key>(?:(?!</Contents>).)*?"
    r"<LastModified>([^<]*)</LastModified>.*?</Contents>",
    re.DOTALL,
)
_NEXT = re.compile(r"<NextContinuationToken>([^<]*)</NextContinuationToken>")


@dataclass(frozen=True, slots=True)
class S3Location:
    """The bucket: where it is and what our keys begin with."""

    origin: UrlTarget
    bucket: str
    # Empty, or with a slash at its end.
    prefix: str
    region: str


def parse_s3_url(url: str) -> S3Location:
    """Reads ``s3+https://host[:port]/bucket/prefix?region=…``."""
    if not url.startswith(SCHEMES):
        raise _bad("It begins with s3+https:// or s3+http://.")
    plain, _, query = url.removeprefix("s3+").partition("?")
    try:
        target = parse_url(plain)
    except Invalid as error:
        raise _bad(error.detail) from error
    bucket, _, prefix = target.path.strip("/").partition("/")
    if not _BUCKET.fullmatch(bucket) or not _PREFIX.fullmatch(prefix):
        raise _bad("After the host it names a bucket, and a prefix of plain characters.")
    options = dict(parse_qsl(query, keep_blank_values=True))
    region = options.pop("region", "us-east-1")
    if options or not _REGION.fullmatch(region):
        raise _bad("After the question mark only region= is allowed.")
    return S3Location(replace(target, path="/"), bucket, prefix and f"{prefix}/", region)


def _bad(sentence: str) -> Invalid:
    return Invalid(
        f"MAINSPRING_ARTIFACTS_URL is not the address of a store. {sentence}",
        code="artifacts_url",
        suggestion="Write it as s3+https://host/bucket/prefix?region=us-east-1.",
    )


class S3Store:
    """A blob store in one bucket."""

    def __init__(
        self, url: str, key_id: str, key: str, limits: Limits, clock: Clock, *, seconds: float
    ) -> None:
        self._place = parse_s3_url(url)
        self._credentials = SigV4Credentials(key_id, key, self._place.region)
        self._clock = clock
        self._seconds = seconds
        self._largest = max(limits.artifact_bytes, _LARGEST)
        roomy = replace(limits, http_request_bytes=self._largest, http_response_bytes=self._largest)
        self._pair = self._place.origin.pair
        self._egress = Egress(roomy, [self._pair])

    async def put(self, key: BlobKey, content: bytes) -> None:
        answer = await self._send("PUT", f"{self._place.prefix}{key.path}", body=content)
        self._check(answer, "keep")

    async def get(self, key: BlobKey) -> bytes | None:
        answer = await self._send("GET", f"{self._place.prefix}{key.path}")
        if answer.status == 404 and b"NoSuchBucket" not in answer.body:
            return None
        self._check(answer, "hand out")
        return answer.body

    async def delete(self, key: BlobKey) -> None:
        answer = await self._send("DELETE", f"{self._place.prefix}{key.path}")
        if answer.status != 404:
            self._check(answer, "delete")

    async def older(
        self, workspace_id: UUID, prefix: str, before: datetime
    ) -> AsyncIterator[list[BlobKey]]:
        query = {
            "list-type": "2",
            "max-keys": _PAGE,
            "prefix": f"{self._place.prefix}{workspace_id}/{prefix}/",
        }
        for _ in range(_MOST_PAGES):
            answer = await self._send("GET", "", query=query)
            self._check(answer, "list")
            text = answer.body.decode("utf-8", "replace")
            found = [self._older(entry[1], entry[2], before) for entry in _ENTRY.finditer(text)]
            yield [key for key in found if key is not None]
            more = _NEXT.search(text)
            if more is None:
                return
            query["continuation-token"] = _unescape_xml(more[1])

    async def aclose(self) -> None:
        await self._egress.aclose()

    def _older(self, path: str, written: str, before: datetime) -> BlobKey | None:
        """What cannot be read is not ours, and what has no time is not old."""
        try:
            moment = datetime.fromisoformat(written)
        except ValueError:
            return None
        if moment.tzinfo is None or moment >= before:
            return None
        return read_path(path.removeprefix(self._place.prefix))

    async def _send(
        self, method: str, path: str, *, query: Mapping[str, str] | None = None, body: bytes = b""
    ) -> HttpResponse:
        origin, asked = self._place.origin, dict(query or {})
        whole = f"/{self._place.bucket}/{path}" if path else f"/{self._place.bucket}"
        headers = sign_headers(
            self._credentials,
            method,
            origin.authority,
            whole,
            query=asked,
            headers={},
            body=body,
            now=self._clock.now(),
        )
        request = HttpRequest(
            method=method,
            url=f"{origin.scheme}://{origin.authority}{whole}",
            headers=cast("Mapping[str, str | SecretText]", headers),
            query=cast("Mapping[str, str | SecretText]", asked),
            body=body if method == "PUT" else None,
            timeout_seconds=self._seconds,
            max_bytes=self._largest,
            follow_redirects=False,
        )
        return await self._egress.send(request, allowed_hosts=frozenset({self._pair}))

    def _check(self, answer: HttpResponse, verb: str) -> None:
        status = answer.status
        if 200 <= status < 300:
            return
        if status in {401, 403}:
            raise UpstreamError(
                f"The store of artifacts refused to {verb} one: it does not accept our key.",
                code="artifact_store_refused",
                suggestion="Check MAINSPRING_ARTIFACTS_KEY_ID, its key, and the machine's clock.",
                retryable=False,
            )
        raise UpstreamError(
            f"The store of artifacts did not {verb} one; it answered with status {status}.",
            code="artifact_store_failed",
            retryable=status >= 500 or status in _WORTH_ANOTHER_TRY,
        )


def _unescape_xml(text: str) -> str:
    """The five signs that XML must spell out; a token is base64 and needs no more."""
    for spelled, sign in (("&lt;", "<"), ("&gt;", ">"), ("&quot;", '"'), ("&#39;", "'")):
        text = text.replace(spelled, sign)
    return text.replace("&amp;", "&")
