"""The help of ``mainspring`` alone: all commands by topic, on one screen."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping
from typing import Any, Final

from typer.core import TyperGroup

_WIDTH: Final = 80
_NAME_WIDTH: Final = 14

# By topic: commands that most people use, with a description, and the names of the others.
TOPICS: Final[Mapping[str, tuple[Mapping[str, str], tuple[str, ...]]]] = {
    "Server": (
        {
            "up": "Start the server with its database, scheduler and workers.",
            "sign-in": "Create a link that signs you in to the web app.",
            "doctor": "Check this machine and the data folder.",
            "backup": "Create, verify and restore backups.",
        },
        (
            *("api", "scheduler", "worker", "workers", "halt", "release", "halts", "size"),
            *("token", "move", "migrate", "downgrade"),
        ),
    ),
    "Automations": (
        {
            "new": "Create an automation from a description.",
            "list": "List automations with state, last run and next run.",
            "show": "Show one automation.",
            "save": "Save a definition file as an automation.",
            "activate": "Let triggers start an automation.",
            "pause": "Stop triggers from starting an automation.",
        },
        (
            *("change", "review", "proposals", "prompts", "starter", "when", "next", "validate"),
            *("consents", "versions", "diff", "rollback", "rehearse", "acknowledge", "archive"),
            *("restore", "export", "import", "webhook", "codex"),
        ),
    ),
    "Runs": (
        {
            "fire": "Run an automation now.",
            "runs": "List runs; watch one or read its output.",
            "logs": "Show the steps of a run.",
            "retry": "Resume a failed run from the step that failed.",
        },
        ("run", "replay", "cancel"),
    ),
    "Messages and data": (
        {
            "inbox": "List messages from automations.",
            "drafts": "Confirm or discard actions that wait for approval.",
            "boards": "Create, fill and export tables of rows.",
        },
        ("approvals", "rules", "events", "publish", "pages", "workflows"),
    ),
    "Connections": (
        {
            "secrets": "Store secrets for automations.",
            "models": "Connect language models.",
            "integrations": "Connect accounts such as GitHub, Gmail or Slack.",
        },
        (
            *("connections", "recipes", "scaffold", "capabilities", "call", "mcp", "schema"),
            "sdk",
        ),
    ),
    "People": (
        {
            "members": "Manage the members of the workspace.",
            "tokens": "Create access tokens for programs.",
        },
        ("workspaces", "email", "login", "logout", "audit", "usage"),
    ),
}
_OPTIONS: Final = "Options: --home FOLDER, --server URL, --json, --no-color, --version, -h, --help"
_FOOTER: Final = (
    "`mainspring COMMAND --help` shows the options of a command. `completion` prints",
    "a shell completion script; `help` and `version` print this text and the version.",
)


class RootGroup(TyperGroup):
    """The command line; its help fits one screen."""

    def format_help(self, ctx: Any, formatter: Any) -> None:
        formatter.write("\n".join(root_help_lines()) + "\n")

    def get_help(self, ctx: Any) -> str:
        return "\n".join(root_help_lines())


def root_help_lines() -> list[str]:
    lines = ["Usage: mainspring [OPTIONS] COMMAND [ARGS]...", ""]
    for topic, (common, others) in TOPICS.items():
        lines.append(topic)
        lines += [f"  {name.ljust(_NAME_WIDTH)}{text}" for name, text in common.items()]
        lines += textwrap.wrap(
            ", ".join(others),
            _WIDTH,
            initial_indent="  also: ",
            subsequent_indent="        ",
            break_on_hyphens=False,
        )
    return [*lines, "", _OPTIONS, *_FOOTER]
