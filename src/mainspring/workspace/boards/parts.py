"""Skills, forms and the dashboard of a board: stored, versioned and reverted.

This module only stores them: skills are run, forms served and dashboards rendered elsewhere, from
their current version.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, Final, Literal
from uuid import UUID

from mainspring.contracts.capability import CapabilityHandler
from mainspring.contracts.display_text import check_plain_name, name_findings, refuse_names
from mainspring.contracts.errors import Finding, Invalid, LimitExceeded, NotFound, TooLarge
from mainspring.contracts.limits import Limits
from mainspring.contracts.outcome import Unchanged
from mainspring.definition.json_schema import check_schema
from mainspring.definition.strict_json import encode_canonical, is_same_value, join_pointer
from mainspring.workspace.boards.events import publish_change
from mainspring.workspace.boards.lookup import Board, find_board, open_board

if TYPE_CHECKING:
    from mainspring.contracts.context import CallContext


# Versions of a board's parts: stored with each change, listed and reverted.

_LAST = """
    SELECT coalesce(max(version), 0) AS version FROM board_versions
    WHERE workspace_id = $1 AND board_id = $2 AND part = $3 AND name = $4
"""
_ADD = """
    INSERT INTO board_versions (workspace_id, board_id, part, name, version, content, revert_of,
        by_kind, by_id)
    VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)
"""
_FORGET = """
    DELETE FROM board_versions
    WHERE workspace_id = $1 AND board_id = $2 AND part = $3 AND name = $4 AND version <= $5
"""
_LIST = """
    SELECT part, name, version, content IS NULL AS removed, revert_of, by_kind, by_id, created_at
    FROM board_versions
    WHERE workspace_id = $1 AND board_id = $2 AND ($3::text IS NULL OR part = $3)
      AND ($4::text IS NULL OR name = $4)
    ORDER BY created_at DESC, part, name, version DESC LIMIT $5
"""
_ONE_VERSION = """
    SELECT content FROM board_versions
    WHERE workspace_id = $1 AND board_id = $2 AND part = $3 AND name = $4 AND version = $5
"""


async def add_version(
    ctx: CallContext,
    board_id: UUID,
    place: tuple[str, str],
    content: dict[str, Any] | None,
    limits: Limits,
    revert_of: int | None = None,
) -> int:
    """Store a new version of a part and return its number; its board or dataset is locked."""
    where = (ctx.actor.workspace_id, board_id, *place)
    row = await ctx.tx.fetchrow(_LAST, *where)
    version = int(row["version"]) + 1
    await ctx.tx.execute(_ADD, *where, version, content, revert_of, ctx.actor.kind, ctx.actor.id)
    if version > limits.board_versions:
        await ctx.tx.execute(_FORGET, *where, version - limits.board_versions)
    return version


async def read_version(
    ctx: CallContext, board_id: UUID, place: tuple[str, str], version: int
) -> dict[str, Any] | None:
    """Load a version of a part; None for a version that removed it."""
    row = await ctx.tx.fetchrow(_ONE_VERSION, ctx.actor.workspace_id, board_id, *place, version)
    if row is None:
        part, name = place
        of = f"{part} {name!r}" if name else part
        raise NotFound(
            f"There is no version {version} of the {of}.",
            code="no_version",
            suggestion="list_board_versions shows what is kept.",
        )
    found: dict[str, Any] | None = row["content"]
    return found


async def list_versions(
    ctx: CallContext, board_id: UUID, part: str | None, name: str | None, most: int
) -> list[dict[str, Any]]:
    """List versions, newest first."""
    rows = await ctx.tx.fetch(_LIST, ctx.actor.workspace_id, board_id, part, name, most)
    return [
        {
            "part": row["part"],
            "name": row["name"],
            "version": row["version"],
            "removed": row["removed"],
            "revert_of": row["revert_of"],
            "by": {"kind": row["by_kind"], "id": str(row["by_id"])},
            "created_at": row["created_at"].isoformat(),
        }
        for row in rows
    ]


BoardPart = Literal["skill", "form", "dashboard"]
MOST_VERSIONS: Final = 500

_ONE_PART = """
    SELECT version, content, updated_at FROM board_parts
    WHERE workspace_id = $1 AND board_id = $2 AND part = $3 AND name = $4
"""
_ALL = """
    SELECT name, version, content, updated_at FROM board_parts
    WHERE workspace_id = $1 AND board_id = $2 AND part = $3 ORDER BY name
