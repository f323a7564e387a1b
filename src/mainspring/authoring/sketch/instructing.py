"""Whether something has to be thought about, and what the agent is told then."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from mainspring.authoring.sketch.intents import Intent, IntentTarget
from mainspring.authoring.sketch.lookup import columns_of, names_pages
from mainspring.authoring.sketch.parts import name_parts
from mainspring.authoring.sketch.plan import READ_BY_PEOPLE, TEXTUAL, SketchPlan
from mainspring.authoring.sketch.reads import WHOLE, ReadMaterial
from mainspring.authoring.sketch.sayings import find_literal_text, literal_text
from mainspring.authoring.sketch.texts import quote_request
from mainspring.authoring.sketch.thinking import AgentOutput, AgentOutputShape, add_thought
from mainspring.authoring.sketch.verbs import (
    BULLETS,
    FINAL,
    NUMBERS,
    PRONOUNS,
    READ,
    STOP,
    THINK,
    split_words,
)
from mainspring.authoring.sketch.workbench import SketchBuilder
from mainspring.definition.pointers import join_pointer

_SHAPING: Final = BULLETS | STOP | PRONOUNS | frozenset(NUMBERS) | frozenset({"write", "short"})
_CREATIVE: Final = split_words(
    "joke haiku poem quote tip greeting welcome thank riddle fact wish motivational message"
)
# What nobody knows who has not looked.
_FACTS: Final = split_words(
    "weather forecast temperature price prices stock stocks rate rates news headlines sales "
    "revenue customer customers invoice invoices order orders ticket tickets lead leads deal "
    "deals paid unpaid overdue open latest current recent today's yesterday's week's month's this "
    "new numbers figures statistics stats metrics traffic visitors balance inventory results "
    "scores events meetings deliveries payments subscribers signups errors builds"
)
_WHOLE: Final = split_words(
    "board boards state contents entries entry all current every everything table dataset"
)
PASSED_ON: Final = split_words(
    "row rows result results event details list payload link links title titles text data message "
    "name names answer response status body content contents raw new latest what whole full "
    "differences difference changes output value price number reason cause id time error its "
    "today's yesterday's todays yesterdays today yesterday week's month's incoming came come "
    "arrived added since webhook webhooks call calls request requests body submission "
    "submissions"
)


def _instructions(
    bench: SketchBuilder, plan: SketchPlan, materials: Sequence[ReadMaterial]
) -> list[str]:
    made = [_instruction(one) for one in plan.intents if one.thinks]
    if len(made) > 1:
        made = [one for one in made if not _only_shape(one)] or made
    made += [
        _instruction(one, by_tool=_is_done_by_tool(plan, one))
        for one in plan.intents
        if not one.thinks and _must_think(bench, plan, one, materials)
    ]
    if made and not any(made):
        # It is only said where it goes, so what was read is what it is about.
        read = [one.clause.text() for one in plan.intents if one.reads or id(one) in plan.tools]
        return [f"Write a short message about this: {' '.join(read) or plan.name}"]
    return [one for one in made if one]


def think(
    bench: SketchBuilder, plan: SketchPlan, materials: list[ReadMaterial], shape: AgentOutputShape
) -> AgentOutput | None:
    instructions = _instructions(bench, plan, materials)
    for intent in plan.intents:
        for target in intent.targets:
            _shape_for(bench, target, intent, materials, shape, bool(instructions))
    if plan.conditions and plan.tight is None:
        instructions = _with_conditions(plan, instructions, shape)
    if shape.tools and not instructions:
        instructions = [one.clause.text(one.used) for one in plan.intents if one.reads]
    if shape.rows and not instructions:
        instructions = [one.clause.text() for one in plan.intents if one.targets]
    if not instructions:
        return None
    known = bench.triggers or not bench.questions
    if known and not materials and not shape.tools and not _is_creative(plan):
        _ask_source(bench, instructions)
    say = {one.where for intent in plan.intents for one in intent.targets} & TEXTUAL
    written = any(not one.reads for one in plan.tools.values())
    shape.items = bool(plan.each)
    name_parts(plan)
    shape.parts = dict(plan.shown)
    whole = [one for one in plan.intents if one not in plan.each and id(one) not in plan.parts]
    said = any(target.where in TEXTUAL for one in whole for target in one.targets)
    if (shape.items or shape.parts) and not said:
        shape.bullets = shape.bullets and not shape.items and bool(shape.parts)
    elif (say or written) and not (shape.bullets or shape.category):
        shape.text = True
    return add_thought(bench, instructions, materials, shape, plan.tight)


def _ask_source(bench: SketchBuilder, instructions: Sequence[str]) -> None:
    """What is known only to those who look is asked for; all else a model may write by itself."""
    words = {one.strip(".,;:!?").lower() for told in instructions for one in told.split()}
    if not words & _FACTS:
        bench.note("Nothing says where this comes from, so the model writes it from what it knows.")
        return
    said = " ".join(instructions).removeprefix("Write ")
    bench.ask(
        "source",
        join_pointer(bench.next_at, "config", "documents"),
        f"Where does this come from: {quote_request(said)}? Say a web address, a board, or pages.",
        kind="words",
        why="A model cannot know it, and would make it up.",
    )


def _is_creative(plan: SketchPlan) -> bool:
    return any(intent.clause.has(_CREATIVE) for intent in plan.intents)


def _with_conditions(
    plan: SketchPlan, instructions: list[str], shape: AgentOutputShape
) -> list[str]:
    """A condition for rows says which of them; one for a message, whether it is sent at all."""
    said = " and ".join(plan.conditions)
    places = {one.where for intent in plan.intents for one in intent.targets}
    if shape.rows and not places & TEXTUAL:
        told = instructions or [one.clause.text() for one in plan.intents if one.targets]
        return [*told, f"Only if this holds: {said}"]
    shape.needed = said
    return instructions or ["Write a short message that says what happened"]


def _only_shape(text: str) -> bool:
    """Whether an instruction says no more than how long the answer is."""
    words = {one.strip(".,").lower() for one in text.split()}
    return not {one for one in words if not one.isdecimal()} - _SHAPING


def _instruction(intent: Intent, *, by_tool: bool = False) -> str:
    told = intent.clause.text(intent.used)
    if by_tool:
        return f"Write the text for this, which is done afterwards: {told}"
    if intent.clause.verb in THINK | READ or not intent.targets:
        return told
    subject = intent.subject
    if subject and not intent.clause.quote():
        return f"Write {subject}"
    return told if intent.clause.quote() else ""


def _is_done_by_tool(plan: SketchPlan, intent: Intent) -> bool:
    tool = plan.tools.get(id(intent))
    return tool is not None and not tool.reads


def _must_think(
    bench: SketchBuilder, plan: SketchPlan, intent: Intent, materials: Sequence[ReadMaterial]
) -> bool:
    """Whether what is to be sent has to be written first."""
    textual = [one for one in intent.targets if one.where in TEXTUAL]
    if id(intent) in plan.tools and not plan.tools[id(intent)].reads:
        if intent.clause.verb in FINAL:
            return False
        return bool(materials) and not any(one.thinks for one in plan.intents)
    if not textual or literal_text(intent) or any(one.thinks for one in plan.intents):
        return False
    if materials:
        people = any(one.where in READ_BY_PEOPLE for one in textual)
        rows = any(one.rows for one in materials)
        return (people and any(one.raw for one in materials)) or needs_new_text(bench, intent, rows)
    if find_literal_text(intent):
        return False
    places = {one.where for one in textual}
    if places & {"page", "file"}:
        return True
    return bool(intent.subject) and places.isdisjoint({"call", "event"})


def needs_new_text(bench: SketchBuilder, intent: Intent, rows: bool) -> bool:
    """Whether something of its own is to be written, and not only what was read passed on.

    ``rows``: rows of a board were read, and other words than theirs choose among them.
    """
    verb = intent.clause.verb
    if verb in READ or literal_text(intent) or (not rows and not verb):
        return False
    words = {one.strip(".,").lower() for one in intent.subject.split()}
    boards = {part for one in bench.resources.boards for part in one.name.casefold().split()}
    plain = words - STOP - PRONOUNS - PASSED_ON - boards - _WHOLE
    return any(not names_pages(one, bench.resources) for one in plain)


def _shape_for(
    bench: SketchBuilder,
    target: IntentTarget,
    intent: Intent,
    materials: Sequence[ReadMaterial],
    shape: AgentOutputShape,
    thinks: bool,
) -> None:
    """A board's rows are a part of the answer, unless the trigger brings them."""
    if target.where not in {"board", "rows"} or intent.clause.quote():
        return
    # Fields that are named have to be found in what came in, unless it has fields itself.
    brought = any(
        one.row == WHOLE or (one.row is not None and not bench.fields) for one in materials
    )
    if target.where == "board" and ((brought and not thinks) or not (thinks or materials)):
        return
    shape.rows = True
    if target.where == "rows":
        shape.row_ids = True
    elif target.board is not None:
        shape.row_fields = bench.fields or columns_of(target.board.dataset)
