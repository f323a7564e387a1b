"""From intents to steps: read, then one agent step, then actions."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, Final

from mainspring.authoring.sketch.action_steps import ActionContent, add_act, title_of
from mainspring.authoring.sketch.agent_step import (
    AgentOutput,
    AgentOutputShape,
    add_thought,
    read_shape,
)
from mainspring.authoring.sketch.conditions import (
    add_memory,
    change_condition,
    is_reachability_check,
    tight_condition,
)
from mainspring.authoring.sketch.filters import tell_unjudged
from mainspring.authoring.sketch.fortnights import both
from mainspring.authoring.sketch.intents import Intent, IntentTarget
from mainspring.authoring.sketch.literal_text import find_literal_text, literal_text
from mainspring.authoring.sketch.lookup import columns_of, names_pages
from mainspring.authoring.sketch.parts import act_for_each, mark_each, name_parts
from mainspring.authoring.sketch.plan import (
    READ_BY_PEOPLE,
    TEXTUAL,
    SketchPlan,
    find_all_sources,
    sort_out,
)
from mainspring.authoring.sketch.read_steps import PLENTY, SHORT, WHOLE, ReadMaterial, add_read
from mainspring.authoring.sketch.request_tokens import Clause, join_tokens
from mainspring.authoring.sketch.sketch_builder import SketchBuilder
from mainspring.authoring.sketch.texts import (
    LEFT_IN_INBOX,
    inert,
    quote_request,
    sentence,
    shorten_text,
)
from mainspring.authoring.sketch.tool_steps import add_tool
from mainspring.authoring.sketch.url_watch import add_unreachable, is_down, site_of
from mainspring.authoring.sketch.word_tables import (
    BULLETS,
    FINAL,
    NUMBERS,
    PRONOUNS,
    READ,
    STOP,
    THINK,
    VERBS,
    WHOLLY,
    split_words,
)
from mainspring.definition.strict_json import join_pointer

# The trigger's content, and steps that load what it refers to.


def trigger_material(bench: SketchBuilder, *, deep: bool) -> list[ReadMaterial]:
    """Return the trigger's content; ``deep``: load what it refers to."""
    made: list[ReadMaterial] = []
    types = {str(one.get("type")) for one in bench.triggers}
    if "page_ingested" in types:
        made.append(_came_in(bench, deep))
    if "board_change" in types:
        made.append(_read_change(bench, deep))
    if "form" in types:
        made.append(_filled_in(bench))
    if types & {"webhook", "event"} and not made:
        text = "{{ trigger | tojson }}"
        brief = f"{{{{ trigger | tojson | truncate({SHORT}) }}}}"
        if any(_follows_run(one) for one in bench.triggers):
            brief = (
                "{{ trigger.automation_name }}: {{ trigger.status }} "
                "{{ trigger.reason | default('', true) }}"
            )
        made.append(
            ReadMaterial("What was sent", text, brief, row="{{ trigger }}", value="{{ trigger }}")
        )
    return made


def _filled_in(bench: SketchBuilder) -> ReadMaterial:
    """What people filled in, field by field."""
    text = "\n".join(
        f"{schema.get('title', name)}: {{{{ inputs.{name} }}}}"
        for name, schema in bench.inputs.items()
    )
    row = {name: f"{{{{ inputs.{name} }}}}" for name in bench.inputs}
    return ReadMaterial("Form", text, text, row=row, value="{{ trigger.values }}")


def _follows_run(trigger: dict[str, Any]) -> bool:
    type_ = trigger.get("config", {}).get("event_type", "automation.run.")
    return trigger.get("type") == "event" and str(type_).startswith("automation.run.")


def _came_in(bench: SketchBuilder, deep: bool) -> ReadMaterial:
    row = {"page_id": "{{ trigger.page_id }}", "title": "{{ trigger.title }}"}
    if not deep:
        return ReadMaterial(
            "{{ trigger.title }}", "{{ trigger.title }}", "{{ trigger.title }}", row=row
        )
    # The sender is in the front matter.
    part = "markdown" if bench.narrowed else "body"
    name = bench.step("read_page", "get_page", {"id": "{{ trigger.page_id }}", "include": [part]})
    text = f"# {{{{ trigger.title }}}}\n{{{{ steps.{name}.{part} | truncate({PLENTY}) }}}}"
    return ReadMaterial("{{ trigger.title }}", text, "{{ trigger.title }}", output=name, row=row)


