"""Commands about members, tokens, secrets, connections, halts, workers and usage."""

from __future__ import annotations

from typing import Final

from mainspring.surfaces.cli.declarations import Command, Param, flag, limit, option

_OPERATING: Final = (
    Command(
        "audit",
        "Show the audit log, newest first.",
        "audit:show_audit",
        (
            option("action", "Only this action."),
            option("actor", "Only this member (email or id) or run.", metavar="WHO"),
            option("since", "Only entries from this time on.", metavar="TIME"),
            option("before", "Only entries before this time.", metavar="TIME"),
            limit(20),
        ),
    ),
    Command(
        "usage",
        "Show model calls and their cost. Default: the last 30 days.",
        "ledger:show_usage",
        (
            option(
                "by",
                "Group totals by this.",
                default="day",
                metavar="day|automation|model|caller",
                choices=("day", "automation", "model", "caller"),
            ),
            option("first", "First day, in UTC.", "--from", metavar="DAY"),
            option("last", "Last day. Default: today.", "--to", metavar="DAY"),
            flag("calls", "List single calls, newest first."),
            limit(20),
        ),
    ),
)

_HALTED: Final = (
    Param(
        "automation",
        "An automation's name, its id, or the id's first characters.",
        default=None,
        metavar="[AUTOMATION]",
    ),
    flag("whole", "The whole workspace.", "--all"),
    option("recipe", "Everything installed from this recipe.", metavar="SLUG"),
    flag("everywhere", "With --recipe: in every workspace."),
)

_HALTS: Final = (
    Command(
        "halt",
        "Stop an automation, a recipe or the workspace immediately. Runs are held, not lost.",
        "operating:halt_selected",
        (
            *_HALTED,
            option("reason", "The reason, shown wherever the halt is listed.", metavar="TEXT"),
            flag("cancel", "Cancel existing runs instead of holding them."),
        ),
    ),
    Command(
        "release",
        "Release a halt. Held runs continue where they stopped.",
        "operating:release_selected",
        _HALTED,
    ),
    Command("halts", "List halts with their reasons and held runs.", "operating:show_halts"),
    Command("workers", "List workers and the load of each queue.", "operating:show_workers"),
    Command("workers list", "List workers and the load of each queue.", "operating:show_workers"),
    Command(
        "workers drain",
        "Let a worker finish its runs, take no new ones, and exit.",
        "operating:drain_workers",
        (
            Param("worker", "A worker's name or number.", default=None, metavar="[WORKER]"),
            option("host", "All workers on this machine.", metavar="NAME"),
        ),
    ),
)

_SECRET_OWNER: Final = (
    option("owner", "The member who owns the secrets (email or id).", metavar="WHO"),
    flag("publisher", "Secrets of the workspace's publisher. Names are in capitals."),
)

_SECRETS: Final = (
    Command(
        "secrets list",
        "List the names of secrets. Values are never shown.",
        "secrets:list_secrets",
        _SECRET_OWNER,
    ),
    Command(
        "secrets delete",
        "Delete a secret.",
        "secrets:delete_secret",
        (
            Param("name", "Lowercase letters, digits and underscores.", metavar="NAME"),
            *_SECRET_OWNER,
        ),
    ),
)

_ROLES: Final = ("viewer", "operator", "editor", "admin", "owner")

_TOKENS: Final = (
    Command("tokens list", "List tokens. Their texts are never shown.", "tokens:show_tokens"),
    Command(
        "tokens create",
        "Create a token and print its text once.",
        "tokens:create_named_token",
        (
            Param("name", "What the token is for.", metavar="NAME"),
            option("role", "The highest role it grants.", default="editor", choices=_ROLES),
            option(
                "capability",
                "Allow only this capability. Repeatable.",
                metavar="ID",
                many=True,
            ),
            option("days", "Expire after this many days.", kind=int, low=1, high=3_650),
            option(
                "approve",
                "Allow it to approve what this automation may do, without a person. Repeatable. "
                "Needs --days and a terminal.",
                metavar="AUTOMATION",
                many=True,
            ),
        ),
    ),
    Command(
        "tokens revoke",
        "Revoke a token permanently.",
        "tokens:end_token",
        (Param("text", "The token's id.", metavar="ID"),),
    ),
)

_EMAIL: Final = Param("email", "The member's email.", metavar="EMAIL")

