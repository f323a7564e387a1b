"""The isolation of scripts on this machine, as a value and as text.

The launcher sets up what this machine supports and reports what is actually in force; nothing is
inferred from a version number. ``doctor`` and the web page show the text.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum


class IsolationMode(StrEnum):
    """Which isolation layers to set up; everything but ``AUTO`` is for testing one of them."""

    AUTO = "auto"
    LANDLOCK = "landlock"
    NAMESPACES = "namespaces"
    # Only Deno's own permissions and the process limits.
    NONE = "none"


class ProcessUser(StrEnum):
    """The user of a script's process."""

    PER_PROCESS = "per_process"
    NOBODY = "nobody"
    SAME = "same"


@dataclass(frozen=True, slots=True)
class Isolation:
    """What is in force. Deno's permissions and the process limits always are."""

    landlock: int = 0
    namespaces: bool = False
    empty_network: bool = False
    filtered: bool = False
    user: ProcessUser = ProcessUser.SAME
    # Why a layer could not be set up, as the system's error message.
    missing: tuple[str, ...] = ()

    @property
    def holds_files(self) -> bool:
        return self.landlock > 0 or self.namespaces

    @property
    def holds_network(self) -> bool:
        return self.empty_network or self.filtered

    @property
    def strong(self) -> bool:
        """Whether a vulnerability in Deno alone would gain a script nothing."""
        return self.holds_files and self.holds_network

    def sentences(self) -> tuple[str, ...]:
        return tuple(self._told())

    def warnings(self) -> tuple[str, ...]:
        """What the operator should know; empty when the isolation is strong."""
        found = []
        if not self.holds_files:
            found.append(
                "Only Deno's own permissions keep scripts from the files of this machine. "
                "Use a kernel with Landlock (Linux 5.13 or later), or allow user namespaces."
            )
        if not self.holds_network:
            found.append(
                "Only Deno's own permissions keep scripts from the network. "
                "Allow system call filters (seccomp) or user namespaces."
            )
        if self.user is ProcessUser.SAME and not self.holds_files:
            found.append("Scripts run as the same user as Mainspring.")
        return tuple(found)

    def _told(self) -> Iterator[str]:
        yield "Scripts run without any permission of Deno, under limits of the process."
        if self.landlock:
            yield f"Landlock (version {self.landlock}) refuses every file but Deno's own."
        if self.namespaces:
            yield "The process sees an empty root folder and no other process."
        if self.empty_network:
            yield "The process has a network without addresses."
        if self.filtered:
            yield "The kernel denies it sockets and access to other processes."
        if self.user is ProcessUser.PER_PROCESS:
            yield "Each process has its own user without permissions."
        elif self.user is ProcessUser.NOBODY:
            yield "The process runs as the user nobody."
        yield from self.warnings()

    def as_dict(self) -> dict[str, object]:
        return {
            "landlock": self.landlock,
            "namespaces": self.namespaces,
            "empty_network": self.empty_network,
            "filtered": self.filtered,
            "user": self.user.value,
            "missing": list(self.missing),
        }

    @classmethod
    def from_dict(cls, result: dict[str, object]) -> Isolation:
        missing = result.get("missing")
        version = result.get("landlock")
        return cls(
            landlock=version if isinstance(version, int) else 0,
            namespaces=bool(result.get("namespaces")),
            empty_network=bool(result.get("empty_network")),
            filtered=bool(result.get("filtered")),
            user=ProcessUser(str(result.get("user", ProcessUser.SAME.value))),
            missing=tuple(map(str, missing)) if isinstance(missing, list) else (),
        )