def _read_change(bench: SketchBuilder, deep: bool) -> ReadMaterial:
    brief = "{{ trigger.board_name }}: {{ trigger.change }} ({{ trigger.count }})"
    if not deep and bench.row_test is None:
        return ReadMaterial("{{ trigger.board_name }}", brief, brief)
    name = bench.step(
        "read_board",
        "get_board",
        {"board_id": "{{ trigger.board_id }}", "dataset": "{{ trigger.dataset }}"},
    )
    test = "" if bench.row_test is None else f" and {bench.row_test}"
    text = (
        f"{{% for row in steps.{name}.data.datasets[trigger.dataset].rows %}}"
        f"{{% if row.row_id in trigger.row_ids{test} %}}{{{{ row | tojson }}}}\n"
        "{% endif %}{% endfor %}"
    )
    bench.note("Of a board with more than 1000 rows, only rows among the first 1000 are read.")
    if test:
        chosen = bench.step("choose_rows", "transform_data", {"output": {"text": text}})
        text = f"{{{{ steps.{chosen}.text }}}}"
        when = f"{{{{ steps.{chosen}.text | length > 0 }}}}"
        return ReadMaterial(
            "{{ trigger.board_name }}", text, text, when=when, output=chosen, gate=True
        )
    return ReadMaterial("{{ trigger.board_name }}", text, text, output=name)


# Parts of a request without an instruction: courtesy, background, text length.

_COURTESY: Final = re.compile(
    r"(?:(?:please|pls|plz|thanks?|thank you|thx|cheers|hi|hello|hey|ok|okay|so)\W*)+"
    r"|(?:and )?that'?s (?:it|all)\W*"
    r"|(?:for|on|with|at) (?:each|every|any) (?:such )?"
    r"(?:call|webhook|event|message|mail|e-?mail|page|file|row|change|request)s?\W*"
    r"|(?:take|takes|receive|accept|get|catch)(?: all| the| every)? (?:incoming )?"
    r"(?:webhooks?|calls?|events?)\W*",
    re.IGNORECASE,
)
# A statement, not an instruction.
_STATEMENT: Final = re.compile(
    r"(?:and |but |because |so )?(?:i|i'm|im|i've|i'd|we|we're|we've|our|my|there|here|he|she|they|"
    r"they're|it|it's|this|are|is|am|was|were|nobody|everybody|somebody|someone|people|customers)\b",
    re.IGNORECASE,
)
_WANTS: Final = re.compile(
    r"\b(?:must|should|shall|need|needs|want|wants|have to|has to|would like|wish|please|let|"
    r"make sure)\b|'d like",
    re.IGNORECASE,
)
_LENGTH: Final = re.compile(
    r"(?:(?:and|but|please|pls) )*(?:(?:keep|make) (?:it|this|that|them) |use |in )?"
    r"(?:(?:not|no|never) (?:longer|more) than|at most|under|below|less than|max(?:imum)?(?: of)?|"
    r"up to|fewer than|shorter than|exactly|about|around) "
    r"(?:\d{1,5}|[a-z]{3,9}) (?:words?|sentences?|lines?|bullets?|bullet points?|characters?|"
    r"paragraphs?)(?: long)?\W*(?:please|pls)?\W*",
    re.IGNORECASE,
)


def is_courtesy(text: str) -> bool:
    """Report whether words are only a courtesy."""
    return _COURTESY.fullmatch(text.strip()) is not None


def is_statement(text: str) -> bool:
    """Report whether a sentence is a statement without an instruction."""
    return _STATEMENT.match(text) is not None and _WANTS.search(text) is None


def is_length(text: str) -> bool:
    """Report whether words limit a text's length, which is for the model."""
    return _LENGTH.fullmatch(text.strip()) is not None


# The content of an action: literal, generated, or as read.

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
        message = shorten_text(fixed, 1_000)
        when = thought.when if thought is not None and plan.conditions else tight
        if not intent.clause.quote():
            message = message[:1].upper() + message[1:]
        named = inert(shorten_text(message.rstrip("."), 150))
        return ActionContent(inert(message), named, when, rows, rows_when, key)
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
    """The fields of a webhook that a message should contain: with the name and email."""
    found = _WITH.search(intent.clause.text(intent.used))
    if found is None:
        return ()
    names = [one.strip().lower() for one in _SPLIT.split(found["list"]) if one.strip()]
    return tuple(dict.fromkeys(names)) if len(names) > 1 else ()


