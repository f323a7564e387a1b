"""The two ways in that the command line is given."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from mainspring.surfaces.services import ApplicationServices

if TYPE_CHECKING:
    from mainspring.contracts.limits import Limits
    from mainspring.contracts.registry import Vocabulary
    from mainspring.settings import Settings


@dataclass(frozen=True, slots=True)
class ApplicationFactory:
    """The whole house, and its vocabulary alone."""

    open: Callable[[Settings], AbstractAsyncContextManager[ApplicationServices]]
    # Needs no database, so a definition can be judged anywhere.
    vocabulary: Callable[[Limits], Vocabulary]
