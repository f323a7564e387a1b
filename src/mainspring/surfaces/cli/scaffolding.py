"""``scaffold integration``: the files of a new package, and what to do with them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from mainspring.recipes.plugins.scaffold import scaffold
from mainspring.surfaces.cli import exits

if TYPE_CHECKING:
    from mainspring.surfaces.cli.context import CommandContext
    from mainspring.surfaces.cli.screen import Screen


def scaffold_integration(context: CommandContext, screen: Screen, name: str, into: Path) -> int:
    """Writes the package and says what comes next."""
    known = context.doors.vocabulary(context.limits()).capabilities
    taken = frozenset(one.partition(".")[0] for one in known if "." in one)
    written = scaffold(name, into, taken)
    root = written[0].parent
    if screen.for_programs:
        screen.answer({"folder": str(root), "files": [str(path) for path in written]})
        return exits.DONE
    screen.note(f"Made {root} with {len(written)} files.")
    screen.note("Next: change the address in client.py and the hosts in manifest.json, then")
    screen.note(f"  pip install -e {root}")
    screen.note(f"  mainspring integrations connect {name}")
    return exits.DONE
