"""What a session is called in the database: which part, in which process, where, of which version.

By its name a session of a worker that froze is found and ended, a program that must be alone
knows that it is not, and ``doctor`` sees who was not started again after an upgrade.
"""

from __future__ import annotations

import hashlib
import os
import platform
from pathlib import Path
from typing import TYPE_CHECKING, Final

from mainspring import __version__

if TYPE_CHECKING:
    from mainspring.contracts.context import Transaction

# What is told of a version: the names of sessions are short, and those of versions may be long.
VERSION: Final = __version__[:20]
# Letters of the mark that stands for a machine: the names of pods differ at their end, and the
# name of a session is short.
HOST_LETTERS: Final = 12
# Sessions of every part of every Mainspring; those before versions were told have no last piece.
_OURS = f"""
    datname = current_database() AND usename = current_user
      AND application_name ~ '^[a-z_-]+:[0-9]+:[0-9a-f]{{{HOST_LETTERS}}}(:|$)'
"""
_OTHERS = f"""
    SELECT count(DISTINCT application_name) AS processes FROM pg_stat_activity
    WHERE {_OURS} AND application_name <> current_setting('application_name')
"""
_VERSIONS = f"""
    SELECT split_part(application_name, ':', 4) AS version,
        count(DISTINCT application_name) AS processes
    FROM pg_stat_activity WHERE {_OURS} GROUP BY 1
"""


def build_application_name(name: str) -> str:
    return f"{name}:{os.getpid()}:{hash_host_name(platform.node())}:{VERSION}"


def hash_host_name(host: str) -> str:
    """A machine in few letters."""
    return hashlib.md5(host.encode(), usedforsecurity=False).hexdigest()[:HOST_LETTERS]


def get_parent_process_id() -> str:
    """The process that started this one, by the boot of its machine, its number and its start.

    Two processes with the same mark were started by one that lived through both. Where the system
    does not tell when a process started, its number alone has to do.
    """
    parent = os.getppid()
    return _mark(parent, f"/proc/{parent}/stat")


def get_process_id() -> str:
    """This process, in the same way: a later one of the same number has another mark."""
    return _mark(os.getpid(), "/proc/self/stat")


def _mark(number: int, stat: str) -> str:
    # The name of the program is in brackets and may hold anything; the start is the 20th field
    # after it. The parent of a container's first process has no such file.
    fields = _read_file(stat).rpartition(")")[2].split()
    boot = _read_file("/proc/sys/kernel/random/boot_id").strip()
    return f"{boot}:{number}:{''.join(fields[19:20])}"


def _read_file(path: str) -> str:
    try:
        return Path(path).read_text()
    except OSError:
        return ""


async def count_other_processes(tx: Transaction) -> int:
    """How many other processes have the database open, on whatever machine."""
    row = await tx.fetchrow(_OTHERS)
    assert row is not None
    return int(row["processes"])


async def count_processes_by_version(tx: Transaction) -> dict[str, int]:
    """How many processes of each version have the database open; "" is older than that is told."""
    return {row["version"]: row["processes"] for row in await tx.fetch(_VERSIONS)}
