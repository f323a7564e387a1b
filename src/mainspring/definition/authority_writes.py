"""Outside writes that are sent without asking a person, each with what a person agreed to.

A write is the same one as before while its capability, account, destination and outgoing template
are: another of these is another write, and one more of the same is one more.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from mainspring.contracts.grant import Grant
from mainspring.definition.approval import (
    AGENTS,
    ASK,
    AUTOMATIC,
    SCRIPT,
    StepApproval,
    step_approval,
    written_grants,
)
from mainspring.definition.authority_steps import Placed, placed_steps
from mainspring.definition.authority_words import shown
from mainspring.definition.grants import missing
from mainspring.definition.hosts import literal_site
from mainspring.definition.json_values import canonical

# Mail to the owner goes at once where its step says nothing else.
_TO_OWNER: Final = "email.notify_owner"
_FETCHES: Final = frozenset({"http_fetch", "callback_webhook"})
# How a request is made; none of it leaves with it.
_MANNER: Final = frozenset({"timeout_seconds", "allow_error_status", "idempotency"})
_ACCOUNTS: Final = ("account", "account_id", "connection", "connection_id")
_PLACES: Final = (
    "to", "cc", "bcc", "channel", "channel_id", "url", "owner", "repo", "number", "team",
    "item_id", "calendar_id", "event_id", "attendees", "folder_id", "thread_id",
)  # fmt: skip
_SAID: Final = 400


@dataclass(frozen=True, slots=True)
class AutomaticWrite:
    """What one step sends by itself with one capability, or with all of its own."""

    # The step, with what is sent and what decides how often.
    step: Placed
    # Empty: whatever the step sends.
    capability: str
    # What bounds what a model or a program sends; None: the step's own config does.
    bounds: tuple[Grant, ...] | None = None

    @property
    def pointer(self) -> str:
        return f"{self.step.pointer}/approval" if self.step.approval else self.step.pointer

    def is_within(self, other: AutomaticWrite) -> bool:
        """Whether the other one, once agreed to, sends this too."""
        if other.capability not in ("", self.capability):
            return False
        if self.bounds is None or other.bounds is None:
            return self.bounds is other.bounds and self.step.does_as(other.step)
        if missing(self.bounds, other.bounds):
            return False
        return _without_tools(self.step).does_as(_without_tools(other.step))


def automatic_writes(document: Mapping[str, Any]) -> tuple[AutomaticWrite, ...]:
    """The automatic writes of a definition in today's format, in the order of its steps."""
    granted = written_grants(document)
    return tuple(
        write
        for step in placed_steps(document)
        for write in _of_step(step, step_approval(step, granted))
    )


def more_writes(
    before: Sequence[AutomaticWrite], after: Sequence[AutomaticWrite], now: str
) -> Iterator[tuple[str, str]]:
    """What is sent without asking and was not: the place, and a sentence."""
    known = list(before)
    for write in after:
        found = next((one for one in known if write.is_within(one)), None)
        if found is None:
            yield write.pointer, _words(write, now)
        else:
            known.remove(found)


def _of_step(step: Placed, said: StepApproval | None) -> Iterator[AutomaticWrite]:
    config = {key: value for key, value in step.config.items() if key not in _MANNER}
    sent = replace(step, config=config)
    if said is None:
        if step.action == _TO_OWNER:
            yield AutomaticWrite(sent, _TO_OWNER)
        return
    if said.modes == AUTOMATIC:
        yield AutomaticWrite(sent, "", said.bounds)
    elif isinstance(said.modes, Mapping):
        for name, mode in sorted(said.modes.items()):
            if mode == AUTOMATIC:
                yield AutomaticWrite(sent, name, said.bounds)
    if step.action == _TO_OWNER and said.mode(_TO_OWNER) not in (ASK, AUTOMATIC):
        yield AutomaticWrite(sent, _TO_OWNER)


def _without_tools(step: Placed) -> Placed:
    """The step without what its bounds tell already."""
    config = {key: one for key, one in step.config.items() if key not in ("tools", "grants")}
    return replace(step, config=config)


