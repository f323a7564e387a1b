"""Steps added to a plan that is there, with what that plan already has to say."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from mainspring.authoring.sketch.acts import ActionContent, add_act, title_of
from mainspring.authoring.sketch.intents import read_intent
from mainspring.authoring.sketch.reading import Clause
from mainspring.authoring.sketch.sayings import find_literal_text
from mainspring.authoring.sketch.texts import inert, shorten_text
from mainspring.authoring.sketch.tool_steps import add_tool, find_tool
from mainspring.authoring.sketch.workbench import SketchBuilder

_SAID: Final = ("text", "message_template", "body")


def add_steps(document: dict[str, Any], bench: SketchBuilder, clause: Clause) -> bool:
    """A step at the end for what a clause asks for."""
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
    # The steps stand in the plan now, so the next one comes behind them.
    bench.first, bench.steps = len(plan), []
    bench.taken |= {str(one.get("step_id")) for one in added}
    return bool(added)


def _content(document: Mapping[str, Any], plan: list[Any], fixed: str) -> ActionContent:
    """What is said already, by the last step that says something."""
    title = title_of(str(document.get("name") or "News"))
    if fixed:
        told = inert(shorten_text(fixed, 1_000))
        return ActionContent(told, inert(shorten_text(fixed, 150)))
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
