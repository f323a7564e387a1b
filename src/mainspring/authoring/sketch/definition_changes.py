"""Rule-based edits of a definition: only what the instruction names is changed."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from copy import deepcopy
from dataclasses import replace
from datetime import datetime
from typing import Any, Final

from mainspring.authoring.models import AutomationRequest, ProposalSketch
from mainspring.authoring.resources import WorkspaceResources
from mainspring.authoring.sketch.action_steps import ActionContent, add_act, title_of
from mainspring.authoring.sketch.failure_alerts import alarm_steps, split_alarms
from mainspring.authoring.sketch.filters import tell_unjudged
from mainspring.authoring.sketch.fortnights import on_steps
from mainspring.authoring.sketch.intents import read_intent
from mainspring.authoring.sketch.languages import ONLY_ENGLISH, is_foreign
from mainspring.authoring.sketch.literal_text import find_literal_text
from mainspring.authoring.sketch.naming import goal_of
from mainspring.authoring.sketch.replacements import ADDING, plan_of, replace_destination, walk
from mainspring.authoring.sketch.request import ParsedRequest, read_request
from mainspring.authoring.sketch.request_tokens import Clause
from mainspring.authoring.sketch.schedule_changes import (
    find_named_zone,
    keep_what_stays,
    names_zone,
    without_zone_note,
)
from mainspring.authoring.sketch.schedule_triggers import (
    BY_HAND,
    add_schedules,
    ask_zone,
    has_schedule,
)
from mainspring.authoring.sketch.search import stem
from mainspring.authoring.sketch.sketch_builder import SketchBuilder
from mainspring.authoring.sketch.texts import inert, loose, quote_request, shorten_text
from mainspring.authoring.sketch.tool_steps import add_tool, find_tool
from mainspring.authoring.sketch.trigger_events import TriggerEvent
from mainspring.authoring.sketch.triggers import add_happening, set_automation_name
from mainspring.authoring.sketch.word_tables import VERBS, split_words
from mainspring.contracts.registry import Vocabulary
from mainspring.definition.strict_json import join_pointer

# Adding steps to an existing plan, with the content it already has.

_SAID: Final = ("text", "message_template", "body")


def add_steps(document: dict[str, Any], bench: SketchBuilder, clause: Clause) -> bool:
    """Append a step for a clause."""
    plan = document.get("plan")
    if not isinstance(plan, list):
        return False
    intent = read_intent(clause, bench)
    tool = find_tool(bench, intent)
    if not intent.targets and tool is None:
        bench.lose(clause.text())
        return False
    content = _content(document, plan, find_literal_text(intent))
    count = len(bench.steps)
    if tool is not None:
        add_tool(bench, tool, content)
    else:
        for target in intent.targets:
            add_act(bench, target, intent, content)
    added = bench.steps[count:]
    plan.extend(added)
    if bench.boards or bench.unknown_boards:
        _tell_writes(document, bench)
    # The steps are in the plan now, so the next one follows them.
    bench.first, bench.steps = len(plan), []
    bench.taken |= {str(one.get("step_id")) for one in added}
    return bool(added)


def _content(document: Mapping[str, Any], plan: list[Any], fixed: str) -> ActionContent:
    """Return the content of the last step that has any."""
    title = title_of(str(document.get("name") or "News"))
    if fixed:
        message = inert(shorten_text(fixed, 1_000))
        return ActionContent(message, inert(shorten_text(fixed, 150)))
    for step in reversed(plan):
        config = step.get("config") if isinstance(step, dict) else None
        if not isinstance(config, dict) or step.get("action") == "agent_task":
            continue
        said = next((config[key] for key in _SAID if isinstance(config.get(key), str)), None)
        if said:
            when = step.get("when")
            return ActionContent(said, title, when if isinstance(when, str) else None)
    return _thought(plan, title)


def _thought(plan: list[Any], title: str) -> ActionContent:
    for step in reversed(plan):
        if isinstance(step, dict) and step.get("action") == "agent_task":
            name = step.get("output_as") or step.get("step_id")
            return ActionContent(f"{{{{ steps.{name} | tojson }}}}", title)
    return ActionContent(title, title)


def _tell_writes(document: dict[str, Any], bench: SketchBuilder) -> None:
    old = document.get("writes")
    writes = dict(old) if isinstance(old, dict) else {}
    boards = writes.get("boards")
    there = list(boards) if isinstance(boards, list) else []
    writes["boards"] = [*there, *(one for one in bench.boards if one not in there)]
    if bench.key_field:
        writes.setdefault("dedupe_key_field", bench.key_field)
    document["writes"] = writes


# Removing steps on request.

_ACTIONS: Final[Mapping[str, frozenset[str]]] = {
    "slack_post": split_words("slack post posting posts channel message"),
    "send_email": split_words("mail mailing email emailing emails mails e-mail"),
    "email.notify_owner": split_words("mail mailing email emailing emails mails e-mail"),
    "telegram_push": frozenset({"telegram"}),
    "notification": split_words("notification notify notifying tell telling inbox alert"),
    "inbox.post_notification": split_words("notification notify notifying telling inbox"),
    "append_board_rows": split_words("board row rows logging appending adding"),
    "update_board_rows": split_words("board row rows updating"),
    "create_page": split_words("page note report"),
    "artifacts.save": split_words("file artifact saving"),
    "callback_webhook": split_words("callback webhook calling"),
    "publish_event": split_words("event publishing"),
    "delay": split_words("wait waiting delay pause"),
}


def remove_steps(document: dict[str, Any], bench: SketchBuilder, clause: Clause) -> bool:
    """Remove the named steps, unless another step needs them."""
    plan = document.get("plan")
    if not isinstance(plan, list):
        return False
    meant = [place for place, step in enumerate(plan) if _is_meant(step, clause)]
    if not meant:
        return False
    if len(meant) == len(plan):
        bench.note("A plan has at least one step, so nothing was removed.")
        return True
    for place in reversed(meant):
        step = plan[place]
        user = _user(step, plan[place + 1 :])
        if user is not None:
            bench.note(
                f"The step {quote_request(str(step.get('step_id')))} stays: "
                f"{quote_request(str(user.get('step_id')))} needs what it answers."
            )
            continue
        del plan[place]
    bench.first = len(plan)
    return True


def _is_meant(step: Any, clause: Clause) -> bool:
    if not isinstance(step, dict):
        return False
    words = set(clause.words)
    action, name = str(step.get("action")), str(step.get("step_id"))
    if name in words or action in words:
        return True
    known = _ACTIONS.get(action)
    if known is None:
        return "." in action and stem(action.partition(".")[0]) in {stem(one) for one in words}
    if not words & known:
        return False
    channels = {one.text for one in clause.of("channel")}
    config = step.get("config")
    there = config.get("channel") if isinstance(config, dict) else None
    return not channels or action != "slack_post" or there in channels


def _user(step: Mapping[str, Any], later: list[Any]) -> Mapping[str, Any] | None:
    """Find a later step that reads this one's output."""
    names = [re.escape(str(step[key])) for key in ("output_as", "step_id") if step.get(key)]
    used = re.compile(rf"\b(?:{'|'.join(names)})\b")
    for one in later:
        if isinstance(one, dict) and any(used.search(text) for text in _templates(one)):
            return one
    return None


