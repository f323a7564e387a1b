"""Settings: one frozen object, read once at the start and passed down as an argument.

Every setting is an environment variable ``MAINSPRING_<NAME>``, or a line of the file
``settings.env`` in the data folder; the environment takes precedence. The generated reference
prints the description of each setting. No other module reads the environment.
"""

from __future__ import annotations

import contextlib
import os
import re
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import Field, dataclass, field, fields, replace
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

PREFIX = "MAINSPRING_"
# Settings that are only ever moved into the vault.
MODEL_KEYS = ("anthropic_key", "openai_key", "groq_key")
LIMIT_PREFIX = PREFIX + "LIMIT_"
# All queues.
QUEUES = ("fast", "medium", "long")
_HOME = PREFIX + "HOME"
_MOST_FILE_CHARACTERS = 262_144
_MOST = {"port": 65_535, "https_port": 65_535, "acme_http_port": 65_535}
_DOMAIN = re.compile(
    r"(?=.{1,253}$)(?:[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?\.)+[a-z][a-z0-9-]{0,62}"
)
_BEATS_PER_LEASE = 2
_WEB_ADDRESS = re.compile(r"(?i:https?)://[^\s/?#@]+(/[^\s?#]*)?")


class BadSetting(ValueError):
    """A setting has an invalid value."""


def _setting(default: Any, sentence: str, *, shown: bool = True) -> Any:
    if not shown:
        return field(default=default, repr=False, metadata={"sentence": sentence})
    if callable(default):
        return field(default_factory=default, metadata={"sentence": sentence})
    return field(default=default, metadata={"sentence": sentence})


def config_folder() -> Path:
    """Where the CLI keeps what belongs to the person and to no data folder."""
    base = os.environ.get("XDG_CONFIG_HOME") or str(Path.home() / ".config")
    return Path(base) / "mainspring"


def default_home() -> Path:
    """The default data folder.

    For root it is under /var/lib, because the database then runs as another user, who could not
    enter root's private home folder.
    """
    if sys.platform != "win32" and os.geteuid() == 0:
        return Path("/var/lib/mainspring")
    base = os.environ.get("XDG_DATA_HOME") or str(Path.home() / ".local" / "share")
    return Path(base) / "mainspring"


