"""Which blob store an installation has: what the operator set, or the data folder."""

from __future__ import annotations

from mainspring.contracts.clock import Clock
from mainspring.contracts.errors import Invalid
from mainspring.contracts.limits import Limits
from mainspring.gate.artifacts.blobs import BlobStore
from mainspring.gate.artifacts.folder import FolderStore
from mainspring.gate.artifacts.s3 import S3Store
from mainspring.settings import Settings

_LONGEST_SECONDS = 10.0


def open_blobs(settings: Settings, limits: Limits, clock: Clock) -> BlobStore:
    """The store, without touching it yet."""
    if settings.artifacts_url is None:
        return FolderStore(settings.home / "artifacts")
    if not settings.artifacts_key_id or not settings.artifacts_key:
        raise Invalid(
            "MAINSPRING_ARTIFACTS_URL is set, and the key of that store is not.",
            code="artifacts_key",
            suggestion="Set MAINSPRING_ARTIFACTS_KEY_ID and MAINSPRING_ARTIFACTS_KEY.",
        )
    # Bytes are put while the transaction of the call is open, and the database ends one
    # that stays idle for as long as a lease.
    seconds = min(_LONGEST_SECONDS, settings.lease_seconds / 2)
    return S3Store(
        settings.artifacts_url,
        settings.artifacts_key_id,
        settings.artifacts_key,
        limits,
        clock,
        seconds=seconds,
    )
