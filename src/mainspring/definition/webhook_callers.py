"""How a webhook authenticates and answers its callers, as its trigger's config says."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal

AnswerMode = Literal["immediately", "when_done", "by_step"]
IMMEDIATELY: Final = "immediately"
WHEN_DONE: Final = "when_done"
BY_STEP: Final = "by_step"
WAIT_SECONDS: Final = 30
MOST_WAIT_SECONDS: Final = 300


@dataclass(frozen=True, slots=True)
class AnswerPolicy:
    """When the caller of a webhook gets an answer."""

    mode: AnswerMode = "immediately"
    # After this, the caller gets the address of the run instead.
    seconds: float = WAIT_SECONDS

    @property
    def waits(self) -> bool:
        return self.mode != IMMEDIATELY


_AT_ONCE: Final = AnswerPolicy()


def read_answer_policy(config: Mapping[str, Any]) -> AnswerPolicy:
    """The policy of a webhook trigger; without one its callers only get a receipt."""
    mode = config.get("respond", IMMEDIATELY)
    if mode not in (WHEN_DONE, BY_STEP):
        return _AT_ONCE
    seconds = config.get("respond_within", WAIT_SECONDS)
    return AnswerPolicy(mode, seconds if isinstance(seconds, int | float) else WAIT_SECONDS)


def accepts_token(config: Mapping[str, Any]) -> bool:
    """Whether callers authenticate with the webhook's own token."""
    auth = config.get("auth")
    return not isinstance(auth, Mapping) or auth.get("type") in ("bearer", "secret_url")
