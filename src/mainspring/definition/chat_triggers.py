"""Chat triggers: their filter over the event of a message, their checks and their sentence."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

from mainspring.contracts.chat import CHAT_EVENT
from mainspring.contracts.errors import Finding
from mainspring.contracts.limits import Limits
from mainspring.definition.patterns import InvalidPattern, compile_pattern
from mainspring.definition.strict_json import join_pointer
from mainspring.definition.webhook_callers import BY_STEP, WHEN_DONE

CHAT_MESSAGE: Final = CHAT_EVENT
NO_ANSWER: Final = "none"
ANSWERS: Final = (WHEN_DONE, BY_STEP, NO_ANSWER)
LINKED: Final = "linked_members"
ANYONE: Final = "anyone_in_channel"
SENDERS: Final = (LINKED, ANYONE)
# The providers whose messages arrive here, by name.
PROVIDERS: Final[Mapping[str, str]] = {"telegram": "Telegram"}
# The providers whose messages are only read at an interval: why, and the event of those reads.
_ONLY_READ: Final[Mapping[str, tuple[str, str]]] = {
    "slack": (
        "Messages of Slack are not received as they are written yet",
        "slack.message_posted",
    ),
    "discord": (
        "Discord delivers messages only over a gateway, which this installation does not use",
        "discord.message_posted",
    ),
}
_KINDS: Final = ("command", "prefix", "mention", "regex")


def read_chat_answer(config: Mapping[str, Any]) -> str:
    """When the sender gets an answer; the output of the run unless the config says otherwise."""
    answer = config.get("respond", WHEN_DONE)
    return answer if answer in ANSWERS else NO_ANSWER


def build_chat_filter(config: Mapping[str, Any]) -> dict[str, Any]:
    """The filter over the payload of a message.

    Without a channel only private chats count, so an answer is never posted to a group that the
    definition does not name.
    """
    channel = config.get("channel")
    wanted: dict[str, Any] = (
        {"chat.kind": {"equals": "private"}}
        if channel is None
        else {"chat.id": {"equals": str(channel)}}
    )
    if config.get("who", LINKED) != ANYONE:
        wanted["sender.linked"] = {"equals": True}
    match = config.get("match")
    if not isinstance(match, Mapping):
        return wanted
    for kind in _KINDS:
        if kind not in match:
            continue
        value = match[kind]
        if kind == "command":
            wanted["command"] = {"equals": str(value).removeprefix("/").lower()}
        elif kind == "mention":
            wanted["mentioned"] = {"equals": True}
        else:
            operator = "starts_with" if kind == "prefix" else "regex"
            wanted["text"] = {operator: value}
    return wanted


def check_chat_config(config: Mapping[str, Any], at: str, limits: Limits) -> Iterator[Finding]:
    """What the schema cannot say."""
    if str(config.get("via")) in _ONLY_READ:
        why, event = _ONLY_READ[str(config["via"])]
        yield Finding(
            join_pointer(at, "via"),
            f"{why}, so a message there cannot start a run at once.",
            "chat_not_received",
            f"Use an event trigger with {event}, which reads followed channels at an interval, or "
            "use telegram.",
        )
    match = config.get("match")
    given = [kind for kind in _KINDS if isinstance(match, Mapping) and kind in match]
    for kind in given[1:]:
        yield Finding(
            join_pointer(at, "match", kind),
            f"A message is matched by either {given[0]} or {kind}.",
            "chat_match",
            "Leave one of them out, or use filters for further conditions.",
        )
    if config.get("who") == ANYONE and "channel" not in config:
        yield Finding(
            join_pointer(at, "who"),
            "anyone_in_channel needs the channel in which anyone may write.",
            "required",
            "Name the channel, or leave who out: then only linked members start runs.",
        )
    pattern = match.get("regex") if isinstance(match, Mapping) else None
    if isinstance(pattern, str):
        try:
            compile_pattern(pattern, limits)
        except InvalidPattern as problem:
            yield Finding(join_pointer(at, "match", "regex"), str(problem), "filter_regex")


def describe_chat_trigger(config: Mapping[str, Any], quote: Callable[[str], str]) -> str:
    """``a linked member writes /standup to the bot on Telegram; it answers …``."""
    via = config.get("via")
    name = PROVIDERS.get(str(via), str(via).capitalize() if via else "a chat")
    channel = config.get("channel")
    anyone = config.get("who") == ANYONE
    who = "anyone" if anyone else "a linked member"
    where = (
        f"to the bot on {name}" if channel is None else f"in the {name} chat {quote(str(channel))}"
    )
    return f"{who} writes {_describe_match(config, quote)} {where}{_describe_answer(config)}"


def _describe_match(config: Mapping[str, Any], quote: Callable[[str], str]) -> str:
    match = config.get("match")
    filters = ", with conditions," if config.get("filters") else ""
    if not isinstance(match, Mapping) or not match:
        return f"a message{filters}"
    if "command" in match:
        return f"/{str(match['command']).removeprefix('/')[:64]}{filters}"
    if "prefix" in match:
        return f"a message that begins with {quote(str(match['prefix']))}{filters}"
    if "regex" in match:
        return f"a message that matches {quote(str(match['regex']))}{filters}"
    return f"a message that mentions the bot{filters}" if match.get("mention") else "a message"


def _describe_answer(config: Mapping[str, Any]) -> str:
    answer = read_chat_answer(config)
    if answer == NO_ANSWER:
        return ""
    what = "the output of the run" if answer == WHEN_DONE else "the result of a step"
    whom = "everyone in that chat" if config.get("channel") is not None else "that person"
    return f"; {whom} gets {what} as the answer, without a further review"
