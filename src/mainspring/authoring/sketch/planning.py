"""From intents to steps: read first, think once, then act."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from mainspring.authoring.sketch.acts import ActionContent, add_act, title_of
from mainspring.authoring.sketch.arrivals import trigger_material
from mainspring.authoring.sketch.asides import is_courtesy, is_length, is_statement
from mainspring.authoring.sketch.conditions import (
    add_memory,
    change_condition,
    is_reachability_check,
    tight_condition,
)
from mainspring.authoring.sketch.contents import content_of
from mainspring.authoring.sketch.instructing import PASSED_ON, needs_new_text, think
from mainspring.authoring.sketch.intents import Intent, IntentTarget
from mainspring.authoring.sketch.narrowing import tell_unjudged
from mainspring.authoring.sketch.parts import act_for_each, mark_each
from mainspring.authoring.sketch.plan import SketchPlan, find_all_sources, sort_out
from mainspring.authoring.sketch.reading import Clause, join_tokens
from mainspring.authoring.sketch.reads import (
    ReadMaterial,
    add_read,
)
from mainspring.authoring.sketch.texts import inert, quote_request, sentence
from mainspring.authoring.sketch.thinking import AgentOutput, read_shape
from mainspring.authoring.sketch.tool_steps import add_tool
from mainspring.authoring.sketch.verbs import (
    STOP,
    VERBS,
    WHOLLY,
    split_words,
)
from mainspring.authoring.sketch.watching import add_unreachable, is_down
from mainspring.authoring.sketch.workbench import SketchBuilder

_NO_WAY: Final = split_words("sms whatsapp teams discord signal mattermost facebook twitter fax")
_TELLING: Final = frozenset({"it", "them", "row", "rows", "details", "content", "contents", "this"})


def build_plan(
    bench: SketchBuilder,
    intents: Sequence[Intent],
    conditions: list[str],
    name: str,
    *,
    plainly: bool = False,
) -> bool:
    """All steps; false when nothing that can be done was understood."""
    plan = SketchPlan(list(intents), conditions, name, plainly)
    sort_out(bench, plan)
    sources = find_all_sources(bench, plan)
    acts = [one for one in plan.intents if one.targets or id(one) in plan.tools]
    thinkers = [one for one in plan.intents if one.thinks]
    if not (acts or thinkers or sources) or (plan.unable and not _says_where(plan)):
        _tell_lost(bench, plan)
        return False
    deep = bool(thinkers) or bool(plan.conditions) or _wants_details(bench, acts)
    deep = deep or bool(bench.fields)
    mark_each(plan)
    materials = trigger_material(bench, deep=deep)
    shape = read_shape([one.clause for one in thinkers])
    waited = _wait_first(bench, plan, name)
    for source in sources:
        made = add_read(bench, source)
        if made is None:
            shape.tools.append("list_calendar_events")
        else:
            materials.append(made)
    materials += _tool_reads(bench, plan)
    if only := [one for one in plan.intents if is_reachability_check(one.clause)]:
        _expect_answer(bench, plan, only)
    _default_act(bench, plan, acts)
    _tell_unknown_ways(bench, plan)
    plan.tight = tight_condition(plan.conditions, materials)
    if plan.tight is not None:
        _let_fail(bench, materials)
    else:
        plan.tight = change_condition(bench, plan.conditions, materials)
        plan.changes = plan.tight is not None
    thought = None if plan.plainly else think(bench, plan, materials, shape)
    if plan.plainly and plan.tight is None:
        tell_unjudged(bench, plan.conditions)
    first = len(bench.steps)
    _act(bench, plan, materials, thought, waited)
    if is_down(plan.tight) and thought is None:
        add_unreachable(bench, first, materials)
    if plan.changes:
        add_memory(bench, materials)
    _tell_lost(bench, plan)
    return bool(bench.steps)


def _act(
    bench: SketchBuilder,
    plan: SketchPlan,
    materials: Sequence[ReadMaterial],
    thought: AgentOutput | None,
    waited: Sequence[Intent],
) -> None:
    for intent in plan.intents:
        content = content_of(bench, plan, intent, materials, thought)
        if act_for_each(bench, plan, intent, materials, thought, content.when):
            continue
        for target in intent.targets if intent not in waited else ():
            add_act(bench, target, intent, content)
        tool = plan.tools.get(id(intent))
        if tool is not None and not tool.reads:
            add_tool(bench, tool, content)


def _expect_answer(bench: SketchBuilder, plan: SketchPlan, looking: Sequence[Intent]) -> None:
    """Who only has an address looked at wants to hear of it when it does not answer."""
    for intent in looking:
        intent.thinks = False
    if not plan.conditions and not _says_where(plan):
        plan.conditions.append("it does not answer")
        bench.note("You are told only when it does not answer well.")


def _says_where(plan: SketchPlan) -> bool:
    """Whether anything is done besides reading and thinking."""
    written = any(not one.reads for one in plan.tools.values())
    return written or any(one.where != "wait" for intent in plan.intents for one in intent.targets)


def _wait_first(bench: SketchBuilder, plan: SketchPlan, name: str) -> list[Intent]:
    """A pause that was said before anything is read comes before it."""
    made: list[Intent] = []
    for intent in plan.intents:
        if [one.where for one in intent.targets] != ["wait"]:
            break
        add_act(bench, intent.targets[0], intent, ActionContent("", title_of(name)))
        made.append(intent)
    return made


def _wants_details(bench: SketchBuilder, acts: Sequence[Intent]) -> bool:
    """Whether an act needs more of what came in than its title."""
    if any(needs_new_text(bench, one, rows=False) for one in acts if one.targets):
        return True
    changed = any(one.get("type") == "board_change" for one in bench.triggers)
    if changed and any(one.targets and one.clause.has({"with", "including"}) for one in acts):
        return True
    return any(
        any(one.where in {"board", "rows", "slack", "page", "mail"} for one in act.targets)
        and act.clause.has(_TELLING)
        for act in acts
    ) or any(act.clause.verb in WHOLLY and _is_texts(act) for act in acts)


def _is_texts(act: Intent) -> bool:
    return any(one.where in {"mail", "owner", "file", "page"} for one in act.targets)


def _tool_reads(bench: SketchBuilder, plan: SketchPlan) -> list[ReadMaterial]:
    made = []
    for tool in plan.tools.values():
        if tool.reads:
            material = add_tool(bench, tool, ActionContent("", title_of(plan.name)))
            if material is not None:
                made.append(material)
    return made


def _default_act(bench: SketchBuilder, plan: SketchPlan, acts: list[Intent]) -> None:
    """What is read or thought must go somewhere."""
    written = [one for one in plan.tools.values() if not one.reads]
    if any(one.where != "wait" for each in plan.intents for one in each.targets) or written:
        return
    if not plan.intents:
        plan.intents.append(Intent(Clause((), "")))
    last = plan.intents[-1]
    last.targets.append(IntentTarget("inbox"))
    acts.append(last)
    bench.note("The request does not say where the result goes, so it is left in the inbox.")


def _tell_unknown_ways(bench: SketchBuilder, plan: SketchPlan) -> None:
    for intent in plan.intents:
        for word in sorted(_NO_WAY & set(intent.clause.words)):
            if id(intent) not in plan.tools:
                bench.lose(
                    word,
                    f"Nothing here can send by {quote_request(word)}, so it goes elsewhere; connect a "  # noqa: E501
                    "tool that can with `mainspring connections add`.",
                )


def _let_fail(bench: SketchBuilder, materials: Sequence[ReadMaterial]) -> None:
    """An address that does not answer well is what was asked for, and no failure of the run."""
    outputs = {one.output for one in materials if one.web}
    for step in bench.steps:
        if step.get("step_id") in outputs:
            step["config"]["allow_error_status"] = True


def _left_over(intent: Intent) -> str:
    """What a clause says beside a quotation and where it goes."""
    used = intent.used
    kept = [one for one in intent.clause.tokens if one not in used and one.kind != "quote"]
    while kept and (kept[0].low == intent.clause.verb or kept[0].low in STOP | PASSED_ON):
        kept = kept[1:]
    told = [one for one in kept if one.kind == "word" and one.low not in STOP | PASSED_ON]
    return join_tokens(kept, intent.clause.source) if len(told) > 1 else ""


def _tell_lost(bench: SketchBuilder, plan: SketchPlan) -> None:
    for intent in plan.intents:
        rest = _left_over(intent) if intent.clause.quote() and id(intent) not in plan.tools else ""
        if rest and not is_courtesy(rest):
            bench.lose(rest)
    for intent in plan.unable:
        said = intent.clause.text()
        bench.lose(
            said,
            f"Nothing here can do {quote_request(said)}. A server of tools that can is "
            "connected with `mainspring connections add`.",
        )
    understood = " ".join(one.clause.text() for one in plan.intents).casefold()
    for intent in (one for one in plan.lost if one not in plan.unable):
        if intent.clause.text().casefold() in understood:
            # Said again since, in words that were understood.
            continue
        if intent.clause.verb in VERBS or len(intent.clause.tokens) > 1:
            _tell_one(bench, intent.clause.text())


def _tell_one(bench: SketchBuilder, said: str) -> None:
    """A clause that no step does: a length for the model, background, or not understood."""
    thinks = [one for one in bench.steps if one.get("action") == "agent_task"]
    if is_courtesy(said):
        return
    if thinks and is_length(said):
        config = thinks[-1]["config"]
        first, _, rest = str(config["prompt"]).partition("\n\n")
        config["prompt"] = f"{first} {sentence(inert(said))}\n\n{rest}".strip()
    elif is_statement(said):
        bench.note(
            f"This was read as background, and nothing is done for it: {quote_request(said)}."
        )
    else:
        bench.lose(said)