def _templates(value: Any) -> list[str]:
    if isinstance(value, str):
        return [value] if "{" in value else []
    if isinstance(value, Mapping):
        return [
            text
            for key, one in value.items()
            for text in ([str(one)] if key == "when" and isinstance(one, str) else _templates(one))
        ]
    if isinstance(value, list):
        return [text for one in value for text in _templates(one)]
    return []


_RENAME: Final = re.compile(
    r"\b(?:rename (?:it|this|the automation)?\s{0,2}(?:to|as|into)?|call (?:it|this)|name it|"
    r"change (?:its|the) name to)\s+(?P<name>\"[^\"\n]{1,200}\"|“[^”\n]{1,200}”|"
    r"'[^'\n]{1,200}'|[^\n.,;]{1,200})",
    re.IGNORECASE,
)
_JOINT: Final = re.compile(r"\s(?:and|then|but)\s+(\w{1,20})", re.IGNORECASE)
_REMOVING: Final = split_words("remove drop delete stop skip without don't dont no not")
_HOLLOW: Final = split_words(
    "make it run change move set the schedule to time do use now instead of at on this that "
    "please be happen let have should automation and a limit budget cap spend rather than "
    "from every day only them hours start trigger fire keep must finish take its costs cost "
    "also too add as well"
)
_MOST_CLAUSES: Final = 20
Document = dict[str, Any]