@dataclass(frozen=True, slots=True)
class Settings:
    """Everything that an operator may set."""

    home: Path = _setting(default_home, "The data folder: database files and the master key.")
    database_url: str | None = _setting(
        None, "An outside Postgres, as a URL; without it the embedded one is used."
    )
    master_key_file: Path | None = _setting(
        None, "File with the vault's 32-byte key in base64; default: master.key in the data folder."
    )
    master_key_command: str | None = _setting(
        None,
        "A program, with its arguments, that prints the vault's key in base64; none: the file.",
    )
    egress_allow: frozenset[str] = _setting(
        frozenset(), "Exact host:port pairs, comma separated, that may be private addresses."
    )
    slots: int = _setting(256, "Runs one worker keeps in flight at a time.")
    queues: tuple[str, ...] = _setting(QUEUES, "Queues a worker takes from, comma separated.")
    lease_seconds: float = _setting(
        30.0, "How long a worker owns a run without a heartbeat; at least two heartbeats."
    )
    heartbeat_seconds: float = _setting(10.0, "How often a worker renews its leases.")
    poll_seconds: float = _setting(1.0, "How often a worker looks for work without a wake-up.")
    stop_seconds: float = _setting(30.0, "How long steps may finish after a stop was requested.")
    host: str = _setting("127.0.0.1", "The address the server listens on.")
    port: int = _setting(8420, "The port the server listens on.")
    public_url: str | None = _setting(
        None, "How others reach the server, for links; default: the address it listens on."
    )
    proxies: int | None = _setting(
        None,
        "How many proxies of yours add to X-Forwarded-For before the server; "
        "none: the address that connects is the caller's.",
    )
    acme_domains: tuple[str, ...] = _setting(
        (),
        "The domain names of this server, comma separated. With names it also listens for https, "
        "with a certificate that it obtains and renews itself.",
    )
    acme_terms: str = _setting(
        "undecided",
        "Set this to agreed once you have agreed to the terms of the certificate authority.",
    )
    acme_email: str | None = _setting(
        None, "Where the certificate authority can reach you; none: it has no address of yours."
    )
    acme_directory_url: str = _setting(
        "https://acme-v02.api.letsencrypt.org/directory",
        "The ACME directory of the certificate authority.",
    )
    acme_ca_file: Path | None = _setting(
        None, "A PEM file with the root that signs the directory of a private authority."
    )
    acme_challenge: str = _setting(
        "tls-alpn-01",
        "How control of the names is proven: tls-alpn-01, on the https port, or http-01.",
    )
    acme_storage: str = _setting(
        "folder",
        "Where the account and the certificate are kept: folder, in the data folder, or database, "
        "encrypted, for several machines with one name.",
    )
    https_host: str = _setting("", "The address to listen on for https; empty: all of them.")
    https_port: int = _setting(
        443, "The port for https. Authorities connect to 443, so forward that port if this differs."
    )
    acme_http_port: int = _setting(
        80,
        "The port that answers http-01 and redirects to https. Authorities connect to 80, so "
        "forward that port if this differs.",
    )
    page: Path | None = _setting(
        None, "The folder of the built web page; default: the one inside of the package."
    )
    docs: Path | None = _setting(
        None, "The folder of the built documentation site; default: the one in the package."
    )
    workers: int = _setting(1, "Worker processes that `up` starts.")
    transport: str = _setting(
        "local",
        "How workers are notified of new runs: local, through Postgres, or celery, by a broker.",
    )
    broker_url: str | None = _setting(
        None,
        "The broker of the transport celery: redis://host:6379/0, amqp://host:5672, or either "
        "with TLS, rediss:// and amqps://.",
    )
    log: str = _setting("text", "How the parts of the server report: text, or json, a line each.")
    otlp_url: str | None = _setting(
        None, "A collector of OpenTelemetry for traces and metrics, such as http://host:4318."
    )
    leave_seconds: float = _setting(
        0.0, "How long the API still answers, and says that it is not ready, once it is to stop."
    )
    smtp_url: str | None = _setting(
        None, "The mail server, as smtp://user:password@host:587 or smtps://host; none: no mail."
    )
    mail_from: str = _setting("mainspring@localhost", "The sender of every mail.")
    owner_mail: str | None = _setting(
        None, "Where the first owner gets mail until they set an email; none: the inbox alone."
    )
    script_warm: int = _setting(
        2, "Processes that each worker keeps ready for scripts, once it has run one; 0: none."
    )
    slack_url: str = _setting("https://slack.com/api", "Where slack_post reaches Slack's API.")
    telegram_url: str = _setting(
        "https://api.telegram.org", "Where telegram_push reaches Telegram's Bot API."
    )
    integration_urls: Mapping[str, str] = _setting(
        dict,
        "Where integrations are reached instead, as name=address with commas between, such as "
        "github=https://github.example.com/api/v3.",
    )
    draft_seconds: float = _setting(
        3_600.0, "How long a draft waits for a person, where its workspace says nothing else."
    )
    held_seconds: float = _setting(
        259_200.0,
        "How long a write that a run holds waits for a person, if its step and its workspace set "
        "nothing else.",
    )
    artifacts_url: str | None = _setting(
        None, "Where artifacts are kept, as s3+https://host/bucket/prefix; none: the data folder."
    )
    artifacts_key_id: str | None = _setting(None, "The access key of that store.")
    artifacts_key: str | None = _setting(None, "The secret key of that store.")
    embeddings: str = _setting(
        "none",
        "The model by which pages are found by meaning: none, local, or openai, which sends every "
        "page to the connection openai and is paid by its workspace.",
    )
    anthropic_key: str | None = _setting(
        None,
        "A key of Anthropic's. It goes into the vault at the start, as the connection anthropic.",
        shown=False,
    )
    openai_key: str | None = _setting(
        None, "A key of OpenAI's, for the connection openai; as above.", shown=False
    )
    groq_key: str | None = _setting(
        None, "A key of Groq's, for the connection groq; as above.", shown=False
    )
    anthropic_url: str | None = _setting(
        None, "Where the connection anthropic leads; none: to Anthropic."
    )
    openai_url: str | None = _setting(None, "Where the connection openai leads; none: to OpenAI.")
    groq_url: str | None = _setting(None, "Where the connection groq leads; none: to Groq.")
    token: str | None = _setting(
        None,
        "The user that boards, pages, usage, capabilities, call and mcp act as. Default: "
        "the local owner.",
    )
    url: str | None = _setting(
        None, "The server that commands talk to, as https://host; none: the local one."
    )
    workspace: str | None = _setting(
        None, "The workspace that commands work in, by its id or name; none: the first one."
    )
    program: str | None = _setting(None, "How hints name this program. Set by ./start.")
    limits: Mapping[str, int] = _setting(dict, "Each limit is set by MAINSPRING_LIMIT_<NAME>.")

    @property
    def key_file(self) -> Path:
        return self.master_key_file or self.home / "master.key"

    @property
    def listening(self) -> str:
        """The URL of the server without a proxy."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"http://{host}:{self.port}"

    @property
    def local_address(self) -> str:
        """The URL of the server from the machine it runs on."""
        local = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(self.host, self.host)  # noqa: S104
        return replace(self, host=local).listening

    @property
    def address(self) -> str:
        """The public URL of the server."""
        return (self.public_url or self.listening).rstrip("/")


def read_settings(
    environment: Mapping[str, str] | None = None, home: Path | None = None
) -> Settings:
    """Read the file and the environment once; an invalid value is named.

    The data folder is the argument, or the environment's. Its file applies where the environment
    has no value.
    """
    said = os.environ if environment is None else environment
    folder = home.expanduser().absolute() if home is not None else _home(said)
    found = {**read_settings_file(folder), **said}
    values: dict[str, Any] = {}
    for entry in fields(Settings):
        text = found.get(PREFIX + entry.name.upper())
        if text is not None and entry.name != "limits":
            values[entry.name] = _read(entry, text)
    values["limits"] = {
        name.removeprefix(LIMIT_PREFIX).lower(): _whole(name, text)
        for name, text in found.items()
        if name.startswith(LIMIT_PREFIX)
    }
    settings = Settings(**{**values, "home": folder})
    _refuse_short_lease(settings)
    _refuse_incomplete_acme(settings)
    if settings.acme_domains and settings.public_url is None:
        settings = replace(settings, public_url=f"https://{settings.acme_domains[0]}")
    return settings


def _refuse_incomplete_acme(settings: Settings) -> None:
    """An account is opened in the operator's name, so only the operator agrees to the terms."""
    if not settings.acme_domains:
        return
    if settings.acme_terms != "agreed":
        raise BadSetting(
            f"{PREFIX}ACME_DOMAINS asks for certificates of {settings.acme_directory_url}. Read "
            "the terms of that certificate authority (https://letsencrypt.org/repository for "
            f"Let's Encrypt). If you agree to them, set {PREFIX}ACME_TERMS to agreed."
        )
    if settings.acme_storage == "database" and settings.acme_challenge != "http-01":
        raise BadSetting(
            f"{PREFIX}ACME_STORAGE is database and {PREFIX}ACME_CHALLENGE is "
            f"{settings.acme_challenge}: with several machines only http-01 works, because the "
            f"authority may connect to any of them. Set {PREFIX}ACME_CHALLENGE to http-01."
        )


