"""Takes screenshots of every screen with sample data: on a desktop, light and dark, and a phone.

    python -m scripts.screenshots [NAME ...]

It starts a server and a browser of its own, fills a workspace as the tests do, and writes
docs/screens/NAME-light.jpg, NAME-dark.jpg and NAME-phone.jpg.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from tests.kit.browsers import DESK, PHONE, BrowserSession, open_environment, opened_house, settle
from tests.kit.sample_workspace import furnished

_FOLDER: Final = Path(__file__).resolve().parent.parent / "docs" / "screens"
_QUALITY: Final = 78
# Whatever fades in has done so by then.
_STILL_MS: Final = 350
_LOOKS: Final[Mapping[str, tuple[Any, str]]] = {
    "light": (DESK, "light"),
    "dark": (DESK, "dark"),
    "phone": (PHONE, "light"),
}


def main(names: list[str]) -> int:
    """Takes the pictures of these screens, or of all."""
    _FOLDER.mkdir(parents=True, exist_ok=True)
    with open_environment() as environment, opened_house(environment) as session:
        screens = furnished(session)
        unknown = sorted(set(names) - screens.keys())
        if unknown:
            print(f"There is no screen {unknown[0]!r}. There are: {', '.join(screens)}.")
            return 2
        for look, (size, scheme) in _LOOKS.items():
            _photograph(
                session, {name: screens[name] for name in names or screens}, look, size, scheme
            )
    return 0


def _photograph(
    session: BrowserSession, screens: Mapping[str, str], look: str, size: Any, scheme: str
) -> None:
    page = session.open("/", viewport=size)
    page.emulate_media(color_scheme="dark" if scheme == "dark" else "light")
    for name, path in screens.items():
        settle(page, path)
        page.evaluate("() => document.fonts.ready")
        page.wait_for_timeout(_STILL_MS)
        page.screenshot(path=_FOLDER / f"{name}-{look}.jpg", type="jpeg", quality=_QUALITY)
    page.close()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
