"""``save`` and ``rollback``: store a version of an automation.

A person at a terminal sees what a version adds to what was agreed to, and agrees to that before
it is stored: the digest of what was shown goes with the request. What a program stores waits for
a person where it may do more.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from mainspring.contracts.errors import Finding, Invalid
from mainspring.surfaces.cli import exits
from mainspring.surfaces.cli.automation_view import (
    read_automation_at,
    read_board_names,
    token_hints,
)
from mainspring.surfaces.cli.connection import has_server, open_client
from mainspring.surfaces.cli.documents import read_definition_file
from mainspring.surfaces.cli.formatting import count, hint
from mainspring.surfaces.cli.lookup import find_automation_at, find_in_use_at, find_name_at
from mainspring.surfaces.cli.person_prompt import (
    addition_lines,
    confirm,
    consent_page,
    has_person,
    waiting_lines,
)
from mainspring.surfaces.cli.screen import Screen, one_line
from mainspring.surfaces.cli.summary import (
    ListedTrigger,
    describe_trigger_summary,
    described_grant_lines,
    labelled_grant_lines,
    warning_lines,
)
from mainspring.surfaces.cli.terminal_prompt import Ask

if TYPE_CHECKING:
    from rich.text import Text

    from mainspring.surfaces.cli.context import CommandContext
    from mainspring.surfaces.cli.http_client import ApiClient

_GRANT: Final = ("capability", "params")
_SAVED: Final = ("id", "name", "version", "changed", "state", "widened")

# --- save


async def save_file(
    context: CommandContext, screen: Screen, file: str, to: str | None, ask: Ask | None = None
) -> int:
    """Saves a definition under its name, or as the next version of another automation."""
    limits = context.limits()
    document = read_definition_file(file, limits)
    async with open_client(context) as client:
        if not has_server(client):
            # Before the database is opened, so that an invalid file fails fast.
            from mainspring.surfaces.cli.offline_validation import validate_offline

            validate_offline(document, context.doors.vocabulary(limits), limits).report.accepted()
        if to is not None:
            there = (await find_in_use_at(client, to))["id"]
        else:
            name = document.get("name") if isinstance(document, Mapping) else None
            found = await find_name_at(client, name) if isinstance(name, str) else None
            there = None if found is None else found["id"]
        agreed = None
        if has_person(client, screen, ask):
            verdict = await validate_at(client, document, there)
            question = "Save it and agree to this?"
            if not await _agree(screen, verdict["definition"]["name"], verdict, question, ask):
                screen.say("Not saved: you did not agree.")
                return exits.FAILED
            agreed = verdict["adds"]["digest"]
        saved = await store_document(client, document, there, agreed)
        now = await read_automation_at(client, saved["id"])
        boards = {} if screen.for_programs else await read_board_names(client, now["triggers"])
        request = _with_page(client, saved)
    if screen.for_programs:
        shown = {name: saved[name] for name in _SAVED}
        grants = [{name: one[name] for name in _GRANT} for one in now["grants"]]
        screen.answer(
            {**shown, "grants": grants, "warnings": saved["warnings"], "consent": request}
        )
        return exits.DONE
    screen.say(*_saved_lines(saved, now, boards, screen))
    if request is not None:
        screen.say(*waiting_lines(request))
    calls = token_hints(now["name"], now["triggers"])
    if request is None:
        act = "activate" if now["triggers"] and saved["state"] != "active" else "fire"
        calls.append(hint(act, now["name"]))
    screen.say(*_faint(calls))
    return exits.DONE


async def validate_at(
    client: ApiClient, document: Any, automation_id: str | None
) -> dict[str, Any]:
    """What the server says about a definition, with what saving it would add."""
    query = {"adds": "true", "automation_id": automation_id}
    verdict: dict[str, Any] = await client.request("POST", "/validate", document, query=query)
    if not verdict["ok"]:
        findings = [Finding(**one) for one in verdict["errors"]]
        detail = f"The definition has {count(len(findings), 'problem')}."
        raise Invalid(detail, code="invalid_definition", findings=findings)
    return verdict


async def store_document(
    client: ApiClient, document: Any, automation_id: str | None, agreed: str | None = None
) -> dict[str, Any]:
    """Stores the next version of an automation, or a new one.

    ``agreed`` is the digest of the additions that a person has just agreed to.
    """
    method, path = "POST", "/automations"
    if automation_id is not None:
        method, path = "PUT", f"{path}/{automation_id}"
    saved: dict[str, Any] = await client.request(
        method, path, document, query={"agreed": agreed}, confirmed=agreed is not None
    )
    return saved


async def _agree(
    screen: Screen, name: str, preview: Mapping[str, Any], question: str, ask: Ask | None
) -> bool:
    """Whether a person agrees to what a version adds before it is stored; nothing new: yes."""
    adds = (preview.get("adds") or preview)["additions"]
    if not adds:
        return True
    head = f"{one_line(name)} needs your consent to do this:"
    return await confirm(screen, [head, *addition_lines(adds)], question, ask)


def _with_page(client: ApiClient, saved: Mapping[str, Any]) -> dict[str, Any] | None:
    """The consent that a save waits for, with the page where a person answers."""
    if saved["consent"] is None:
        return None
    return {**saved["consent"], "url": consent_page(client, saved["id"])}


def _saved_lines(
    saved: Mapping[str, Any], now: Mapping[str, Any], boards: Mapping[str, str], screen: Screen
) -> list[Text]:
    from rich.text import Text

    sign, colour = screen.mark("succeeded")
    became = "is saved as" if saved["changed"] else "is unchanged: it is still"
    head = Text.assemble((sign, colour), " ", (one_line(saved["name"]), "bold"))
    head.append(f" {became} version {saved['version']}, {saved['state']}.")
    lines = [head, Text(f"  id {saved['id']}")]
    starts = [describe_trigger_summary(ListedTrigger.of(row), boards) for row in now["triggers"]]
    lines += [Text(f"  starts {one_line(when, 400)}") for when in starts]
    if not starts:
        lines.append(Text("  manual start only"))
    lines += described_grant_lines(now["grants"])
    lines += _widened_lines(saved, now, screen)
    return [*lines, *warning_lines([Finding(**one) for one in saved["warnings"]], screen)]


def _widened_lines(saved: Mapping[str, Any], now: Mapping[str, Any], screen: Screen) -> list[Text]:
    """What a new version may do that the one before might not."""
    from rich.text import Text

    if saved["version"] == 1 or not saved["widened"]:
        return []
    labels = {one["capability"]: one["label"] for one in now["grants"] if one.get("label")}
    sign, colour = screen.mark("warning")
    head = Text.assemble("  ", (sign, colour), " New permissions in this version:")
    lines = labelled_grant_lines(saved["widened"], labels)
    for line in lines:
        line.pad_left(2)
    return [head, *lines]


def _faint(calls: Sequence[str]) -> list[Text]:
    from rich.text import Text

    return [Text(f"  {call}", style="bright_black") for call in calls]


# --- rollback


async def go_back(
    context: CommandContext, screen: Screen, text: str, version: int, ask: Ask | None = None
) -> int:
    """Brings an earlier version back as a new one."""
    async with open_client(context) as client:
        found = await find_automation_at(client, text)
        path = f"/automations/{found['id']}"
        body: dict[str, Any] = {"version": version}
        if has_person(client, screen, ask):
            preview = await client.request("GET", f"{path}/versions/{version}/additions")
            then = await client.request("GET", f"{path}/versions/{version}")
            question = f"Roll back to version {version} and agree to this?"
            if not await _agree(screen, then["definition"]["name"], preview, question, ask):
                screen.say("Not changed: you did not agree.")
                return exits.FAILED
            body["agreed"] = preview["digest"]
        saved = await client.request("POST", f"{path}/rollback", body, confirmed="agreed" in body)
        now = await read_automation_at(client, found["id"])
        request = _with_page(client, saved)
    name = one_line(saved["name"])
    if screen.for_programs:
        shown = {field: saved[field] for field in _SAVED}
        screen.answer({**shown, "rollback_of": version, "consent": request})
        return exits.DONE
    if saved["changed"]:
        screen.say(
            f"{name}: rolled back to version {version}, saved as version {saved['version']}, "
            f"{saved['state']}.",
            *_widened_lines(saved, now, screen),
        )
    else:
        screen.say(f"{name}: version {saved['version']} is already the same.")
    if request is not None:
        screen.say(*waiting_lines(request))
    return exits.DONE
