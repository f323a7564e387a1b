"""Things that are read one by one: what is wrong with one of them does not stop the others.

A refusal of one thing is that thing's problem. When the provider fails, that may be its own
fault or that thing's, so it is asked for once more after the others; only when nothing could be
read at all is the whole look given up, to be done again from where it began.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Final, TypeVar

from mainspring.contracts.errors import Problem, ReconnectRequired, UpstreamError
from mainspring.contracts.integration import Item, UnreadableItem

# What code stumbles with over a thing of a shape that nobody has thought of.
_ODD: Final = (TypeError, ValueError, LookupError, AttributeError, ArithmeticError)
Found = TypeVar("Found")


def read_one(source_ref: str, read: Callable[[], Found]) -> Found | UnreadableItem:
    """Reads one thing that is there already; one of a shape that cannot be read is broken.

    Times that no clock knows are told by the system, as errors of its own.
    """
    try:
        return read()
    except Problem as problem:
        return UnreadableItem(source_ref, problem)
    except (*_ODD, OSError):
        return UnreadableItem(source_ref, _unexpected_response_error())


def _unexpected_response_error() -> UpstreamError:
    detail = "It has a shape that cannot be read here."
    return UpstreamError(detail, code="item_unreadable", retryable=False)


async def read_each(
    wanted: Mapping[str, str], read: Callable[[str], Awaitable[Item | None]]
) -> list[Item | UnreadableItem]:
    """Reads each by its id; ``wanted`` has the source_ref of each. None: it is left out.

    A provider that asks for a pause, or for a person to connect again, means all of them.
    """
    found: dict[str, Item | UnreadableItem | None] = {}
    failed = await _read_pass(list(wanted), wanted, read, found)
    again = await _read_pass(list(failed), wanted, read, found)
    if again and not any(isinstance(one, Item) for one in found.values()):
        raise next(iter(again.values()))
    for name, problem in again.items():
        found[name] = UnreadableItem(wanted[name], problem)
    return [one for name in wanted if (one := found.get(name)) is not None]


async def _read_pass(
    names: list[str],
    wanted: Mapping[str, str],
    read: Callable[[str], Awaitable[Item | None]],
    found: dict[str, Item | UnreadableItem | None],
) -> dict[str, Problem]:
    """Reads these; answers those at which the provider failed."""
    failed: dict[str, Problem] = {}
    for name in names:
        try:
            found[name] = await read(name)
        except Problem as problem:
            if _affects_all(problem):
                raise
            if problem.retryable:
                failed[name] = problem
            else:
                found[name] = UnreadableItem(wanted[name], problem)
        except _ODD:
            found[name] = UnreadableItem(wanted[name], _unexpected_response_error())
    return failed


def _affects_all(problem: Problem) -> bool:
    return isinstance(problem, ReconnectRequired) or problem.code == "provider_busy"