def _refuse_short_lease(settings: Settings) -> None:
    """One heartbeat may be late: a lease that ends before the next one loses live runs."""
    lease, beat = settings.lease_seconds, settings.heartbeat_seconds
    if lease < _BEATS_PER_LEASE * beat:
        raise BadSetting(
            f"{PREFIX}LEASE_SECONDS is {lease:g} and {PREFIX}HEARTBEAT_SECONDS is {beat:g}: a "
            "lease must be at least twice the heartbeat, or workers lose the runs they work on. "
            f"Set the lease to at least {_BEATS_PER_LEASE * beat:g}, or the heartbeat to at most "
            f"{lease / _BEATS_PER_LEASE:g}."
        )


def _home(environment: Mapping[str, str]) -> Path:
    said = environment.get(_HOME)
    return default_home() if said is None else Path(said).expanduser().absolute()


def settings_file(home: Path) -> Path:
    """The settings file of a data folder: lines of NAME=value, readable by its owner only."""
    return home / "settings.env"


def read_settings_file(home: Path) -> dict[str, str]:
    """The contents of the file; empty without one. It may contain a password, so it must be
    private.
    """
    path = settings_file(home)
    try:
        with path.open(encoding="utf-8") as file:
            mode = os.fstat(file.fileno()).st_mode
            lines = file.read(_MOST_FILE_CHARACTERS).splitlines()
    except (FileNotFoundError, NotADirectoryError):
        return {}
    except PermissionError:
        if not os.access(home, os.X_OK):
            raise BadSetting(
                f"The data folder {home} cannot be opened by this user: permission denied. Name a"
                f" folder of your own with --home or {_HOME}."
            ) from None
        raise BadSetting(f"The settings file {path} cannot be read.") from None
    except (OSError, UnicodeDecodeError):
        raise BadSetting(f"The settings file {path} cannot be read.") from None
    if mode & 0o077:
        raise BadSetting(f"The settings file {path} may be read by others; set its mode to 0600.")
    found: dict[str, str] = {}
    for number, line in enumerate(lines, start=1):
        name, equals, value = line.strip().partition("=")
        if not name or name.startswith("#"):
            continue
        if not equals or not name.startswith(PREFIX):
            raise BadSetting(f"Line {number} of {path} is not {PREFIX}NAME=value.")
        if name == _HOME:
            raise BadSetting(f"Line {number} of {path} sets {_HOME}, the folder of the file.")
        found[name] = value
    return found


