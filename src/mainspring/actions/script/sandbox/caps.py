"""The resource limits of one script."""

from __future__ import annotations

from dataclasses import dataclass

_MB = 1 << 20


@dataclass(frozen=True, slots=True)
class ProcessLimits:
    """The limits of one process; exceeding any of them ends it."""

    wall_seconds: float = 60.0
    cpu_seconds: int = 60
    memory_mb: int = 512
    # How much output is read before it is ended; the caller limits how much is kept.
    output_bytes: int = 64 * _MB
    frame_bytes: int = 16 * _MB

    @property
    def memory_bytes(self) -> int:
        return self.memory_mb * _MB
