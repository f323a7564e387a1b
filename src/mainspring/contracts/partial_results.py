"""Reads items one by one, so that a problem with one of them does not stop the others.

A refusal applies to one item. A provider failure may be caused by the provider or by that item, so
the item is retried once after the others; the whole read fails only when nothing could be read, and
is then repeated from its cursor.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Final, TypeVar

from mainspring.contracts.errors import Problem, ReconnectRequired, UpstreamError
from mainspring.contracts.integration import Item, UnreadableItem

# The exceptions of code that meets an item of an unexpected shape.
_ODD: Final = (TypeError, ValueError, LookupError, AttributeError, ArithmeticError)
Found = TypeVar("Found")


def read_one(source_ref: str, read: Callable[[], Found]) -> Found | UnreadableItem:
    """Convert one item; one with an unexpected shape becomes an ``UnreadableItem``.

    Timestamps out of range raise OSError.
    """
    try:
        return read()
    except Problem as problem:
        return UnreadableItem(source_ref, problem)
    except (*_ODD, OSError):
        return UnreadableItem(source_ref, _unexpected_response_error())


def _unexpected_response_error() -> UpstreamError:
    detail = "Its shape is not supported."
    return UpstreamError(detail, code="item_unreadable", retryable=False)


async def read_each(
    wanted: Mapping[str, str], read: Callable[[str], Awaitable[Item | None]]
) -> list[Item | UnreadableItem]:
    """Read each item by its id; ``wanted`` maps it to its source_ref. None: the item is skipped.

    A rate limit or a required reconnection applies to all of them.
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
    """Read these items; returns those at which the provider failed."""
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
