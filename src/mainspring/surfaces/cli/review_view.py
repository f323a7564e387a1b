"""A review as a person reads it at a terminal: what it does, costs and reaches, what to look at.

Everything here only makes lines. All text in a review may quote what somebody wrote or named, so
each line is cleaned and bounded before it is shown.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from mainspring.surfaces.cli.formatting import as_called_here, count
from mainspring.surfaces.cli.paragraphs import heading, paragraph
from mainspring.surfaces.cli.pointer_text import describe_pointer
from mainspring.surfaces.cli.screen import Screen, one_line
from mainspring.surfaces.cli.summary import Labels, labelled_grant_lines
from mainspring.surfaces.cli.versions import change_line

if TYPE_CHECKING:
    from rich.text import Text

# How a review calls whatever model is asked.
_MODEL: Final = "A model"
# How many of a list are shown; the rest is counted, and --json has all of it.
_MOST: Final = 12
# A sentence about a step holds all that the step sends.
_STEP: Final = 20_000
_NUMBER: Final = re.compile(r"[0-9.]{1,12}\. ")
_HOW: Final = {
    "strict": "writes to the same place at the same time",
    "board": "writes to the same board",
    "alike": "sounds like it does something alike",
}
# By what it was compared with the others.
_BY: Final = {"words": "by their words", "meaning": "by their meaning"}
_KINDS: Final = {
    "message": "a message in the inbox",
    "page": "a page",
    "board": "rows of a board",
    "file": "a file",
    "value": "a value of its own",
    "event": "an event",
    "automation": "another automation",
}


def review_lines(
    review: Mapping[str, Any], definition: Mapping[str, Any], labels: Labels, screen: Screen
) -> list[Text]:
    """The whole review."""
    return [
        *(paragraph(screen, review["summary"]) if review.get("summary") else ()),
        *_opinion(review, screen),
        # Whoever changes something wants to see the change before the whole.
        *change_lines(review.get("change"), labels, screen),
        *_explained(review, screen),
        *_price(review.get("forecast") or {}, screen),
        *impact_lines(review.get("impact") or {}, screen),
        *flag_lines(review.get("flags") or (), definition, screen),
        *_overlaps(review.get("overlaps") or {}, screen),
    ]


def _opinion(review: Mapping[str, Any], screen: Screen) -> list[Text]:
    """What a model says of it: a second voice, and marked as one."""
    said = review.get("opinion")
    return [*heading("What a model says of it"), *paragraph(screen, said)] if said else []


def _explained(review: Mapping[str, Any], screen: Screen) -> list[Text]:
    summary, told = review.get("summary") or "", list(review.get("explained") or ())
    # The first sentence says the whole, which the summary has said if rules made it.
    steps = told[1:] if told and told[0] == summary else told
    lines = heading("What it does") if steps else []
    width = max((len(_numbered(text)[0]) for text in steps), default=0)
    for text in steps:
        number, rest = _numbered(text)
        lead = f"  {number:<{width}}"
        lines += paragraph(screen, rest, lead=lead, lead_style="bright_black", most=_STEP)
    return lines


def _numbered(text: str) -> tuple[str, str]:
    """The number that a step's sentence begins with, and the rest of it."""
    found = _NUMBER.match(text)
    return (found[0], text[found.end() :]) if found else ("", text)


def change_lines(change: Mapping[str, Any] | None, labels: Labels, screen: Screen) -> list[Text]:
    """What would be different: in words, place by place, and what it may do now."""
    if change is None:
        return []
    lines = heading("What changes")
    told, places = change.get("in_words") or (), change.get("changes") or ()
    if not places:
        return [*lines, *paragraph(screen, "No changes.")]
    for text in told:
        lines += paragraph(screen, text)
    lines += [change_line(one) for one in places[:_MOST]]
    lines += _rest(len(places), "change", screen)
    if widened := change.get("widened") or ():
        sign, colour = screen.mark("warning")
        message = "It may do more than before:"
        lines += paragraph(screen, message, lead=f"  {sign} ", lead_style=colour)
        lines += _inset(labelled_grant_lines(widened, labels))
    return lines


def _inset(lines: Iterable[Text]) -> list[Text]:
    moved = [line.copy() for line in lines]
    for line in moved:
        line.pad_left(2)
    return moved


def _price(forecast: Mapping[str, Any], screen: Screen) -> list[Text]:
    if not forecast.get("sentence"):
        return []
    lines = [*heading("What it costs"), *paragraph(screen, forecast["sentence"])]
    for note in forecast.get("notes") or ():
        lines += paragraph(screen, note)
    return lines


