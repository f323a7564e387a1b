"""The built page: one document, and the files that it references.

The document is the same at every screen's path; it reads the screen from the URL. Every other file
has its content digest in its name, so that a browser can cache it.
"""

from __future__ import annotations

import mimetypes
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Final

from mainspring import __version__

BUILT: Final = Path(__file__).parent / "built"
# The placeholder that each response replaces with a new nonce.
NONCE: Final = b"__NONCE__"
# The placeholder for the version of the product.
_VERSION: Final = b"__VERSION__"
# Files with a stable name.
_KEPT_NAMES: Final = frozenset(
    {
        "mark.svg",
        "apple-touch-icon.png",
        "badge-96.png",
        "icon-192.png",
        "icon-512.png",
        "icon-maskable-512.png",
        "manifest.webmanifest",
        "service-worker.js",
    }
)
# Served at the root: the scope of a service worker is its own path.
AT_ROOT: Final = ("manifest.webmanifest", "service-worker.js")
_MEDIA_TYPES: Final = {".woff2": "font/woff2", ".webmanifest": "application/manifest+json"}
_SQUEEZED: Final = ".gz"
_DOCUMENT: Final = "index.html"
# The document of hosted forms, which loads nothing of the signed-in application.
_FORM_DOCUMENT: Final = "form.html"

# The path of every screen. There is no directory traversal: a path that is not listed here is no
# page, and is handled by the auth middleware.
FORMS: Final = "/forms/{token}"
SCREENS: Final = (
    "/",
    "/sign-in",
    "/new",
    "/automations",
    "/runs",
    "/inbox",
    "/integrations",
    "/codex",
    "/boards",
    "/pages",
    "/workflows",
    "/secrets",
    "/models",
    "/costs",
    "/audit",
    "/health",
    "/connect",
    "/settings",
    "/terminal",
    "/proposals/{proposal_id}",
    "/automations/{automation_id}",
    "/automations/{automation_id}/{tab}",
    "/runs/{run_id}",
    "/integrations/{source}",
    "/codex/{slug}",
    "/boards/{board_id}",
    "/pages/{slug}",
    "/workflows/{workflow_id}",
    "/settings/{tab}",
    "/oauth/consent/{request_id}",
)

_UNBUILT: Final = b"""<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>Mainspring</title></head>
<body><h1>The page has not been built</h1>
<p>The server works; its API is at <a href="/api/v1/openapi.json">/api/v1</a>. In a checkout,
<code>python scripts/build_page.py</code> builds the page; then start the server again.</p>
</body></html>
"""


@dataclass(frozen=True, slots=True)
class WebAsset:
    """One file that the document references, plain and gzipped."""

    media_type: str
    content: bytes
    squeezed: bytes | None
    # Other content has another name, so a browser need not revalidate it.
    lasting: bool


@dataclass(frozen=True, slots=True)
class WebPage:
    """The whole page, read once."""

    document: bytes
    form_document: bytes
    assets: Mapping[str, WebAsset]

    @property
    def built(self) -> bool:
        return bool(self.assets)


def is_built(folder: Path) -> bool:
    """Whether a page can be served from this folder."""
    return all((folder / name).is_file() for name in (_DOCUMENT, _FORM_DOCUMENT))


@cache
def read_page(folder: Path) -> WebPage:
    """The page built into this folder; if there is none, a page that says so."""
    if not is_built(folder):
        return WebPage(_UNBUILT, _UNBUILT, {})
    found = {path.name: path for path in (folder / "assets").iterdir() if path.is_file()}
    return WebPage(
        (folder / _DOCUMENT).read_bytes().replace(_VERSION, __version__.encode()),
        (folder / _FORM_DOCUMENT).read_bytes(),
        {name: _asset(path, found) for name, path in found.items() if path.suffix != _SQUEEZED},
    )


def _asset(path: Path, beside: Mapping[str, Path]) -> WebAsset:
    squeezed = beside.get(path.name + _SQUEEZED)
    kind = _MEDIA_TYPES.get(path.suffix) or mimetypes.guess_type(path.name)[0]
    return WebAsset(
        _with_charset(kind or "application/octet-stream"),
        path.read_bytes(),
        squeezed.read_bytes() if squeezed else None,
        path.name not in _KEPT_NAMES,
    )


def _with_charset(kind: str) -> str:
    return f"{kind}; charset=utf-8" if kind.startswith("text/") else kind
