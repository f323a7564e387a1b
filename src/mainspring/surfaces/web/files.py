"""Which files there are, and where each is served."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Final

_FOLDER: Final = Path(__file__).parent


@dataclass(frozen=True, slots=True)
class File:
    """One file of this folder, and the address or addresses where it stands."""

    path: str
    name: str
    media_type: str


_PAGE: Final = "text/html; charset=utf-8"
_STYLE: Final = "text/css; charset=utf-8"
_SCRIPT: Final = "text/javascript; charset=utf-8"
_SCRIPTS: Final = (
    "page", "parts", "words", "home", "sign-in", "automations", "automation", "definition", "diff",
    "runs", "agent", "inbox", "asking", "rules", "integrations", "reading", "clients", "delivering",
    "editing", "new", "proposing", "changing", "proposal", "questions", "review", "showing",
    "activating", "rehearsal", "codex", "recipe", "preview", "editor", "fields", "palette",
    "schema", "pointers",
)  # fmt: skip

FILES: Final = (
    File("/", "home.html", _PAGE),
    File("/sign-in", "sign-in.html", _PAGE),
    File("/automations", "automations.html", _PAGE),
    # The page of every automation is the same file; which one it shows stands in its address.
    File("/automations/{automation_id:uuid}", "automation.html", _PAGE),
    File("/inbox", "inbox.html", _PAGE),
    # The page of every integration is the same file too.
    File("/integrations", "integrations.html", _PAGE),
    File("/integrations/{source}", "integrations.html", _PAGE),
    File("/codex", "codex.html", _PAGE),
    File("/codex/{slug}", "codex.html", _PAGE),
    File("/new", "new.html", _PAGE),
    File("/proposals/{proposal_id:uuid}", "proposal.html", _PAGE),
    *(File(f"/assets/{name}.js", f"{name}.js", _SCRIPT) for name in _SCRIPTS),
    *(File(f"/assets/{name}.css", f"{name}.css", _STYLE) for name in ("page", "proposal")),
)


def read_file(file: File) -> bytes:
    """What the file holds. It is read once, when the server is built."""
    return (_FOLDER / file.name).read_bytes()
