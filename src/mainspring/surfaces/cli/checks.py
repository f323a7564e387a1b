"""The single checks of ``doctor``. Each looks at one thing and changes nothing."""

from __future__ import annotations

import os
import platform
import resource
import shutil
import sys
import time
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import TYPE_CHECKING, Literal
from urllib.parse import urlsplit
from zoneinfo import ZoneInfo, available_timezones

from mainspring.contracts.errors import Conflict
from mainspring.settings import is_web_address
from mainspring.store.postgres_programs import (
    choose_server_user,
    find_binaries,
    find_inaccessible_path,
)
from mainspring.surfaces.cli.formatting import count, hint

if TYPE_CHECKING:
    from mainspring.actions.script.sandbox.isolation import Isolation
    from mainspring.contracts.limits import Limits
    from mainspring.settings import Settings
    from mainspring.workspace.vault import VaultHealth

Verdict = Literal["ok", "doubtful", "wrong", "unknown"]

OLDEST_PYTHON = (3, 11)
_TRIED_SYSTEMS = ("Linux", "Darwin")
_MEGABYTE = 1_048_576
_LEAST_DISK, _GOOD_DISK = 256 * _MEGABYTE, 2_048 * _MEGABYTE
_LEAST_FILES, _GOOD_FILES = 256, 1_024
_SLOW_RENDER_MS = 1.0
_RENDERS = 200
_OUTSIDE = "Not needed: an outside Postgres is set with MAINSPRING_DATABASE_URL."


@dataclass(frozen=True, slots=True)
class DoctorCheck:
    """What was looked at, what was found, and what to do about it."""

    name: str
    verdict: Verdict
    detail: str
    suggestion: str | None = None

    def as_dict(self) -> dict[str, str]:
        shown = {"name": self.name, "verdict": self.verdict, "detail": self.detail}
        if self.suggestion is not None:
            shown["suggestion"] = self.suggestion
        return shown


def python() -> DoctorCheck:
    message = f"Python {platform.python_version()}."
    if sys.version_info[:2] >= OLDEST_PYTHON:
        return DoctorCheck("python", "ok", message)
    oldest = ".".join(map(str, OLDEST_PYTHON))
    return DoctorCheck("python", "wrong", message, f"Install Python {oldest} or newer.")


def machine() -> DoctorCheck:
    message = f"{platform.system()} {platform.release()} on {platform.machine()}."
    if platform.system() in _TRIED_SYSTEMS:
        return DoctorCheck("platform", "ok", message)
    return DoctorCheck("platform", "wrong", message, "Run Mainspring on Linux or macOS.")


def event_loop() -> DoctorCheck:
    try:
        release = version("uvloop")
    except PackageNotFoundError:
        return DoctorCheck(
            "event loop",
            "doubtful",
            "uvloop is missing; Python's own loop is used, which is slower.",
            "Install the Python package uvloop.",
        )
    return DoctorCheck("event loop", "ok", f"uvloop {release}.")


def postgres(settings: Settings) -> DoctorCheck:
    if settings.database_url:
        return DoctorCheck("postgres", "ok", _OUTSIDE)
    found = find_binaries()
    origin = "of the Python package" if found.package is not None else "of this system"
    return DoctorCheck("postgres", "ok", f"Postgres {found.release} {origin}.")


def data_folder(settings: Settings) -> DoctorCheck:
    """Whether the folder, or the place where it will be made, can be written."""
    home = settings.home
    there = _nearest(home)
    if home.exists() and not home.is_dir():
        return DoctorCheck("data folder", "wrong", f"{home} is not a folder.", _ANOTHER_HOME)
    if not os.access(there, os.W_OK | os.X_OK):
        return DoctorCheck(
            "data folder", "wrong", f"This user may not write to {there}.", _ANOTHER_HOME
        )
    if there != home:
        return DoctorCheck("data folder", "ok", f"{home} will be made on first use.")
    return DoctorCheck("data folder", "ok", f"{home}, owned by user {home.stat().st_uid}.")


_ANOTHER_HOME = "Set MAINSPRING_HOME to a folder of this user."


