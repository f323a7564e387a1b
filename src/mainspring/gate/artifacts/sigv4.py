"""AWS Signature Version 4 over headers, as S3 and everything like it checks it.

The request is spelled in one canonical way, hashed, and signed with a key derived from
the secret key, the day and the region. Pure functions of their arguments.
"""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from urllib.parse import quote

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
