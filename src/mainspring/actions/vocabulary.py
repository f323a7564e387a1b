"""The actions this installation knows, in one list for ``wiring.py``."""

from __future__ import annotations

from mainspring.actions.agent.action import AGENT_ACTION
from mainspring.actions.approval import APPROVAL
from mainspring.actions.callback import CALLBACK_WEBHOOK
from mainspring.actions.delay import DELAY
from mainspring.actions.for_each import for_each_action
from mainspring.actions.notify import NOTIFICATION
from mainspring.actions.script.action import script_action
from mainspring.actions.script.workshop import Workshop
from mainspring.actions.transform import TRANSFORM_DATA
from mainspring.contracts.action import Action
from mainspring.contracts.limits import Limits


def builtin_actions(limits: Limits, workshop: Workshop | None = None) -> tuple[Action, ...]:
    """Every action that is part of the product itself."""
    return (
        TRANSFORM_DATA,
        DELAY,
        APPROVAL,
        for_each_action(limits),
        NOTIFICATION,
        CALLBACK_WEBHOOK,
        script_action(workshop),
        AGENT_ACTION,
    )
