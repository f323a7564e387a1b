"""What an act has to say: word for word, as it was thought, or as it was read."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from mainspring.authoring.sketch.acts import ActionContent, title_of
from mainspring.authoring.sketch.fortnights import both
from mainspring.authoring.sketch.intents import Intent
from mainspring.authoring.sketch.plan import SketchPlan
from mainspring.authoring.sketch.reads import WHOLE, ReadMaterial
from mainspring.authoring.sketch.sayings import find_literal_text, literal_text
from mainspring.authoring.sketch.texts import inert, shorten_text
from mainspring.authoring.sketch.thinking import AgentOutput
from mainspring.authoring.sketch.verbs import WHOLLY
from mainspring.authoring.sketch.watching import is_down, site_of
from mainspring.authoring.sketch.workbench import SketchBuilder

_WITH: Final = re.compile(
    r"\bwith (?:the |its |their )?"
    r"(?P<list>[a-z_]{2,30}(?:(?:,? and (?:the )?|, (?:the )?)[a-z_]{2,30}){1,8})$",
    re.IGNORECASE,
)
_SPLIT: Final = re.compile(r",? and (?:the )?|, (?:the )?", re.IGNORECASE)


def content_of(
    bench: SketchBuilder,
    plan: SketchPlan,
    intent: Intent,
    materials: Sequence[ReadMaterial],
    thought: AgentOutput | None,
) -> ActionContent:
    title = title_of(plan.name)
    tight = plan.tight or next((one.when for one in materials if one.gate), None)
    fixed = find_literal_text(intent)
    rows, key = _rows_of(bench, intent, materials, thought)
    rows_when = thought.rows_when if thought is not None and thought.shape.rows else None
    literal = literal_text(intent)
    if literal or (fixed and thought is None and not materials):
        told = shorten_text(fixed, 1_000)
        when = thought.when if thought is not None and plan.conditions else tight
        if not intent.clause.quote():
            told = told[:1].upper() + told[1:]
        named = inert(shorten_text(told.rstrip("."), 150))
        return ActionContent(inert(told), named, when, rows, rows_when, key)
    if thought is not None and id(intent) in plan.parts:
        text, there = thought.part(plan.parts[id(intent)])
        when = there if tight is None else both(tight, there)
        return ActionContent(text, title, when, rows, rows_when, key)
    if thought is not None:
        when = thought.when if tight is None else both(tight, thought.when)
        return ActionContent(thought.text, title, when, rows, rows_when, key)
    if materials:
        places = {one.where for one in intent.targets}
        whole = intent.clause.verb in WHOLLY and places & {"mail", "owner", "file", "page"}
        text = "\n\n".join(one.text if whole else one.brief for one in materials)
        when = tight or next((one.when for one in materials if len(materials) == 1), None)
        if plan.tight is not None:
            web = [one for one in materials if one.web]
            text = "\n".join(f"{one.title}: {{{{ steps.{one.output}.status }}}}" for one in web)
            text = f"{web[0].title} has changed." if plan.changes else text
            title = _news(plan, materials)
            text = f"{title}\n{text}" if is_down(plan.tight) else text
        cells = _cells(intent) if [one.row for one in materials] == [WHOLE] else ()
        if cells:
            text = "\n".join(f"{one}: {{{{ trigger.{one} | default('', true) }}}}" for one in cells)
            bench.note(f"The sender must name the fields so: {', '.join(cells)}.")
        value = materials[0].value if len(materials) == 1 else None
        return ActionContent(text, title, when, rows, rows_when, key, value)
    return ActionContent("", title, None, rows, rows_when, key)


def _cells(intent: Intent) -> tuple[str, ...]:
    """The fields of what was sent that a message is to hold: with the name and email."""
    found = _WITH.search(intent.clause.text(intent.used))
    if found is None:
        return ()
    names = [one.strip().lower() for one in _SPLIT.split(found["list"]) if one.strip()]
    return tuple(dict.fromkeys(names)) if len(names) > 1 else ()


def _news(plan: SketchPlan, materials: Sequence[ReadMaterial]) -> str:
    """What has become of an address, as a title."""
    site = site_of(materials)
    if plan.changes:
        return f"{site} has changed"
    return f"{site} is down" if is_down(plan.tight) else f"{site} answers"


def _rows_of(
    bench: SketchBuilder,
    intent: Intent,
    materials: Sequence[ReadMaterial],
    thought: AgentOutput | None,
) -> tuple[object, str | None]:
    if thought is not None and thought.shape.rows:
        return thought.rows, None
    said = intent.clause.quote()
    if said:
        return [{"text": inert(said)}], "text"
    for one in materials:
        if one.row == WHOLE and bench.fields:
            cells = {name: f"{{{{ trigger.{name} | default('', true) }}}}" for name in bench.fields}
            bench.note(f"The sender must name the fields so: {', '.join(bench.fields)}.")
            return [cells], bench.fields[0]
        if one.row is not None:
            return [one.row], next(iter(one.row)) if isinstance(one.row, dict) else None
    return None, None