def change(
    automation_request: AutomationRequest,
    before: Mapping[str, Any],
    vocabulary: Vocabulary,
    resources: WorkspaceResources,
) -> ProposalSketch:
    """Apply an instruction; the definition is unchanged when nothing was understood."""
    document: Document = deepcopy(dict(before))
    bench = SketchBuilder(
        vocabulary, resources, judges=False, first=len(plan_of(document)), taken=set(_ids(document))
    )
    text, renamed = _rename(automation_request.text, document)
    zone = _zone(document) or automation_request.timezone
    request = read_request(
        AutomationRequest(text, automation_request.now, zone), resources, told=False
    )
    request = _with_what_stays(document, bench, request, automation_request.now, zone)
    bench.text = request.text
    goal = _sketch_goal(document, resources, automation_request)
    timed = _moments(document, bench, request)
    zoned = not timed and _other_zone(document, request, automation_request)
    started = [timed or zoned, _happenings(document, bench, request)]
    if any(started) and goal:
        # The previous goal names an outdated time.
        document["goal"] = goal
    clauses, alarms = split_alarms(request)
    done = [renamed, _caps(document, request), *started, _alarms(document, bench, request, alarms)]
    if zoned:
        clauses = [one for one in clauses if one.verb not in {"", *_HOLLOW} or not names_zone(one)]
    done += [_clause(document, bench, one) for one in clauses[:_MOST_CLAUSES]]
    _tell_conditions(bench, request)
    for old, new in bench.swapped if goal else ():
        document["goal"] = str(document["goal"]).replace(old, new)
    if not any(done):
        bench.notes.clear()
        bench.misses.clear()
        said = request.text or text
        message = f"Without a model this change was not understood: {quote_request(said)}."
        bench.lose(said, f"{message} Nothing was changed.")
        if is_foreign(text):
            bench.note(ONLY_ENGLISH)
    writes = document.get("writes")
    boards = writes.get("boards") if isinstance(writes, dict) else None
    bench.ask_lost(document)
    questions = bench.order_questions(len(boards) if isinstance(boards, list) else 0)
    return ProposalSketch(document, on_steps(questions, plan_of(document)), tuple(bench.notes))


def _sketch_goal(
    document: Document, resources: WorkspaceResources, automation_request: AutomationRequest
) -> str:
    """The goal without its time; empty when a person wrote the goal."""
    goal, intent = document.get("goal"), document.get("intent")
    if not isinstance(goal, str) or not isinstance(intent, str) or goal != goal_of(intent):
        return ""
    request = read_request(
        AutomationRequest(intent, automation_request.now, automation_request.timezone), resources
    )
    told = ", ".join(one.text() for one in request.clauses[:_MOST_CLAUSES])
    return goal_of(told) if told else ""


def _alarms(
    document: Document, bench: SketchBuilder, request: ParsedRequest, alarms: Sequence[Clause]
) -> bool:
    """Add failure steps where there were none."""
    if not any(one.sort == "failure" for one in request.happenings):
        return False
    execution = document.get("execution")
    made = dict(execution) if isinstance(execution, dict) else {}
    if made.get("on_failure"):
        bench.note("The error handling stays the same.")
        return True
    made["on_failure"] = alarm_steps(bench, alarms)
    document["execution"] = made
    return True


