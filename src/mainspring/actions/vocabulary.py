"""The actions this installation knows, in one list for ``wiring.py``."""

from __future__ import annotations

from mainspring.actions.agent.action import AGENT_ACTION
from mainspring.actions.approval import APPROVAL
from mainspring.actions.callback import CALLBACK_WEBHOOK
from mainspring.actions.delay import DELAY
from mainspring.actions.for_each import build_for_each_action
from mainspring.actions.notify import NOTIFICATION
from mainspring.actions.script.action import build_script_action
from mainspring.actions.script.runner import ScriptRunner
from mainspring.actions.transform import TRANSFORM_DATA
from mainspring.contracts.action import Action
from mainspring.contracts.limits import Limits


def build_actions(limits: Limits, workshop: ScriptRunner | None = None) -> tuple[Action, ...]:
    """Every action that is part of the product itself."""
    return (
        TRANSFORM_DATA,
        DELAY,
        APPROVAL,
        build_for_each_action(limits),
        NOTIFICATION,
        CALLBACK_WEBHOOK,
        build_script_action(workshop),
        AGENT_ACTION,
    )
