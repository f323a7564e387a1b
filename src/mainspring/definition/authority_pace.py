"""How often and how long the same is done again: attempts, scripts, runs beside each other.

None of these is a new thing to do. Each multiplies what is done, and what it costs.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from mainspring.definition.authority_steps import FlattenedStep
from mainspring.definition.authority_words import quote_name

_SCRIPT: Final = "script"
_USUAL_RETRIES: Final = 2
_USUAL_WALL: Final = 60
_LONGEST_WALL: Final = 86_400
_TOGETHER: Final = ("drop_if_running", "queue", "allow_parallel")
_TOGETHER_WORDS: Final = {
    "queue": "What starts it while it works waits{now}, and is not left out.",
    "allow_parallel": "Its runs go on beside each other{now}.",
}


@dataclass(frozen=True, slots=True)
class RepeatPolicy:
    """What multiplies the work of an automation."""

    retries: int = _USUAL_RETRIES
    together: str = "queue"
    # Only runs with the same key wait for each other.
    key: str | None = None


def read_repeat_policy(execution: Mapping[str, Any]) -> RepeatPolicy:
    retries = execution.get("max_retries")
    return RepeatPolicy(
        _USUAL_RETRIES if retries is None else int(retries),
        str(execution.get("concurrency") or "queue"),
        execution.get("concurrency_key"),
    )


def find_added_work(
    before: tuple[RepeatPolicy, Sequence[FlattenedStep]],
    after: tuple[RepeatPolicy, Sequence[FlattenedStep]],
    now: str,
) -> Iterator[tuple[str, str]]:
    """What is done again, longer or side by side: the place, and a sentence."""
    (was, known), (pace, steps) = before, after
    if pace.retries > was.retries:
        says = f"It may{now} try a failed step again {pace.retries} times"
        yield "/execution/max_retries", f"{says} instead of {was.retries}."
    yield from _retries(was, known, pace, steps, now)
    yield from _walls(known, steps, now)


def find_added_concurrency(
    was: RepeatPolicy, pace: RepeatPolicy, now: str
) -> Iterator[tuple[str, str]]:
    """Runs that were left out or waited, and do not any more."""
    if _rank_concurrency(pace.together) > _rank_concurrency(was.together):
        words = _TOGETHER_WORDS.get(pace.together, "What starts it goes on in another way{now}.")
        yield "/execution/concurrency", words.format(now=now)
    elif pace.key not in (None, was.key) and was.together != _TOGETHER[-1]:
        says = f"Its runs go on beside each other{now} unless they agree in {quote_name(str(pace.key))}."  # noqa: E501
        yield "/execution/concurrency_key", says


def _retries(
    was: RepeatPolicy,
    known: Sequence[FlattenedStep],
    pace: RepeatPolicy,
    steps: Sequence[FlattenedStep],
    now: str,
) -> Iterator[tuple[str, str]]:
    """Of steps that say it themselves, or did."""
    own = {one.id: one.retries for one in known}
    for one in steps:
        if one.retries is None and own.get(one.id) is None:
            continue
        then, may = _first(own.get(one.id), was.retries), _first(one.retries, pace.retries)
        if may > then:
            says = f"It may{now} try the step {quote_name(one.id)} again {may} times instead of {then}."  # noqa: E501
            yield f"{one.pointer}/max_retries", says


def _walls(
    known: Sequence[FlattenedStep], steps: Sequence[FlattenedStep], now: str
) -> Iterator[tuple[str, str]]:
    walls = {one.id: _wall(one) for one in known if one.action == _SCRIPT}
    usual = max(walls.values(), default=_USUAL_WALL)
    for one in steps:
        then = walls.get(one.id, usual)
        if one.action == _SCRIPT and _wall(one) > then:
            says = f"Its script may{now} work {_wall(one):g} seconds at a time instead of {then:g}."
            yield f"{one.pointer}/config/wall_seconds", says


def _wall(step: FlattenedStep) -> float:
    wanted = step.config.get("wall_seconds", _USUAL_WALL)
    # What is only known in the run may be anything.
    return wanted if isinstance(wanted, int | float) else _LONGEST_WALL


def _first(own: int | None, usual: int) -> int:
    return usual if own is None else own


def _rank_concurrency(together: str) -> int:
    return _TOGETHER.index(together) if together in _TOGETHER else len(_TOGETHER)
