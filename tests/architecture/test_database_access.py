"""Who may use the whole database: a written list. All other code uses row-level security.

A surface acts for a caller. It reads and writes with that caller's row-level security, so
that a query which forgets its workspace finds nothing; where it needs more, it says why here.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from tests.architecture.tree import PACKAGE, modules, nodes, shown

SURFACES = PACKAGE / "surfaces"
# Each module of a surface that names the whole database, and what for.
WHOLE = {
    # It is not known yet who is calling, and so not which workspace is meant.
    "rest/app.py": "passes it to authentication, which looks up tokens and sessions",
    "rest/routes/session.py": "signs people in and out",
    "rest/routes/connections.py": "looks up the session for the redirect after sign-in",
    "rest/routes/integrations.py": "looks up the session for the redirect after sign-in",
    "rest/routes/artifacts.py": "finds the workspace of a signed link, and looks tokens up",
    "mcp/mount.py": "looks tokens up",
    "rest/routes/forms.py": "looks up the session of a person who fills in a form for members",
    "rest/oauth.py": "registers clients, and finds whose code or token one brings",
    "rest/routes/clients.py": "a client's request is in no workspace until it is answered",
    "cli/caller.py": "looks up tokens, and applies row-level security for their owner",
    # A person and their memberships belong to no one workspace.
    "rest/routes/account.py": "a person's own row",
    "rest/routes/push.py": "the browsers that a person gets notifications on",
    "rest/routes/workspaces.py": "the workspaces that a person is in",
    "rest/routes/members.py": "asks whether an account that is invited has anything in it",
    "rest/routes/terminals.py": "a terminal that asks for a session belongs to nobody yet",
    "rest/answers.py": "applies row-level security for the workspace of a webhook",
    "rest/routes/triggers.py": "loads the version whose grants the trial of a look uses",
    "rest/routes/tokens.py": "asks whether the session that creates a token is still valid",
    "cli/people.py": "a person's own row",
    "cli/email.py": "a person's own row, and the code that waits for them",
    "email_verification.py": "a person's own row, and the code that waits for them",
    "mcp/server.py": "the workspaces that a person is in, to name the one of a link",
    "cli/workspace_selection.py": "the workspaces that the local owner is in",
    # The state of the installation is the same for everybody.
    "rest/routes/health.py": "checks the health of the installation",
    "cli/server_presence.py": "asks whether a worker is alive",
    "cli/doctor.py": "asks whether the database answers, and reads the active automations of all",
    "cli/size.py": "asks how large the database is",
    "cli/run.py": "asks who owns the server",
    # The owner of this machine's data folder looks after it.
    "cli/local.py": "applies row-level security",
    "cli/local_session.py": "begins the local owner's terminal session",
    "cli/owner_token.py": "keeps the owner's token",
    "cli/parts.py": "keeps the owner's token, and makes the first sign-in link",
    "cli/secrets.py": "encrypts every secret with a new key",
}

# What code calls the services or the application, which hold the unscoped database.
OWNERS = {"app", "application", "application_services", "self", "services"}


def _users() -> Iterator[tuple[str, int]]:
    for path in modules("src"):
        if not path.is_relative_to(SURFACES):
            continue
        for node in nodes(path):
            if _names_whole(node):
                yield path.relative_to(SURFACES).as_posix(), getattr(node, "lineno", 0)


def _names_whole(node: ast.AST) -> bool:
    """``services.database``, by any name in OWNERS; a caller's is scoped to a workspace."""
    if not isinstance(node, ast.Attribute) or node.attr != "database":
        return False
    owner = node.value
    name = owner.attr if isinstance(owner, ast.Attribute) else getattr(owner, "id", "")
    return name.lstrip("_") in OWNERS


def test_only_the_written_modules_use_the_whole_database() -> None:
    found = {module for module, _ in _users()}

    assert sorted(found - WHOLE.keys()) == []


def test_the_list_names_nobody_who_does_not() -> None:
    assert sorted(WHOLE.keys() - {module for module, _ in _users()}) == []


def test_no_surface_writes_sql_that_changes_something() -> None:
    words = ("INSERT INTO ", "UPDATE ", "DELETE FROM ")
    found = [
        (shown(path), node.lineno)
        for path in modules("src")
        if path.is_relative_to(SURFACES)
        for node in nodes(path)
        if isinstance(node, ast.Constant)
        and isinstance(node.value, str)
        and node.value.lstrip().startswith(words)
    ]

    assert found == []
