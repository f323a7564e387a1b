"""Where an automation asks a person before it goes on, and what would be done without them.

A question that is gone, or that answers itself, lets through what a person held until now. So
does a step that is moved in front of the question.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final

from mainspring.definition.authority_steps import FlattenedStep
from mainspring.definition.authority_words import quote_name

_ASKS: Final = "approval"
# The approval modes of a write, and a run that waits for the answer to it.
_ASK, _AUTOMATIC, _WAIT = "ask", "automatic", "wait"
# The words of the language itself that change nothing. They are all that is known of a step where
# no vocabulary was at hand to say which steps are pure.
_LANGUAGE: Final = frozenset({_ASKS, "for_each", "transform_data", "delay"})
# What a person reads before they answer.
_QUESTION: Final = ("title", "message", "form")
_DAY: Final = 86_400
_SHORTEST: Final = 60


def open_gates(
    before: Sequence[FlattenedStep],
    after: Sequence[FlattenedStep],
    pure: frozenset[str] | None = None,
) -> Iterator[tuple[str, str]]:
    """What goes without a person that did not: the place, and a sentence.

    ``pure`` are the pointers of the steps of ``after`` that change nothing: nobody is asked
    about those, wherever they stand.
    """
    kept = {one.id: one for one in after if one.action == _ASKS}
    for was in before:
        if was.action != _ASKS:
            continue
        gate = kept.get(was.id)
        freed = [
            one for one in _list_ungated_steps(was, before, gate, after) if not _is_pure(one, pure)
        ]
        if gate is None:
            if freed:
                says = f"It does not ask a person at the step {quote_name(was.id)} any more."
                yield freed[0].pointer, says
            continue
        yield from ((f"{gate.pointer}{at}", says) for at, says in _find_weakened_gate(was, gate))
        for one in freed:
            doing = f"{quote_name(one.id)} ({quote_name(one.action)})"
            says = f"It now does {doing} without the answer at the step {quote_name(was.id)}."
            yield one.pointer, says
    yield from _unheld(before, after, pure)


def _unheld(
    before: Sequence[FlattenedStep], after: Sequence[FlattenedStep], pure: frozenset[str] | None
) -> Iterator[tuple[str, str]]:
    """What is done without the answer to a held write for which the run waited."""
    kept = {one.id: one for one in after if _waits(one)}
    for was in filter(_waits, before):
        gate = kept.get(was.id)
        for one in _list_ungated_steps(was, before, gate, after):
            if one.id == was.id or one.approval == _ASK or _is_pure(one, pure):
                continue
            doing = f"{quote_name(one.id)} ({quote_name(one.action)})"
            says = f"It now does {doing} without the answer to the write of {quote_name(was.id)}."
            yield one.pointer, says


def _waits(step: FlattenedStep) -> bool:
    """Whether the run waits until a person has answered a write of this step."""
    return bool(step.on_hold == _WAIT and step.approval != _AUTOMATIC)


def _find_weakened_gate(was: FlattenedStep, gate: FlattenedStep) -> Iterator[tuple[str, str]]:
    name = f"the step {quote_name(was.id)}"
    if gate.when is not None and gate.when != was.when:
        yield "/when", f"It asks a person at {name} only under another condition now."
    if gate.around != was.around:
        yield "", f"It asks a person at {name} only where the steps around it lead there now."
    if any(was.config.get(key) != gate.config.get(key) for key in _QUESTION):
        yield "/config", f"It asks a person another question at {name} now."
    if _answers_itself(was, gate):
        says = f"Without an answer at {name} it now goes on by itself after {_time(gate)} seconds."
        yield "/config/default", says
    if was.config.get("roles") is not None:
        roles = gate.config.get("roles")
        if not isinstance(roles, list) or any(one not in was.config["roles"] for one in roles):
            yield "/config/roles", f"More people may answer at {name} now: {_who(roles)}."
    if gate.config.get("on_decline") == "continue" != was.config.get("on_decline"):
        yield "/config/on_decline", f"After a no at {name} it now goes on."


def _answers_itself(was: FlattenedStep, gate: FlattenedStep) -> bool:
    if "default" not in gate.config:
        return False
    missing = object()
    other = was.config.get("default", missing) != gate.config["default"]
    return other or _time(gate) < _time(was)


def _time(gate: FlattenedStep) -> int:
    wanted = gate.config.get("timeout_seconds", _DAY)
    return wanted if isinstance(wanted, int) else _SHORTEST


def _who(roles: Any) -> str:
    if not isinstance(roles, list):
        return "everybody who may decide here"
    return ", ".join(quote_name(str(one)) for one in roles)


def _list_ungated_steps(
    was: FlattenedStep,
    before: Sequence[FlattenedStep],
    gate: FlattenedStep | None,
    after: Sequence[FlattenedStep],
) -> list[FlattenedStep]:
    """What is done without this answer, and was not."""
    guards = _guards(was, before)
    known = _free(was, before, guards)
    now = list(after)
    if gate is not None:
        # Where it goes on after a no, that has been said; the rest is measured as it was.
        patient = gate.config.get("on_decline") == was.config.get("on_decline")
        now = _free(gate, after, guards if patient else None)
    return [one for one in now if not any(one.does_as(other) for other in known)]


def _guards(gate: FlattenedStep, steps: Sequence[FlattenedStep]) -> frozenset[str] | None:
    """The conditions that ask for the answer; None: whoever says no ends the run."""
    if gate.config.get("on_decline") != "continue":
        return None
    return frozenset(
        one.when
        for one in steps
        if one.when is not None and (gate.output in one.when or f"steps.{gate.id}" in one.when)
    )


def _free(
    gate: FlattenedStep, steps: Sequence[FlattenedStep], guards: frozenset[str] | None
) -> list[FlattenedStep]:
    """What is done whatever a person answers: in front of the question, and after a failure."""
    place = steps.index(gate)
    return [
        one
        for at, one in enumerate(steps)
        if one is not gate
        and (
            at < place
            or (one.after_failure and not gate.after_failure)
            or (guards is not None and one.when not in guards)
        )
    ]


def _is_pure(step: FlattenedStep, pure: frozenset[str] | None) -> bool:
    return step.action in _LANGUAGE if pure is None else step.pointer in pure
