"""artifacts.save: a run keeps a file for people.

It happens once however often it is tried. The id follows from the place of the call in its
run, the bytes are put under a key that follows from the id and the content, and the row is
written in the transaction that records the call. A crash in between leaves bytes that
nobody points at; they are swept up a day later.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
from collections.abc import Mapping
from datetime import datetime, timedelta
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import orjson

from mainspring.contracts.capability import Annotations, Audience, Capability, Effect
from mainspring.contracts.context import CallContext
from mainspring.contracts.errors import Finding, Invalid, PermissionDenied, TooLarge
from mainspring.contracts.limits import Limits
from mainspring.contracts.toolset import Toolset
from mainspring.workspace.artifacts.blobs import BlobStore, artifact_id_of
from mainspring.workspace.artifacts.rows import (
    Artifact,
    Kind,
    Retention,
    insert_artifact,
    lock_artifact,
)

if TYPE_CHECKING:
    from mainspring.workspace.artifacts.links import LinkSigner


# What artifacts.save takes and answers, as schemas with examples.

MAX_NAME = 200
MAX_MEDIA_TYPE = 127
KINDS = ("audio", "document", "image", "data")
_DIALECT = "https://json-schema.org/draft/2020-12/schema"
_WORD = "[A-Za-z0-9][A-Za-z0-9!#$&^_.+-]*"
MEDIA_TYPE = f"^{_WORD}/{_WORD}$"
NAME = r"^[^/\\\x00-\x1f\x7f]+$"


def input_schema(limits: Limits) -> dict[str, Any]:
    return {
        "$schema": _DIALECT,
        "type": "object",
        "additionalProperties": False,
        "required": ["name"],
        "oneOf": [{"required": ["text"]}, {"required": ["json"]}, {"required": ["base64"]}],
        "properties": {
            "name": {
                "type": "string",
                "minLength": 1,
                "maxLength": MAX_NAME,
                "pattern": NAME,
                "x-mainspring-says": "This is the name of a file, without any folder.",
                "description": "File name without a folder.",
            },
            "text": {"type": "string", "description": "Content as UTF-8 text."},
            "json": {"description": "Content as a JSON value."},
            "base64": {"type": "string", "description": "Content as base64 bytes."},
            "media_type": {
                "type": "string",
                "maxLength": MAX_MEDIA_TYPE,
                "pattern": MEDIA_TYPE,
                "x-mainspring-says": "This must be a media type such as text/plain.",
                "description": "Default: by file extension, then content.",
            },
            "kind": {"enum": list(KINDS), "description": "Default: by media type."},
            "retention": {
                "enum": ["transient", "default", "permanent"],
                "default": "default",
                "description": f"transient: {limits.transient_hours} hours; "
                f"default: {limits.artifact_days} days; permanent: until deleted.",
            },
            "visibility": {
                "enum": ["private", "workspace", "shared"],
                "default": "workspace",
                "description": "private: no link; workspace: members can create a link; shared: "
                "the result has a link.",
            },
        },
        "examples": [
            {"name": "report.csv", "text": "a,b\n1,2\n"},
            {"name": "answer.json", "json": {"total": 3}, "retention": "transient"},
            {
                "name": "dot.gif",
                "base64": "R0lGODlhAQABAAAAACw=",
                "media_type": "image/gif",
                "kind": "image",
                "visibility": "shared",
            },
        ],
        "x-mainspring-anti-examples": [
            _not({"name": "report.csv"}, "there is nothing to save"),
            _not({"text": "a"}, "a file has a name"),
            _not({"name": "a.txt", "text": "a", "json": 1}, "which of the two is the content?"),
            _not({"name": "../a.txt", "text": "a"}, "a name is not a path"),
            _not({"name": "a.txt", "text": "a", "media_type": "text"}, "type and subtype"),
            _not({"name": "a.txt", "text": "a", "retention": "forever"}, "say permanent"),
        ],
    }


def output_schema() -> dict[str, Any]:
    return {
        "$schema": _DIALECT,
        "type": "object",
        "additionalProperties": False,
        "required": ["artifact_id", "name", "size", "sha256", "media_type", "expires_at"],
        "properties": {
            "artifact_id": {"type": "string", "format": "uuid"},
            "name": {"type": "string"},
            "size": {"type": "integer", "minimum": 0},
            "sha256": {"type": "string", "pattern": "^[0-9a-f]{64}$"},
            "media_type": {"type": "string"},
            "expires_at": {"type": ["string", "null"], "format": "date-time"},
            "url": {
                "type": "string",
                "description": "For visibility shared: a link without sign-in, valid for at most "
                "a week.",
            },
        },
        "examples": [
            {
                "artifact_id": "01900000-0000-7000-8000-000000000001",
                "name": "report.csv",
                "size": 8,
                "sha256": "0" * 64,
                "media_type": "text/csv",
                "expires_at": "2026-12-15T10:00:00Z",
            }
        ],
    }


def _not(value: Any, reason: str) -> dict[str, Any]:
    return {"value": value, "reason": reason}


_BY_ENDING = {
    "csv": "text/csv",
    "gif": "image/gif",
    "htm": "text/html",
    "html": "text/html",
    "jpeg": "image/jpeg",
    "jpg": "image/jpeg",
    "json": "application/json",
    "md": "text/markdown",
    "mp3": "audio/mpeg",
    "ogg": "audio/ogg",
    "pdf": "application/pdf",
    "png": "image/png",
    "svg": "image/svg+xml",
    "txt": "text/plain",
    "wav": "audio/wav",
    "webp": "image/webp",
    "xml": "application/xml",
    "zip": "application/zip",
}
_BY_CONTENT = {
    "text": "text/plain",
    "json": "application/json",
    "base64": "application/octet-stream",
}
_DOCUMENTS = frozenset(
    {"application/pdf", "application/rtf", "text/html", "text/markdown", "text/plain"}
)
_LINK_SECONDS = 7 * 24 * 3600


def artifacts_capability(
    blobs: BlobStore, limits: Limits, links: LinkSigner | None = None
) -> Capability:
    """The capability over one blob store; with links, a shared artifact is given one."""

    async def save(ctx: CallContext, arguments: Mapping[str, Any]) -> dict[str, Any]:
        content = _content(arguments, limits)
        artifact = _artifact(ctx, arguments, content, limits)
        await lock_artifact(ctx.tx, artifact.id)
        await blobs.put(artifact.blob, content)
        await insert_artifact(ctx.tx, artifact)
        result = _describe_saved(artifact)
        if links is not None and artifact.visibility == "shared":
            result["url"] = (await links.make(artifact, ctx.clock.now(), _LINK_SECONDS)).url
        return result

    return Capability(
        id="artifacts.save",
        description="Save a file\n\n"
        f"Stores text, a JSON value or bytes, at most {limits.artifact_bytes} bytes, "
        "as a file that people can download. Saving again from the same step replaces "
        "it.",
        input_schema=input_schema(limits),
        output_schema=output_schema(),
        handler=save,
        annotations=Annotations(
            toolset=Toolset.RUNS,
            effect=Effect.KEEP,
            transactional=True,
            seconds=0.5,
            audience=Audience.RUNS,
        ),
    )


def _artifact(
    ctx: CallContext, arguments: Mapping[str, Any], content: bytes, limits: Limits
) -> Artifact:
    if ctx.run is None:
        raise PermissionDenied("Only a run saves artifacts.", code="artifact_outside_run")
    name = _name(arguments["name"])
    media_type = _media_type(arguments, name)
    retention: Retention = arguments.get("retention", "default")
    now = ctx.clock.now()
    return Artifact(
        workspace_id=ctx.actor.workspace_id,
        id=artifact_id_of(ctx.run.id, ctx.key),
        run_id=ctx.run.id,
        automation_id=ctx.run.automation_id,
        step=ctx.run.step,
        name=name,
        kind=arguments.get("kind") or kind_of_media_type(media_type),
        retention=retention,
        visibility=arguments.get("visibility", "workspace"),
        media_type=media_type,
        size=len(content),
        sha256=hashlib.sha256(content).digest(),
        created_at=now,
        expires_at=_expiry(retention, now, limits),
    )


def _describe_saved(artifact: Artifact) -> dict[str, Any]:
    until = artifact.expires_at
    return {
        "artifact_id": str(artifact.id),
        "name": artifact.name,
        "size": artifact.size,
        "sha256": artifact.sha256.hex(),
        "media_type": artifact.media_type,
        "expires_at": None if until is None else until.isoformat(),
    }


def _expiry(retention: Retention, now: datetime, limits: Limits) -> datetime | None:
    match retention:
        case "transient":
            return now + timedelta(hours=limits.transient_hours)
        case "default":
            return now + timedelta(days=limits.artifact_days)
        case "permanent":
            return None


def _name(name: str) -> str:
    """What a person can read and no machine takes for a path."""
    plain = name.isprintable() and "/" not in name and "\\" not in name
    if not plain or not 1 <= len(name) <= MAX_NAME or not name.strip(" ."):
        raise _wrong(
            "name",
            f"The name of a file is 1 to {MAX_NAME} printable characters without a slash.",
            "artifact_name",
        )
    return name


def _media_type(arguments: Mapping[str, Any], name: str) -> str:
    given = arguments.get("media_type")
    if given is not None:
        return str(given).lower()
    ending = name.rpartition(".")[2].lower()
    by_content = next(kind for part, kind in _BY_CONTENT.items() if part in arguments)
    return _BY_ENDING.get(ending, by_content)


def kind_of_media_type(media_type: str) -> Kind:
    """Which kind of file this is."""
    family = media_type.partition("/")[0]
    if family == "audio":
        return "audio"
    if family == "image":
        return "image"
    return "document" if media_type in _DOCUMENTS else "data"


def _content(arguments: Mapping[str, Any], limits: Limits) -> bytes:
    place = next((part for part in _BY_CONTENT if part in arguments), None)
    if place is None:
        raise _wrong("text", "There is nothing to save: give text, json or base64.", "no_content")
    made = {"text": _from_text, "json": _from_json, "base64": _from_base64}[place](arguments[place])
    if len(made) > limits.artifact_bytes:
        sentence = f"It has {len(made)} bytes; an artifact has {limits.artifact_bytes} at most."
        raise TooLarge(
            sentence,
            code="artifact_too_large",
            findings=[Finding(f"/{place}", sentence, "artifact_too_large")],
        )
    return made


def _from_text(text: str) -> bytes:
    try:
        return text.encode()
    except UnicodeEncodeError:
        raise _wrong("text", "The text is not valid Unicode.", "not_unicode") from None


def _from_json(value: Any) -> bytes:
    try:
        return orjson.dumps(value, default=_number)
    except orjson.JSONEncodeError:
        raise _wrong("json", "The value cannot be written as JSON.", "json_type") from None


def _number(value: Any) -> Any:
    """A decimal is a JSON number that the encoder does not know."""
    if isinstance(value, Decimal):
        return orjson.Fragment(str(value).encode())
    raise TypeError


def _from_base64(text: str) -> bytes:
    try:
        # Line breaks are how mail and shells write it.
        return base64.b64decode("".join(text.split()), validate=True)
    except (binascii.Error, ValueError):
        raise _wrong("base64", "The content is not base64.", "not_base64") from None


def _wrong(place: str, sentence: str, code: str) -> Invalid:
    return Invalid(sentence, code=code, findings=[Finding(f"/{place}", sentence, code)])
