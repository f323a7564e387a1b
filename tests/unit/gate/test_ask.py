"""A call on its way to its handler: whether it may have taken effect before."""

from __future__ import annotations

from dataclasses import replace

import pytest

from mainspring.contracts.context import Actor, RunRef
from mainspring.contracts.ids import generate_id
from mainspring.gate.capability_call import ApprovedDraft, CapabilityCall
from mainspring.gate.policy import RunPolicy
from mainspring.gate.run_budget import ENDLESS, RunBudget

RUN = RunRef(generate_id(), generate_id(), "send")


def _ask(run: RunRef | None, fence: int = 1) -> CapabilityCall:
    actor = Actor(generate_id(), "member" if run is None else "run", generate_id())
    return CapabilityCall(
        "a.b", {}, actor, run, 1, RunPolicy(()), RunBudget(ENDLESS), fence, id=generate_id()
    )


@pytest.mark.parametrize(
    ("ask", "repeated"),
    [
        (_ask(RUN), False),
        (_ask(replace(RUN, attempt=2)), True),
        # Another worker has taken the run over.
        (_ask(RUN, fence=2), True),
        # A program repeats a call whose answer it has lost, within one attempt of its step.
        (replace(_ask(RUN), token=b"x"), True),
        # A person's call has an id of its own each time.
        (_ask(None, fence=0), False),
        (replace(_ask(RUN, fence=2), agreed=ApprovedDraft(generate_id(), None)), False),
        (replace(_ask(None), agreed=ApprovedDraft(generate_id(), None, repeated=True)), True),
    ],
)
def test_a_call_that_may_have_been_made_before_says_so(ask: CapabilityCall, repeated: bool) -> None:
    assert ask.repeated is repeated
