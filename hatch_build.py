"""Builds the web page and the documentation when a wheel is made, so that users need no npm.

Deno and MkDocs come from PyPI, as requirements of this build alone. ``MAINSPRING_BUILD_PAGE=no``
leaves both out, for work on the server; ``./start`` and ``./check`` do so and build them later,
with the tools of their environment.
"""

from __future__ import annotations

import importlib.util
import os
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

_TOOLS = ("deno>=2.9.8,<2.10", "mkdocs-material>=9.8.1,<10", "mkdocs>=1.6.1,<2")


class BuildPage(BuildHookInterface[Any]):
    """The step between the sources of the page and the package that carries it."""

    PLUGIN_NAME = "custom"

    def dependencies(self) -> list[str]:
        return [*_TOOLS] if self._is_wanted() else []

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        if self._is_wanted():
            web = Path(self.root) / "src" / "mainspring" / "surfaces" / "web"
            builder = self._builder()
            builder.build(Path(self.root) / "web", web / "built")
            builder.build_docs(Path(self.root), web / "built_docs")

    def _is_wanted(self) -> bool:
        # What is made from a source package finds the page in it, already built.
        return (
            os.environ.get("MAINSPRING_BUILD_PAGE") != "no"
            and not (Path(self.root) / "PKG-INFO").is_file()
        )

    def _builder(self) -> Any:
        path = Path(self.root) / "scripts" / "build_page.py"
        found = importlib.util.spec_from_file_location("build_page", path)
        if found is None or found.loader is None:
            raise RuntimeError(f"{path} is missing")
        module = importlib.util.module_from_spec(found)
        found.loader.exec_module(module)
        return module
