"""Outside writes in product words: what is done, where it goes, by which account, with which text.

One builder for every place that shows a write before a person agrees to it: the additions of a
consent, the approval modes at review, the command line and the page.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from mainspring.contracts.agent import AGENT_RUN, AGENT_TASK
from mainspring.contracts.grant import Grant
from mainspring.definition.authority_steps import FlattenedStep
from mainspring.definition.authority_text import bounds_words, quote_name
from mainspring.definition.hosts import parse_template_host
from mainspring.definition.json_values import encode_canonical
from mainspring.definition.script.findings import read_script_grants
from mainspring.definition.tool_patterns import is_pattern, read_agent_grants

_AGENTS: Final = frozenset({AGENT_RUN, AGENT_TASK})
_SCRIPT: Final = "script"
# Their hosts are bounds of the grant, which has words for them.
_REQUESTS: Final = frozenset({"http_fetch", "callback_webhook"})
# Sent at once where a step says nothing.
_AT_ONCE: Final = frozenset({"email.notify_owner"})
_ACCOUNTS: Final = ("account", "account_id", "connection", "connection_id")
_PLACES: Final = (
    "to",
    "cc",
    "bcc",
    "channel",
    "channel_id",
    "url",
    "owner",
    "repo",
    "number",
    "team",
    "item_id",
    "calendar_id",
    "event_id",
    "attendees",
    "folder_id",
    "thread_id",
)
_LONGEST_TEXT: Final = 400
_PRODUCTS: Final = {
    "slack": "Slack",
    "discord": "Discord",
    "gmail": "Gmail",
    "calendar": "Google Calendar",
    "drive": "Google Drive",
    "github": "GitHub",
    "linear": "Linear",
    "monday": "monday.com",
}
# By integration: how a sentence calls the account that the owner has connected there.
OWNER_ACCOUNTS: Final[Mapping[str, str]] = {
    key: f"with its owner's {name} account" for key, name in _PRODUCTS.items()
}
_MOST_PLACES: Final = 5


@dataclass(frozen=True, slots=True)
class WriteWords:
    """One write: ``post`` ``to the Slack channel #ops``, and which settings are its text."""

    verb: str
    what: str
    texts: tuple[str, ...] = ()
    # The integration whose account sends it; empty: none of the owner's accounts does.
    integration: str = ""

    @property
    def infinitive(self) -> str:
        return f"{self.verb} {self.what}"

    @property
    def third_person(self) -> str:
        return f"{self.verb}s {self.what}"


Config = Mapping[str, Any]
_Builder = Callable[[Config], WriteWords]


def write_words(action: str, config: Config) -> WriteWords | None:
    """A write of the shipped vocabulary in words; None for any other."""
    builder = _BUILDERS.get(action)
    return None if builder is None else builder(config)


def any_write_words(action: str, config: Config) -> WriteWords:
    """The same for every action; one that is not known is named by its id."""
    return write_words(action, config) or _call(action, config)


def granted_write(grant: Grant, steps: Sequence[FlattenedStep], *, drafts: bool) -> str | None:
    """What a grant lets the steps send, and where; None where it is no known write.

    A destination is named only where the steps that send are all there is: what a model or a
    program may call as well is described by the bounds of the grant. ``drafts``: a step that says
    nothing asks each time.
    """
    name = grant.capability
    if name not in _BUILDERS or name in _REQUESTS:
        return None
    own = [one for one in steps if one.action == name]
    if not own or any(_may_call(one, name) for one in steps):
        # Copies are told as bounds: to somebody is another thing than a copy to them.
        fixed = {key: one for key, one in grant.params.items() if key not in ("cc", "bcc")}
        words = _BUILDERS[name](fixed)
        rest = {
            key: one for key, one in grant.params.items() if key not in _PLACES or key not in fixed
        }
        bounds = bounds_words(rest)
        return _phrase(words, grant.params) + (f" with {', '.join(bounds)}" if bounds else "")
    said = dict.fromkeys(_phrase(_BUILDERS[name](one.config), one.config) for one in own)
    asks = all(_asks(one, drafts=drafts) for one in own)
    return " and ".join(said) + (", and asks each time" if asks else "")


def _phrase(words: WriteWords, config: Config) -> str:
    account = named_account(config)
    if account is not None:
        return f"{words.infinitive} over the account {account}"
    return f"{words.infinitive} {owner_account(words)}" if words.integration else words.infinitive


def _may_call(step: FlattenedStep, capability: str) -> bool:
    """Whether a model or a program in this step may call it; a pattern may mean anything."""
    if step.action in _AGENTS:
        names = [one.capability for one in read_agent_grants(step.config)]
    elif step.action == _SCRIPT:
        names = [one.capability for one in read_script_grants(step.config)]
    else:
        return False
    return any(name == capability or is_pattern(name) for name in names)


def _asks(step: FlattenedStep, *, drafts: bool) -> bool:
    mode = step.approval
    if isinstance(mode, Mapping):
        mode = mode.get(step.action)
    return mode == "ask" or (mode is None and drafts and step.action not in _AT_ONCE)


def named_account(config: Config) -> str | None:
    """The account that a step names outright."""
    found = next((config[key] for key in _ACCOUNTS if key in config), None)
    return None if found is None else quote_name(str(found))


def owner_account(words: WriteWords) -> str:
    """How the account is called that the owner has connected, before it is looked up."""
    return OWNER_ACCOUNTS[words.integration]


def fixed_places(params: Mapping[str, Any]) -> list[str]:
    """The destinations among the bounds of a tool or a grant."""
    return [f"{key} {listed_values(value)}" for key, value in params.items() if key in _PLACES]


