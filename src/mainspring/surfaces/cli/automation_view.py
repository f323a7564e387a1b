"""``show``: one automation, and lines about its triggers that other commands print too."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from mainspring.contracts.errors import Problem
from mainspring.definition.webhook_callers import accepts_token
from mainspring.surfaces.cli import exits
from mainspring.surfaces.cli.columns import format_time
from mainspring.surfaces.cli.connection import open_client
from mainspring.surfaces.cli.formatting import count, date_time, format_in_zone, hint
from mainspring.surfaces.cli.listings import STATE_COLOURS, state_words
from mainspring.surfaces.cli.lookup import find_automation_at
from mainspring.surfaces.cli.pages_of_rows import AUTOMATION_SIGNS, list_versions_at, restore_values
from mainspring.surfaces.cli.screen import Screen, one_line
from mainspring.surfaces.cli.summary import (
    ListedTrigger,
    describe_trigger_summary,
    described_grant_lines,
    step_counts_of,
)

if TYPE_CHECKING:
    from rich.text import Text

    from mainspring.surfaces.cli.context import CommandContext
    from mainspring.surfaces.cli.http_client import ApiClient

_VERSIONS_SHOWN = 5


async def show_automation(context: CommandContext, screen: Screen, text: str) -> int:
    async with open_client(context) as client:
        found = await find_automation_at(client, text)
        whole = await read_automation_at(client, found["id"])
        versions = await list_versions_at(client, found["id"], _VERSIONS_SHOWN)
        whole["forecast"] = await client.request("GET", f"/automations/{found['id']}/forecast")
        boards = {} if screen.for_programs else await read_board_names(client, whole["triggers"])
    if screen.for_programs:
        grants = [{name: one[name] for name in ("capability", "params")} for one in whole["grants"]]
        screen.answer({**whole, "grants": grants, "versions": versions})
    else:
        screen.say(*_lines(whole, versions, boards, screen))
    return exits.DONE


async def read_automation_at(client: ApiClient, automation_id: str) -> dict[str, Any]:
    """An automation with its triggers in full, as its commands show it."""
    path = f"/automations/{automation_id}"
    found = restore_values(await client.request("GET", path))
    listed = (await client.request("GET", f"{path}/triggers"))["items"]
    whole = {name: found[name] for name in found if name not in AUTOMATION_SIGNS}
    del whole["secrets"], whole["next_due_timezone"]
    return {**whole, "triggers": [_as_trigger(row) for row in listed]}


def _as_trigger(row: Mapping[str, Any]) -> dict[str, Any]:
    token = row["token"] or {"hint": None, "made_at": None}
    absent = (
        "token",
        "next_fires",
        *(name for name in ("url", "signed_url", "form_url", "poll") if not row.get(name)),
    )
    shown = {name: row[name] for name in row if name not in absent}
    shown |= {"secret_hint": token["hint"], "secret_made_at": token["made_at"]}
    return restore_values(shown)


async def read_board_names(
    client: ApiClient, triggers: Sequence[Mapping[str, Any]]
) -> dict[str, str]:
    """The names of the boards that triggers watch, by id; a board that is gone has none."""
    wanted = {
        str(row["config"].get("board_id")).lower()
        for row in triggers
        if row["type"] == "board_change"
    }
    names = {}
    for board_id in sorted(wanted):
        try:
            query = {"limit": 1}
            found = await client.request("GET", f"/boards/{board_id}", query=query)
        except Problem:
            continue
        names[board_id] = str(found["board"]["name"])
    return names


def _lines(
    whole: Mapping[str, Any],
    versions: list[dict[str, Any]],
    boards: Mapping[str, str],
    screen: Screen,
) -> list[Text]:
    from rich.text import Text

    definition = whole["definition"]
    head = Text.assemble((one_line(whole["name"]), "bold"), "  ")
    head.append(state_words(whole), style=STATE_COLOURS[whole["state"]])
    lines = [head, Text(f"  {one_line(definition.get('goal') or '')}"), Text(f"  id {whole['id']}")]
    lines.append(Text(f"  {step_counts_of(definition)}"))
    if whole["halted"] is not None:
        message = (
            f"halted ({one_line(whole['halted'], 300)}). Its runs are held; see {hint('halts')}"
        )
        lines.append(Text(f"  {message}", style="red"))
    if whole["failures"]:
        lines.append(Text(f"  {count(whole['failures'], 'failure')} in a row", style="red"))
    if whole["last_run"] is not None:
        last = whole["last_run"]
        ended = f"{last['status']} {format_time(last['at'], screen)}"
        lines.append(Text(f"  last run {last['id']}: {ended}"))
    for row in whole["triggers"]:
        lines += trigger_lines(row, boards)
    if not whole["triggers"]:
        lines.append(Text("  manual start only"))
    lines.append(Text(f"  {one_line(whole['forecast']['sentence'], 400)}"))
    return [*lines, *described_grant_lines(whole["grants"]), *map(_version_line, versions)]


def _describe_looks(state: Mapping[str, Any] | None) -> list[str]:
    """When a poll looked, what it found, and how it fails."""
    if not state:
        return []
    if state["last_look_at"] is None:
        return ["has not looked yet"]
    found = f"looked {date_time(state['last_look_at'])}: {count(state['items'], 'item')}"
    if state["waiting"]:
        found += f", {state['waiting']} waiting for a later look"
    lines = [found]
    if state["failures"]:
        since = date_time(state["failing_since"])
        lines = [f"failing since {since}, {count(state['failures'], 'time')} in a row"]
        lines.append(str((state["problem"] or {}).get("detail", "")))
    if state["next_look_at"] is not None:
        lines.append(f"looks next {date_time(state['next_look_at'])}")
    return lines


def trigger_lines(row: Mapping[str, Any], boards: Mapping[str, str]) -> list[Text]:
    """When it starts, its next fire time, and the URL of a webhook."""
    from rich.text import Text

    words = describe_trigger_summary(ListedTrigger.of(row), boards)
    inactive = "" if row["armed_at"] is not None or not row["enabled"] else ", once it is active"
    lines = [Text(f"  starts {one_line(words, 400)}{inactive}")]
    if row["next_due_at"] is not None:
        zone = row["config"].get("timezone")
        lines.append(Text(f"    next {format_in_zone(row['next_due_at'], zone)}"))
    if row["last_fired_at"] is not None:
        lines.append(Text(f"    last {date_time(row['last_fired_at'])}"))
    lines += [Text(f"    {one_line(said, 400)}") for said in _describe_looks(row.get("poll"))]
    if "url" in row:
        token = f"token …{row['secret_hint']}" if row["secret_hint"] else "no token yet"
        lines.append(Text(f"    POST {row['url']} ({token})"))
    if row.get("form_url"):
        lines.append(Text(f"    form {row['form_url']}"))
    if "signed_url" in row:
        lines.append(Text(f"    POST {row['signed_url']} (signed)"))
    return lines


def token_hints(name: str, rows: Sequence[Mapping[str, Any]]) -> list[str]:
    """The commands that create the tokens of webhooks that have none yet."""
    hooks = [row for row in rows if row["type"] == "webhook" and accepts_token(row["config"])]
    return [
        hint("webhook", "token", name, *([row["slug"]] if len(hooks) > 1 else []))
        for row in hooks
        if not row["secret_hint"]
    ]


def _version_line(row: Mapping[str, Any]) -> Text:
    from rich.text import Text

    back = f", rollback to version {row['rollback_of']}" if row["rollback_of"] else ""
    current = ", current" if row["in_force"] else ""
    return Text(f"  version {row['version']} of {date_time(row['created_at'])}{back}{current}")
