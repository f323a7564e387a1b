"""How the launcher and its children confine themselves before a script runs.

``confine_processes`` runs once, in the launcher. ``confine_child`` and ``exec_deno`` run in each
child between fork and exec; their order matters, because each step removes what an earlier one
needs.
"""

from __future__ import annotations

import ctypes
import errno
import os
import resource
import signal
import stat
import struct
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from mainspring.actions.script.sandbox.isolation import Isolation, IsolationMode, ProcessUser
from mainspring.actions.script.sandbox.linux import (
    CLONE_NEWIPC,
    CLONE_NEWNET,
    CLONE_NEWNS,
    CLONE_NEWPID,
    CLONE_NEWUSER,
    MS_BIND,
    MS_NODEV,
    MS_NOSUID,
    MS_PRIVATE,
    MS_RDONLY,
    MS_REC,
    MS_REMOUNT,
    PR_SET_NO_NEW_PRIVS,
    PR_SET_PDEATHSIG,
    PR_SET_SECCOMP,
    Kernel,
)

# The seccomp filter: system calls that a script's process never needs are refused by the kernel.

_MODE_FILTER = 2
_ALLOW, _REFUSE, _KILL = 0x7FFF_0000, 0x0005_0000, 0x8000_0000
_LOAD, _EQUAL, _AT_LEAST, _ANY_BIT, _ANSWER = 0x20, 0x15, 0x35, 0x45, 0x06
# Offsets of the number, the architecture and the first argument in seccomp_data.
_NUMBER, _ARCHITECTURE, _FIRST = 0, 4, 16
_ARCHITECTURES = {"x86_64": 0xC000_003E, "aarch64": 0xC000_00B7}
_FOREIGN_NUMBERS = 0x4000_0000
_WORLDS = CLONE_NEWNS | CLONE_NEWIPC | CLONE_NEWUSER | CLONE_NEWPID | CLONE_NEWNET

# Sockets, other processes, namespaces, mounts, modules, keys, System V shared memory. Then modes,
# owners, timestamps and attributes of files, which Landlock lets a file's own user change, and
# signals and priorities of other processes of the same user.
_REFUSED = {
    "x86_64": (
        41,
        29,
        64,
        68,
        101,
        155,
        161,
        163,
        165,
        166,
        167,
        169,
        175,
        176,
        240,
        246,
        248,
        249,
        250,
        272,
        298,
        303,
        304,
        308,
        310,
        311,
        313,
        320,
        321,
        323,
        90,
        91,
        268,
        92,
        93,
        94,
        260,
        132,
        235,
        261,
        280,
        188,
        189,
        190,
        197,
        198,
        199,
        62,
        200,
        129,
        297,
        141,
        142,
        144,
        203,
        251,
        314,
    ),
    "aarch64": (
        198,
        39,
        40,
        41,
        51,
        89,
        97,
        104,
        105,
        106,
        117,
        142,
        180,
        186,
        190,
        194,
        217,
        218,
        219,
        224,
        241,
        264,
        265,
        268,
        270,
        271,
        273,
        280,
        282,
        294,
        52,
        53,
        54,
        55,
        88,
        5,
        6,
        7,
        14,
        15,
        16,
        129,
        130,
        138,
        240,
        140,
        118,
        119,
        122,
        30,
        274,
    ),
}
# From 424 on the numbers are the same on every architecture: io_uring, new mount calls, pidfds,
# modes and attributes of files.
_REFUSED_EVERYWHERE = (
    424,
    425,
    426,
    427,
    428,
    429,
    430,
    431,
    432,
    433,
    434,
    438,
    442,
    452,
    463,
    466,
)
_CLONE = {"x86_64": 56, "aarch64": 220}
_CLONE3 = 435
_LIMITS = {"x86_64": 302, "aarch64": 261}


