"""What a process tells line by line in JSON, waited for with a deadline."""

from __future__ import annotations

import json
import queue
import threading
import time
from typing import IO, Any

PATIENCE = 60.0


class JsonLineReader:
    """Reads a stream as it comes; a line that never comes is an error and not a hang."""

    def __init__(self, stream: IO[str]) -> None:
        self._lines: queue.SimpleQueue[str | None] = queue.SimpleQueue()
        self.before: list[dict[str, Any]] = []
        threading.Thread(target=self._read, args=(stream,), daemon=True).start()

    def _read(self, stream: IO[str]) -> None:
        for line in stream:
            self._lines.put(line)
        self._lines.put(None)

    def until(self, seconds: float = PATIENCE, **wanted: Any) -> dict[str, Any]:
        """The next line with these words in it; every line up to it must be JSON."""
        deadline = time.monotonic() + seconds
        while (line := self._next(deadline)) is not None:
            if wanted.items() <= line.items():
                return line
        raise AssertionError(f"{wanted} was not told in {self.before}")

    def rest(self, seconds: float = PATIENCE) -> list[dict[str, Any]]:
        """Everything until the end of the stream."""
        deadline, found = time.monotonic() + seconds, []
        while (line := self._next(deadline)) is not None:
            found.append(line)
        return found

    def _next(self, deadline: float) -> dict[str, Any] | None:
        try:
            text = self._lines.get(timeout=max(deadline - time.monotonic(), 0.0))
        except queue.Empty:
            raise AssertionError(f"nothing more is told after {self.before}") from None
        if text is None:
            return None
        line: dict[str, Any] = json.loads(text)
        self.before.append(line)
        return line
