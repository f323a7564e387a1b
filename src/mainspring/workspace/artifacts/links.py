"""Signed addresses: one artifact, until a moment, for whoever holds the address.

The signature covers the workspace, the artifact, the moment and how it is handed out. Its
key is derived from the vault's master key and used for nothing else. A signature that does
not fit is answered like an id that does not exist, so nothing can be learned by guessing.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import re
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING
from uuid import UUID

from mainspring.contracts.errors import Expired, Finding, Invalid, PermissionDenied
from mainspring.workspace.artifacts.rows import Artifact, no_artifact

if TYPE_CHECKING:
    from mainspring.workspace.vault import Vault

DEFAULT_SECONDS = 15 * 60
MOST_SECONDS = 7 * 24 * 3600
_PURPOSE = b"mainspring artifact links v1"
_ATTACHMENT = "attachment"
# A moment beyond the year 5000 is no moment that was signed here.
_MOST_MOMENT = 10**11
_MOMENT = re.compile(r"[0-9]{1,12}")


@dataclass(frozen=True, slots=True)
class SignedLink:
    """An address that needs no sign-in, and until when."""

    url: str
    expires_at: datetime


class LinkSigner:
    """Makes and checks signed addresses below one server's address."""

    def __init__(self, vault: Vault, address: str) -> None:
        self._vault = vault
        self._address = address

    async def make(self, artifact: Artifact, now: datetime, seconds: int) -> SignedLink:
        """A link to an artifact, for its remaining life at most."""
        if artifact.visibility == "private":
            raise PermissionDenied(
                "This artifact is private, so there is no link to it.",
                code="artifact_private",
                suggestion="Save it with the visibility workspace or shared.",
            )
        _check_seconds(seconds)
        until = now + timedelta(seconds=seconds)
        if artifact.expires_at is not None:
            until = min(until, artifact.expires_at)
        moment = int(until.timestamp())
        signature = await self._signature(artifact.workspace_id, artifact.id, moment)
        url = (
            f"{self._address}/api/v1/artifacts/{artifact.id}/content"
            f"?expires={moment}&signature={signature}"
        )
        return SignedLink(url, datetime.fromtimestamp(moment, UTC))

    async def check(
        self, workspace_id: UUID, artifact_id: UUID, expires: int, signature: str, now: datetime
    ) -> None:
        """Missing for a signature that does not fit; Expired for one whose time is over."""
        right = await self._signature(workspace_id, artifact_id, expires)
        if not hmac.compare_digest(right.encode(), signature.encode("utf-8", "replace")):
            raise no_artifact()
        if expires > _MOST_MOMENT or now.timestamp() >= expires:
            raise Expired(
                "This link has expired.",
                code="link_expired",
                suggestion="Ask the sender for a new link.",
            )

    async def _signature(self, workspace_id: UUID, artifact_id: UUID, expires: int) -> str:
        key = await self._vault.derived_key(_PURPOSE)
        text = f"{workspace_id}\n{artifact_id}\n{expires}\n{_ATTACHMENT}"
        digest = hmac.new(key, text.encode(), hashlib.sha256).digest()
        return base64.urlsafe_b64encode(digest).decode().rstrip("=")


def read_expiry(text: str) -> int:
    """The moment that an address names. One that is no number was never signed here."""
    if not _MOMENT.fullmatch(text):
        raise no_artifact()
    return int(text)


def _check_seconds(seconds: int) -> None:
    if not 1 <= seconds <= MOST_SECONDS:
        sentence = f"A link lives for 1 to {MOST_SECONDS} seconds."
        raise Invalid(
            sentence,
            code="link_seconds",
            findings=[Finding("/seconds", sentence, "link_seconds")],
        )
