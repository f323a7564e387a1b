"""The ``application_name`` of database sessions: component, process, host and version.

The name is used to find and end the session of a frozen worker, to check that a process is the only
one, and by ``doctor`` to find processes that were not restarted after an upgrade.
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

# The truncated version: application_name is limited to 63 bytes, and versions may be long.
VERSION: Final = __version__[:20]
# Length of the host hash: names of pods differ at their end, and application_name is short.
HOST_LETTERS: Final = 12
# Sessions of any component; those of older releases have no version at the end.
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
    """A short hash of the host name."""
    return hashlib.md5(host.encode(), usedforsecurity=False).hexdigest()[:HOST_LETTERS]


def get_parent_process_id() -> str:
    """The parent process, identified by boot id, process id and start time.

    Two processes with the same value were started by the same parent. Where the system does not
    report when a process started, only its process id is used.
    """
    parent = os.getppid()
    return _mark(parent, f"/proc/{parent}/stat")


def get_process_id() -> str:
    """This process, identified in the same way: a reused process id gives another value."""
    return _mark(os.getpid(), "/proc/self/stat")


def _mark(number: int, stat: str) -> str:
    # The program's name is in brackets and may contain anything; the start time is the 20th field
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
    """How many other processes have the database open, on any machine."""
    row = await tx.fetchrow(_OTHERS)
    assert row is not None
    return int(row["processes"])


async def count_processes_by_version(tx: Transaction) -> dict[str, int]:
    """The number of processes per version; "" for versions that do not report it."""
    return {row["version"]: row["processes"] for row in await tx.fetch(_VERSIONS)}
