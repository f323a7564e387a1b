"""Where the values of templates come from: from the definition, or from outside of it.

What woke the run, what a model wrote and what another system answered was chosen by somebody
else. An input that a webhook fills counts too, and so does an item of a list from there.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from mainspring.authoring.places import mapping
from mainspring.authoring.review.reading import StepView, read_all_triggers, text_of, texts_in
from mainspring.authoring.review.wording import plain
from mainspring.contracts.errors import Invalid
from mainspring.contracts.limits import Limits
from mainspring.definition.templates import parse_template
from mainspring.definition.templates.tokens import has_syntax

_READ: Final = re.compile(r"(?<![\w.'\"])([A-Za-z_]\w{0,63})(?:\.(\w{1,64}))?")
# No template is longer.
_LONGEST: Final = 9_000
_LIMITS: Final = Limits()
_MODELS: Final = frozenset({"agent_task", "agent.run", "automation_llm_complete"})
_ASKS_OUTSIDE: Final = frozenset({"http_fetch", "callback_webhook"})


@dataclass(frozen=True, slots=True)
class ValueOrigins:
    """Names that hold what came from outside, each with who chose it."""

    outputs: Mapping[str, str]
    inputs: Mapping[str, str]

    def of_text(self, text: str) -> str | None:
        """Who else than the definition chooses what this template says; None: nobody."""
        begun = text[:_LONGEST]
        if not has_syntax(begun):
            return None
        for root, key in _read_in(begun):
            who = self._of_path(root, key)
            if who is not None:
                return who
        return None

    def _of_path(self, root: str, key: str) -> str | None:
        if root == "trigger":
            return "what woke the run"
        if root == "inputs":
            return self.inputs.get(key)
        return self.outputs.get(key if root == "steps" else root)


def _read_in(text: str) -> Iterator[tuple[str, str]]:
    """The first two parts of every path that a template reads."""
    try:
        found = parse_template(text, _LIMITS, secrets=True).references
    except Invalid:
        # What no parser takes is searched for whatever looks like a name.
        yield from _READ.findall(text)
        return
    for one in found:
        root, key = (*(str(part) for part in one.path[:2]), "", "")[:2]
        yield root, key


def origins_of(document: Mapping[str, Any], steps: Iterable[StepView]) -> ValueOrigins:
    """Follows values from the triggers and from step to step, in the order of the plan."""
    inputs = _mapped_inputs(document)
    outputs: dict[str, str] = {}
    for step in steps:
        origins = ValueOrigins(outputs, inputs)
        if step.action == "for_each":
            who = origins.of_text(text_of(step.config.get("items")))
            if who is not None:
                outputs[text_of(step.config.get("as")) or "item"] = who
        who = _who(step, origins)
        if who is not None:
            names = (text_of(step.whole.get("output_as")), step.id)
            outputs |= dict.fromkeys(filter(None, names), who)
    return ValueOrigins(outputs, inputs)


def _who(step: StepView, origins: ValueOrigins) -> str | None:
    shown = plain(step.name, 64)
    if step.action in _MODELS:
        return f"what a model writes in step ‘{shown}’"
    tool = step.capability is not None and bool(step.capability.annotations.pin)
    if step.action in _ASKS_OUTSIDE or tool:
        return f"what another system answers in step ‘{shown}’"
    if step.action != "transform_data":
        return None
    for text in texts_in(step.config.get("output")):
        who = origins.of_text(text.text)
        if who is not None:
            return who
    return None


def _mapped_inputs(document: Mapping[str, Any]) -> dict[str, str]:
    """The inputs that a caller of a webhook fills."""
    return {
        str(name): "whoever calls the webhook"
        for trigger in read_all_triggers(document)
        if trigger.type == "webhook" and trigger.enabled
        for name in list(mapping(trigger.config.get("input_mapping")))[:100]
    }