def _news(plan: SketchPlan, materials: Sequence[ReadMaterial]) -> str:
    """Describe a URL's status as a title."""
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
    text = intent.clause.quote()
    if text:
        return [{"text": inert(text)}], "text"
    for one in materials:
        if one.row == WHOLE and bench.fields:
            cells = {name: f"{{{{ trigger.{name} | default('', true) }}}}" for name in bench.fields}
            bench.note(f"The sender must name the fields so: {', '.join(bench.fields)}.")
            return [cells], bench.fields[0]
        if one.row is not None:
            return [one.row], next(iter(one.row)) if isinstance(one.row, dict) else None
    return None, None


# Whether an agent is needed, and its prompt.

_SHAPING: Final = BULLETS | STOP | PRONOUNS | frozenset(NUMBERS) | frozenset({"write", "short"})
_CREATIVE: Final = split_words(
    "joke haiku poem quote tip greeting welcome thank riddle fact wish motivational message"
)
# Facts that need a source.
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
        # Only the target is given, so the content is what was read.
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
    """Ask for the source of facts; a model can write other text on its own."""
    words = {one.strip(".,;:!?").lower() for told in instructions for one in told.split()}
    if not words & _FACTS:
        bench.note("No source is given, so the model writes it from general knowledge.")
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
    """A condition on rows selects them; a condition on a message decides whether it is sent."""
    said = " and ".join(plan.conditions)
    places = {one.where for intent in plan.intents for one in intent.targets}
    if shape.rows and not places & TEXTUAL:
        told = instructions or [one.clause.text() for one in plan.intents if one.targets]
        return [*told, f"Only if this holds: {said}"]
    shape.needed = said
    return instructions or ["Write a short message that says what happened"]


def _only_shape(text: str) -> bool:
    """Report whether an instruction only limits the length."""
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
    """Report whether the content has to be written by a model."""
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
    """Report whether new text is needed rather than what was read.

    ``rows``: board rows were read, and further words select among them.
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
    """Board rows are part of the output, unless the trigger has them."""
    if target.where not in {"board", "rows"} or intent.clause.quote():
        return
    # Named fields must be extracted from the input, unless it has fields.
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
    """Build all steps; False when nothing actionable was understood."""
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
    """A URL check without a target notifies when the URL is down."""
    for intent in looking:
        intent.thinks = False
    if not plan.conditions and not _says_where(plan):
        plan.conditions.append("it does not answer")
        bench.note("You get a message only when the response is an error.")


def _says_where(plan: SketchPlan) -> bool:
    """Report whether anything beyond reading and thinking is done."""
    written = any(not one.reads for one in plan.tools.values())
    return written or any(one.where != "wait" for intent in plan.intents for one in intent.targets)


def _wait_first(bench: SketchBuilder, plan: SketchPlan, name: str) -> list[Intent]:
    """A pause mentioned before any read comes first."""
    made: list[Intent] = []
    for intent in plan.intents:
        if [one.where for one in intent.targets] != ["wait"]:
            break
        add_act(bench, intent.targets[0], intent, ActionContent("", title_of(name)))
        made.append(intent)
    return made


def _wants_details(bench: SketchBuilder, acts: Sequence[Intent]) -> bool:
    """Report whether an action needs more of the input than its title."""
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
    """Add a default target for what was read or generated."""
    written = [one for one in plan.tools.values() if not one.reads]
    if any(one.where != "wait" for each in plan.intents for one in each.targets) or written:
        return
    if not plan.intents:
        plan.intents.append(Intent(Clause((), "")))
    last = plan.intents[-1]
    last.targets.append(IntentTarget("inbox"))
    acts.append(last)
    bench.note(LEFT_IN_INBOX)


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
    """A URL's error response is expected here, and not a failure of the run."""
    outputs = {one.output for one in materials if one.web}
    for step in bench.steps:
        if step.get("step_id") in outputs:
            step["config"]["allow_error_status"] = True


def _left_over(intent: Intent) -> str:
    """Return what a clause says besides a quotation and its target."""
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
            # Repeated later in words that were understood.
            continue
        if intent.clause.verb in VERBS or len(intent.clause.tokens) > 1:
            _tell_one(bench, intent.clause.text())


def _tell_one(bench: SketchBuilder, text: str) -> None:
    """Report a clause without a step: a length for the model, background, or not understood."""
    thinks = [one for one in bench.steps if one.get("action") == "agent_task"]
    if is_courtesy(text):
        return
    if thinks and is_length(text):
        config = thinks[-1]["config"]
        first, _, rest = str(config["prompt"]).partition("\n\n")
        config["prompt"] = f"{first} {sentence(inert(text))}\n\n{rest}".strip()
    elif is_statement(text):
        bench.note(
            f"This was read as background, and nothing is done for it: {quote_request(text)}."
        )
    else:
        bench.lose(text)