def server_user(settings: Settings) -> DoctorCheck:
    if settings.database_url:
        return DoctorCheck("server account", "ok", _OUTSIDE)
    if settings.home.exists() and not settings.home.is_dir():
        return DoctorCheck(
            "server account", "doubtful", "Unknown, because there is no data folder."
        )
    account = choose_server_user(settings.home / "postgres" / "data")
    closed = find_inaccessible_path(account, settings.home) if account.switched else None
    if closed is not None:
        return DoctorCheck(
            "server account",
            "wrong",
            f"The database runs as the user {account.name}, who cannot enter {closed}.",
            "Set MAINSPRING_HOME to a folder whose parents every user may enter.",
        )
    why = "because root may not run it" if account.switched else "the user of this command"
    return DoctorCheck("server account", "ok", f"The database runs as {account.name}, {why}.")


def disk(settings: Settings) -> DoctorCheck:
    free = shutil.disk_usage(_nearest(settings.home)).free
    message = f"{free // _MEGABYTE:,} MB are free for the data folder."
    suggestion = "Free some space, or set MAINSPRING_HOME to a folder on another disk."
    if free < _LEAST_DISK:
        return DoctorCheck("disk", "wrong", message, suggestion)
    if free < _GOOD_DISK:
        return DoctorCheck("disk", "doubtful", message, suggestion)
    return DoctorCheck("disk", "ok", message)


def open_files() -> DoctorCheck:
    allowed, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    if allowed == resource.RLIM_INFINITY:
        return DoctorCheck("open files", "ok", "As many as the system allows.")
    message = f"{allowed:,} files may be open at a time."
    if allowed >= _GOOD_FILES:
        return DoctorCheck("open files", "ok", message)
    verdict: Verdict = "wrong" if allowed < _LEAST_FILES else "doubtful"
    return DoctorCheck(
        "open files", verdict, message, f"Raise the limit, for example: ulimit -n {_GOOD_FILES}"
    )


def time_zones() -> DoctorCheck:
    zones = available_timezones()
    if not zones:
        return DoctorCheck(
            "time zones", "wrong", "No zones are known.", "Install the package tzdata."
        )
    ZoneInfo("Africa/Kigali")
    return DoctorCheck("time zones", "ok", f"{len(zones)} zones are known.")


def templates(limits: Limits) -> DoctorCheck:
    """Renders an ordinary template many times: a self-test, and how quick it is."""
    from mainspring.definition.templates import parse_template

    template = parse_template(
        "{% for b in summary.bullets %}* {{ b | trim | upper }}\n{% endfor %}", limits
    )
    context = {"summary": {"bullets": [f" point {number} " for number in range(10)]}}
    text = template.render(context)
    began = time.perf_counter()
    for _ in range(_RENDERS):
        template.render(context)
    ms = (time.perf_counter() - began) * 1000 / _RENDERS
    if text != "".join(f"* POINT {number}\n" for number in range(10)):
        return DoctorCheck(
            "templates", "wrong", "A template was not rendered as it should be.", _REINSTALL
        )
    message = f"A typical template takes {ms:.2f} ms."
    if ms > _SLOW_RENDER_MS:
        return DoctorCheck("templates", "doubtful", message, "This machine is busy or slow.")
    return DoctorCheck("templates", "ok", message)


_REINSTALL = "Install Mainspring again."


def master_key(settings: Settings) -> DoctorCheck:
    from mainspring.workspace.keyring import ask_command, read_key

    if settings.master_key_command is not None:
        key = ask_command(settings.master_key_command)
        return DoctorCheck("master key", "ok", f"The key command answers the key {key.id}.")
    if read_key(settings.key_file) is None:
        return DoctorCheck("master key", "ok", "It is created with the first secret.")
    mode = settings.key_file.stat().st_mode & 0o777
    return DoctorCheck("master key", "ok", f"It can be read by its owner alone (mode {mode:04o}).")


def secrets(condition: VaultHealth) -> DoctorCheck:
    """Whether every secret opens with the keys that are here."""
    if condition.unreadable:
        shown = ", ".join(sorted(set(condition.unreadable))[:10])
        # Beside secrets that do not open none is sealed with another key, so all of them wait.
        alone = len(condition.unreadable) == condition.total
        return DoctorCheck(
            "secrets",
            "wrong",
            f"Of {count(condition.total, 'secret')}, {len(condition.unreadable)} cannot be opened: "
            f"{shown}.",
            "Put the right key file back."
            if alone
            else "Put the right key file back, or set these secrets again.",
        )
    if condition.pending_rotation:
        return DoctorCheck(
            "secrets",
            "doubtful",
            f"{_all_open(condition.total)}, {condition.pending_rotation} with the key before.",
            f"Finish the rotation with {hint('secrets', 'rotate')}",
        )
    told = f"{_all_open(condition.total)}." if condition.total else "There are none yet."
    return DoctorCheck("secrets", "ok", told)