"""
# A dashboard may be large, and readers of rows do not need it.
_SHOWN = """
    SELECT part, name, version, content ->> 'description' AS description,
        content ->> 'title' AS title, updated_at,
        CASE WHEN part = 'dashboard' THEN octet_length(content ->> 'html') END AS bytes
    FROM board_parts WHERE workspace_id = $1 AND board_id = $2 ORDER BY part, name
"""
_COUNT = """
    SELECT count(*) AS parts FROM board_parts
    WHERE workspace_id = $1 AND board_id = $2 AND part = $3
"""
_KEEP = """
    INSERT INTO board_parts (workspace_id, board_id, part, name, version, content)
    VALUES ($1, $2, $3, $4, $5, $6)
    ON CONFLICT (workspace_id, board_id, part, name) DO UPDATE
        SET version = excluded.version, content = excluded.content, updated_at = now()
"""
_REMOVE = """
    DELETE FROM board_parts
    WHERE workspace_id = $1 AND board_id = $2 AND part = $3 AND name = $4
"""


def set_part_handler(part: BoardPart, limits: Limits) -> CapabilityHandler:
    async def put(ctx: CallContext, arguments: Mapping[str, Any]) -> dict[str, Any] | Unchanged:
        board = await open_board(ctx, arguments, hold=True)
        name = str(arguments.get("name", ""))
        content = {k: v for k, v in arguments.items() if k not in ("board_id", "name")}
        _check_content(part, content, limits)
        return await store_part(ctx, board, part, name, content, limits)

    return put


def list_parts_handler(part: BoardPart) -> CapabilityHandler:
    async def listed(ctx: CallContext, arguments: Mapping[str, Any]) -> dict[str, Any]:
        board = await find_board(ctx, arguments)
        rows = await ctx.tx.fetch(_ALL, ctx.actor.workspace_id, board.id, part)
        found = [
            {
                "name": row["name"],
                "version": row["version"],
                "updated_at": row["updated_at"].isoformat(),
                **row["content"],
            }
            for row in rows
        ]
        return {"board_id": str(board.id), f"{part}s": found}

    return listed


def delete_part_handler(part: BoardPart, limits: Limits) -> CapabilityHandler:
    async def delete(ctx: CallContext, arguments: Mapping[str, Any]) -> dict[str, Any] | Unchanged:
        board = await open_board(ctx, arguments, hold=True)
        name = str(arguments.get("name", ""))
        answer = await remove_part(ctx, board, part, name, limits)
        if isinstance(answer, Unchanged):
            raise NotFound(f"The board has no {part} called {name[:100]!r}.", code=f"no_{part}")
        return answer

    return delete


def build_dashboard_handler() -> CapabilityHandler:
    async def get(ctx: CallContext, arguments: Mapping[str, Any]) -> dict[str, Any]:
        board = await find_board(ctx, arguments)
        row = await ctx.tx.fetchrow(_ONE_PART, ctx.actor.workspace_id, board.id, "dashboard", "")
        if row is None:
            raise NotFound(f"The board {board.name!r} has no dashboard.", code="no_dashboard")
        return {
            "board_id": str(board.id),
            "html": row["content"]["html"],
            "version": row["version"],
            "updated_at": row["updated_at"].isoformat(),
        }

    return get


def build_versions_handler() -> CapabilityHandler:
    async def listed(ctx: CallContext, arguments: Mapping[str, Any]) -> dict[str, Any]:
        board = await find_board(ctx, arguments)
        most = int(arguments.get("limit", 100))
        found = await list_versions(
            ctx, board.id, arguments.get("part"), arguments.get("name"), most
        )
        return {"board_id": str(board.id), "versions": found}

    return listed


async def store_part(
    ctx: CallContext,
    board: Board,
    part: BoardPart,
    name: str,
    content: dict[str, Any],
    limits: Limits,
    revert_of: int | None = None,
) -> dict[str, Any] | Unchanged:
    """Create or update a part; the board is locked."""
    where = (ctx.actor.workspace_id, board.id, part, name)
    before = await ctx.tx.fetchrow(_ONE_PART, *where)
    if before is not None and is_same_value(before["content"], content):
        return Unchanged(_format_part(board, part, name, before["version"]))
    if revert_of is None and part == "form":
        refuse_names(_find_label_problems(content, {} if before is None else before["content"]))
    if before is None:
        if revert_of is None:
            check_plain_name(name)
        row = await ctx.tx.fetchrow(_COUNT, *where[:3])
        if row["parts"] >= limits.board_parts:
            raise LimitExceeded(
                f"The board has {limits.board_parts} {part}s already.",
                code="board_full",
                suggestion="Delete one that is no longer needed.",
                retryable=False,
            )
    version = await add_version(ctx, board.id, (part, name), content, limits, revert_of)
    await ctx.tx.execute(_KEEP, *where, version, content)
    await publish_change(ctx, board, part, name=name or None)
    return _format_part(board, part, name, version)


async def remove_part(
    ctx: CallContext,
    board: Board,
    part: BoardPart,
    name: str,
    limits: Limits,
    revert_of: int | None = None,
) -> dict[str, Any] | Unchanged:
    """Remove a part; its versions stay. The board is locked."""
    where = (ctx.actor.workspace_id, board.id, part, name)
    before = await ctx.tx.fetchrow(_ONE_PART, *where)
    if before is None:
        return Unchanged(_format_part(board, part, name, 0))
    await ctx.tx.execute(_REMOVE, *where)
    version = await add_version(ctx, board.id, (part, name), None, limits, revert_of)
    await publish_change(ctx, board, part, name=name or None)
    return _format_part(board, part, name, version)


async def revert_part(
    ctx: CallContext, board: Board, part: BoardPart, name: str, version: int, limits: Limits
) -> dict[str, Any] | Unchanged:
    """Revert to an earlier version, as a new one."""
    content = await read_version(ctx, board.id, (part, name), version)
    if content is None:
        return await remove_part(ctx, board, part, name, limits, version)
    return await store_part(ctx, board, part, name, content, limits, version)


async def list_parts_briefly(ctx: CallContext, board: Board) -> dict[str, Any]:
    """List a board's parts without their long texts."""
    shown: dict[str, Any] = {"skills": [], "forms": [], "dashboard": None}
    for row in await ctx.tx.fetch(_SHOWN, ctx.actor.workspace_id, board.id):
        entry = {"version": row["version"], "updated_at": row["updated_at"].isoformat()}
        if row["part"] == "dashboard":
            shown["dashboard"] = {**entry, "bytes": row["bytes"]}
            continue
        entry |= {"name": row["name"], "description": row["description"] or ""}
        shown[f"{row['part']}s"].append(entry)
    return shown