def build_filter(machine: str | None = None) -> bytes | None:
    """The BPF program, or None on an architecture whose numbers are unknown."""
    machine = machine or os.uname().machine
    if machine not in _ARCHITECTURES:
        return None
    lines = [
        _encode_instruction(_LOAD, _ARCHITECTURE),
        _encode_instruction(_EQUAL, _ARCHITECTURES[machine], 1, 0),
        _encode_instruction(_ANSWER, _KILL),
        _encode_instruction(_LOAD, _NUMBER),
        _encode_instruction(_AT_LEAST, _FOREIGN_NUMBERS, 0, 1),
        _encode_instruction(_ANSWER, _REFUSE | errno.EPERM),
    ]
    for number in (*_REFUSED[machine], *_REFUSED_EVERYWHERE):
        lines += [
            _encode_instruction(_EQUAL, number, 0, 1),
            _encode_instruction(_ANSWER, _REFUSE | errno.EACCES),
        ]
    # It may query its own limits; it could otherwise set those of the worker to zero.
    lines += [
        _encode_instruction(_EQUAL, _LIMITS[machine], 0, 4),
        _encode_instruction(_LOAD, _FIRST),
        _encode_instruction(_EQUAL, 0, 1, 0),
        _encode_instruction(_ANSWER, _REFUSE | errno.EPERM),
        _encode_instruction(_ANSWER, _ALLOW),
    ]
    # The arguments of clone3 cannot be inspected; with ENOSYS, libc falls back to clone.
    lines += [
        _encode_instruction(_EQUAL, _CLONE3, 0, 1),
        _encode_instruction(_ANSWER, _REFUSE | errno.ENOSYS),
    ]
    lines += [
        _encode_instruction(_EQUAL, _CLONE[machine], 0, 3),
        _encode_instruction(_LOAD, _FIRST),
        _encode_instruction(_ANY_BIT, _WORLDS, 0, 1),
        _encode_instruction(_ANSWER, _REFUSE | errno.EPERM),
        _encode_instruction(_ANSWER, _ALLOW),
    ]
    return b"".join(lines)


