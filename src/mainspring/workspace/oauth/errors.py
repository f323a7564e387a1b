"""OAuth error responses (RFC 6749)."""

from __future__ import annotations

from typing import Final

# The error codes used here, with their HTTP status.
_STATUS: Final = {"invalid_client": 401, "temporarily_unavailable": 429}


class OAuthError(Exception):
    """A rejected client request with its OAuth error code."""

    def __init__(self, error: str, description: str) -> None:
        super().__init__(description)
        self.error = error
        self.description = description

    @property
    def status(self) -> int:
        return _STATUS.get(self.error, 400)

    def as_dict(self) -> dict[str, str]:
        return {"error": self.error, "error_description": self.description}
