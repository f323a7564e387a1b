"""What takes a run off its worker, or ends it, from inside a step."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from mainspring.contracts.errors import Problem


class Sleep(BaseException):
    """The run has nothing to do until a moment."""

    def __init__(self, until: datetime) -> None:
        super().__init__(until)
        self.until = until


class ReturnToQueue(BaseException):
    """The worker is stopping: the run goes back to the queue between two steps."""


class RunTooLarge(BaseException):
    """The run has grown beyond what may be kept; no step can catch this."""

    def __init__(self, problem: Problem) -> None:
        super().__init__(problem.detail)
        self.problem = problem


class StepFailed(Exception):
    """A step has failed for good."""

    def __init__(self, step: str, problem: Problem) -> None:
        super().__init__(step)
        self.step = step
        self.problem = problem


class DraftWait(BaseException):
    """A write of a step is held, and the run waits for the answer."""

    def __init__(self, until: datetime) -> None:
        super().__init__(until)
        self.until = until


class HeldCallInterrupt(BaseException):
    """The call of a step that waits was held: the step goes on once the draft is answered."""

    def __init__(self, draft: Mapping[str, Any]) -> None:
        super().__init__(draft["draft_id"])
        self.draft = draft
