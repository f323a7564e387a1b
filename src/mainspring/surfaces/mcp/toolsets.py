"""Which tools an MCP session offers: the default ones, or the toolsets that its address names.

The MCP library is not imported here: the command line reads these names too.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final
from urllib.parse import parse_qsl, urlencode

from mainspring.contracts.errors import Finding, Invalid
from mainspring.contracts.toolset import Toolset

if TYPE_CHECKING:
    from mainspring.contracts.capability import Capability
    from mainspring.gate.callers import CapabilityCaller

ALL: Final = "all"
DEFAULT: Final = "default"
_TOOLSET: Final = "toolset"
_OUTPUT_SCHEMAS: Final = "output_schemas"
_SWITCH: Final[Mapping[str, bool]] = {"1": True, "true": True, "0": False, "false": False}

# The documented tools and what is needed to find the things that they take. Integrations declare
# theirs with ``default_tool``.
DEFAULT_TOOLS: Final = frozenset(
    {
        "ack_inbox_action",
        "act_on_integration",
        "adapter_query",
        "admin_create_user",
        "admin_disable_user",
        "admin_enable_user",
        "admin_list_users",
        "admin_list_workspaces",
        "admin_reset_password",
        "append_board_rows",
        "apply_starter_recipe",
        "automation_secret_delete",
        "automation_secret_list",
        "automation_secret_set",
        "check_recipe_dependencies",
        "check_recipe_upgrade",
        "confirm_action",
        "confirm_actions",
        "create_automation_flow",
        "create_board",
        "create_board_link",
        "create_dataset_recipe",
        "create_page",
        "create_workflow",
        "delete_automation",
        "discard_action",
        "discard_actions",
        "fetch_from_integration",
        "find_overlapping_automations",
        "get_automation_run",
        "get_board",
        "get_page",
        "get_starter_recipe",
        "get_workflow",
        "list_automations",
        "list_boards",
        "list_calendar_events",
        "list_integrations",
        "list_pages",
        "list_pending_actions",
        "list_starter_recipes",
        "list_uninstalled",
        "list_workflows",
        "publish_event",
        "query",
        "refresh_dataset",
        "recover_recipe",
        "run_automation_once",
        "save_automation_draft",
        "search",
        "search_space.fetch_document",
        "search_space.query",
        "uninstall_recipe",
        "update_automation",
        "update_board",
        "update_board_rows",
        "update_page",
        "upgrade_recipe",
    }
)

DESCRIPTIONS: Final[Mapping[str, str]] = {
    DEFAULT: "The documented tools and those of connected MCP servers.",
    ALL: "Every tool that your token may call.",
    Toolset.AUTHORING: "Create, review, change and rehearse automations.",
    Toolset.RUNS: "Start, follow, halt and release runs; publish events; read usage.",
    Toolset.BOARDS: "Boards, rows, forms, dashboards, and datasets linked to outside resources.",
    Toolset.PAGES: "Read, write and search pages.",
    Toolset.WORKFLOWS: "Workflows with their KPIs, roster and automations.",
    Toolset.RECIPES: "Find, install, upgrade and publish recipes; export and import.",
    Toolset.INTEGRATIONS: "Connect accounts, read from them and prepare writes.",
    Toolset.SERVICES: "One tool for each write to a service, such as gmail.send_email.",
    Toolset.APPROVALS: "Drafts, consents, approval questions and standing rules.",
    Toolset.SECRETS: "Set, list and delete secrets.",
    Toolset.MCP_SERVERS: "Connect MCP servers and agree to their tools.",
    Toolset.CONNECTED: "The tools of connected MCP servers.",
    Toolset.MODELS: "Connect language models.",
    Toolset.ADMIN: "Administer the installation: people, workers, model prices, storage.",
}


@dataclass(frozen=True, slots=True)
class ToolSelection:
    """The tools of one session and how they are described."""

    # None: the default tools, or everything that a run or a limited token may call.
    names: frozenset[str] | None = None
    # Whether tools are listed with the schemas of their results.
    output_schemas: bool = False

    def includes(self, capability: Capability, caller: CapabilityCaller) -> bool:
        """Whether a capability is a tool of this session; the gate still checks each call."""
        # The tools of a run and of a limited token were chosen when the token was made.
        if self.names is None and (caller.held is not None or caller.capabilities is not None):
            return True
        return self.names_capability(capability)

    def names_capability(self, capability: Capability) -> bool:
        """Whether the named toolsets contain it; without names: whether it is a default tool."""
        names = _ONLY_DEFAULT if self.names is None else self.names
        toolset = capability.annotations.toolset
        return ALL in names or toolset in names or (DEFAULT in names and _is_default(capability))

    def as_query(self) -> str:
        """The query of an address with this selection; empty for the default."""
        given: dict[str, str] = {}
        if self.names is not None:
            given[_TOOLSET] = ",".join(sorted(self.names))
        if self.output_schemas:
            given[_OUTPUT_SCHEMAS] = "1"
        return urlencode(given, safe=",")


_ONLY_DEFAULT: Final = frozenset({DEFAULT})


def _is_default(capability: Capability) -> bool:
    """What an operator added without a toolset counts as default: it was added to be used."""
    hints = capability.annotations
    is_added = hints.toolset in (None, Toolset.CONNECTED)
    return is_added or hints.default_tool or capability.id in DEFAULT_TOOLS


def parse_toolsets(text: str) -> frozenset[str]:
    """Read the names of toolsets, separated by commas."""
    names = frozenset(name.strip() for name in text.split(",")) - {""}
    unknown = sorted(names - DESCRIPTIONS.keys())
    if unknown or not names:
        shown = ", ".join(repr(name[:50]) for name in unknown[:5])
        detail = f"There is no toolset {shown}." if unknown else "No toolset is named."
        choices = f"Choose from: {', '.join(DESCRIPTIONS)}."
        raise Invalid(
            detail,
            code="unknown_toolset",
            findings=[Finding(f"/{_TOOLSET}", detail, "enum", suggestion=choices)],
            suggestion=choices,
        )
    return names


def read_query(query: bytes) -> ToolSelection:
    """Read a selection from the query of the MCP endpoint's address."""
    if not query:
        return ToolSelection()
    given = dict(parse_qsl(query.decode("latin-1"), keep_blank_values=True))
    if given.keys() - {_TOOLSET, _OUTPUT_SCHEMAS}:
        raise Invalid(
            "The address of the MCP server takes only toolset and output_schemas in its query.",
            code="query",
            suggestion="Send the token in the header 'Authorization: Bearer …', never here.",
        )
    shows_output = _SWITCH.get(given.get(_OUTPUT_SCHEMAS, "0").lower())
    if shows_output is None:
        detail = "output_schemas is 1 or 0."
        raise Invalid(detail, findings=[Finding(f"/{_OUTPUT_SCHEMAS}", detail, "enum")])
    names = parse_toolsets(given[_TOOLSET]) if _TOOLSET in given else None
    return ToolSelection(names, shows_output)
