"""Several texts from one agent step, and one action per item."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from mainspring.authoring.sketch.action_steps import ActionContent, add_act
from mainspring.authoring.sketch.agent_step import AgentOutput
from mainspring.authoring.sketch.intents import EACH, Intent
from mainspring.authoring.sketch.literal_text import literal_text
from mainspring.authoring.sketch.plan import TEXTUAL, SketchPlan
from mainspring.authoring.sketch.read_steps import ReadMaterial
from mainspring.authoring.sketch.search import stem
from mainspring.authoring.sketch.sketch_builder import SketchBuilder
from mainspring.authoring.sketch.texts import quote_request
from mainspring.authoring.sketch.tool_steps import add_tool
from mainspring.authoring.sketch.word_tables import (
    BULLETS,
    NUMBERS,
    PRONOUNS,
    STOP,
    THINK,
    split_words,
)

_EACH: Final = re.compile(
    r"\b(?:for (?:each|every)\b|(?:each|every one) of (?:them|these|those|the)\b|"
    r"per (?:item|row|entry|point|deal|page)\b|one (?:\w{1,30} ){1,3}each\b$)",
    re.IGNORECASE,
)
_PLAIN: Final = split_words(
    "result results message answer text output response list link links news update post mail "
    "email note outcome thing things"
)
_SLUG: Final = re.compile(r"[^a-z0-9]+")
_TAKEN: Final = frozenset({"bullets", "text", "rows", "items", "category", "reason", "needed"})


def name_parts(plan: SketchPlan) -> None:
    """Give each action that sends different content its own output field."""
    found: dict[frozenset[str], list[Intent]] = {}
    for intent in plan.intents:
        if not any(one.where in TEXTUAL for one in intent.targets) or literal_text(intent):
            continue
        told = _extract_keywords(intent)
        if told:
            found.setdefault(told, []).append(intent)
    if len(found) < 2:
        return
    bulleted = [key for key, group in found.items() if group[0].clause.has(BULLETS)]
    for key, group in found.items():
        if key in bulleted[:1]:
            # These already have a field.
            continue
        name, number = _name(group[0]), 1
        made = name
        while made in plan.shown or made in _TAKEN:
            number += 1
            made = f"{name}_{number}"
        plan.shown[made] = _subject(group[0])
        for intent in group:
            plan.parts[id(intent)] = made


def _subject(intent: Intent) -> str:
    if intent.clause.verb in THINK:
        return intent.clause.text(intent.used)
    return intent.subject


def _extract_keywords(intent: Intent) -> frozenset[str]:
    words = re.findall(r"[\w-]{2,60}", _subject(intent).lower())
    left = [one for one in words if one not in STOP | PRONOUNS | _PLAIN and one not in NUMBERS]
    return frozenset(stem(one) for one in left)


def _name(intent: Intent) -> str:
    words = [
        one
        for one in re.findall(r"[a-z0-9]{2,30}", _subject(intent).lower())
        if one not in STOP | PRONOUNS and one not in NUMBERS
    ]
    made = _SLUG.sub("_", "_".join(words[:3])).strip("_")
    return made if made[:1].isalpha() else f"text_{made}".strip("_")


def mark_each(plan: SketchPlan) -> None:
    """Mark actions that apply per item; a separate clause may say so for the next."""
    pending = False
    for intent in plan.intents:
        acts = bool(intent.targets) or id(intent) in plan.tools
        said = _EACH.search(intent.clause.text()) is not None
        said = said or any(EACH in one.values for one in intent.targets if one.where == "page")
        if acts and (said or pending):
            plan.each.append(intent)
        pending = said and not acts


def act_for_each(
    bench: SketchBuilder,
    plan: SketchPlan,
    intent: Intent,
    materials: Sequence[ReadMaterial],
    thought: AgentOutput | None,
    when: str | None,
) -> bool:
    """Wrap an action in a loop; False when there is no list."""
    tool = plan.tools.get(id(intent))
    targets = [one for one in intent.targets if one.where not in {"board", "rows", "wait"}]
    if intent not in plan.each or (not targets and (tool is None or tool.reads)):
        return False
    items, content = _items(materials, thought)
    if not items:
        bench.note(
            f"This is done once for all, and not for each: {quote_request(intent.clause.text())}."
        )
        return False
    at = bench.enter("for_each")
    for target in targets:
        add_act(bench, target, intent, content)
    if tool is not None and not tool.reads:
        add_tool(bench, tool, content)
    gated = plan.tight or (thought is not None and thought.shape.needed)
    bench.leave(at, "each", items, when if gated or any(one.gate for one in materials) else None)
    return True


def _items(
    materials: Sequence[ReadMaterial], thought: AgentOutput | None
) -> tuple[str, ActionContent]:
    if thought is not None:
        if not thought.shape.items:
            return "", ActionContent("", "")
        items = f"{{{{ steps.{thought.name}.items | default([]) }}}}"
        return items, ActionContent("{{ item.text }}", "{{ item.title }}")
    found = [one for one in materials if one.each]
    if len(found) != 1:
        return "", ActionContent("", "")
    return found[0].each, ActionContent(found[0].item, found[0].item_title)
