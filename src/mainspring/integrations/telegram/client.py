"""Telegram Bot API client.

The bot token is a secret reference in the path, resolved when the request is sent, as is the chat
id in the query where it is one of the owner's secrets. Telegram reports a result in the status and
in ``ok``, and explains errors in ``description``. The API supports no idempotency key.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Mapping, Sequence
from typing import Any, Final, NoReturn

import orjson

from mainspring.contracts.addresses import read_base_address
from mainspring.contracts.chat import ChatPlace
from mainspring.contracts.context import CallContext, HttpRequest, HttpResponse
from mainspring.contracts.display_text import utf16_length
from mainspring.contracts.errors import (
    Conflict,
    Invalid,
    NotFound,
    ReconnectRequired,
    UpstreamError,
)
from mainspring.contracts.integration import Button
from mainspring.contracts.secret import CONNECTION_TOKEN, SecretRef, SecretText

TOKEN: Final = SecretRef("telegram_bot_token")
CHAT: Final = SecretRef("telegram_chat_id")

_SECONDS = 30.0
# Nothing depends on these responses, so their timeout is short.
_SHORT = 5.0
# The limit of one message, in UTF-16 units.
LONGEST_MESSAGE: Final = 4_096
# The limit of one getUpdates response.
MOST_UPDATES: Final = 100
_MOST_PAUSE = 86_400
# Longer than a long poll: an open one of ours has ended by then.
_CONFLICT_PAUSE = 30.0
_SHOWN = 200
# Telegram's limit is 4,096 units; the link to the inbox follows the text.
_LONGEST_PROMPT = 3_500
# Telegram repeats the chat id as a number, and masking it makes the JSON invalid.
_HIDDEN_NUMBER = re.compile(rb"-?[0-9]*" + re.escape(str(CHAT).encode()) + rb"[0-9]*")

_KEEP_TOKEN = f"Keep the token that @BotFather gave you: `mainspring secrets set {TOKEN.name}`."
_KEEP_CHAT = (
    f"Write to the bot once, then keep the id of that chat: `mainspring secrets set {CHAT.name}`."
)
# Errors by status and the start of their description, with code, message and remedy.
_REFUSALS: Final[tuple[tuple[int, str, str, str, str | None], ...]] = (
    (
        400,
        "Bad Request: chat not found",
        "telegram_chat_not_found",
        "Telegram found no such chat, or the bot may not write in it.",
        _KEEP_CHAT,
    ),
    (
        400,
        "Bad Request: chat_id is empty",
        "telegram_chat_not_found",
        "Telegram was given no chat.",
        _KEEP_CHAT,
    ),
    (
        400,
        "Bad Request: message is too long",
        "telegram_too_long",
        "The message is too long for Telegram.",
        "Shorten it, or send a link.",
    ),
    (
        400,
        "Bad Request: message text is empty",
        "telegram_empty",
        "The message is empty for Telegram.",
        None,
    ),
    (
        400,
        "Bad Request: group chat was upgraded",
        "telegram_chat_moved",
        "The group has become a supergroup and has another id.",
        _KEEP_CHAT,
    ),
    (401, "", "telegram_unauthorized", "Telegram does not accept the bot's token.", _KEEP_TOKEN),
    (
        403,
        "",
        "telegram_forbidden",
        "The bot may not write to the owner: it was blocked, or was never written to.",
        "Open the chat with the bot in Telegram, unblock it and press Start.",
    ),
    (404, "", "telegram_unauthorized", "Telegram found no bot with this token.", _KEEP_TOKEN),
)


class Telegram:
    """The Bot API client for one base URL.

    With a connection, it uses that connection's bot and linked chat; without one, both are secrets
    of the owner.
    """

    def __init__(self, base_url: str) -> None:
        self._base, host = _check_base_url(base_url)
        self.hosts = frozenset({host})

    async def push(self, ctx: CallContext, text: str) -> int:
        """Send a message to the owner's chat; return its id."""
        if ctx.account is not None:
            return await self.send_prompt(ctx, get_linked_chat(ctx.account.settings), text, ())
        try:
            response = await ctx.http.send(
                HttpRequest(
                    method="POST",
                    url=SecretText((f"{self._base}/bot", TOKEN, "/sendMessage")),
                    headers={"Content-Type": "application/json"},
                    query={"chat_id": SecretText((CHAT,))},
                    body=orjson.dumps({"text": text}),
                    timeout_seconds=_SECONDS,
                    follow_redirects=False,
                )
            )
        except NotFound as missing:
            raise _not_set_up(missing) from None
        return _number(_answer(response))

    async def account(self, ctx: CallContext) -> str:
        """Return the bot's name."""
        said = await self._ask(ctx, "getMe", {})
        name = said.get("username") if isinstance(said, Mapping) else None
        if not isinstance(name, str):
            _not_telegram()
        return f"@{name[:64]}"

    async def updates(self, ctx: CallContext, offset: int, seconds: int) -> Sequence[Any]:
        """Long-poll for updates after an offset."""
        given = {
            "offset": offset,
            "limit": MOST_UPDATES,
            "timeout": seconds,
            "allowed_updates": ["message", "callback_query"],
        }
        said = await self._ask(ctx, "getUpdates", given, seconds=_SECONDS)
        if not isinstance(said, list):
            _not_telegram()
        return said

    async def send_prompt(
        self, ctx: CallContext, chat: int | str, text: str, buttons: Sequence[Button]
    ) -> int:
        """Send a message with a row of buttons."""
        arguments: dict[str, Any] = {"chat_id": chat, "text": text}
        if buttons:
            row = [{"text": one.label, "callback_data": one.data} for one in buttons]
            arguments["reply_markup"] = {"inline_keyboard": [row]}
        return _number(await self._ask(ctx, "sendMessage", arguments))

    async def send_reply(self, ctx: CallContext, place: ChatPlace, text: str) -> int:
        """Send a message as a reply in the chat and topic of another one."""
        arguments: dict[str, Any] = {"chat_id": int(place.chat_id), "text": text}
        if place.thread_id is not None:
            arguments["message_thread_id"] = int(place.thread_id)
        if place.reply_to is not None:
            # The message may have been deleted meanwhile.
            arguments["reply_parameters"] = {
                "message_id": int(place.reply_to),
                "allow_sending_without_reply": True,
            }
        return _number(await self._ask(ctx, "sendMessage", arguments))

    async def send_typing(self, ctx: CallContext, place: ChatPlace) -> None:
        """Show that an answer is on its way, for about five seconds."""
        arguments: dict[str, Any] = {"chat_id": int(place.chat_id), "action": "typing"}
        if place.thread_id is not None:
            arguments["message_thread_id"] = int(place.thread_id)
        await self._ask(ctx, "sendChatAction", arguments, seconds=_SHORT)

    async def edit_message(
        self, ctx: CallContext, chat: int | str, message: int, text: str
    ) -> None:
        """Edit a message's text and remove its buttons."""
        given = {"chat_id": chat, "message_id": message, "text": text}
        await self._ask(ctx, "editMessageText", given)

    async def answer_callback(self, ctx: CallContext, query_id: str) -> None:
        """Acknowledge a callback query, which ends its progress bar.

        A query that is too old or already answered is not an error.
        """
        with contextlib.suppress(UpstreamError):
            given = {"callback_query_id": query_id}
            await self._ask(ctx, "answerCallbackQuery", given, seconds=_SHORT)

    async def _ask(
        self, ctx: CallContext, method: str, given: Mapping[str, Any], *, seconds: float = _SECONDS
    ) -> Any:
        """Make one call over a connection."""
        response = await ctx.http.send(
            HttpRequest(
                method="POST",
                url=SecretText((f"{self._base}/bot", CONNECTION_TOKEN, f"/{method}")),
                headers={"Content-Type": "application/json"},
                query={},
                body=orjson.dumps(given),
                timeout_seconds=seconds,
                follow_redirects=False,
            )
        )
        if response.status == 404:
            raise ReconnectRequired(
                "Telegram found no bot with this token.",
                code="telegram_unauthorized",
                suggestion="Ask @BotFather for the bot's token, and connect it again.",
            )
        if response.status == 409 and method == "getUpdates":
            raise _conflict(str((_read(response.body) or {}).get("description", "")))
        return _answer(response)


