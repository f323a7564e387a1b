"""The types of the page, made from the published description of the API.

    python -m scripts.page_types          writes web/src/api/schema.d.ts
    python -m scripts.page_types --check  fails when that file is not what would be written

Only what the page reads is kept: answers that went well, without examples. Every other answer
has one and the same shape, which the page knows by heart.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any, Final

from mainspring.surfaces.rest.openapi import operations
from scripts.build_page import ROOT, deno_environment, find_deno, install
from scripts.reference_pages.rest import openapi_document

_TYPES: Final = ROOT / "web" / "src" / "api" / "schema.d.ts"
_TOOL: Final = ("run", "--allow-all", "npm:openapi-typescript")


def main(arguments: list[str]) -> int:
    """Writes the types, or says that they are stale."""
    made = made_types()
    if "--check" not in arguments:
        _TYPES.write_text(made, encoding="utf-8")
        return 0
    if _TYPES.read_text(encoding="utf-8") == made:
        print("The types of the page are those of the API.")
        return 0
    print(f"{_TYPES.relative_to(ROOT)} is stale: run python -m scripts.page_types")
    return 1


def made_types() -> str:
    """The types as the API of this moment has them."""
    document = plain(json.loads(openapi_document()))
    install(ROOT / "web")
    with tempfile.TemporaryDirectory() as folder:
        given, made = Path(folder) / "openapi.json", Path(folder) / "schema.d.ts"
        given.write_text(json.dumps(document), encoding="utf-8")
        command = [find_deno(), *_TOOL, str(given), "--output", str(made)]
        around = deno_environment(os.environ)
        subprocess.run(command, cwd=ROOT / "web", env=around, check=True, capture_output=True)
        return made.read_text(encoding="utf-8")


def plain(document: dict[str, Any]) -> dict[str, Any]:
    """The description without refusals and without what only teaches."""
    for _, _, operation in operations(document):
        answers = operation["responses"]
        operation["responses"] = {code: answers[code] for code in answers if code[0] == "2"}
    stored: dict[str, Any] = _without_lessons(document)
    return stored


def _without_lessons(value: Any) -> Any:
    if isinstance(value, list):
        return [_without_lessons(one) for one in value]
    if not isinstance(value, dict):
        return value
    return {
        name: _without_lessons(one)
        for name, one in value.items()
        # A field may be called so too; what it holds is then a schema and not a list.
        if not (name in ("examples", "x-mainspring-anti-examples") and isinstance(one, list))
    }


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
