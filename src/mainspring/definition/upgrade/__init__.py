"""Upgrades definitions of older formats to the current one.

Each version has one migration to the next, in its own module, and ``upgrade`` applies them in
order. A migration changes names and places, never meaning, and reports what it changed. Where an
old key and its new key both exist, it changes nothing, so that the validator reports both.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any, Final

from mainspring.contracts.errors import Finding, Invalid
from mainspring.definition.model import CURRENT_VERSION
from mainspring.definition.upgrade.note import UpgradeNote
from mainspring.definition.upgrade.v1_0 import to_1_1
from mainspring.definition.upgrade.v1_1 import to_1_2

__all__ = ["UpgradeNote", "upgrade"]

UpgradeStep = Callable[[Mapping[str, Any]], tuple[dict[str, Any], list[UpgradeNote]]]

# Keyed by the version that a migration reads.
MIGRATIONS: Final[Mapping[str, UpgradeStep]] = {"1.0": to_1_1, "1.1": to_1_2}


def upgrade(document: Mapping[str, Any]) -> tuple[Mapping[str, Any], tuple[UpgradeNote, ...]]:
    """The document in the current format, and the changes made.

    A document without a version is returned unchanged: the validator reports the missing version.
    An unknown version is rejected.
    """
    notes: list[UpgradeNote] = []
    while "schema_version" in document and document["schema_version"] != CURRENT_VERSION:
        version = document["schema_version"]
        migrate = MIGRATIONS.get(version) if isinstance(version, str) else None
        if migrate is None:
            raise _unreadable(version)
        document, more = migrate(document)
        notes += more
    return document, tuple(notes)


def _unreadable(version: Any) -> Invalid:
    finding = Finding(
        "/schema_version",
        _describe_version_error(version),
        "unknown_version",
        f'Write "{CURRENT_VERSION}".',
    )
    return Invalid(finding.detail, code=finding.code, findings=[finding])


def _describe_version_error(version: Any) -> str:
    if not isinstance(version, str):
        return f'The version of the format is text, such as "{CURRENT_VERSION}".'
    readable = f"{', '.join(MIGRATIONS)} and {CURRENT_VERSION}"
    if _is_newer(version):
        return (
            f"This definition is written in version {version} of the format, and this release "
            f"reads {readable}: a newer release is needed."
        )
    return f"There is no version {version[:20]!r} of the format; this release reads {readable}."


def _is_newer(version: str) -> bool:
    if not re.fullmatch(r"[0-9]{1,4}\.[0-9]{1,4}", version):
        return False
    major, minor = version.split(".")
    ours = CURRENT_VERSION.split(".")
    return (int(major), int(minor)) > (int(ours[0]), int(ours[1]))