def install_filter(kernel: Kernel, program: bytes) -> None:
    """Install the filter permanently, for this process and everything it executes."""
    kernel.control(PR_SET_NO_NEW_PRIVS, 1)
    held = ctypes.create_string_buffer(program, len(program))
    wanted = struct.pack("@HP", len(program) // 8, ctypes.addressof(held))
    kernel.control(PR_SET_SECCOMP, _MODE_FILTER, ctypes.c_char_p(wanted))


def _encode_instruction(code: int, value: int, when: int = 0, otherwise: int = 0) -> bytes:
    return struct.pack("=HBBI", code, when, otherwise, value)


# Landlock: the kernel refuses every path that is not on the list.

_CREATE, _ADD, _RESTRICT = 444, 445, 446
_EXECUTE, _READ_FILE, _READ_FOLDER = 1, 4, 8
_FILES_OF_FIRST = (1 << 13) - 1
# Each later Landlock version adds rights: (version, right on files).
_FILES_SINCE = ((2, 1 << 13), (3, 1 << 14), (5, 1 << 15))
_TCP, _TCP_SINCE = 3, 4
_SCOPES, _SCOPES_SINCE = 3, 6
_PATH_BENEATH = 1
_ASK_VERSION = 1


def get_landlock_version(kernel: Kernel) -> int:
    """0 when Landlock is not supported."""
    try:
        return kernel.system_call(_CREATE, None, 0, _ASK_VERSION)
    except OSError:
        return 0


@dataclass(frozen=True, slots=True)
class AllowedPath:
    """An open path and the rights on it."""

    opened: int
    rights: int


def open_allowed(readable: Iterable[str], runnable: Iterable[str]) -> tuple[AllowedPath, ...]:
    """The existing ones of these; a missing path needs no right."""
    found = [_open_allowed_path(path, 0) for path in readable]
    found += [_open_allowed_path(path, _EXECUTE) for path in runnable]
    return tuple(allowed for allowed in found if allowed is not None)


def build_ruleset(kernel: Kernel, version: int, allowed: Iterable[AllowedPath]) -> int:
    """A ruleset that allows reading or executing these, and no writing or connecting."""
    files = _FILES_OF_FIRST | sum(right for since, right in _FILES_SINCE if version >= since)
    tcp = _TCP if version >= _TCP_SINCE else 0
    scopes = _SCOPES if version >= _SCOPES_SINCE else 0
    size = 8 if version < _TCP_SINCE else 16 if version < _SCOPES_SINCE else 24
    wanted = struct.pack("=QQQ", files, tcp, scopes)
    ruleset = kernel.system_call(_CREATE, ctypes.c_char_p(wanted), size, 0)
    for one in allowed:
        rule = struct.pack("=Qi", one.rights, one.opened)
        kernel.system_call(_ADD, ruleset, _PATH_BENEATH, ctypes.c_char_p(rule), 0)
    return ruleset


def restrict_self(kernel: Kernel, ruleset: int) -> None:
    """Apply the ruleset permanently, for this process and everything it executes."""
    kernel.control(PR_SET_NO_NEW_PRIVS, 1)
    kernel.system_call(_RESTRICT, ruleset, 0)


def _open_allowed_path(path: str, more: int) -> AllowedPath | None:
    try:
        opened = os.open(path, os.O_PATH | os.O_CLOEXEC)
    except FileNotFoundError:
        return None
    folder = stat.S_ISDIR(os.fstat(opened).st_mode)
    return AllowedPath(opened, _READ_FILE | more | (_READ_FOLDER if folder else 0))


# Namespaces: a root folder, network and IPC of its own.

_KEPT_FLAGS = MS_RDONLY | MS_NOSUID | MS_NODEV | 8 | 1024 | 2048
_RELATIVE_TIMES = 4096
_MS_RELATIME = 1 << 21


def leave_network(kernel: Kernel) -> None:
    """Enter a network namespace without any address; not even the loopback is up."""
    _unshare(kernel, CLONE_NEWNET)


def leave_namespaces(kernel: Kernel) -> None:
    _unshare(kernel, CLONE_NEWNET | CLONE_NEWNS | CLONE_NEWIPC)


def move_into(kernel: Kernel, root: Path, program: str, kept: Iterable[str]) -> None:
    """Make ``root`` the root folder, with the kept paths under their own names."""
    kernel.mount(None, "/", None, MS_REC | MS_PRIVATE)
    kernel.mount("tmpfs", str(root), "tmpfs", MS_NOSUID | MS_NODEV, "size=1m,mode=0755")
    for path in kept:
        _bind(kernel, Path(path), root / path.lstrip("/"))
    # Deno reads its own path there, and exits when that fails.
    myself = root / "proc/self"
    myself.mkdir(parents=True)
    (myself / "exe").symlink_to(program)
    os.chdir(root)
    kernel.pivot_root(".", ".")
    kernel.detach(".")
    os.chdir("/")
    kernel.mount(None, "/", None, MS_REMOUNT | MS_RDONLY | MS_NOSUID | MS_NODEV)


def _unshare(kernel: Kernel, flags: int) -> None:
    """Root may do so directly; other users through a user namespace."""
    uid, gid = os.geteuid(), os.getegid()
    if uid == 0:
        kernel.unshare(flags)
        return
    kernel.unshare(flags | CLONE_NEWUSER)
    for name, text in (
        ("setgroups", "deny"),
        ("uid_map", f"{uid} {uid} 1"),
        ("gid_map", f"{gid} {gid} 1"),
    ):
        Path(f"/proc/self/{name}").write_text(text, encoding="ascii")


def _bind(kernel: Kernel, source: Path, target: Path) -> None:
    if not source.exists():
        return
    if source.is_dir():
        target.mkdir(parents=True, exist_ok=True)
    else:
        target.parent.mkdir(parents=True, exist_ok=True)
        target.touch()
    kernel.mount(str(source), str(target), None, MS_BIND)
    # Flags of the underlying mount must be kept, or the kernel refuses.
    flags = os.statvfs(target).f_flag
    kept = flags & _KEPT_FLAGS | (_MS_RELATIME if flags & _RELATIVE_TIMES else 0)
    # Device nodes stay usable: only harmless ones are bound.
    kernel.mount(None, str(target), None, MS_REMOUNT | MS_BIND | MS_RDONLY | MS_NOSUID | kept)


# User ids that no account of a real system has; each launcher has a range of its own.
_FIRST_USER = 1_000_000_000
_STRETCH = 512
_STRETCHES = 0x1F_FFFF
_NOBODY = 65_534
_MOST_FILES = 128
# Threads: Deno creates a few per core, and a script needs no more.
_MOST_THREADS = 64
_THREADS_PER_CORE = 4


@dataclass(frozen=True, slots=True)
class PreparedConfinement:
    """The isolation layers as prepared in the launcher, to be applied by each child."""

    isolation: Isolation
    # What a child may read and execute under Landlock.
    allowed: tuple[AllowedPath, ...] = ()
    program: bytes | None = None
    # The first user id of this launcher's range.
    users: int = 0


@dataclass(frozen=True, slots=True)
class ChildLimits:
    """The limits of one child: private writable bytes, and CPU time."""

    data_bytes: int
    cpu_seconds: int


def confine_processes(
    kernel: Kernel,
    mode: IsolationMode,
    root: Path,
    readable: Sequence[str],
    runnable: Sequence[str],
) -> PreparedConfinement:
    """Set up every layer that this machine supports; an explicitly requested layer is required."""
    users = _FIRST_USER + (os.getpid() & _STRETCHES) * _STRETCH
    isolation = Isolation(user=_probe_process_user(users))
    if mode is IsolationMode.NONE:
        return PreparedConfinement(isolation, users=users)
    missing: list[str] = []
    allowed: tuple[AllowedPath, ...] = ()
    if mode is not IsolationMode.NAMESPACES and (version := get_landlock_version(kernel)):
        allowed = open_allowed(readable, runnable)
        os.close(build_ruleset(kernel, version, allowed))
        isolation = replace(isolation, landlock=version)
        if _put_up(missing, "a network of its own", partial(leave_network, kernel)):
            isolation = replace(isolation, empty_network=True)
    elif mode is not IsolationMode.LANDLOCK:

        def move() -> None:
            leave_namespaces(kernel)
            move_into(kernel, root, runnable[0], (*readable, *runnable))

        if _put_up(missing, "a world of its own", move):
            isolation = replace(isolation, namespaces=True, empty_network=True)
    program = _probe_filter(kernel)
    isolation = replace(isolation, filtered=program is not None, missing=tuple(missing))
    if mode is not IsolationMode.AUTO and not isolation.holds_files:
        raise OSError(f"{mode.value} cannot be put up here: {'; '.join(missing) or 'no kernel'}")
    return PreparedConfinement(isolation, allowed, program, users)


def confine_child(kernel: Kernel, raised: PreparedConfinement, slot: int) -> None:
    """Confine a new child completely, before it has a script."""
    os.setsid()
    for number in range(1, signal.NSIG):
        if number not in {signal.SIGKILL, signal.SIGSTOP, 32, 33}:
            signal.signal(number, signal.SIG_DFL)
    os.umask(0o077)
    _bound(_build_rlimits(raised.isolation.user))
    _change_user(raised.isolation.user, raised.users + slot % _STRETCH)
    # After the change of user, which clears it.
    kernel.control(PR_SET_PDEATHSIG, int(signal.SIGKILL))
    kernel.control(PR_SET_NO_NEW_PRIVS, 1)
    if raised.isolation.landlock:
        # Deno only reads its own memory map: a deep stack needs it.
        allowed = (*raised.allowed, *open_allowed(("/proc/self/maps",), ()))
        restrict_self(kernel, build_ruleset(kernel, raised.isolation.landlock, allowed))
    if raised.program is not None:
        install_filter(kernel, raised.program)


def exec_deno(
    kernel: Kernel,
    bounds: ChildLimits,
    streams: Sequence[int],
    command: tuple[int, Sequence[str], dict[str, str]],
) -> None:
    """Execute Deno in a confined child; returns only on an error."""
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
        # Counted per user, so it is only useful where each process has its own user.
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
    """Tested in a child: in some user namespaces, an unmapped user id is refused."""
    if os.geteuid() != 0:
        return ProcessUser.SAME
    for kind in (ProcessUser.PER_PROCESS, ProcessUser.NOBODY):
        if _probe_in_child(partial(_change_user, kind, number)):
            return kind
    return ProcessUser.SAME


def _probe_filter(kernel: Kernel) -> bytes | None:
    program = build_filter()
    if program is None or not _probe_in_child(partial(install_filter, kernel, program)):
        return None
    return program


def _put_up(missing: list[str], what: str, put_up: Callable[[], None]) -> bool:
    """Tested in a child first: a partially applied layer could be worse than none."""
    if not _probe_in_child(put_up):
        missing.append(f"{what} is not allowed here")
        return False
    put_up()
    return True


def _probe_in_child(what: Callable[[], None]) -> bool:
    """Whether an irreversible operation would work, tested in a child."""
    child = os.fork()
    if child == 0:
        try:
            what()
        except (OSError, ValueError):
            os._exit(1)
        os._exit(0)
    return os.waitpid(child, 0)[1] == 0
