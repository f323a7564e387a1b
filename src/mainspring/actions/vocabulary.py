"""The built-in actions: those of each module of this package.

A module adds an action by defining it under a public name; there is no other list. Actions that
need a part of the application are built here with that part.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Iterator

import mainspring.actions
from mainspring.actions.agent.action import AGENT_ACTION
from mainspring.actions.for_each import build_for_each_action
from mainspring.actions.script.action import build_script_action
from mainspring.actions.script.runner import ScriptRunner
from mainspring.contracts.action import Action
from mainspring.contracts.limits import Limits


def build_actions(limits: Limits, script_runner: ScriptRunner | None = None) -> tuple[Action, ...]:
    """Every built-in action."""
    return (
        *find_actions(),
        build_for_each_action(limits),
        build_script_action(script_runner),
        AGENT_ACTION,
    )


def find_actions() -> Iterator[Action]:
    """The actions of the modules of this package, sorted by name."""
    package = mainspring.actions
    for found in pkgutil.iter_modules(package.__path__, f"{package.__name__}."):
        if not found.ispkg and found.name != __name__:
            for name, value in sorted(vars(importlib.import_module(found.name)).items()):
                if isinstance(value, Action) and not name.startswith("_"):
                    yield value
