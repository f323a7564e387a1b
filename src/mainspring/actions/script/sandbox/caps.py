"""What one script may use up, whatever it does."""

from __future__ import annotations

from dataclasses import dataclass

_MB = 1 << 20


@dataclass(frozen=True, slots=True)
class ProcessLimits:
    """The bounds of one process; each of them ends it."""

    wall_seconds: float = 60.0
    cpu_seconds: int = 60
    memory_mb: int = 512
    # What is read from the process before it is ended; how much is kept is for the caller.
    output_bytes: int = 64 * _MB
    frame_bytes: int = 16 * _MB

    @property
    def memory_bytes(self) -> int:
        return self.memory_mb * _MB