def _tell_conditions(bench: SketchBuilder, request: ParsedRequest) -> None:
    """Report conditions that a rule-based edit cannot place."""
    lost = [one.text for one in request.happenings if one.sort in ("condition", "unknown")]
    tell_unjudged(bench, [*lost, *bench.narrowed])
    if bench.row_test is not None:
        bench.note("Rows are not filtered: every change of the board starts it.")


def _ids(document: Mapping[str, Any]) -> Iterator[str]:
    execution = document.get("execution")
    failing = execution.get("on_failure") if isinstance(execution, dict) else None
    rest = failing if isinstance(failing, list) else []
    for step in walk([*plan_of(document), *rest]):
        yield str(step.get("step_id"))
        yield str(step.get("output_as"))


def _zone(document: Mapping[str, Any]) -> str | None:
    """Return the time zone of the existing schedules."""
    triggers = document.get("triggers")
    for one in triggers if isinstance(triggers, list) else []:
        config = one.get("config") if isinstance(one, dict) else None
        zone = config.get("timezone") if isinstance(config, dict) else None
        if isinstance(zone, str):
            return zone
    return None


def _rename(text: str, document: Document) -> tuple[str, bool]:
    found = _RENAME.search(text)
    if found is None:
        return text, False
    end = found.end()
    said = found["name"]
    if said[0] not in "\"“'":
        for joint in _JOINT.finditer(said):
            if joint[1].lower() in VERBS | {"use", "only", "also", "please"}:
                end = found.start("name") + joint.start()
                said = said[: joint.start()]
                break
    name = loose(shorten_text(said.strip("\"“”' "), 200))
    if not name or not name.isprintable():
        return text, False
    document["name"] = name
    return text[: found.start()] + " " * (end - found.start()) + text[end:], True


def _caps(document: Document, request: ParsedRequest) -> bool:
    if not request.caps.values:
        return False
    execution = document.get("execution")
    made = dict(execution) if isinstance(execution, dict) else {}
    document["execution"] = {**made, **request.caps.values}
    return True


def _moments(document: Document, bench: SketchBuilder, request: ParsedRequest) -> bool:
    """Replace the schedules."""
    if not has_schedule(request.time) and not request.by_hand:
        return False
    triggers = document.get("triggers")
    entries = list(triggers) if isinstance(triggers, list) else []
    others = [one for one in entries if not _is_schedule(one)]
    old = [one for one in entries if _is_schedule(one)]
    if request.by_hand and not has_schedule(request.time):
        document["triggers"] = []
        bench.note(f"It has no trigger any more and runs {BY_HAND} only.")
        return True
    if _same_days(document, bench, old, request):
        return True
    bench.triggers = list(others)
    add_schedules(bench, request.time)
    made = bench.triggers[len(others) :]
    for place, one in enumerate(made):
        _keep_identity(one, old[place] if place < len(old) else None, [*entries, *made[:place]])
    document["triggers"] = [*others, *made]
    return True


def _with_what_stays(
    document: Document,
    bench: SketchBuilder,
    request: ParsedRequest,
    now: datetime,
    zone: str | None,
) -> ParsedRequest:
    """Only days or exclusions were given, so the time of day is kept."""
    triggers = document.get("triggers")
    old = [one for one in triggers if _is_schedule(one)] if isinstance(triggers, list) else []
    time, note = keep_what_stays(request.timed, request.time, old, now, zone)
    if note:
        bench.note(note)
    if zone is not None and zone == _zone(document):
        # The existing schedule's zone is known, not assumed.
        time = replace(time, readings=tuple(map(without_zone_note, time.readings)))
    return replace(request, time=time)


