"""What the built-in plug-ins declare, for tests that build no registry."""

from __future__ import annotations

from mainspring.actions.vocabulary import build_actions
from mainspring.contracts.action import declare_actions
from mainspring.contracts.capability import declare_writes
from mainspring.contracts.limits import Limits
from mainspring.integration_loader import load_integrations
from mainspring.settings import Settings


def declare_built_in_writes() -> None:
    """Does what a registry does when it is built."""
    declare_actions(build_actions(Limits()))
    for one in load_integrations(Settings()):
        declare_writes(one.name_products().capabilities)