def outgoing_text(config: Config, keys: Iterable[str]) -> str:
    """The outgoing template in one line, as far as a sentence can show it."""
    texts = [_spelled(config[key]) for key in keys if config.get(key) not in (None, "", [], {})]
    return " · ".join(quote_name(" ".join(one.split()), _LONGEST_TEXT) for one in texts)


def listed_values(value: Any, none: str = "a destination that is still open") -> str:
    entries = [quote_name(_spelled(one)) for one in _entries(value)]
    more = f" and {len(entries) - _MOST_PLACES} more" if len(entries) > _MOST_PLACES else ""
    return ", ".join(entries[:_MOST_PLACES]) + more if entries else none


def _slack(config: Config) -> WriteWords:
    channel = config.get("channel", config.get("channel_id"))
    where = f"the Slack channel {listed_values(channel)}" if channel else "any Slack channel"
    thread = "a thread of " if config.get("thread_ts") else ""
    by = "" if "token" in config else "slack"
    return WriteWords("post", f"to {thread}{where}", ("text", "message_template"), by)


def _discord(config: Config) -> WriteWords:
    channel = config.get("channel_id")
    where = f"the Discord channel {listed_values(channel)}" if channel else "any Discord channel"
    return WriteWords("post", f"to {where}", ("content",), "discord")


def _receivers(config: Config) -> str:
    people = [one for key in ("to", "cc", "bcc") for one in _entries(config.get(key))]
    return listed_values(people, "any address")


def _mail(config: Config) -> WriteWords:
    return WriteWords(
        "mail", _receivers(config), ("subject", "text", "body", "html", "attachments")
    )


def _gmail(config: Config) -> WriteWords:
    texts = ("subject", "text", "body", "html", "attachments")
    return WriteWords("mail", _receivers(config), texts, "gmail")


def _mail_owner(config: Config) -> WriteWords:
    del config
    return WriteWords("mail", "its owner", ("subject", "text"))


def _telegram(config: Config) -> WriteWords:
    del config
    return WriteWords("send", "its owner a message on Telegram", ("subject", "text"))


def _request(usual: str) -> _Builder:
    def builder(config: Config) -> WriteWords:
        url = config.get("url")
        site = parse_template_host(url)
        host = site.host if site is not None else str(url)
        method = quote_name(str(config.get("method", usual)))
        texts = ("json", "form", "text", "body")
        return WriteWords("send", f"{method} requests to {quote_name(host)}", texts)

    return builder


def _event(verb: str, joiner: str) -> _Builder:
    def builder(config: Config) -> WriteWords:
        calendar = config.get("calendar_id")
        where = f"the calendar {listed_values(calendar)}" if calendar else "a Google calendar"
        guests = _entries(config.get("attendees"))
        invited = f", inviting {listed_values(guests)}" if guests else ""
        texts = ("summary", "description", "location", "start", "end")
        what = f"events {joiner} {where}{invited}"
        return WriteWords(verb, what, texts, "calendar")

    return builder


def _file(config: Config) -> WriteWords:
    folder = config.get("folder_id")
    where = f"the folder {listed_values(folder)} of Google Drive" if folder else "Google Drive"
    return WriteWords("create", f"files in {where}", ("name", "content"), "drive")


def _repository(config: Config) -> str:
    owner, repo = config.get("owner"), config.get("repo")
    if not owner and not repo:
        return "any GitHub repository"
    return f"the GitHub repository {listed_values(owner)}/{listed_values(repo)}"


def _comment(config: Config) -> WriteWords:
    number = config.get("number")
    which = f"#{listed_values(number)} of " if number else "issues of "
    what = f"on {which}{_repository(config)}"
    return WriteWords("comment", what, ("body",), "github")


def _issue(config: Config) -> WriteWords:
    what, texts = f"issues in {_repository(config)}", ("title", "body", "labels", "assignees")
    return WriteWords("open", what, texts, "github")


def _linear(config: Config) -> WriteWords:
    team = config.get("team")
    where = f"the Linear team {listed_values(team)}" if team else "any Linear team"
    texts = ("title", "description", "assignee", "labels")
    return WriteWords("create", f"issues for {where}", texts, "linear")


def _monday(config: Config) -> WriteWords:
    item = config.get("item_id")
    where = f"the monday.com item {listed_values(item)}" if item else "any monday.com item"
    return WriteWords("post", f"updates to {where}", ("body",), "monday")


def _call(action: str, config: Config) -> WriteWords:
    where = fixed_places(config)
    rest = tuple(key for key in config if key not in (*_PLACES, *_ACCOUNTS))
    return WriteWords(
        "call", f"{quote_name(action)}{' with ' if where else ''}{', '.join(where)}", rest
    )


_BUILDERS: Final[Mapping[str, _Builder]] = {
    "slack_post": _slack,
    "discord.post": _discord,
    "send_email": _mail,
    "gmail.send_email": _gmail,
    "email.notify_owner": _mail_owner,
    "telegram_push": _telegram,
    "http_fetch": _request("GET"),
    "callback_webhook": _request("POST"),
    "calendar.create_event": _event("create", "in"),
    "calendar.update_event": _event("change", "in"),
    "calendar.delete_event": _event("delete", "from"),
    "drive.create_file": _file,
    "github.comment": _comment,
    "github.open_issue": _issue,
    "linear_create_issue": _linear,
    "monday.post_update": _monday,
}


def _spelled(value: Any) -> str:
    return value if isinstance(value, str) else encode_canonical(value).decode()


def _entries(value: Any) -> list[Any]:
    if value is None:
        return []
    return list(value) if isinstance(value, list | tuple) else [value]