def fits(text: str) -> bool:
    """Report whether a message can show the whole text."""
    return utf16_length(text) <= _LONGEST_PROMPT


def get_linked_chat(settings: Mapping[str, Any]) -> int | str:
    """Return the chat linked to a connection."""
    chat = settings.get("chat_id")
    if not isinstance(chat, (int, str)) or isinstance(chat, bool):
        raise Conflict(
            "Telegram is connected, and your chat with the bot is not linked yet.",
            code="telegram_not_linked",
            suggestion="Link it on the page of integrations, or with "
            "`mainspring call link_telegram`, and press Start in the chat.",
        )
    return chat


def _number(result: Any) -> int:
    number = result.get("message_id") if isinstance(result, Mapping) else None
    if not isinstance(number, int) or isinstance(number, bool):
        _not_telegram()
    return number


def _not_set_up(missing: NotFound) -> NotFound:
    """The error for a missing secret, with how to set it."""
    return NotFound(
        missing.detail,
        code=missing.code,
        suggestion=_KEEP_CHAT if CHAT.name in missing.detail else _KEEP_TOKEN,
    )


def _check_base_url(base_url: str) -> tuple[str, str]:
    """Check the URL, and return it with the host and port to connect to."""
    found = read_base_address(base_url)
    if found is None:
        raise Invalid(
            "The address of Telegram's API is not a web address.",
            code="bad_telegram_url",
            suggestion="Write MAINSPRING_TELEGRAM_URL like https://api.telegram.org.",
        )
    return found


