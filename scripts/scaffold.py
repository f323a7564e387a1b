"""Begins something new: ``python -m scripts.scaffold action NAME`` or ``integration NAME``.

An action is one module of ``mainspring.actions`` and its test; it is part of the vocabulary as soon
as the module is there. An integration is a package of its own, the same that
``mainspring scaffold integration`` writes.
"""

from __future__ import annotations

import argparse
import re
import sys
from pathlib import Path
from typing import Final

from mainspring.contracts.errors import Problem
from mainspring.recipes.plugins.scaffold import scaffold

ROOT: Final = Path(__file__).resolve().parents[1]
_NAME: Final = re.compile(r"[a-z][a-z0-9_]{1,39}")
_ACTION: Final = '''"""@name@: describe in one sentence what it computes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from mainspring.contracts.action import Action
from mainspring.contracts.context import StepContext


async def @name@(ctx: StepContext, config: Mapping[str, Any]) -> dict[str, Any]:
    """The config arrives rendered and valid."""
    del ctx
    return {"text": str(config["text"]).strip()}


# It names no grants in ``uses``, so it is pure: nobody is asked about it.
@CONSTANT@ = Action(
    type="@name@",
    description="Remove blanks around a text\\n\\nReplace this by what your action does.",
    config_schema={
        "type": "object",
        "required": ["text"],
        "additionalProperties": False,
        "properties": {"text": {"type": "string", "maxLength": 100_000}},
        "examples": [{"text": "  hello "}],
        "x-mainspring-anti-examples": [{"value": {}, "reason": "which text?"}],
    },
    output_schema={
        "type": "object",
        "required": ["text"],
        "additionalProperties": False,
        "properties": {"text": {"type": "string"}},
        "examples": [{"text": "hello"}],
    },
    handler=@name@,
    seconds=0.01,
)
'''
_TEST: Final = '''"""@name@: what it answers, and that the vocabulary has it."""

from __future__ import annotations

from typing import Any, cast

@imports@

# A pure action never looks at its context.
NO_CONTEXT = cast("Any", None)


async def test_it_answers_the_text_without_blanks_around_it() -> None:
    assert await @name@(NO_CONTEXT, {"text": "  hello "}) == {"text": "hello"}


def test_it_is_a_pure_action_of_the_vocabulary() -> None:
    assert @CONSTANT@ in list(find_actions())
    assert @CONSTANT@.is_pure
'''


def write_action(name: str, root: Path = ROOT) -> list[Path]:
    """Writes the module of a new action and its test; nothing is written over."""
    if not _NAME.fullmatch(name):
        raise ValueError("A name has 2 to 40 lower-case letters, digits and underscores.")
    places = {
        root / "src" / "mainspring" / "actions" / f"{name}.py": _ACTION,
        root / "tests" / "unit" / "actions" / f"test_{name}.py": _TEST,
    }
    there = [str(path) for path in places if path.exists()]
    if there:
        raise ValueError(f"{there[0]} exists. Choose another name.")
    own = f"from mainspring.actions.{name} import {name.upper()}, {name}"
    imports = "\n".join(sorted((own, "from mainspring.actions.vocabulary import find_actions")))
    for path, text in places.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        filled = text.replace("@imports@", imports).replace("@name@", name)
        path.write_text(filled.replace("@CONSTANT@", name.upper()), encoding="utf-8")
    return list(places)


def main(arguments: list[str]) -> int:
    """Writes the files and prints where they are."""
    parser = argparse.ArgumentParser(prog="python -m scripts.scaffold", description=__doc__)
    parser.add_argument("kind", choices=["action", "integration"])
    parser.add_argument("name")
    parser.add_argument("--into", type=Path, help="the checkout, or the folder of the package")
    given = parser.parse_args(arguments)
    try:
        if given.kind == "action":
            written = write_action(given.name, given.into or ROOT)
        else:
            written = scaffold(given.name, given.into or Path())
    except (ValueError, Problem) as problem:
        print(problem, file=sys.stderr)
        return 2
    print(*written, sep="\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
