"""The notes of an upgrade for the author."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class UpgradeNote:
    """One change: a sentence, the new pointer and the old pointer."""

    pointer: str
    detail: str
    was: str | None = None

    def as_dict(self) -> dict[str, str]:
        shown = {"pointer": self.pointer, "detail": self.detail}
        if self.was is not None:
            shown["was"] = self.was
        return shown