def _answer(response: HttpResponse) -> Any:
    """Return the result of a successful call; raises otherwise."""
    said = _read(response.body)
    if response.status == 200 and said is not None and said["ok"] is True:
        return said.get("result")
    if response.status == 429:
        raise UpstreamError(
            "Telegram asks for a pause: too many messages in a short time.",
            code="telegram_busy",
            retry_after=_pause(said, response),
            unsent=True,
        )
    if response.status in {408, 425} or response.status >= 500:
        raise UpstreamError(
            f"Telegram answered with status {response.status}.",
            code="telegram_status",
            retry_after=_pause(said, response),
        )
    if said is None or said["ok"] is True:
        _not_telegram()
    raise _refusal(response.status, said)


def _read(body: bytes) -> dict[str, Any] | None:
    """Parse a Bot API response; None when it is something else."""
    try:
        said = orjson.loads(body)
    except orjson.JSONDecodeError:
        try:
            said = orjson.loads(_HIDDEN_NUMBER.sub(b"0", body))
        except orjson.JSONDecodeError:
            return None
    return said if isinstance(said, dict) and isinstance(said.get("ok"), bool) else None


def _pause(answer: Mapping[str, Any] | None, response: HttpResponse) -> float | None:
    """The retry delay, in whole seconds, from the body or a header."""
    parameters = (answer or {}).get("parameters")
    wanted = parameters.get("retry_after") if isinstance(parameters, Mapping) else None
    if not isinstance(wanted, int) or isinstance(wanted, bool):
        text = response.headers.get("retry-after", "").strip()
        wanted = int(text) if re.fullmatch(r"[0-9]{1,9}", text) else None
    return None if wanted is None else float(min(max(wanted, 0), _MOST_PAUSE))


def _not_telegram() -> NoReturn:
    """A response that is not Telegram's. A retry could send twice, and would most likely fail
    again."""
    raise UpstreamError(
        "The response is not one of Telegram's Bot API.",
        code="telegram_answer",
        retryable=False,
        suggestion="See whether MAINSPRING_TELEGRAM_URL leads to Telegram.",
    )


def _conflict(description: str) -> UpstreamError:
    """Only one client may poll a bot's updates; it resolves when the other one stops."""
    if "webhook" in description.lower():
        return UpstreamError(
            "The bot has a webhook, so Telegram sends its updates there and not here.",
            code="telegram_webhook",
            retry_after=_CONFLICT_PAUSE,
            suggestion="Delete the webhook with the Bot API's method deleteWebhook, or make a bot "
            "for Mainspring alone.",
            unsent=True,
        )
    return UpstreamError(
        "Another program reads the updates of this bot at the same time.",
        code="telegram_conflict",
        retry_after=_CONFLICT_PAUSE,
        suggestion="If it happens again, stop the other program, or make a bot for Mainspring "
        "alone.",
        unsent=True,
    )


def _refusal(status: int, answer: Mapping[str, Any]) -> UpstreamError:
    description = str(answer.get("description", ""))[: _SHOWN * 2]
    for wanted, begins, code, detail, suggestion in _REFUSALS:
        if wanted == status and description.startswith(begins):
            return UpstreamError(
                detail, code=code, retryable=False, suggestion=suggestion, unsent=True
            )
    shown = " ".join(description.split())[:_SHOWN] or f"status {status}"
    return UpstreamError(
        f"Telegram refused the message: {shown}.",
        code="telegram_refused",
        retryable=False,
        unsent=400 <= status < 500,
    )
