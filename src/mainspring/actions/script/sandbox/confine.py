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
    Allowed,
    build_ruleset,
    landlock_version,
    open_allowed,
    step_behind,
)
from mainspring.actions.script.sandbox.namespaces import leave_network, leave_world, move_into
from mainspring.actions.script.sandbox.system import (
    PR_SET_NO_NEW_PRIVS,
    PR_SET_PDEATHSIG,
    Kernel,
)
from mainspring.actions.script.sandbox.walls import OwnUser, Walls, Wanted

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
class Raised:
    """The walls as they stand in the launcher, ready for a child to step behind."""

    walls: Walls
    # What a child may read and run, where Landlock holds it.
    allowed: tuple[Allowed, ...] = ()
    program: bytes | None = None
    # The number of the first user of this launcher's stretch.
    users: int = 0


@dataclass(frozen=True, slots=True)
class Bounds:
    """The limits of one child: bytes that are its own to write in, and processor time."""

    data_bytes: int
    cpu_seconds: int


def raise_walls(
    kernel: Kernel,
    wanted: Wanted,
    root: Path,
    readable: Sequence[str],
    runnable: Sequence[str],
) -> Raised:
    """As many walls as this machine allows; a wall that was asked for by name must stand."""
    users = _FIRST_USER + (os.getpid() & _STRETCHES) * _STRETCH
    walls = Walls(user=_own_user(users))
    if wanted is Wanted.NONE:
        return Raised(walls, users=users)
    missing: list[str] = []
    allowed: tuple[Allowed, ...] = ()
    if wanted is not Wanted.NAMESPACES and (version := landlock_version(kernel)):
        allowed = open_allowed(readable, runnable)
        os.close(build_ruleset(kernel, version, allowed))
        walls = replace(walls, landlock=version)
        if _put_up(missing, "a network of its own", partial(leave_network, kernel)):
            walls = replace(walls, empty_network=True)
    elif wanted is not Wanted.LANDLOCK:

        def move() -> None:
            leave_world(kernel)
            move_into(kernel, root, runnable[0], (*readable, *runnable))

        if _put_up(missing, "a world of its own", move):
            walls = replace(walls, namespaces=True, empty_network=True)
    program = _tried_filter(kernel)
    walls = replace(walls, filtered=program is not None, missing=tuple(missing))
    if wanted is not Wanted.AUTO and not walls.holds_files:
        raise OSError(f"{wanted.value} cannot be put up here: {'; '.join(missing) or 'no kernel'}")
    return Raised(walls, allowed, program, users)


def stand_behind(kernel: Kernel, raised: Raised, slot: int) -> None:
    """Puts a fresh child behind every wall, before it knows what it is for."""
    os.setsid()
    for number in range(1, signal.NSIG):
        if number not in {signal.SIGKILL, signal.SIGSTOP, 32, 33}:
            signal.signal(number, signal.SIG_DFL)
    os.umask(0o077)
    _bound(_limits(raised.walls.user))
    _change_user(raised.walls.user, raised.users + slot % _STRETCH)
    # After the change of user, which makes the kernel forget it.
    kernel.control(PR_SET_PDEATHSIG, int(signal.SIGKILL))
    kernel.control(PR_SET_NO_NEW_PRIVS, 1)
    if raised.walls.landlock:
        # Its own map is the one thing of itself that Deno looks at: a deep stack asks for it.
        allowed = (*raised.allowed, *open_allowed(("/proc/self/maps",), ()))
        step_behind(kernel, build_ruleset(kernel, raised.walls.landlock, allowed))
    if raised.program is not None:
        put_on(kernel, raised.program)


def become_deno(
    kernel: Kernel,
    bounds: Bounds,
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


def _limits(user: OwnUser) -> dict[int, int]:
    limits = {
        resource.RLIMIT_CORE: 0,
        resource.RLIMIT_FSIZE: 0,
        resource.RLIMIT_NOFILE: _MOST_FILES,
        resource.RLIMIT_MEMLOCK: 0,
    }
    if user is OwnUser.PER_PROCESS:
        # Counted by user, so it means something only where each process has its own.
        limits[resource.RLIMIT_NPROC] = _MOST_THREADS + _THREADS_PER_CORE * (os.cpu_count() or 1)
    return limits


def _bound(limits: Mapping[int, int]) -> None:
    for limit, most in limits.items():
        _, hard = resource.getrlimit(limit)
        kept = most if hard == resource.RLIM_INFINITY else min(most, hard)
        resource.setrlimit(limit, (kept, kept))


def _change_user(kind: OwnUser, number: int) -> None:
    if kind is OwnUser.SAME:
        return
    number = number if kind is OwnUser.PER_PROCESS else _NOBODY
    os.setgroups([])
    os.setresgid(number, number, number)
    os.setresuid(number, number, number)


def _own_user(number: int) -> OwnUser:
    """Tried in a child: where only some users are known, a number of our own is refused."""
    if os.geteuid() != 0:
        return OwnUser.SAME
    for kind in (OwnUser.PER_PROCESS, OwnUser.NOBODY):
        if _works(partial(_change_user, kind, number)):
            return kind
    return OwnUser.SAME


def _tried_filter(kernel: Kernel) -> bytes | None:
    program = build_filter()
    if program is None or not _works(partial(put_on, kernel, program)):
        return None
    return program


def _put_up(missing: list[str], what: str, put_up: Callable[[], None]) -> bool:
    """Tried by a child first: half a wall could be worse than none."""
    if not _works(put_up):
        missing.append(f"{what} is not allowed here")
        return False
    put_up()
    return True


def _works(what: Callable[[], None]) -> bool:
    """Whether something that cannot be undone would work, found out by a child."""
    child = os.fork()
    if child == 0:
        try:
            what()
        except (OSError, ValueError):
            os._exit(1)
        os._exit(0)
    return os.waitpid(child, 0)[1] == 0
