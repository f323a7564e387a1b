"""Describes outside writes: the operation, its destination, the account and the text.

Every place that shows a write before a person agrees to it uses this module: the additions of a
consent request, the approval modes at review, the CLI and the web page.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final

from mainspring.contracts.agent import AGENT_RUN, AGENT_TASK
from mainspring.contracts.declared_writes import (
    find_declared_write,
    list_account_products,
    list_default_writes,
)
from mainspring.contracts.grant import Grant
from mainspring.contracts.write_description import (
    WriteDescription,
    quote_name,
    quote_values,
    write_value,
)
from mainspring.definition.authority_steps import FlattenedStep
from mainspring.definition.authority_text import bounds_words
from mainspring.definition.hosts import parse_template_host
from mainspring.definition.script.findings import read_script_grants
from mainspring.definition.tool_patterns import is_pattern, read_agent_grants

_AGENTS: Final = frozenset({AGENT_RUN, AGENT_TASK})
_SCRIPT: Final = "script"
# Their hosts are bounds of the grant and are described there.
_REQUESTS: Final = frozenset({"http_fetch", "callback_webhook"})
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


Config = Mapping[str, Any]
_Builder = Callable[[Config], WriteDescription]


def write_words(action: str, config: Config) -> WriteDescription | None:
    """The description of a declared write; None for any other action."""
    builder = _find_builder(action)
    return None if builder is None else builder(config)


def _find_builder(action: str) -> _Builder | None:
    declared = find_declared_write(action)
    own = None if declared is None else declared.describe
    return _BUILDERS.get(action) or own


def any_write_words(action: str, config: Config) -> WriteDescription:
    """Like ``write_words`` for every action; an unknown one is described by its id."""
    return write_words(action, config) or _call(action, config)


def granted_write(grant: Grant, steps: Sequence[FlattenedStep], *, drafts: bool) -> str | None:
    """What a grant lets the steps send, and where; None when it is not a known write.

    A destination is named only when steps are the only senders: what a model or a script may call
    is described by the bounds of the grant. ``drafts``: a step without an approval mode asks each
    time.
    """
    name = grant.capability
    builder = _find_builder(name)
    if builder is None or name in _REQUESTS:
        return None
    own = [one for one in steps if one.action == name]
    if not own or any(_may_call(one, name) for one in steps):
        # Copies are described as bounds: a recipient is not the same as a copy.
        fixed = {key: one for key, one in grant.params.items() if key not in ("cc", "bcc")}
        words = builder(fixed)
        rest = {
            key: one for key, one in grant.params.items() if key not in _PLACES or key not in fixed
        }
        bounds = bounds_words(rest)
        return _phrase(words, grant.params) + (f" with {', '.join(bounds)}" if bounds else "")
    said = dict.fromkeys(_phrase(builder(one.config), one.config) for one in own)
    asks = all(_asks(one, drafts=drafts) for one in own)
    return " and ".join(said) + (", and asks each time" if asks else "")


def _phrase(words: WriteDescription, config: Config) -> str:
    account = find_named_account(config)
    if account is not None:
        return f"{words.infinitive} over the account {account}"
    return f"{words.infinitive} {owner_account(words)}" if words.integration else words.infinitive


def _may_call(step: FlattenedStep, capability: str) -> bool:
    """Whether a model or a script in this step may call it; a pattern may match anything."""
    if step.action in _AGENTS:
        names = [one.capability for one in read_agent_grants(step.config)]
    elif step.action == _SCRIPT:
        names = [one.capability for one in read_script_grants(step.config)]
    else:
        return False
    return any(name == capability or is_pattern(name) for name in names)


def _list_at_once() -> frozenset[str]:
    return list_default_writes(with_safe=False)


def _asks(step: FlattenedStep, *, drafts: bool) -> bool:
    mode = step.approval
    if isinstance(mode, Mapping):
        mode = mode.get(step.action)
    return mode == "ask" or (mode is None and drafts and step.action not in _list_at_once())


def find_named_account(config: Config) -> str | None:
    """The account that a step names."""
    found = next((config[key] for key in _ACCOUNTS if key in config), None)
    return None if found is None else quote_name(str(found))


def owner_account(words: WriteDescription) -> str:
    """The display text for the owner's connected account, before it is looked up."""
    return list_owner_accounts()[words.integration]


def list_owner_accounts() -> dict[str, str]:
    """By integration: the display text of the account that the owner has connected."""
    products = list_account_products()
    return {key: f"with its owner's {name} account" for key, name in products.items()}


def fixed_places(params: Mapping[str, Any]) -> list[str]:
    """The destinations among the bounds of a tool or a grant."""
    return [f"{key} {quote_values(value)}" for key, value in params.items() if key in _PLACES]


def outgoing_text(config: Config, keys: Iterable[str]) -> str:
    """The outgoing template on one line, shortened to fit a sentence."""
    texts = [write_value(config[key]) for key in keys if config.get(key) not in (None, "", [], {})]
    return " · ".join(quote_name(" ".join(one.split()), _LONGEST_TEXT) for one in texts)


def _request(usual: str) -> _Builder:
    def builder(config: Config) -> WriteDescription:
        url = config.get("url")
        site = parse_template_host(url)
        host = site.host if site is not None else str(url)
        method = quote_name(str(config.get("method", usual)))
        texts = ("json", "form", "text", "body")
        return WriteDescription("send", f"{method} requests to {quote_name(host)}", texts)

    return builder


def _call(action: str, config: Config) -> WriteDescription:
    where = fixed_places(config)
    rest = tuple(key for key in config if key not in (*_PLACES, *_ACCOUNTS))
    return WriteDescription(
        "call", f"{quote_name(action)}{' with ' if where else ''}{', '.join(where)}", rest
    )


# Requests are actions of the language: no integration declares them.
_BUILDERS: Final[Mapping[str, _Builder]] = {
    "http_fetch": _request("GET"),
    "callback_webhook": _request("POST"),
}
