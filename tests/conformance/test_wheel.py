"""The wheel carries the page and the documentation, so that it runs without npm and MkDocs."""

from __future__ import annotations

import os
import subprocess
import sys
import zipfile
from pathlib import Path

from mainspring import __version__
from scripts.build_page import BUILT, BUILT_DOCS, ROOT, build, build_docs


def test_the_wheel_contains_the_page_and_the_documentation(tmp_path: Path) -> None:
    build(ROOT / "web", BUILT)
    build_docs(ROOT, BUILT_DOCS)
    # What the hook would build is there already, so that this build needs no tools of its own.
    made = subprocess.run(
        [
            sys.executable,
            "-m",
            "pip",
            "wheel",
            "--no-deps",
            "--wheel-dir",
            str(tmp_path),
            str(ROOT),
        ],
        env={**os.environ, "PIP_DISABLE_PIP_VERSION_CHECK": "1", "MAINSPRING_BUILD_PAGE": "no"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert made.returncode == 0, made.stderr[-2000:]
    (wheel,) = tmp_path.glob("*.whl")
    assert wheel.name == f"mainspring-{__version__}-py3-none-any.whl"
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())
    web = "mainspring/surfaces/web"
    assert {f"{web}/built/index.html", f"{web}/built_docs/index.html"} <= names
    for folder, name in ((BUILT, "built"), (BUILT_DOCS, "built_docs")):
        files = [path for path in folder.rglob("*") if path.is_file()]
        expected = {f"{web}/{name}/{path.relative_to(folder).as_posix()}" for path in files}
        assert expected - names == set()
    assert any(name.startswith("mainspring/store/migrations/0001") for name in names)
    assert [name for name in names if name.endswith((".lock", ".pyc"))] == []
