"""Drafts and questions in Slack: messages with buttons, and the signed requests they cause.

Slack signs every request with the signing secret of the app, over the time and the exact bytes
of the body. A text is shown as plain text, so that nothing in it can look like a link or notify
anybody, and a message carries buttons only where all of the text fits.
"""

from __future__ import annotations

import hashlib
import hmac
import re
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, Final
from urllib.parse import parse_qs

import orjson

from mainspring.contracts.context import CallContext, HttpClient, HttpRequest
from mainspring.contracts.display_text import utf16_length
from mainspring.contracts.errors import Conflict, UpstreamError
from mainspring.contracts.integration import (
    Button,
    Interaction,
    Interactions,
    Prompter,
    PromptMessage,
)
from mainspring.integrations.slack.client import CONNECTED, Slack

TOLERANCE_SECONDS: Final = 300
# The text of a section block.
_LONGEST_TEXT: Final = 3_000
_LONGEST_LABEL: Final = 75
_LONGEST_REPLY: Final = 1_900
_WAITS: Final = "Something waits for your decision in Mainspring."
_VERSION: Final = "v0"
_TIMESTAMP: Final = re.compile(r"[0-9]{1,12}")
_ACCOUNT: Final = re.compile(r"[A-Z0-9]{1,32}")
_MOST_FIELDS: Final = 64
_SECONDS: Final = 10.0


def is_genuine(secret: str, headers: Mapping[str, str], body: bytes, now: datetime) -> bool:
    """Whether Slack signed this body with the secret, at most five minutes ago."""
    stamp = headers.get("x-slack-request-timestamp", "")
    shown = headers.get("x-slack-signature", "")
    if not _TIMESTAMP.fullmatch(stamp) or not shown.startswith(f"{_VERSION}="):
        return False
    if abs(now.timestamp() - int(stamp)) > TOLERANCE_SECONDS:
        return False
    signed = f"{_VERSION}:{stamp}:".encode() + body
    right = f"{_VERSION}={hmac.new(secret.encode(), signed, hashlib.sha256).hexdigest()}"
    return hmac.compare_digest(shown.encode("utf-8", "replace"), right.encode())


def read_interaction(body: bytes) -> Interaction | None:
    """What a genuine request tells; None where nothing here depends on it."""
    try:
        form = parse_qs(body.decode(), max_num_fields=_MOST_FIELDS)
    except ValueError:
        return None
    if "payload" in form:
        return _read_press(form["payload"][0])
    team, user = _account(_first(form, "team_id")), _account(_first(form, "user_id"))
    if "command" not in form or team is None or user is None:
        return None
    return Interaction(
        team, user, command=_first(form, "text").strip(), reply_to=_first(form, "response_url")
    )


def _read_press(text: str) -> Interaction | None:
    try:
        payload = orjson.loads(text)
    except orjson.JSONDecodeError:
        return None
    if not isinstance(payload, dict) or payload.get("type") != "block_actions":
        return None
    user = _part(payload, "user")
    # In an organization that spans workspaces only the user says which one it was.
    team = _account(_part(payload, "team").get("id")) or _account(user.get("team_id"))
    who, actions = _account(user.get("id")), payload.get("actions")
    if team is None or who is None or not isinstance(actions, list) or len(actions) != 1:
        return None
    value = actions[0].get("value") if isinstance(actions[0], Mapping) else None
    reply_to = payload.get("response_url")
    blocks = _part(payload, "message").get("blocks")
    return Interaction(
        team,
        who,
        data=value if isinstance(value, str) else None,
        reply_to=reply_to if isinstance(reply_to, str) else "",
        shown=_sections(blocks if isinstance(blocks, list) else ()),
        place={
            "channel": _part(payload, "channel").get("id"),
            "ts": _part(payload, "message").get("ts"),
        },
    )


def _sections(blocks: Sequence[Any]) -> tuple[Mapping[str, Any], ...]:
    """What a message of ours shows, without its buttons."""
    return tuple(
        {"type": "section", "text": block["text"]}
        for block in blocks
        if isinstance(block, Mapping)
        and block.get("type") == "section"
        and isinstance(block.get("text"), Mapping)
    )