def _same_days(
    document: Document, bench: SketchBuilder, old: Sequence[Any], request: ParsedRequest
) -> bool:
    """Only a time of day was given, so the days are kept."""
    time = request.time
    asked = [one for one in time.clarifications if one.kind == "how_often"]
    if time.readings or time.refusals or len(asked) != 1 or not asked[0].choices or not old:
        return False
    clock = asked[0].choices[0].crons[:1]
    fields = clock[0].split() if clock else []
    configs = [one["config"] for one in old if isinstance(one.get("config"), dict)]
    before = [str(one.get("cron")).split() for one in configs]
    plain = all(len(one) == 5 and _is_clock(one) for one in before)
    if len(fields) != 5 or not plain or len(configs) != len(old):
        return False
    for config, there in zip(configs, before, strict=True):
        config["cron"] = " ".join((*fields[:2], *there[2:]))
    triggers = document.get("triggers")
    entries: list[Any] = triggers if isinstance(triggers, list) else []
    ask_zone(
        bench,
        [
            join_pointer("/triggers", place, "config", "timezone")
            for place, one in enumerate(entries)
            if _is_schedule(one) and "timezone" not in one.get("config", {})
        ],
    )
    bench.note("Only an hour was given, so the days of the schedule stay the same.")
    return True


def _is_clock(fields: Sequence[str]) -> bool:
    return fields[0].isdecimal() and fields[1].isdecimal()


def _other_zone(
    document: Document, request: ParsedRequest, automation_request: AutomationRequest
) -> bool:
    """Only a zone was given: the schedules are kept in the new zone."""
    triggers = document.get("triggers")
    if not isinstance(triggers, list):
        return False
    moved = [one for one in triggers if _is_schedule(one) and isinstance(one.get("config"), dict)]
    zone = find_named_zone(request.text, automation_request.now) if moved else None
    for one in moved if zone else ():
        one["config"]["timezone"] = zone
    return zone is not None


def _keep_identity(made: dict[str, Any], old: Any, entries: Sequence[Any]) -> None:
    """A moved schedule keeps its id, inputs and misfire policy."""
    if isinstance(old, dict):
        said = old.get("config")
        kept: dict[str, Any] = said if isinstance(said, dict) else {}
        made["config"] = {**kept, **made["config"]}
        made.update({key: value for key, value in old.items() if key not in ("config", "type")})
        return
    taken = {str(one.get("id")) for one in entries if isinstance(one, dict)}
    number = 1
    while f"schedule-{number}" in taken:
        number += 1
    made["id"] = f"schedule-{number}"


def _is_schedule(trigger: Any) -> bool:
    return isinstance(trigger, dict) and trigger.get("type") == "schedule"


def _happenings(document: Document, bench: SketchBuilder, request: ParsedRequest) -> bool:
    known: list[TriggerEvent] = [
        one for one in request.happenings if one.sort not in ("condition", "unknown", "failure")
    ]
    if not known or has_schedule(request.time):
        return False
    triggers = document.get("triggers")
    replaced = "instead" in request.text.lower().split()
    bench.triggers = [] if replaced or not isinstance(triggers, list) else list(triggers)
    kept = list(bench.triggers)
    for one in known:
        add_happening(bench, one, alone=True)
    own = str(document.get("name") or "")
    document["triggers"] = [
        set_automation_name(one, own) if isinstance(one, dict) and one not in kept else one
        for one in bench.triggers
    ]
    return True


def _clause(document: Document, bench: SketchBuilder, clause: Clause) -> bool:
    """Apply one clause; empty ones were covered by the time expression."""
    words = set(clause.words)
    if not words - _HOLLOW:
        return False
    if words & _REMOVING and "instead" not in words:
        return remove_steps(document, bench, clause)
    if replace_destination(document, bench, clause):
        return True
    if words & ADDING or clause.verb:
        _tell_added(document, bench, clause)
        return add_steps(document, bench, clause)
    bench.lose(clause.text())
    return False


def _tell_added(document: Document, bench: SketchBuilder, clause: Clause) -> None:
    """Note that an added message may have been meant as a replacement."""
    steps = [one for one in walk(plan_of(document)) if one.get("action") == "slack_post"]
    if clause.of("channel") and steps and not set(clause.words) & ADDING:
        bench.note("The message is posted there too; to post it there only, say instead of what.")
