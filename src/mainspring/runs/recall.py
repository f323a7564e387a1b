"""What earlier tries at a step have on record, each answer to be given once more.

A program that is taken over, or tried again, starts from its first line and asks the same
things again. They are told by what they ask, and not by their number alone: calls that were
under way side by side may come in another order the second time. For the same reason a call
has a name of its own, by which a receiver recognises it: what it asks, and which of several
equal ones it is.
"""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
from collections import Counter, defaultdict, deque
from dataclasses import dataclass, field

from mainspring.contracts.context import RunRef
from mainspring.contracts.errors import InternalError
from mainspring.gate.record import Journal, RecordedCall

_CHANGED = frozenset({"kept", "sent", "held", "confirmed"})


@dataclass(slots=True)
class StepReplay:
    """The record of one step, from which each answer is taken once."""

    answers: defaultdict[tuple[str, bytes], deque[RecordedCall]] = field(
        default_factory=lambda: defaultdict(deque)
    )
    # Numbers of this try that are taken.
    numbers: set[int] = field(default_factory=set)
    # How many recorded calls that changed something have not been asked for again.
    changes: int = 0
    # How often each question has been asked in this try.
    asked: Counter[tuple[str, bytes]] = field(default_factory=Counter)
    # A program that runs again comes to its next question at once.
    patience: float = 2.0
    _caught_up: asyncio.Event = field(default_factory=asyncio.Event)

    def name(self, capability: str, digest: bytes) -> str:
        """The name of a call: the same in every try, in whatever order calls come."""
        self.asked[capability, digest] += 1
        words = hashlib.blake2b(capability.encode() + b"\0" + digest, digest_size=8).hexdigest()
        return f"{words}-{self.asked[capability, digest]}"

    def take(self, capability: str, digest: bytes) -> RecordedCall | None:
        """What this very call answered before, if it did."""
        left = self.answers.get((capability, digest))
        if not left:
            return None
        found = left.popleft()
        self.changes -= found.outcome in _CHANGED
        if self.changes <= 0:
            self._caught_up.set()
        return found

    def number(self, wanted: int) -> int:
        """A number for a new call: the one it would have by its turn, unless that is taken."""
        while wanted in self.numbers:
            wanted += 1
        self.numbers.add(wanted)
        return wanted

    async def check_same(self, capability: str) -> None:
        """Refuses a change by a program that does not ask what it asked before.

        It has changed something in an earlier try and has not come to that place again: what
        it wants now may be the same thing said in another way, and would be done twice. What
        was asked side by side is asked so again, so the others are given a moment to come.
        """
        if self.changes > 0:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(self.patience):
                    await self._caught_up.wait()
        if self.changes > 0:
            raise InternalError(
                f"After an interruption the script asks for {capability} with other arguments "
                "than before, so it cannot be told whether this was done already.",
                code="call_mismatch",
                retryable=False,
                suggestion="Let what the script does depend only on its input and on what its "
                "calls answer.",
            )


def recall(calls: Journal, run: RunRef, last: int) -> StepReplay:
    """The record of the step of one try; what failed in an earlier one is tried again."""
    made = StepReplay()
    places = sorted(place for place in calls if _is_of(place, run) and place[3] <= last)
    for place in places:
        call = calls[place]
        if place[2] == run.attempt:
            made.numbers.add(place[3])
        elif call.error is not None:
            continue
        made.answers[call.capability, call.arguments_hash].append(call)
        made.changes += call.outcome in _CHANGED
    return made


def _is_of(place: tuple[str, str, int, int], run: RunRef) -> bool:
    return place[0] == run.step and place[1] == run.item and place[2] <= run.attempt
