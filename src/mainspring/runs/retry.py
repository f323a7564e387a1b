"""Whether and when to try again: a pure function of the problem and the attempt.

The pause doubles (or grows in a line) from one second, is spread by up to a fifth either
way so that a crowd does not come back at once, and never undercuts what the other side
asked for.
"""

from __future__ import annotations

from typing import Literal

from mainspring.contracts.errors import Problem

Backoff = Literal["none", "linear", "exponential"]
FIRST_PAUSE = 1.0
SPREAD = 0.2


def may_retry(problem: Problem, attempt: int, max_retries: int) -> bool:
    """True while attempts are left and another one could end differently."""
    return problem.retryable and attempt <= max_retries


def pause_before(
    attempt: int, backoff: Backoff, *, retry_after: float | None, chance: float, most: float
) -> float:
    """Seconds to wait after failed attempt number ``attempt``; ``chance`` is in [0, 1)."""
    if backoff == "none":
        growing = 0.0
    elif backoff == "linear":
        growing = FIRST_PAUSE * attempt
    else:
        growing = FIRST_PAUSE * float(2 ** (attempt - 1))
    spread = growing * (1 - SPREAD + 2 * SPREAD * chance)
    return min(max(spread, retry_after or 0.0), most)
