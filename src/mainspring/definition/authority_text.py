"""The sentences that describe what an automation may do.

Names and values in them come from other people: invisible characters are escaped. Long names are
truncated. Hosts, bounds and their values are shown in full, because they are what is agreed to.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from mainspring.contracts.grant import Grant
from mainspring.contracts.write_description import quote_name, quote_values, quote_whole
from mainspring.definition.secret_use import SecretUsage
from mainspring.definition.strict_json import encode_canonical

_USUAL_PORTS: Final = (":443", ":80")
_BOARD: Final = "board_id"
_PAGE: Final = "slug"
# Common capabilities as text: the operation, the bound that names its object, and the noun for it.
# Each has a text of its own, so that none can be mistaken for another.
_DEEDS: Final[Mapping[str, tuple[str, str, str]]] = {
    "append_board_rows": ("add rows to", _BOARD, "board"),
    "update_board_rows": ("change rows of", _BOARD, "board"),
    "delete_board_rows": ("delete rows of", _BOARD, "board"),
    "get_board": ("read", _BOARD, "board"),
    "update_page": ("change", _PAGE, "page"),
    "get_page": ("read", _PAGE, "page"),
}
_PLAIN: Final[Mapping[str, str]] = {
    "automation_llm_complete": "call a model",
    "agent.run": "run a model with tools",
    "publish_event": "publish events that start other automations",
    "create_page": "write new pages",
    "inbox.post_notification": "post messages to the inbox",
    "list_boards": "list the boards",
}
_FETCH: Final = "http_fetch"
_MEMORY: Final = "automation_kv."
_FAILURES: Final = "automation_recent_failures"
_READS: Final = ("get_", "list_", "read_", "search_", "find_")
_KEPT_HERE: Final = ("board", "page", "inbox.", "artifacts.")


def is_memory(grant: Grant) -> bool:
    """Whether it is the automation's own memory, all of it."""
    name = grant.capability
    return not grant.params and (name.startswith(_MEMORY) or name == _FAILURES)


def is_read(grant: Grant) -> bool:
    """Whether it only reads workspace data, judged by its name; unknown ones do not count."""
    name = grant.capability
    return name.startswith((*_READS, _MEMORY)) and "hosts" not in grant.params and not grant.lent


def reach(grant: Grant) -> int:
    """The rank of its reach: a host, another tool, workspace data, the automation's own memory."""
    if "hosts" in grant.params:
        return 0
    if grant.capability.startswith(_MEMORY):
        return 3
    return 2 if not grant.lent and any(one in grant.capability for one in _KEPT_HERE) else 1


def grant_words(grant: Grant, *, lent: bool, label: str = "") -> str:
    """One grant: the operation, its destination, its bounds and the accounts it uses.

    An operation without a sentence of its own is named by its id and its label.
    """
    said, told = _describe_deed(grant, f" ({quote_name(label)})" if label else "")
    parts = [said]
    bounds = bounds_words({key: one for key, one in grant.params.items() if key not in told})
    if bounds:
        parts.append("with " + ", ".join(bounds))
    if lent:
        parts.append("with the accounts of its owner")
    return " ".join(parts)


def describe_secret_use(use: SecretUsage, now: str) -> str:
    """One secret and its destination."""
    name = f"the secret {quote_name(use.secret)}"
    if use.pointer.startswith("/triggers"):
        return f"It{now} verifies its callers with {name}."
    if not use.site:
        return (
            f"It{now} uses {name} in {quote_name(use.action)}, where the run chooses the "
            "destination."
        )
    return f"It{now} uses {name} at {quote_whole(_site(use.site))}."


def _describe_deed(grant: Grant, label: str) -> tuple[str, frozenset[str]]:
    """The operation, and the bounds that are described with it."""
    name, hosts = grant.capability, grant.params.get("hosts")
    if not isinstance(hosts, list):
        return _deed_here(grant, label)
    if name != _FETCH:
        return f"call {quote_name(name)}{label} {_to(hosts)}", frozenset({"hosts"})
    method = grant.params.get("method")
    if method is None:
        return f"send requests {_to(hosts)}", frozenset({"hosts"})
    ways = _format_values(method if isinstance(method, list) else [method])
    return f"send requests {_to(hosts)} ({ways})", frozenset({"hosts", "method"})


def _deed_here(grant: Grant, label: str) -> tuple[str, frozenset[str]]:
    name = grant.capability
    if name in _PLAIN:
        return _PLAIN[name], frozenset()
    if name not in _DEEDS:
        return f"call {quote_name(name)}{label}", frozenset()
    does, key, thing = _DEEDS[name]
    return f"{does} {_which(thing, grant.params.get(key))}", frozenset({key})


def _which(thing: str, bound: Any) -> str:
    if bound is None:
        return f"any {thing}"
    if isinstance(bound, list):
        return f"the {thing}s {_format_values(bound)}"
    return f"the {thing} {_value(bound)}"


def _to(hosts: list[Any]) -> str:
    if not hosts:
        return "at no host yet"
    return "to " + quote_values([str(host) for host in hosts])


def bounds_words(params: Mapping[str, Any]) -> list[str]:
    """The bounds on the arguments of a grant, one each."""
    return [_bound(key, value) for key, value in sorted(params.items()) if key != "hosts"]


def _bound(key: str, value: Any) -> str:
    if key.startswith("max_"):
        return f"{quote_name(key)} up to {_value(value)}"
    if isinstance(value, list):
        return f"{quote_name(key)} among {_format_values(value)}"
    return f"{quote_name(key)} {_value(value)}"


def _value(value: Any) -> str:
    return quote_whole(value if isinstance(value, str) else encode_canonical(value).decode())


def _format_values(values: list[Any]) -> str:
    return ", ".join(map(_value, values))


def _site(site: str) -> str:
    ending = next((port for port in _USUAL_PORTS if site.endswith(port)), "")
    return site.removesuffix(ending) if ending else site