def is_in_environment(name: str, environment: Mapping[str, str] | None = None) -> bool:
    """Whether a setting is in the environment, so that the file's value does not apply."""
    return name in (os.environ if environment is None else environment)


def forget_model_keys() -> None:
    """Remove the model keys from this process's environment, once they are in the vault.

    The system exposes a process's environment from its initial memory, so the value is wiped there
    too: no child process ever sees a key.
    """
    for entry in MODEL_KEYS:
        name = PREFIX + entry.upper()
        if name in os.environ:
            _wipe(os.fsencode(name))
            del os.environ[name]


def _wipe(name: bytes) -> None:
    import ctypes

    library = ctypes.CDLL(None)
    library.getenv.restype = ctypes.c_void_p
    held = library.getenv(name)
    if held:
        ctypes.memset(held, 0, len(ctypes.string_at(held)))


def without_model_keys(settings: Settings) -> Settings:
    """The settings without the keys, for use after they are in the vault."""
    return replace(settings, anthropic_key=None, openai_key=None, groq_key=None)


def program_name(environment: Mapping[str, str] | None = None) -> str | None:
    """The configured name of this program in hints; no other setting is read."""
    found = os.environ if environment is None else environment
    return found.get(PREFIX + "PROGRAM") or None


def machine_zone(
    environment: Mapping[str, str] | None = None, localtime: Path = Path("/etc/localtime")
) -> str | None:
    """The time zone of the user, as far as the machine knows.

    A machine on UTC was most likely never configured: only TZ=UTC means UTC.
    """
    found = os.environ if environment is None else environment
    said = found.get("TZ", "").removeprefix(":").strip()
    if said:
        return said
    try:
        name = str(localtime.resolve()).partition("zoneinfo/")[2]
    except (OSError, RuntimeError):
        return None
    return None if name.rpartition("/")[2] in ("", "UTC", "UCT", "Universal", "Zulu") else name


def bare_environment(environment: Mapping[str, str] | None = None) -> dict[str, str]:
    """The environment of programs that we start: only PATH and HOME."""
    found = os.environ if environment is None else environment
    return {name: found[name] for name in ("PATH", "HOME") if name in found}


def unknown_settings(environment: Mapping[str, str] | None = None) -> list[str]:
    """Names that look like settings but are not, mostly typos.

    Also in the file of the data folder, as far as it can be read: an unreadable one is refused
    later.
    """
    said = os.environ if environment is None else environment
    filed: Mapping[str, str] = {}
    with contextlib.suppress(BadSetting):
        filed = read_settings_file(_home(said))
    known = set(setting_names())
    return sorted(
        name
        for name in {**filed, **said}
        if name.startswith(PREFIX) and not name.startswith(LIMIT_PREFIX) and name not in known
    )


def setting_names() -> list[str]:
    """The variables that are read, without the limits."""
    return [PREFIX + entry.name.upper() for entry in fields(Settings) if entry.name != "limits"]


def all_settings() -> Iterator[tuple[str, str, str]]:
    """Variable, default and description of each setting, for the reference."""
    for entry in fields(Settings):
        if entry.name == "home":
            shown = "~/.local/share/mainspring, or /var/lib/mainspring for root"
        elif entry.name == "limits":
            shown = "see limits"
        elif entry.name == "integration_urls":
            shown = "none"
        else:
            shown = _show(entry.default)
        yield PREFIX + entry.name.upper(), shown, entry.metadata["sentence"]


def _show(value: Any) -> str:
    if value is None or value in (frozenset(), (), ""):
        return "none"
    return ",".join(value) if isinstance(value, tuple) else str(value)


# Optional texts.
_TEXTS = frozenset(
    {
        "database_url",
        "smtp_url",
        "owner_mail",
        "master_key_command",
        "artifacts_url",
        "artifacts_key_id",
        "artifacts_key",
        "program",
        "token",
        "url",
        "workspace",
        "anthropic_url",
        "openai_url",
        "groq_url",
        "broker_url",
        "otlp_url",
        "acme_email",
        *MODEL_KEYS,
    }
)