def slack_prompter(slack: Slack) -> Prompter:
    """Asks in the direct messages between a person and the bot of a connection."""

    async def send(ctx: CallContext, message: PromptMessage) -> Mapping[str, Any]:
        if not message.recipient:
            raise Conflict("No Slack account is linked with this member.", code="slack_not_linked")
        blocks = [_section(message.text), _actions(message)]
        channel, ts = await slack.post_message(
            ctx.http,
            CONNECTED,
            {"channel": message.recipient, "text": _WAITS, "blocks": blocks},
        )
        return {"channel": channel, "ts": ts}

    async def close(ctx: CallContext, place: Mapping[str, Any], text: str) -> None:
        await slack.update_message(
            ctx.http,
            {
                "channel": place["channel"],
                "ts": place["ts"],
                "text": escaped(text),
                "blocks": [_section(text)],
            },
        )

    return Prompter(send, close, fits)


def fits(text: str) -> bool:
    """Whether one block shows all of it."""
    return utf16_length(escaped(text)) <= _LONGEST_TEXT


def slack_interactions(slack: Slack) -> Interactions:
    """The requests of one Slack, and the answers to them."""

    async def reply(http: HttpClient, to: Interaction, text: str, replace: bool) -> None:
        answer: dict[str, Any] = {"text": escaped(text[:_LONGEST_REPLY])}
        if replace:
            answer |= {"replace_original": True, "blocks": [*to.shown, _section(text)]}
        else:
            answer |= {"replace_original": False, "response_type": "ephemeral"}
        await _post(http, to.reply_to, answer)

    return Interactions(slack.reply_hosts, is_genuine, read_interaction, _note, reply)


async def _post(http: HttpClient, url: str, said: Mapping[str, Any]) -> None:
    response = await http.send(
        HttpRequest(
            method="POST",
            url=url,
            headers={"Content-Type": "application/json; charset=utf-8"},
            query={},
            body=orjson.dumps(said),
            timeout_seconds=_SECONDS,
            follow_redirects=False,
        )
    )
    if response.status != 200:
        raise UpstreamError(
            f"Slack did not take the answer to a button: status {response.status}.",
            code="slack_reply",
            retryable=False,
        )


def _note(text: str) -> Mapping[str, Any]:
    return {"response_type": "ephemeral", "text": escaped(text)}


def _section(text: str) -> dict[str, Any]:
    shown = escaped(text)
    while utf16_length(shown) > _LONGEST_TEXT:
        text = text[: len(text) - 100]
        shown = escaped(f"{text}…")
    return {"type": "section", "text": {"type": "plain_text", "text": shown, "emoji": False}}


def _actions(message: PromptMessage) -> dict[str, Any]:
    # A label that a button cannot show whole is read and answered on the page.
    whole = all(utf16_length(escaped(one.label)) <= _LONGEST_LABEL for one in message.buttons)
    elements = [_button(number, one) for number, one in enumerate(message.buttons) if whole]
    label = {"type": "plain_text", "text": "Open in Mainspring", "emoji": False}
    opens = {"type": "button", "action_id": "open", "text": label, "url": message.link}
    return {"type": "actions", "elements": [*elements, opens]}


def _button(number: int, button: Button) -> dict[str, Any]:
    label = {"type": "plain_text", "text": escaped(button.label), "emoji": False}
    made: dict[str, Any] = {
        "type": "button",
        "action_id": f"answer_{number}",
        "text": label,
        "value": button.data,
    }
    return made | ({"style": "primary"} if number == 0 else {})


def escaped(text: str) -> str:
    """The three characters that mean something to Slack, also in plain text."""
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def _first(form: Mapping[str, list[str]], name: str) -> str:
    return form.get(name, [""])[0]


def _part(payload: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    found = payload.get(name)
    return found if isinstance(found, Mapping) else {}


def _account(value: Any) -> str | None:
    return value if isinstance(value, str) and _ACCOUNT.fullmatch(value) else None
