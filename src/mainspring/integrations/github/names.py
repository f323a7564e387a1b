"""Repository names and their normalization."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

from mainspring.contracts.errors import Finding, Invalid

OWNER_PATTERN: Final = r"^[A-Za-z0-9][A-Za-z0-9_-]{0,38}$"
# Never only dots, which would allow path traversal.
REPO_PATTERN: Final = r"^[A-Za-z0-9._-]*[A-Za-z0-9_-][A-Za-z0-9._-]*$"
LONGEST_REPO: Final = 100
MOST_WATCHED: Final = 50
# The connection setting with the repositories.
REPOSITORIES: Final = "repositories"

OWNER: Final[dict[str, Any]] = {
    "type": "string",
    "description": "Owner of the repository.",
    "pattern": OWNER_PATTERN,
    "x-mainspring-says": "This must be the name of a person or an organisation at GitHub.",
}
REPO: Final[dict[str, Any]] = {
    "type": "string",
    "description": "Name without the owner.",
    "maxLength": LONGEST_REPO,
    "pattern": REPO_PATTERN,
    "x-mainspring-says": "This must be the name of a repository, without its owner.",
}
_WRITTEN: Final = re.compile(r"([A-Za-z0-9][A-Za-z0-9_-]{0,38})/([A-Za-z0-9._-]{1,100})")


def normalize_repository_ref(ref: Mapping[str, Any]) -> dict[str, str]:
    """Normalize a reference to owner and repo."""
    repo, name = ref.get("repo"), ref.get("name")
    if repo is not None and name is not None and repo != name:
        raise Invalid(
            "The repository is named twice, and differently.",
            code="github_ref",
            findings=[Finding("/name", "This is not the same as repo.", "github_ref")],
        )
    return {"owner": str(ref["owner"]), "repo": str(name if repo is None else repo)}


def read_watched_repositories(settings: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Return a connection's repositories, deduplicated, in order."""
    text = settings.get(REPOSITORIES) or ""
    found: dict[str, tuple[str, str]] = {}
    for piece in str(text).replace("\n", ",").split(","):
        if not piece.strip():
            continue
        one = _WRITTEN.fullmatch(piece.strip())
        if one is None or not one[2].strip("."):
            raise _not_a_repository(piece.strip())
        found.setdefault(piece.strip().lower(), (one[1], one[2]))
    if len(found) > MOST_WATCHED:
        raise Invalid(
            f"At most {MOST_WATCHED} repositories are watched over one connection.",
            code="github_repositories",
            findings=[Finding("/repositories", "These are too many.", "github_repositories")],
        )
    return list(found.values())


def _not_a_repository(piece: str) -> Invalid:
    detail = f"{piece[:100]!r} is not a repository written as owner/repo."
    return Invalid(
        detail,
        code="github_repositories",
        findings=[Finding("/repositories", detail, "github_repositories")],
        suggestion="Write them as owner/repo, with commas between.",
    )