def _find_label_problems(form: Mapping[str, Any], stored: Mapping[str, Any]) -> list[Finding]:
    """Find problems in a form's title and labels; stored ones are kept."""
    known = {text for _, text in _iterate_labels(stored)}
    return [
        one
        for pointer, text in _iterate_labels(form)
        for one in name_findings(text, pointer, known)
    ]


def _iterate_labels(form: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    if "title" in form:
        yield "/title", form["title"]
    for number, field in enumerate(form.get("fields", ())):
        if "label" in field:
            yield join_pointer("/fields", number, "label"), field["label"]


def _format_part(board: Board, part: str, name: str, version: int) -> dict[str, Any]:
    return {"board_id": str(board.id), "part": part, "name": name, "version": version}


def _check_content(part: BoardPart, content: Mapping[str, Any], limits: Limits) -> None:
    """Check limits that the JSON schema cannot express."""
    if part == "dashboard":
        size = len(str(content["html"]).encode())
        if size > limits.board_dashboard_bytes:
            detail = (
                f"A dashboard is at most {limits.board_dashboard_bytes:,} bytes; this is {size:,}."
            )
            raise TooLarge(
                detail,
                code="dashboard_bytes",
                findings=[Finding("/html", detail, "dashboard_bytes")],
            )
        return
    findings: list[Finding] = []
    schema = content.get("inputs_schema")
    if schema is not None:
        findings += check_schema(schema, limits, "/inputs_schema")
    if len(encode_canonical(content)) > limits.board_row_bytes:
        detail = f"A {part} is at most {limits.board_row_bytes:,} bytes."
        findings.append(Finding("", detail, "part_bytes"))
    if findings:
        raise Invalid(
            f"The {part} cannot be kept: {findings[0].detail}",
            code=findings[0].code,
            findings=findings,
        )


def check_part_name(part: str, name: str) -> None:
    """Check that a part has a name, and a dashboard has none."""
    if (part == "dashboard") == bool(name):
        detail = (
            "A board has one dashboard, without a name."
            if name
            else f"Which {part}? Give its name."
        )
        raise Invalid(detail, code="part_name", findings=[Finding("/name", detail, "part_name")])
