"""All declared commands, and the help texts of the groups that they form.

The declarations are in the modules ``commands_*``. The order inside a group is the order of its
help.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from mainspring.surfaces.cli import (
    commands_automations,
    commands_data,
    commands_messages,
    commands_system,
)

COMMANDS: Final = (
    *commands_automations.COMMANDS,
    *commands_messages.COMMANDS,
    *commands_data.COMMANDS,
    *commands_system.COMMANDS,
)

GROUPS: Final[Mapping[str, str]] = {
    "approvals": "List questions that runs are waiting for, and answer them.",
    "boards": "Create, fill, export and link boards (tables of rows).",
    "connections": "Connect MCP servers and agree to their tools.",
    "consents": "List automations that need your consent; agree or refuse.",
    "drafts": "List actions that are held for approval; confirm or discard them.",
    "email": "Set and verify the address that your mail goes to.",
    "events": "List, show and replay events.",
    "inbox": "List messages from automations, newest first.",
    "members": "Manage the members of the workspace.",
    "pages": "Write and search pages of text.",
    "prompts": "Manage saved prompts for `new`.",
    "proposals": "Review, answer and save proposed automations.",
    "rules": "List standing rules; accept, refuse or withdraw one.",
    "tokens": "Create and revoke access tokens for programs.",
    "webhook": "Create and revoke the tokens of webhooks, and test them.",
    "workers": "List workers and the load of each queue; drain one.",
    "workflows": "Track KPIs, deadlines and people together with automations.",
    "workspaces": "Manage your workspaces. MAINSPRING_WORKSPACE selects one.",
}
