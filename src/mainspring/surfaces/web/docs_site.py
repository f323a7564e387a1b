"""The built documentation site: static files with the digests that the build wrote.

``./start`` builds the site after the server is up, so the folder is read when a request comes in,
and again when the site has been rebuilt.
"""

from __future__ import annotations

import json
import mimetypes
from dataclasses import dataclass
from pathlib import Path
from typing import Final

BUILT_DOCS: Final = Path(__file__).parent / "built_docs"
_STAMP: Final = "made-from"
_MANIFEST: Final = "files.json"
_INDEX: Final = "index.html"
NOT_FOUND: Final = "404.html"

UNBUILT: Final = b"""<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>Mainspring documentation</title></head>
<body><h1>The documentation is not built</h1>
<p>After <code>./start</code> it is built in the background, which takes up to a minute: reload
this page. If it stays like this, run this in the checkout:
<code>python scripts/build_page.py --only docs</code>. The command prints why the build fails. The
same pages are in the folder <code>docs/</code> of the checkout.</p>
</body></html>
"""


@dataclass(frozen=True, slots=True)
class DocsFile:
    """One file of the site."""

    path: Path
    media_type: str
    etag: str
    # A file with a digest in its name never changes.
    lasting: bool

    def read(self, *, gzipped: bool) -> tuple[bytes, bool]:
        """The content, and whether it is gzipped."""
        squeezed = self.path.with_name(f"{self.path.name}.gz")
        if gzipped and squeezed.is_file():
            return squeezed.read_bytes(), True
        return self.path.read_bytes(), False


class DocsSite:
    """The files of the site by their paths; only listed files are served."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._stamp: tuple[int, int] | None = None
        self._digests: dict[str, str] = {}

    def is_built(self) -> bool:
        """Whether there is a site; reads its list of files if it has changed."""
        try:
            found = (self._folder / _STAMP).stat()
            stamp = (found.st_mtime_ns, found.st_ino)
            if stamp != self._stamp:
                text = (self._folder / _MANIFEST).read_text(encoding="utf-8")
                self._digests = json.loads(text)
                self._stamp = stamp
        except OSError:
            return False
        return True

    def find(self, path: str) -> DocsFile | None:
        """The file at a path of the site; a folder has its index."""
        name = f"{path}{_INDEX}" if not path or path.endswith("/") else path
        digest = self._digests.get(name)
        if digest is None:
            return None
        kind = mimetypes.guess_type(name)[0] or "application/octet-stream"
        if kind.startswith("text/"):
            kind = f"{kind}; charset=utf-8"
        lasting = name.startswith("assets/") and name.count(".") > 1
        return DocsFile(self._folder / name, kind, f'"{digest}"', lasting)

    def is_folder(self, path: str) -> bool:
        """Whether a slash is missing at the end of this path."""
        return f"{path}/{_INDEX}" in self._digests
