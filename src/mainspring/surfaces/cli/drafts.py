"""``drafts``: list, show, edit, confirm and discard actions that are held for a person."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final
from uuid import UUID

from mainspring.contracts.errors import Finding, Invalid, NotFound
from mainspring.definition.escaping import escape_json
from mainspring.surfaces.cli import exits
from mainspring.surfaces.cli.columns import columns, format_time, short_id
from mainspring.surfaces.cli.connection import open_client
from mainspring.surfaces.cli.formatting import date_time, hint
from mainspring.surfaces.cli.lookup import find_row_at
from mainspring.surfaces.cli.pages_of_rows import list_rows
from mainspring.surfaces.cli.person_prompt import check_person, confirm
from mainspring.surfaces.cli.screen import Screen, one_line
from mainspring.surfaces.cli.terminal_prompt import Ask

if TYPE_CHECKING:
    from rich.table import Table
    from rich.text import Text

    from mainspring.surfaces.cli.context import CommandContext
    from mainspring.surfaces.cli.http_client import ApiClient


# A draft on a screen, as it will be delivered: its heads, its text, and its files.

_LONGEST: Final = 400
_MOST_LINES: Final = 40
# Of each family: the fields that stand above, the heading, and the text.
_FAMILIES: Final[Mapping[str, tuple[tuple[str, ...], tuple[str, ...], tuple[str, ...]]]] = {
    "email": (("from", "to", "cc", "bcc", "reply_to"), ("subject",), ("body", "text")),
    "event": (("start", "end", "location", "attendees"), ("summary",), ("description",)),
    "file": (("folder", "mime_type"), ("name",), ("content",)),
    "message": (("channel", "channel_id", "thread_ts"), (), ("text", "content", "body")),
    "issue": (("repo", "owner", "labels"), ("title",), ("body", "description")),
}


def fields_of(draft: Mapping[str, Any]) -> Mapping[str, Any]:
    """The fields that an action is asked with, wherever in the arguments they stand."""
    inner = draft["arguments"].get(draft.get("within") or "")
    return inner if isinstance(inner, Mapping) else draft["arguments"]


def delivery_lines(draft: Mapping[str, Any]) -> list[Text]:
    """What will arrive; nothing where nobody knows what it is like there."""
    from rich.text import Text

    family = _FAMILIES.get(draft.get("family") or "")
    if family is None:
        return []
    heads, titles, texts = family
    fields = fields_of(draft)
    said = [Text(f"  {name}: {_format_value(fields[name])}") for name in heads if fields.get(name)]
    said += [
        Text(f"  {_format_value(fields[name])}", style="bold")
        for name in titles
        if fields.get(name)
    ]
    for name in texts:
        lines = str(fields.get(name) or "").splitlines()
        said += [Text(f"  | {one_line(line, _LONGEST)}") for line in lines[:_MOST_LINES]]
        if len(lines) > _MOST_LINES:
            said.append(Text(f"  | … {len(lines) - _MOST_LINES} more lines"))
    return [*said, *(Text(f"  {line}") for line in _files(draft, fields))]


def _files(draft: Mapping[str, Any], fields: Mapping[str, Any]) -> list[str]:
    found = fields.get("attachments") or draft["arguments"].get("attachments") or []
    return [
        f"file {_format_value(one.get('filename'))}: {_format_value(one.get('mime_type'))}, {one.get('bytes')} B"  # noqa: E501
        for one in found
        if isinstance(one, Mapping)
    ]


def _format_value(value: Any) -> str:
    plain = ", ".join(map(str, value)) if isinstance(value, list) else str(value)
    return one_line(plain, _LONGEST)


BY_PEOPLE: Final = "Only a person can send a draft."
# Fewer characters of a hash might be those of another one.
_SHORTEST_HASH: Final = 8
_HASH_DIGITS: Final = 64
_HEX: Final = frozenset("0123456789abcdef")
# What became of one that was confirmed, in a sentence.
_CAME_TO: Final = {
    "sent": "Sent.",
    "not_sent": "Nothing was sent.",
    "unknown": "Unknown whether it was sent. It is not sent again automatically.",
}


async def show_drafts(
    context: CommandContext, screen: Screen, status: str | None, *, most: int
) -> int:
    async with open_client(context) as client:
        found = await list_rows(client, "/drafts", most, {"status": status})
    if screen.for_programs:
        screen.answer({"drafts": found})
    elif found:
        ways = (f"  {hint('drafts', way, 'DRAFT')}" for way in ("show", "confirm", "discard"))
        for batch, drafts in _batches(found):
            if batch is not None:
                screen.say(f"batch {batch}: {hint('drafts', 'confirm-batch', str(batch))}")
            screen.say(_table(drafts, screen), "")
        screen.say(*ways)
    else:
        screen.say("There are no such drafts." if status else "There are no drafts.")
    return exits.DONE


async def show_draft(context: CommandContext, screen: Screen, text: str) -> int:
    async with open_client(context) as client:
        draft = await _find_draft(client, text)
    if screen.for_programs:
        screen.answer(draft)
    else:
        screen.say(*_lines(draft))
    return exits.DONE


async def confirm_draft(
    context: CommandContext,
    screen: Screen,
    text: str,
    edits: Sequence[str] | None = None,
    seen: str | None = None,
    ask: Ask | None = None,
) -> int:
    """Sends what a draft shows once a person has said so, or says what came of it before."""
    async with open_client(context) as client:
        draft = await _find_draft(client, text)
        arguments: dict[str, Any] = {"draft_id": str(draft["id"])}
        if edits:
            arguments["edits"] = edits_of(draft, edits)
        if seen is not None:
            arguments["hash"] = _whole(draft, seen)
        if draft["status"] == "pending":
            check_person(client, screen, ask, BY_PEOPLE)
            edited = [f"  with {one_line(one, 400)}" for one in edits or ()]
            if not await confirm(screen, [*format_draft(draft), *edited], "Send this?", ask):
                screen.say("Not sent. The draft stays pending.")
                return exits.DONE
            # The person who said yes has read these bytes, and no others are sent.
            if draft.get("hash"):
                arguments.setdefault("hash", draft["hash"])
        answer = await client.call("confirm_action", arguments, confirmed=True)
    if screen.for_programs:
        screen.answer(answer)
    else:
        screen.say(*_answered(draft, answer))
    return exits.FAILED if answer["status"] == "failed" else exits.DONE


async def edit_draft(
    context: CommandContext, screen: Screen, text: str, edits: Sequence[str]
) -> int:
    """Gives a draft other words, and shows it in them."""
    async with open_client(context) as client:
        draft = await _find_draft(client, text)
        given = {"draft_id": str(draft["id"]), "edits": edits_of(draft, edits)}
        answer = await client.call("edit_action", given)
        now = await _find_draft(client, str(draft["id"]))
    if screen.for_programs:
        screen.answer(answer)
    else:
        screen.say(*_lines(now))
    return exits.DONE


async def repeat_draft(context: CommandContext, screen: Screen, text: str) -> int:
    """Makes a new draft of the same bytes."""
    async with open_client(context) as client:
        draft = await _find_draft(client, text)
        given = {"draft_id": str(draft["id"])}
        answer = await client.call("redraft_action", given)
    if screen.for_programs:
        screen.answer(answer)
    else:
        screen.say("Created a new draft. Nothing was sent.")
        screen.say(f"  {hint('drafts', 'show', answer['draft_id'])}")
    return exits.DONE


def edits_of(draft: Mapping[str, Any], given: Sequence[str]) -> dict[str, Any]:
    """Fields with their new values; one without a value is taken away.

    A field that holds no text now is given as JSON, a list of texts also with commas.
    """
    fields, made = fields_of(draft), {}
    for one in given:
        name, sign, value = one.partition("=")
        if not sign:
            detail = f"{one!r} is not FIELD=VALUE."
            raise Invalid(detail, code="usage", findings=[Finding("/edits", detail, "usage")])
        made[name] = _read(value, fields.get(name))
    return made


def _read(text: str, before: Any) -> Any:
    if not text:
        return None
    if before is None or isinstance(before, str):
        return text
    try:
        return json.loads(text)
    except ValueError:
        if isinstance(before, list):
            return [part.strip() for part in text.split(",") if part.strip()]
        raise Invalid(f"{text!r} is not JSON, which this field holds.", code="usage") from None


def _whole(draft: Mapping[str, Any], seen: str) -> str:
    """A hash by its first characters, if it is the one that the draft has now."""
    now = draft["hash"] or ""
    if len(seen) >= _SHORTEST_HASH and now.startswith(seen.lower()):
        return str(now)
    return seen.ljust(_HASH_DIGITS, "0") if set(seen.lower()) <= _HEX else seen


async def discard_draft(
    context: CommandContext, screen: Screen, text: str, reason: str | None
) -> int:
    async with open_client(context) as client:
        draft = await _find_draft(client, text)
        given = {"draft_id": str(draft["id"])} | ({} if reason is None else {"reason": reason})
        answer = await client.call("discard_action", given)
    if screen.for_programs:
        screen.answer(answer)
    else:
        screen.say("Discarded. Nothing was sent.")
    return exits.DONE


async def _find_draft(client: ApiClient, text: str) -> dict[str, Any]:
    return await find_row_at(client, "/drafts", text, kind="draft")


def _answered(draft: Mapping[str, Any], answer: Mapping[str, Any]) -> list[Text]:
    from rich.text import Text

    said = [Text(one_line(draft["preview"], 400), style="bold")]
    if answer["status"] == "approved":
        said.append(Text(f"  {answer['approvals']} of {answer['needed']} have agreed."))
    said.append(Text(f"  {_CAME_TO[answer['outcome']]}"))
    if answer.get("error"):
        said.append(Text(f"  {one_line(str(answer['error'].get('detail', '')), 400)}"))
    return said


def _batches(
    drafts: Sequence[Mapping[str, Any]],
) -> list[tuple[str | None, list[Mapping[str, Any]]]]:
    """Drafts of one turn together, at the place of the newest; all others by themselves."""
    groups: dict[str | None, list[Mapping[str, Any]]] = {}
    for draft in drafts:
        groups.setdefault(draft.get("batch_id"), []).append(draft)
    return list(groups.items())


def _table(drafts: Sequence[Mapping[str, Any]], screen: Screen) -> Table:
    heads = ("Draft", "Status", "Capability", "Action", "Until")
    rows = (
        (
            short_id(draft["id"], screen),
            draft["status"],
            draft["capability"],
            one_line(draft["preview"], 200),
            format_time(draft["expires_at"], screen),
        )
        for draft in drafts
    )
    return columns(heads, rows, whole=("Draft", "Status", "Until"))


def _lines(draft: Mapping[str, Any]) -> list[Text]:
    from rich.text import Text

    until = "runs out" if draft["status"] == "pending" else "ran out"
    by = f"{draft['actor_kind']} {draft['actor_id'] or ''}".rstrip()
    if draft["run_id"] is not None:
        by = f"step {one_line(draft['step'])} of run {draft['run_id']}"
    facts = [
        f"{draft['status']}; {until} {date_time(draft['expires_at'])}",
        f"{draft['capability']}, asked for by {by} {date_time(draft['created_at'])}",
        f"draft {draft['id']}",
    ]
    if draft.get("hash"):
        edited = f", edited {draft['revision'] - 1} times" if draft["revision"] > 1 else ""
        facts.append(f"hash {draft['hash']}{edited}")
    if draft.get("editable"):
        facts.append(f"may be edited: {', '.join(draft['editable'])}")
    head = Text(one_line(draft["preview"], 400), style="bold")
    told = (Text(f"  {fact}") for fact in facts)
    return [head, *told, *_content(draft), *_next(draft)]


def format_draft(draft: Mapping[str, Any]) -> list[Text]:
    """What is sent, whole."""
    from rich.text import Text

    return [Text(one_line(draft["preview"], 400), style="bold"), *_content(draft)]


def _content(draft: Mapping[str, Any]) -> list[Text]:
    from rich.text import Text

    # Whole, however long: this is what somebody agrees to.
    given = escape_json(draft["arguments"], indent=2).splitlines()
    shown = [Text("  arguments"), *(Text(f"    {line}") for line in given)]
    return [*delivery_lines(draft), *shown]


def _next(draft: Mapping[str, Any]) -> list[Text]:
    """What can be done about a draft, or what has been."""
    from rich.text import Text

    if draft["status"] == "pending":
        sure = ("--hash", draft["hash"][:16]) if draft.get("revision", 1) > 1 else ()
        ways = [hint("drafts", "confirm", str(draft["id"]), *sure)]
        ways.append(hint("drafts", "discard", str(draft["id"])))
        return [Text(), *(Text(f"  {way}") for way in ways)]
    if draft["status"] in ("expired", "discarded"):
        return [Text(), Text(f"  {hint('drafts', 'redraft', str(draft['id']))}")]
    if draft["outcome"] is None:
        return []
    return [Text(), Text(f"  {_CAME_TO[draft['outcome']]}")]


# --- batches

_MOST = 500
# As many as confirm_actions takes.
_AT_ONCE = 50


async def answer_batch(
    context: CommandContext,
    screen: Screen,
    text: str,
    *,
    sends: bool,
    reason: str | None,
    ask: Ask | None = None,
) -> int:
    """Confirms or discards what waits of one batch."""
    async with open_client(context) as client:
        drafts = await _list_batch(client, _batch(text))
        if sends:
            check_person(client, screen, ask, BY_PEOPLE)
            shown = [line for one in drafts for line in format_draft(one)]
            if not await confirm(screen, shown, f"Send all {len(drafts)}?", ask):
                screen.say("Not sent. The drafts stay pending.")
                return exits.DONE
        results: list[Mapping[str, Any]] = []
        for start in range(0, len(drafts), _AT_ONCE):
            arguments: dict[str, Any] = {
                "draft_ids": [str(one["id"]) for one in drafts[start : start + _AT_ONCE]]
            }
            if reason is not None:
                arguments["reason"] = reason
            name = "confirm_actions" if sends else "discard_actions"
            answer = await client.call(name, arguments, confirmed=sends)
            results += answer["results"]
    if screen.for_programs:
        screen.answer({"results": results})
    else:
        screen.say(*_batch_lines(drafts, results))
    return exits.FAILED if any(one["status"] == "failed" for one in results) else exits.DONE


def _batch(text: str) -> UUID:
    try:
        return UUID(text)
    except ValueError:
        raise Invalid(
            "A batch is named by its whole id.",
            code="usage",
            suggestion=f"{hint('drafts')} shows the batches.",
        ) from None


async def _list_batch(client: ApiClient, batch: UUID) -> list[dict[str, Any]]:
    """The pending drafts of a batch, oldest first."""
    found = await list_rows(client, "/drafts", _MOST, {"status": "pending"})
    drafts = [one for one in reversed(found) if one["batch_id"] == str(batch)]
    if not drafts:
        raise NotFound("No draft of this batch is pending.", code="no_batch")
    return drafts


def _batch_lines(
    drafts: Sequence[Mapping[str, Any]], results: Sequence[Mapping[str, Any]]
) -> list[str]:
    said = []
    for draft, one in zip(drafts, results, strict=True):
        said.append(f"{one['status']}: {one_line(draft['preview'], 200)}")
        if one.get("error"):
            said.append(f"  {one_line(str(one['error'].get('detail', '')), 400)}")
    return said
