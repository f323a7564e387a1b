"""Which files there are, and where each is served."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Final

_FOLDER: Final = Path(__file__).parent


@dataclass(frozen=True, slots=True)
class File:
    """One file of this folder, and its address."""

    path: str
    name: str
    media_type: str


FILES: Final = (
    File("/", "home.html", "text/html; charset=utf-8"),
    File("/sign-in", "sign-in.html", "text/html; charset=utf-8"),
    File("/assets/page.js", "page.js", "text/javascript; charset=utf-8"),
    File("/assets/home.js", "home.js", "text/javascript; charset=utf-8"),
    File("/assets/sign-in.js", "sign-in.js", "text/javascript; charset=utf-8"),
    File("/assets/page.css", "page.css", "text/css; charset=utf-8"),
)


def read_file(file: File) -> bytes:
    """What the file holds. It is read once, when the server is built."""
    return (_FOLDER / file.name).read_bytes()