def impact_lines(impact: Mapping[str, Any], screen: Screen) -> list[Text]:
    """Whom it reaches, what waits for a person, and what it keeps here."""
    waiting = {step for one in impact.get("people") or () for step in one["why"]}
    rows: list[tuple[str, str]] = [
        ("outside", _system(one, waiting)) for one in impact.get("outside") or ()
    ]
    rows += [
        ("a person", f"agrees in the inbox first: {one['label']}{_why(one)}")
        for one in impact.get("people") or ()
    ]
    rows += [("sends", _write(one)) for one in impact.get("writes") or ()]
    rows += [
        ("keeps", f"{_KINDS.get(one['kind'], one['kind'])}: {one['what']}{_why(one)}")
        for one in impact.get("keeps") or ()
    ]
    rows += [("secret", _secret(one)) for one in impact.get("secrets") or ()]
    if not impact.get("outside"):
        rows.insert(0, ("outside", "reaches nothing outside"))
    lines = heading("What it reaches")
    for name, text in rows[:_MOST]:
        lines += paragraph(screen, text, lead=f"  {name:<9} ", lead_style="bright_black", most=400)
    return [*lines, *_rest(len(rows), "line", screen)]


def _system(one: Mapping[str, Any], waiting: set[str]) -> str:
    hosts = f" ({', '.join(map(str, one['hosts'][:3]))})" if one["hosts"] else ""
    sends = one["effect"] == "send"
    held = ", when a person agrees" if sends and waiting.issuperset(one["why"]) else ""
    if one["system"] == _MODEL:
        return f"asks a model{hosts}{_why(one)}"
    return f"{'sends to' if sends else 'reads from'} {one['system']}{hosts}{_why(one)}{held}"


def _write(one: Mapping[str, Any]) -> str:
    """One outside write with its approval mode, and how to choose the other."""
    other = "automatic" if one["mode"] == "ask" else "ask"
    said = "asks you each time" if one["mode"] == "ask" else "sends automatically"
    why_not = one.get("only_asks_because")
    choice = f" ({why_not})" if why_not else f" (--{other} {one['step']})"
    account = f", account: {one['account']}" if one.get("account") else ""
    text = " ".join(str(one.get("text") or "").split())
    quoted = f", text: “{text}”" if text else ""
    return f"{one['step']} {said}{choice}. {one['says']}{account}{quoted}"


def _why(one: Mapping[str, Any]) -> str:
    steps: Sequence[str] = one.get("why") or ()
    if not steps:
        return ""
    named = ", ".join(steps[:3]) + (f" and {len(steps) - 3} more" if len(steps) > 3 else "")
    return f", in {'step' if len(steps) == 1 else 'steps'} {named}"


def _secret(one: Mapping[str, Any]) -> str:
    hosts = ", ".join(one["hosts"][:3])
    users = ", ".join(one["capabilities"][:3])
    return f"{one['name']}{f' goes to {hosts}' if hosts else f' is used by {users}'}"


def flag_lines(
    flags: Sequence[Mapping[str, Any]], definition: Mapping[str, Any], screen: Screen
) -> list[Text]:
    """What is worth a look, where it is, and a way out."""
    if not flags:
        return []
    lines = heading("Worth a look")
    for flag in flags[:_MOST]:
        grave = flag.get("level") == "warning"
        sign, colour = screen.mark("warning" if grave else "told")
        place = describe_pointer(flag.get("pointer", ""), definition)
        where = f"{place[:1].upper()}{place[1:]}: " if place else ""
        who = " (says the model)" if flag.get("by") == "model" else ""
        text = f"{where}{flag['text']}{who}"
        lines += paragraph(screen, text, lead=f"  {sign} ", lead_style=colour, most=700)
        if flag.get("suggestion"):
            lines += paragraph(
                screen, as_called_here(flag["suggestion"]), lead="    ", style="bright_black"
            )
    return [*lines, *_rest(len(flags), "flag", screen)]


def _overlaps(overlaps: Mapping[str, Any], screen: Screen) -> list[Text]:
    matches = overlaps.get("matches") or ()
    if not matches:
        return []
    lines = heading("Already there")
    for one in matches[:_MOST]:
        strict = one["how"] == "strict"
        sign, colour = screen.mark("warning" if strict else "told")
        how = _HOW.get(one["how"], one["how"])
        by = _BY.get(overlaps.get("similarity_by") or "") if one["how"] == "alike" else None
        how += f", {by}" if by else ""
        text = f"{one_line(one['name'], 80)} ({one['state']}) {how}: {one['admin_url']}"
        lines += paragraph(screen, text, lead=f"  {sign} ", lead_style=colour)
    return [*lines, *_rest(len(matches), "automation", screen)]


def _rest(number: int, thing: str, screen: Screen) -> list[Text]:
    if number <= _MOST:
        return []
    text = f"and {count(number - _MOST, f'more {thing}')}; --json shows all"
    return paragraph(screen, text, lead="    ", style="bright_black")
