"""``usage``: what models were asked and what they cost, in columns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import date
from decimal import Decimal
from typing import TYPE_CHECKING, Any, Final

from mainspring.contracts.errors import Invalid
from mainspring.surfaces.cli import exits
from mainspring.surfaces.cli.columns import columns, format_time, is_narrow, short_id
from mainspring.surfaces.cli.connection import open_client
from mainspring.surfaces.cli.formatting import count, hint, usd
from mainspring.surfaces.cli.pages_of_rows import list_rows
from mainspring.surfaces.cli.screen import Screen, one_line

if TYPE_CHECKING:
    from rich.table import Table

    from mainspring.surfaces.cli.context import CommandContext

_CENTS: Final = Decimal("0.000001")
_WIDE: Final = 60


def read_day(name: str, text: str | None) -> str | None:
    """A day as it was typed; a wrong one gets a sentence of our own."""
    if text is None:
        return None
    try:
        # Python reads more spellings of a day than people agree on.
        found = date.fromisoformat(text).isoformat() == text
    except ValueError:
        found = False
    if not found:
        raise Invalid(f"--{name} is a day in UTC, such as 2026-03-01.", code="usage")
    return text


async def show_usage(
    context: CommandContext,
    screen: Screen,
    by: str,
    first: str | None,
    last: str | None,
    calls: bool,
    limit: int,
) -> int:
    """Sums over some days; with ``calls`` so many single asks, the newest first."""
    named = {"from": read_day("from", first), "to": read_day("to", last)}
    days = {name: day for name, day in named.items() if day is not None}
    rows: list[dict[str, Any]] = []
    async with open_client(context) as client:
        sums = await client.call("get_usage", days)
        if calls:
            span = {"from": sums["from"], "to": sums["to"]}
            rows = await list_rows(client, "/usage/calls", limit, span)
    if screen.for_programs:
        screen.answer(sums if not calls else {**sums, "calls": rows})
    elif not sums["total"]["asks"]:
        screen.say(f"No model was called {_when(sums)}.")
    else:
        screen.say(_calls(rows, screen) if calls else _sums(sums, by), "", _all(sums))
    return exits.DONE


def usage_lines(usage: Sequence[Mapping[str, Any]]) -> list[str]:
    """What a run asked of models, a line for each step and model."""
    return [
        f"  {row['step']}: {one_line(row['model'], _WIDE)}, {count(row['asks'], 'ask')}, "
        f"{_tokens(row)}, {_money(row['cost_usd'])}{' (its own word)' if row['reported'] else ''}"
        for row in usage
    ]


def _sums(sums: Mapping[str, Any], by: str) -> Table:
    heads = (by.capitalize(), "Asks", "Read", "Written", "Cost")
    rows = [
        (
            _name_row(row, by),
            f"{row['asks']:,}",
            f"{row['input_tokens']:,}",
            f"{row['output_tokens']:,}",
            _money(row["cost_usd"]),
        )
        for row in sums[f"{by}s"]
    ]
    return columns(heads, rows, whole=heads[1:])


def _name_row(row: Mapping[str, Any], by: str) -> str:
    if by == "automation":
        return one_line(row["name"] or row["automation_id"] or "no automation", _WIDE)
    if by == "model":
        return one_line("/".join(filter(None, (row["provider"], row["model"]))), _WIDE)
    return one_line(row["day" if by == "day" else "caller"], _WIDE)


def _calls(rows: Sequence[Mapping[str, Any]], screen: Screen) -> Table:
    heads: tuple[str, ...] = ("When", "Automation", "Step", "Model", "Tokens", "Cost")
    cells = [
        [
            format_time(row["at"], screen),
            one_line(row["automation"] or "", _WIDE),
            row["step"],
            one_line(row["model"], _WIDE),
            f"{row['input_tokens']:,} + {row['output_tokens']:,}",
            _money(row["cost_usd"]),
        ]
        for row in rows
    ]
    if not is_narrow(screen):
        heads = (*heads, "Connection", "Asked by", "Took", "Run")
        for cell, row in zip(cells, rows, strict=True):
            run = "" if row["run_id"] is None else short_id(row["run_id"], screen)
            cell += [one_line(row["provider"], 32), row["caller"], f"{row['ms']} ms", run]
    return columns(heads, cells, whole=("When", "Tokens", "Cost", "Took", "Run"))


def _all(sums: Mapping[str, Any]) -> str:
    total = sums["total"]
    own = total["reported_usd"]
    said = f", {_money(own)} of it by scripts' own word" if own else ""
    return (
        f"{count(total['asks'], 'ask')} {_when(sums)}: {_tokens(total)}, "
        f"{_money(total['cost_usd'])}{said}. More: {hint('usage', '--help')}"
    )


def _when(sums: Mapping[str, Any]) -> str:
    if sums["from"] == sums["to"]:
        return f"on {sums['from']} (UTC)"
    return f"from {sums['from']} to {sums['to']} (UTC)"


def _tokens(row: Mapping[str, Any]) -> str:
    return f"{row['input_tokens']:,} tokens read, {row['output_tokens']:,} written"


def _money(amount: Any) -> str:
    """To a millionth; what is less than that is still not nothing."""
    exact = Decimal(str(amount))
    shown = exact.quantize(_CENTS)
    return usd(shown) if shown or not exact else "less than $0.000001"