_CHOICES = {
    "embeddings": ("none", "local", "openai"),
    "transport": ("local", "celery"),
    "log": ("text", "json"),
    "acme_terms": ("undecided", "agreed"),
    "acme_challenge": ("tls-alpn-01", "http-01"),
    "acme_storage": ("folder", "database"),
}


def _read(entry: Field[Any], text: str) -> Any:
    name = PREFIX + entry.name.upper()
    if entry.name in _TEXTS:
        return text or None
    if entry.name in _CHOICES:
        return _one_of(name, text, _CHOICES[entry.name])
    if entry.name in _JUDGED:
        return _JUDGED[entry.name](name, text)
    match entry.name:
        case "home" | "master_key_file" | "page" | "docs" | "acme_ca_file":
            return Path(text).expanduser().absolute()
        case "egress_allow":
            return frozenset(_words(text.lower()))
        case (
            "slots"
            | "port"
            | "workers"
            | "proxies"
            | "script_warm"
            | "https_port"
            | "acme_http_port"
        ):
            least = 0 if entry.name == "script_warm" else 1
            return _whole(name, text, least=least, most=_MOST.get(entry.name))
        case "host" | "https_host" | "mail_from" | "slack_url" | "telegram_url":
            return text
        case "leave_seconds":
            return _seconds(name, text, least=0.0)
        case _:
            return _seconds(name, text)


def _words(text: str) -> tuple[str, ...]:
    return tuple(word for word in (piece.strip() for piece in text.split(",")) if word)


def is_web_address(text: str) -> bool:
    """Whether links can begin with it: http or https and a host, without a user or a query."""
    try:
        parts = urlsplit(text)
        # Reading the port validates it.
        found = parts.hostname is not None and (parts.port is None or parts.port > 0)
    except ValueError:
        return False
    return found and _WEB_ADDRESS.fullmatch(text) is not None


def _web_address(name: str, text: str) -> str | None:
    if text and not is_web_address(text):
        # Never quoted: it may contain a password.
        raise BadSetting(
            f"{name} must be an http or https address with a host, such as "
            "https://mainspring.example, and without a user, a ? or a #."
        )
    return text or None


def _required_web_address(name: str, text: str) -> str:
    return _web_address(name, text) or Settings().acme_directory_url


def _domains(name: str, text: str) -> tuple[str, ...]:
    """Names that an authority can connect to: no addresses, no wildcards, no internal names."""
    named = tuple(dict.fromkeys(_words(text.lower())))
    for word in named:
        if _DOMAIN.fullmatch(word) is None:
            raise BadSetting(
                f"{name} names {word[:80]!r}, which is no domain name. Write names such as "
                "mainspring.example.com, with commas between; a wildcard cannot be proven here."
            )
    return named


def _queues(name: str, text: str) -> tuple[str, ...]:
    """A worker of an unknown queue would wait for ever without an error."""
    named = _words(text)
    unknown = [word for word in named if word not in QUEUES]
    if unknown or not named:
        what = f"{unknown[0]!r}, which is no queue" if unknown else "no queue"
        raise BadSetting(f"{name} names {what}. The queues are {', '.join(QUEUES)}.")
    return named


def _pairs(name: str, text: str) -> dict[str, str]:
    pairs = [word.partition("=") for word in _words(text)]
    for key, equals, value in pairs:
        if not (key.strip() and equals and value.strip()):
            raise BadSetting(f"{name} must be name=address, with commas between, not {text!r}.")
    return {key.strip(): value.strip() for key, _, value in pairs}


# Texts with a format of their own.
_JUDGED: Mapping[str, Callable[[str, str], Any]] = {
    "acme_directory_url": _required_web_address,
    "acme_domains": _domains,
    "integration_urls": _pairs,
    "public_url": _web_address,
    "queues": _queues,
}


def _one_of(name: str, text: str, known: tuple[str, ...]) -> str:
    if text not in known:
        raise BadSetting(f"{name} must be {' or '.join(known)}, not {text!r}.")
    return text


def _whole(name: str, text: str, *, least: int = 1, most: int | None = None) -> int:
    try:
        value = int(text)
    except ValueError:
        value = least - 1
    if value < least or (most is not None and value > most):
        bounds = f"of at least {least}" if most is None else f"from {least} to {most}"
        raise BadSetting(f"{name} must be a whole number {bounds}, not {text!r}.")
    return value


def _seconds(name: str, text: str, *, least: float | None = None) -> float:
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if value == least:
        return value
    if not 0 < value < 1e6:
        raise BadSetting(f"{name} must be a number of seconds above 0, not {text!r}.")
    return value
