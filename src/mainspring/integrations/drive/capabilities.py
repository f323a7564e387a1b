"""Drive capability ``drive.create_file``, after approval."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

from mainspring.contracts.capability import Annotations, Capability, ConnectionRoute, Effect, Write
from mainspring.contracts.display_text import format_first_line
from mainspring.contracts.errors import Finding, Invalid, Problem
from mainspring.contracts.object_schema import build_object_schema
from mainspring.contracts.toolset import Toolset
from mainspring.contracts.write_description import WriteDescription, quote_values
from mainspring.integrations.drive.client import Drive

if TYPE_CHECKING:
    from mainspring.contracts.context import CallContext

_FILE_SCOPE: Final = "https://www.googleapis.com/auth/drive.file"
_CONTENT_BYTES: Final = 900_000
_GOOGLE: Final = "application/vnd.google-apps."
# The upload format of each Google document type.
_MADE_FROM: Final[Mapping[str, str]] = {
    f"{_GOOGLE}document": "text/plain; charset=UTF-8",
    f"{_GOOGLE}spreadsheet": "text/csv; charset=UTF-8",
}


def create_file(drive: Drive) -> Capability:
    """Build the capability that creates a file."""

    async def create(ctx: CallContext, arguments: Mapping[str, Any]) -> dict[str, Any]:
        found = find_problems(arguments)
        if found:
            first = found[0]
            raise Invalid(first.detail, code=first.code, findings=found, unsent=True)
        mark = hashlib.sha256(ctx.key.encode()).hexdigest()[:40]
        try:
            before = await drive.find_created(ctx.http, mark)
        except Problem as problem:
            problem.unsent = True
            raise
        if before is not None:
            return {"file_id": before}
        kind = str(arguments.get("mime_type", "text/plain"))
        result: dict[str, Any] = {"name": arguments["name"], "mimeType": kind}
        result["appProperties"] = {"mainspring_call": mark}
        if "folder_id" in arguments:
            result["parents"] = [arguments["folder_id"]]
        content = arguments["content"].encode()
        boundary = "mainspring-" + hashlib.sha256(content).hexdigest()[:32]
        media = _MADE_FROM.get(kind, kind if "charset" in kind else f"{kind}; charset=UTF-8")
        return {"file_id": await drive.create(ctx.http, result, media, content, boundary)}

    return Capability(
        id="drive.create_file",
        description="Create a file in Google Drive\n\n"
        "Creates a text file, document or sheet in the connected Drive, after a "
        "person approves it.",
        input_schema=INPUT,
        output_schema=_OUTPUT,
        handler=create,
        write=Write(
            preview=preview,
            editable=("name", "content"),
            wording=("content",),
            destination=("folder_id",),
            family="file",
            describe=describe_file,
        ),
        annotations=Annotations(
            toolset=Toolset.SERVICES,
            effect=Effect.SEND,
            seconds=3.0,
            hosts=drive.hosts,
            route=ConnectionRoute("drive", drive.hosts, scopes=frozenset({_FILE_SCOPE})),
            judge=find_problems,
        ),
    )


def find_problems(arguments: Mapping[str, Any]) -> list[Finding]:
    """Find problems of a file that the schema cannot express."""
    size = len(arguments["content"].encode())
    if size > _CONTENT_BYTES:
        detail = f"The content has {size:,} bytes; at most {_CONTENT_BYTES:,} are sent."
        return [Finding("/content", detail, "file_too_large", "Make several files of it.")]
    kind = arguments.get("mime_type", "")
    if kind.startswith(_GOOGLE) and kind not in _MADE_FROM:
        detail = "Of Google's own types only documents and spreadsheets are made from text."
        return [Finding("/mime_type", detail, "file_type", f"Write {_GOOGLE}document.")]
    return []


def preview(arguments: Mapping[str, Any]) -> str:
    """Preview the file, its folder and its first words."""
    kind = arguments.get("mime_type", "text/plain")
    what = {f"{_GOOGLE}document": "document", f"{_GOOGLE}spreadsheet": "spreadsheet"}.get(
        kind, f"file of the type {format_first_line(kind, 60)}"
    )
    folder = arguments.get("folder_id")
    where = f" in the folder {format_first_line(folder, 80)}" if folder else ""
    begins = format_first_line(arguments["content"], 150) or "(empty)"
    return (
        f"Create the {what} “{format_first_line(arguments['name'], 120)}” in Drive{where}: {begins}"
    )


INPUT: Final = build_object_schema(
    {
        "name": {
            "type": "string",
            "minLength": 1,
            "maxLength": 255,
            "pattern": r"^[^\x00-\x1f\x7f]+$",
            "x-mainspring-says": "A name is one line.",
        },
        "content": {"type": "string", "maxLength": 900_000},
        "mime_type": {
            "type": "string",
            "description": "Default: text/plain. application/vnd.google-apps.document creates a "
            "Google document.",
            "maxLength": 100,
            "pattern": r"^[A-Za-z0-9.+_-]+/[A-Za-z0-9.+_-]+$",
            "x-mainspring-says": "This must be a type such as text/markdown.",
            "default": "text/plain",
        },
        "folder_id": {
            "type": "string",
            "description": "Default: My Drive.",
            "minLength": 1,
            "maxLength": 200,
            "pattern": r"^[A-Za-z0-9_-]+$",
            "x-mainspring-says": "This must be the id of a folder.",
        },
    },
    ["name", "content"],
    [
        {"name": "minutes.md", "content": "# Minutes", "mime_type": "text/markdown"},
        {
            "name": "Report of {{ inputs.week }}",
            "content": "{{ steps.report.text }}",
            "mime_type": "application/vnd.google-apps.document",
            "folder_id": "1AbCdEfGh",
        },
    ],
    [
        ({"content": "x"}, "a file has a name"),
        ({"name": "a.txt"}, "a file has a content, which may be empty"),
        ({"name": "a\nb", "content": ""}, "a name is one line"),
        ({"name": "a", "content": "", "mime_type": "text"}, "a type has two parts"),
        ({"name": "a", "content": "", "folder": "x"}, "the folder is given by folder_id"),
    ],
)
_OUTPUT: Final = build_object_schema(
    {"file_id": {"type": "string", "description": "Drive's file id."}},
    ["file_id"],
    [{"file_id": "1AbCdEfGh"}],
    [({}, "what was made has an id")],
)


def describe_file(config: Mapping[str, Any]) -> WriteDescription:
    """Describe a file by its folder."""
    folder = config.get("folder_id")
    where = f"the folder {quote_values(folder)} of Google Drive" if folder else "Google Drive"
    return WriteDescription("create", f"files in {where}", ("name", "content"), "drive")
