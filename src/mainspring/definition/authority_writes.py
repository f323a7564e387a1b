"""Outside writes that are sent without asking a person, each with what a person agreed to.

A write is the same one as before while its capability, account, destination and outgoing template
are: another of these is another write, and one more of the same is one more.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from mainspring.contracts.grant import Grant
from mainspring.definition.approval import (
    AGENTS,
    ASK,
    AUTOMATIC,
    SCRIPT,
    StepApproval,
    read_step_approval,
    read_written_grants,
)
from mainspring.definition.authority_steps import FlattenedStep, flatten_steps
from mainspring.definition.authority_words import quote_name
from mainspring.definition.grants import find_missing_grants
from mainspring.definition.write_words import (
    any_write_words,
    fixed_places,
    named_account,
    outgoing_text,
    owner_account,
    write_words,
)

# Mail to the owner goes at once where its step says nothing else.
_TO_OWNER: Final = "email.notify_owner"
# Under auto_confirm_safe these go at once as well where their step says nothing else.
_SAFE: Final = frozenset({_TO_OWNER, "telegram_push"})
# How a request is made; none of it leaves with it.
_MANNER: Final = frozenset({"timeout_seconds", "allow_error_status", "idempotency"})


@dataclass(frozen=True, slots=True)
class AutomaticWrite:
    """What one step sends by itself with one capability, or with all of its own."""

    # The step, with what is sent and what decides how often.
    step: FlattenedStep
    # Empty: whatever the step sends.
    capability: str
    # What bounds what a model or a program sends; None: the step's own config does.
    bounds: tuple[Grant, ...] | None = None

    @property
    def pointer(self) -> str:
        return f"{self.step.pointer}/approval" if self.step.approval else self.step.pointer

    def is_within(self, other: AutomaticWrite) -> bool:
        """Whether the other one, once agreed to, sends this too."""
        if other.capability not in ("", self.capability):
            return False
        if self.bounds is None or other.bounds is None:
            return self.bounds is other.bounds and self.step.does_as(other.step)
        if find_missing_grants(self.bounds, other.bounds):
            return False
        return _without_tools(self.step).does_as(_without_tools(other.step))


def list_automatic_writes(document: Mapping[str, Any]) -> tuple[AutomaticWrite, ...]:
    """The automatic writes of a definition in today's format, in the order of its steps."""
    granted = read_written_grants(document)
    policy = (document.get("execution") or {}).get("write_policy")
    unsaid = _SAFE if policy == "auto_confirm_safe" else frozenset({_TO_OWNER})
    return tuple(
        write
        for step in flatten_steps(document)
        for write in _iterate_step_writes(step, read_step_approval(step, granted), unsaid)
    )


def find_added_writes(
    before: Sequence[AutomaticWrite], after: Sequence[AutomaticWrite], now: str
) -> Iterator[tuple[str, str]]:
    """What is sent without asking and was not: the place, and a sentence."""
    known = list(before)
    for write in after:
        found = next((one for one in known if write.is_within(one)), None)
        if found is None:
            yield write.pointer, _describe_write(write, now)
        else:
            known.remove(found)


def _iterate_step_writes(
    step: FlattenedStep, said: StepApproval | None, unsaid: frozenset[str]
) -> Iterator[AutomaticWrite]:
    config = {key: value for key, value in step.config.items() if key not in _MANNER}
    sent = replace(step, config=config)
    if said is None:
        if step.action in unsaid:
            yield AutomaticWrite(sent, step.action)
        return
    if said.modes == AUTOMATIC:
        yield AutomaticWrite(sent, "", said.bounds)
    elif isinstance(said.modes, Mapping):
        for name, mode in sorted(said.modes.items()):
            if mode == AUTOMATIC:
                yield AutomaticWrite(sent, name, said.bounds)
    if step.action in unsaid and said.mode(step.action) not in (ASK, AUTOMATIC):
        yield AutomaticWrite(sent, step.action)


def _without_tools(step: FlattenedStep) -> FlattenedStep:
    """The step without what its bounds tell already."""
    config = {key: one for key, one in step.config.items() if key not in ("tools", "grants")}
    return replace(step, config=config)


def _describe_write(write: AutomaticWrite, now: str) -> str:
    step = write.step
    if step.action in AGENTS or step.action == SCRIPT:
        return _made_in_run(write, now)
    words = any_write_words(step.action, step.config)
    named = named_account(step.config)
    account = f" over the account {named}" if named is not None else ""
    if not account and words.integration:
        account = f" {owner_account(words)}"
    text = outgoing_text(step.config, words.texts)
    said = f": “{text}”" if text else ""
    return f"It{now} {words.third_person}{account} without asking{said}."


def _made_in_run(write: AutomaticWrite, now: str) -> str:
    """What a model or a program sends: its text is made in the run, within fixed bounds."""
    who = "program" if write.step.action == SCRIPT else "model"
    begin = f"The {who} of the step {quote_name(write.step.id)}{now}"
    params = fixed_params_of(write.step, write.capability)
    words = None if len(params) != 1 else write_words(write.capability, params[0])
    if words is not None:
        return f"{begin} {words.third_person} without asking."
    what = f" with {quote_name(write.capability)}" if write.capability else ""
    found = [place for one in params for place in fixed_places(one)]
    where = f" ({', '.join(found)})" if found else ""
    return f"{begin} sends{what}{where} without asking."


def fixed_params_of(step: FlattenedStep, capability: str) -> list[Mapping[str, Any]]:
    """What the tools or the grants of a step fix of a capability, or of all of them."""
    tools = step.config.get("tools") or step.config.get("grants")
    return [
        one.get("params") or {}
        for one in (tools if isinstance(tools, list) else ())
        if isinstance(one, Mapping) and one.get("tool") == (capability or one.get("tool"))
    ]
