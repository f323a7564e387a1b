"""Who may do what before a person has agreed: one table, asserted by a test, printed in the docs.

    python -m scripts.consent_matrix            writes the table into docs/concepts/consent.md
    python -m scripts.consent_matrix --check    exits 1 if the table there is another one

A credential that is not in the table yet is added with the test of its row.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Final, Literal

from scripts.reference_pages.markdown import table

Operation = Literal[
    "create",
    "edit_wider",
    "edit_narrower",
    "activate",
    "live_run",
    "dry_run",
    "trigger",
    "answer_approval",
    "agree",
    "confirm_draft",
]
Outcome = Literal["agrees", "waits", "free", "shown", "works", "refused", "nothing", "on_page"]

PAGE: Final = Path(__file__).resolve().parents[1] / "docs" / "concepts" / "consent.md"
BEGIN: Final = "<!-- The table is written by python -m scripts.consent_matrix. -->"
END: Final = "<!-- The end of the table. -->"

OPERATIONS: Final[Mapping[Operation, str]] = {
    "create": "Create",
    "edit_wider": "Edit: more",
    "edit_narrower": "Edit: less",
    "activate": "Activate",
    "live_run": "Run live",
    "dry_run": "Dry run",
    "trigger": "Trigger fires",
    "answer_approval": "Answer an approval step",
    "agree": "Agree",
    "confirm_draft": "Confirm a draft",
}
SAYS: Final[Mapping[Outcome, str]] = {
    "agrees": "yes, and agrees with that",
    "waits": "saved; waits for a person",
    "free": "yes",
    "shown": "yes, after it was shown",
    "works": "yes",
    "refused": "no",
    "nothing": "starts nothing",
    "on_page": "opens the page, where a person answers",
}
_PROGRAM: Final[Mapping[Operation, Outcome]] = {
    "create": "waits",
    "edit_wider": "waits",
    "edit_narrower": "free",
    "activate": "refused",
    "live_run": "refused",
    "dry_run": "works",
    "trigger": "nothing",
    "answer_approval": "refused",
    "agree": "refused",
    "confirm_draft": "refused",
}
_PERSON: Final[Mapping[Operation, Outcome]] = {
    "create": "agrees",
    "edit_wider": "agrees",
    "edit_narrower": "agrees",
    "activate": "shown",
    "live_run": "shown",
    "dry_run": "works",
    "trigger": "nothing",
    "answer_approval": "works",
    "agree": "works",
    "confirm_draft": "works",
}
# Each row: what the holder of a credential can do with an automation that nobody has agreed to.
# The edits are of one that a person has agreed to. An operation that a row does not have does not
# exist for that credential.
ROWS: Final[Mapping[str, Mapping[Operation, Outcome]]] = {
    "page session": _PERSON,
    # A prompt that the local owner answers.
    "terminal": _PERSON,
    # A prompt of `consents` or `approvals --server`; the other commands work on local data alone.
    "terminal after `mainspring login`": {"answer_approval": "works", "agree": "works"},
    # The session itself, in requests that no prompt was answered for.
    "`mainspring login` without a prompt": _PROGRAM,
    "command without a terminal": _PROGRAM,
    "token": _PROGRAM,
    # For the automations that a person named when they made the token.
    "token with approve": {**_PROGRAM, "agree": "works", "confirm_draft": "works"},
    "MCP client": _PROGRAM,
    "MCP client that opens pages": {**_PROGRAM, "confirm_draft": "on_page"},
    # Neither gives anything that it does not have itself.
    "run": {**_PROGRAM, "edit_wider": "refused"},
    "agent in a run": {**_PROGRAM, "edit_wider": "refused"},
    "recipe": {"create": "waits", "edit_wider": "waits", "edit_narrower": "free"},
    "import": {"create": "waits", "edit_wider": "waits", "edit_narrower": "waits"},
}


def matrix() -> str:
    """The table as the page has it."""
    rows = [
        (name, *(SAYS[cells[one]] if one in cells else "—" for one in OPERATIONS))
        for name, cells in ROWS.items()
    ]
    return table(("Credential", *OPERATIONS.values()), rows)


def written(page: str) -> str:
    """The page with the table of today."""
    head, begin, rest = page.partition(BEGIN)
    _, end, tail = rest.partition(END)
    if not begin or not end:
        raise ValueError(f"{PAGE} has no place for the table.")
    return f"{head}{BEGIN}\n\n{matrix().strip()}\n\n{END}{tail}"


def main(arguments: list[str]) -> int:
    there = PAGE.read_text(encoding="utf-8")
    made = written(there)
    if "--check" in arguments:
        return 0 if made == there else 1
    PAGE.write_text(made, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
