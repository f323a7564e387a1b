"""A console on which no text of data can move the cursor, set colours or turn its direction.

Commands clean what they show, and one that forgets to is no danger: whatever is printed is
cleaned again here, after it was laid out and before the console adds its own colours.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.segment import Segment

if TYPE_CHECKING:
    from rich.console import ConsoleOptions, RenderableType


class SafeConsole(Console):
    """Cleans all text that it shows. It inherits because rich offers no other hook."""

    def __init__(self, clean: Callable[[str], str], **settings: Any) -> None:
        super().__init__(**settings)
        self._clean = clean

    def render(
        self, renderable: RenderableType, options: ConsoleOptions | None = None
    ) -> Iterable[Segment]:
        for segment in super().render(renderable, options):
            if segment.control:
                yield segment
            else:
                yield Segment(self._clean(segment.text), segment.style)
