"""What the launcher and its children do to themselves so that a script cannot do harm.

``raise_walls`` happens once, in the launcher. ``stand_behind`` and ``become_deno`` happen in
each child between fork and exec; their order matters, because each step takes away what an
earlier one needs.
"""

from __future__ import annotations

import os
import resource
import signal
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from mainspring.actions.script.sandbox.filter import build_filter, put_on
from mainspring.actions.script.sandbox.landlock import (
    AllowedPath,
    build_ruleset,
    get_landlock_version,
    open_allowed,
    restrict_self,
)
from mainspring.actions.script.sandbox.namespaces import leave_network, leave_world, move_into
from mainspring.actions.script.sandbox.system import (
    PR_SET_NO_NEW_PRIVS,
    PR_SET_PDEATHSIG,
    Kernel,
)
from mainspring.actions.script.sandbox.walls import Isolation, IsolationMode, ProcessUser

# Numbers that no account of a real system has; each launcher has a stretch of its own.
_FIRST_USER = 1_000_000_000
_STRETCH = 512
_STRETCHES = 0x1F_FFFF
_NOBODY = 65_534
_MOST_FILES = 128
# Threads: Deno makes a few for each core, and a script has no use for more.
_MOST_THREADS = 64
_THREADS_PER_CORE = 4


@dataclass(frozen=True, slots=True)
class PreparedConfinement:
    """The walls as they stand in the launcher, ready for a child to step behind."""

    walls: Isolation
    # What a child may read and run, where Landlock holds it.
    allowed: tuple[AllowedPath, ...] = ()
    program: bytes | None = None
    # The number of the first user of this launcher's stretch.
    users: int = 0


@dataclass(frozen=True, slots=True)
class ChildLimits:
    """The limits of one child: bytes that are its own to write in, and processor time."""

    data_bytes: int
    cpu_seconds: int


def raise_walls(
    kernel: Kernel,
    wanted: IsolationMode,
    root: Path,
    readable: Sequence[str],
    runnable: Sequence[str],
) -> PreparedConfinement:
    """As many walls as this machine allows; a wall that was asked for by name must stand."""
    users = _FIRST_USER + (os.getpid() & _STRETCHES) * _STRETCH
    walls = Isolation(user=_probe_process_user(users))
    if wanted is IsolationMode.NONE:
        return PreparedConfinement(walls, users=users)
    missing: list[str] = []
    allowed: tuple[AllowedPath, ...] = ()
    if wanted is not IsolationMode.NAMESPACES and (version := get_landlock_version(kernel)):
        allowed = open_allowed(readable, runnable)
        os.close(build_ruleset(kernel, version, allowed))
        walls = replace(walls, landlock=version)
        if _put_up(missing, "a network of its own", partial(leave_network, kernel)):
            walls = replace(walls, empty_network=True)
    elif wanted is not IsolationMode.LANDLOCK:

        def move() -> None:
            leave_world(kernel)
            move_into(kernel, root, runnable[0], (*readable, *runnable))

        if _put_up(missing, "a world of its own", move):
            walls = replace(walls, namespaces=True, empty_network=True)
    program = _probe_filter(kernel)
    walls = replace(walls, filtered=program is not None, missing=tuple(missing))
    if wanted is not IsolationMode.AUTO and not walls.holds_files:
        raise OSError(f"{wanted.value} cannot be put up here: {'; '.join(missing) or 'no kernel'}")
    return PreparedConfinement(walls, allowed, program, users)


def confine_child(kernel: Kernel, raised: PreparedConfinement, slot: int) -> None:
    """Puts a fresh child behind every wall, before it knows what it is for."""
    os.setsid()
    for number in range(1, signal.NSIG):
        if number not in {signal.SIGKILL, signal.SIGSTOP, 32, 33}:
            signal.signal(number, signal.SIG_DFL)
    os.umask(0o077)
    _bound(_build_rlimits(raised.walls.user))
    _change_user(raised.walls.user, raised.users + slot % _STRETCH)
    # After the change of user, which makes the kernel forget it.
    kernel.control(PR_SET_PDEATHSIG, int(signal.SIGKILL))
    kernel.control(PR_SET_NO_NEW_PRIVS, 1)
    if raised.walls.landlock:
        # Its own map is the one thing of itself that Deno looks at: a deep stack asks for it.
        allowed = (*raised.allowed, *open_allowed(("/proc/self/maps",), ()))
        restrict_self(kernel, build_ruleset(kernel, raised.walls.landlock, allowed))
    if raised.program is not None:
        put_on(kernel, raised.program)


def exec_deno(
    kernel: Kernel,
    bounds: ChildLimits,
    streams: Sequence[int],
    command: tuple[int, Sequence[str], dict[str, str]],
) -> None:
    """Turns a child that stands behind the walls into Deno; it comes back only by an error."""
    for number, stream in enumerate(streams):
        os.dup2(stream, number)
    kernel.close_on_exec_from(3)
    _bound({resource.RLIMIT_DATA: bounds.data_bytes, resource.RLIMIT_CPU: bounds.cpu_seconds})
    program, arguments, environment = command
    os.execve(program, list(arguments), environment)  # noqa: S606  (the launcher's own Deno)


def _build_rlimits(user: ProcessUser) -> dict[int, int]:
    limits = {
        resource.RLIMIT_CORE: 0,
        resource.RLIMIT_FSIZE: 0,
        resource.RLIMIT_NOFILE: _MOST_FILES,
        resource.RLIMIT_MEMLOCK: 0,
    }
    if user is ProcessUser.PER_PROCESS:
        # Counted by user, so it means something only where each process has its own.
        limits[resource.RLIMIT_NPROC] = _MOST_THREADS + _THREADS_PER_CORE * (os.cpu_count() or 1)
    return limits


def _bound(limits: Mapping[int, int]) -> None:
    for limit, most in limits.items():
        _, hard = resource.getrlimit(limit)
        kept = most if hard == resource.RLIM_INFINITY else min(most, hard)
        resource.setrlimit(limit, (kept, kept))


def _change_user(kind: ProcessUser, number: int) -> None:
    if kind is ProcessUser.SAME:
        return
    number = number if kind is ProcessUser.PER_PROCESS else _NOBODY
    os.setgroups([])
    os.setresgid(number, number, number)
    os.setresuid(number, number, number)


def _probe_process_user(number: int) -> ProcessUser:
    """Tried in a child: where only some users are known, a number of our own is refused."""
    if os.geteuid() != 0:
        return ProcessUser.SAME
    for kind in (ProcessUser.PER_PROCESS, ProcessUser.NOBODY):
        if _probe_in_child(partial(_change_user, kind, number)):
            return kind
    return ProcessUser.SAME


def _probe_filter(kernel: Kernel) -> bytes | None:
    program = build_filter()
    if program is None or not _probe_in_child(partial(put_on, kernel, program)):
        return None
    return program


def _put_up(missing: list[str], what: str, put_up: Callable[[], None]) -> bool:
    """Tried by a child first: half a wall could be worse than none."""
    if not _probe_in_child(put_up):
        missing.append(f"{what} is not allowed here")
        return False
    put_up()
    return True


def _probe_in_child(what: Callable[[], None]) -> bool:
    """Whether something that cannot be undone would work, found out by a child."""
    child = os.fork()
    if child == 0:
        try:
            what()
        except (OSError, ValueError):
            os._exit(1)
        os._exit(0)
    return os.waitpid(child, 0)[1] == 0