_MEMBERS: Final = (
    Command("members list", "List members and pending invitations.", "people:show_members"),
    Command(
        "members invite",
        "Invite a member. Prints a link once; inviting again creates a new link.",
        "people:invite_member",
        (_EMAIL, option("role", "Their role.", default="viewer", choices=_ROLES)),
        in_process=True,
    ),
    Command(
        "members role",
        "Change a member's role.",
        "people:set_role",
        (
            _EMAIL,
            Param(
                "role", "viewer, operator, editor, admin or owner.", metavar="ROLE", choices=_ROLES
            ),
        ),
        in_process=True,
    ),
    Command(
        "members remove",
        "Remove a member. Their tokens are revoked and their automations stop.",
        "people:drop_member",
        (_EMAIL,),
    ),
    Command(
        "members takeover",
        "Take over the automations and webhooks of a member who left.",
        "takeover:take_over",
        (
            _EMAIL,
            option("to", "The new owner. Must be you, the local owner.", metavar="EMAIL"),
            option(
                "names",
                "Only this automation. Repeatable.",
                "--automation",
                metavar="NAME",
                many=True,
            ),
            flag("show", "Only show what would be taken over."),
        ),
        in_process=True,
    ),
    Command("workspaces list", "List your workspaces.", "people:show_workspaces"),
    Command(
        "workspaces create",
        "Create a workspace that you own.",
        "people:create_workspace",
        (Param("name", "The name.", metavar="NAME"),),
    ),
    Command(
        "sign-in",
        "Create a one-time link that signs you in to the web app.",
        "people:make_sign_in_link",
        (
            flag(
                "forget_password",
                "Delete the password and end all sessions when the link is used.",
                "--forget-password",
            ),
            option(
                "for_whom",
                "For another user, who then sets a new password.",
                "--for",
                metavar="EMAIL",
            ),
        ),
        in_process=True,
    ),
    Command(
        "email show",
        "Show the address that your mail goes to.",
        "email:show_email",
        in_process=True,
    ),
    Command(
        "email set",
        "Set your address. A code is mailed to it; the old address is used until you verify it.",
        "email:set_email",
        (Param("email", "Your address.", metavar="EMAIL"),),
        in_process=True,
    ),
    Command("email code", "Send a new verification code.", "email:send_code", in_process=True),
    Command(
        "email verify",
        "Verify your address with the code that was mailed to it.",
        "email:verify_email",
        (Param("code", "The code from the mail.", metavar="CODE"),),
        in_process=True,
    ),
)

_ALIAS: Final = Param("alias", "The alias of the connection.", metavar="ALIAS")
_LOOK_FIRST: Final = flag(
    "look_first", "Let its tools wait until you have reviewed them.", "--look-first"
)

_CONNECTIONS: Final = (
    Command("connections", "List MCP servers and their health.", "connections:list_connections"),
    Command(
        "connections list", "List MCP servers and their health.", "connections:list_connections"
    ),
    Command(
        "connections show",
        "Show an MCP server with its tools and their changes.",
        "connections:show_connection",
        (_ALIAS, option("tool", "Only this tool, in full.", metavar="TOOL")),
    ),
    Command(
        "connections add",
        "Connect to an MCP server and agree to its current tools.",
        "connections:add_server",
        (
            Param("url", "For example https://example.com/mcp.", metavar="URL"),
            Param(
                "alias",
                "Prefix of its tools: ALIAS.tool.",
                ("--alias",),
                metavar="ALIAS",
            ),
            flag("token", "Read a token from a pipe or a hidden prompt."),
            flag("oauth", "Sign in with a browser. The command waits for it."),
            option("client_id", "Client id of your own OAuth app.", "--client-id", metavar="ID"),
            _LOOK_FIRST,
        ),
    ),
    Command(
        "connections add-stdio",
        "Connect an MCP program on this machine. It runs as the server does.",
        "connections:add_stdio",
        (
            _ALIAS,
            Param("command", "The program and its arguments.", metavar="-- COMMAND...", many=True),
            _LOOK_FIRST,
        ),
        in_process=True,
    ),
    Command(
        "connections sign-in",
        "Sign in again with a browser on this machine.",
        "connections:sign_in",
        (_ALIAS,),
    ),
    Command(
        "connections token",
        "Replace the token. Reads it from a pipe or a hidden prompt.",
        "connections:replace_token",
        (_ALIAS,),
    ),
    Command(
        "connections harvest",
        "Read the list of tools now. New and changed tools wait for agreement.",
        "connections:harvest",
        (_ALIAS,),
    ),
    Command(
        "connections agree",
        "Review new and changed tools, and agree to them.",
        "connections:agree_to_tools",
        (
            _ALIAS,
            Param(
                "tools",
                "Tools to agree to. Default: all that are waiting.",
                default=None,
                metavar="[TOOL]...",
                many=True,
            ),
            flag("yes", "Do not ask when there is no terminal."),
        ),
    ),
    Command(
        "connections refuse",
        "Block tools.",
        "connections:refuse",
        (_ALIAS, Param("names", "Names of its tools.", metavar="TOOL...", many=True)),
    ),
    Command(
        "connections effect",
        "Set whether a tool reads or sends.",
        "connections:set_effect",
        (
            _ALIAS,
            Param("tool", "The name of a tool.", metavar="TOOL"),
            Param(
                "effect",
                "What it does. guess: derive it from the tool.",
                metavar="read|send|guess",
                choices=("read", "send", "guess"),
            ),
        ),
    ),
    Command(
        "connections remove",
        "Delete a connection with its tools and tokens.",
        "connections:remove",
        (_ALIAS,),
    ),
)

COMMANDS: Final = (*_OPERATING, *_HALTS, *_SECRETS, *_TOKENS, *_MEMBERS, *_CONNECTIONS)
