"""What a client is told when it may not have what it asks for, in the words of RFC 6749."""

from __future__ import annotations

from typing import Final

# The errors of the standards that are used here, with the status that goes with each.
_STATUS: Final = {"invalid_client": 401, "temporarily_unavailable": 429}


class OAuthError(Exception):
    """A request of a client that is not granted; the error is for programs."""

    def __init__(self, error: str, description: str) -> None:
        super().__init__(description)
        self.error = error
        self.description = description

    @property
    def status(self) -> int:
        return _STATUS.get(self.error, 400)

    def as_dict(self) -> dict[str, str]:
        return {"error": self.error, "error_description": self.description}