def _words(write: AutomaticWrite, now: str) -> str:
    step = write.step
    if step.action in AGENTS or step.action == SCRIPT:
        who = "program" if step.action == SCRIPT else "model"
        what = f" with {shown(write.capability)}" if write.capability else ""
        where = _fixed(write)
        return f"The {who} of the step {shown(step.id)}{now} sends{what}{where} without asking."
    tell = _TELL.get(step.action, _call)
    over = next((step.config[key] for key in _ACCOUNTS if key in step.config), None)
    account = f" over the account {shown(str(over))}" if over is not None else ""
    deed, texts = tell(step.config, step.action)
    said = _quoted(step.config, texts)
    return f"It{now} {deed}{account} without asking{said}."


def _fixed(write: AutomaticWrite) -> str:
    """Where the tools or the grants of a step fix that it goes."""
    tools = write.step.config.get("tools") or write.step.config.get("grants")
    found = [
        f"{key} {_listed(value)}"
        for one in (tools if isinstance(tools, list) else ())
        if isinstance(one, Mapping) and one.get("tool") == (write.capability or one.get("tool"))
        for key, value in (one.get("params") or {}).items()
        if key in _PLACES
    ]
    return f" ({', '.join(found)})" if found else ""


Told = tuple[str, tuple[str, ...]]


def _slack(config: Mapping[str, Any], action: str) -> Told:
    del action
    channel = config.get("channel", config.get("channel_id"))
    return f"posts to the Slack channel {_listed(channel)}", ("text", "message_template")


def _mail(config: Mapping[str, Any], action: str) -> Told:
    del action
    people = [one for key in ("to", "cc", "bcc") for one in _entries(config.get(key))]
    return f"mails {_listed(people)}", ("subject", "text", "body", "html")


def _owner(config: Mapping[str, Any], action: str) -> Told:
    del config
    way = "sends its owner a message on Telegram" if action == "telegram_push" else ""
    return way or "mails its owner", ("subject", "text")


def _request(config: Mapping[str, Any], action: str) -> Told:
    usual = "POST" if action == "callback_webhook" else "GET"
    url = config.get("url")
    site = literal_site(url)
    host = site.host if site is not None else str(url)
    method = shown(str(config.get("method", usual)))
    return f"sends {method} requests to {shown(host)}", ("json", "form", "text", "body")


def _call(config: Mapping[str, Any], action: str) -> Told:
    where = [f"{key} {_listed(config[key])}" for key in _PLACES if key in config]
    rest = tuple(key for key in config if key not in (*_PLACES, *_ACCOUNTS))
    return f"calls {shown(action)}{' with ' if where else ''}{', '.join(where)}", rest


_TELL: Final[Mapping[str, Callable[[Mapping[str, Any], str], Told]]] = {
    "slack_post": _slack,
    "send_email": _mail,
    "gmail.send_email": _mail,
    _TO_OWNER: _owner,
    "telegram_push": _owner,
    **dict.fromkeys(_FETCHES, _request),
}


def _quoted(config: Mapping[str, Any], keys: Iterable[str]) -> str:
    """The outgoing template, as far as a sentence can show it."""
    texts = [_spelled(config[key]) for key in keys if config.get(key) not in (None, "", [], {})]
    said = " · ".join(shown(" ".join(one[:_SAID].split())) for one in texts)
    return f": “{said}”" if said else ""


def _spelled(value: Any) -> str:
    return value if isinstance(value, str) else canonical(value).decode()


def _entries(value: Any) -> list[Any]:
    if value is None:
        return []
    return list(value) if isinstance(value, list | tuple) else [value]


def _listed(value: Any) -> str:
    entries = [shown(_spelled(one)) for one in _entries(value)]
    more = f" and {len(entries) - 5} more" if len(entries) > 5 else ""
    return ", ".join(entries[:5]) + more if entries else "a destination that is still open"