def _all_open(total: int) -> str:
    return "The one secret opens" if total == 1 else f"All {total} secrets open"


def model_connections(total: int, closed: list[str]) -> DoctorCheck:
    """Whether there is a model to ask, and every key of one opens; no server is asked."""
    if closed:
        return DoctorCheck(
            "models",
            "wrong",
            f"Of {count(total, 'model connection')}, {len(closed)} cannot open its key: "
            f"{', '.join(sorted(set(closed))[:10])}.",
            "Put the right key file back, or connect these models again.",
        )
    if not total:
        how = f"{hint('models', 'connect', 'anthropic')} connects one"
        return DoctorCheck("models", "ok", f"No model is connected; {how}")
    return DoctorCheck("models", "ok", f"{count(total, 'model connection')}, and their keys open.")


def address(settings: Settings) -> DoctorCheck:
    """Whether the server could listen, or does so already."""
    from mainspring.surfaces.cli.listen_address import reserve_port
    from mainspring.surfaces.cli.running_server import find_running_server

    standing = find_running_server(settings.home)
    if standing is not None:
        message = f"Mainspring is up at {standing.address} (process {standing.pid})."
        return DoctorCheck("address", "ok", message)
    nobody = f"No server is running on this data folder ({hint('up')} starts one)"
    try:
        with reserve_port(settings):
            message = f"{nobody}; {settings.host}:{settings.port} is free."
            return DoctorCheck("address", "ok", message)
    except Conflict as taken:
        if taken.code != "port_in_use":
            return DoctorCheck("address", "doubtful", taken.detail, taken.suggestion)
        message = (
            f"Another process listens on {settings.host}:{settings.port}, and it is not "
            f"{hint('up')}."
        )
        advice = f"If you started {hint('api')} there, all is well. {taken.suggestion}"
        return DoctorCheck("address", "doubtful", message, advice)


def public_address(settings: Settings) -> DoctorCheck:
    """Links in mails and answers lead to this address; a server that is up decides it."""
    from mainspring.surfaces.cli.server_presence import server_address

    shown = server_address(settings)
    message = f"Links use {shown}."
    if settings.public_url is None:
        if urlsplit(shown).hostname in _THIS_MACHINE_ALONE:
            return DoctorCheck("public address", "ok", f"{message[:-1]}, on this machine only.")
        return DoctorCheck("public address", "doubtful", message, _SET_PUBLIC_URL)
    if not is_web_address(settings.public_url):
        message = "MAINSPRING_PUBLIC_URL is not the address of a web server."
        return DoctorCheck("public address", "wrong", message, _SET_PUBLIC_URL)
    return DoctorCheck("public address", "ok", message)


_THIS_MACHINE_ALONE = ("127.0.0.1", "::1", "localhost")
_SET_PUBLIC_URL = "Set MAINSPRING_PUBLIC_URL to what others type, like https://mainspring.example."


def mail(settings: Settings) -> DoctorCheck:
    """Whether alerts can leave by mail; the mail server itself is not asked."""
    from mainspring.outbound.mail import read_smtp_url

    server = read_smtp_url(settings.smtp_url)
    if server is None:
        return DoctorCheck("mail", "ok", "No mail server is set, so alerts stay in the inbox.")
    message = f"Mail leaves by {server.host} as {settings.mail_from}"
    if settings.owner_mail is None:
        return DoctorCheck(
            "mail",
            "doubtful",
            f"{message}, but alerts stay in the inbox.",
            "Set MAINSPRING_OWNER_MAIL to where alerts should go.",
        )
    return DoctorCheck("mail", "ok", f"{message}, and alerts to {settings.owner_mail}.")


def scripts(isolation: Isolation) -> DoctorCheck:
    """What stands between a script and this machine."""
    warnings = isolation.warnings()
    if warnings:
        return DoctorCheck("scripts", "doubtful", warnings[0], " ".join(warnings[1:]) or None)
    held = " ".join(isolation.sentences()[1:])
    return DoctorCheck("scripts", "ok", held)


def _nearest(path: Path) -> Path:
    """The path itself, or the nearest folder above it that exists."""
    return next(step for step in (path, *path.parents) if step.exists())
