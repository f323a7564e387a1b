"""Steps that write or send, filled with what was read or generated."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from mainspring.authoring.models import QuestionChoice
from mainspring.authoring.sketch.intents import Intent, IntentTarget
from mainspring.authoring.sketch.lookup import (
    BoardMatch,
    board_choices,
    columns_of,
    find_automation,
    find_secrets,
    how_to_create_board,
    secret_choices,
)
from mainspring.authoring.sketch.sketch_builder import SketchBuilder
from mainspring.authoring.sketch.texts import host_of, inert, loose, quote_request, shorten_text
from mainspring.authoring.sketch.trigger_events import EVENT_TYPE
from mainspring.authoring.sketch.word_tables import FILE_ENDS, NUMBERS, READ
from mainspring.definition.strict_json import join_pointer

# Board rows: appended with a dedup key, or updated in place.

_ID: Final = {"type": "string", "format": "uuid"}


def add_rows(
    bench: SketchBuilder, found: BoardMatch, rows: Any, when: str | None, made_key: str | None
) -> None:
    """Add a step that appends rows. The dedup key field is always set or asked for."""
    at = join_pointer(bench.next_at, "config")
    config = _board(bench, found, at)
    dataset = found.dataset
    if rows is None:
        bench.ask(
            "row",
            join_pointer(at, "rows"),
            "What should the row hold, as fields and values?",
            schema=bench.argument("append_board_rows", "rows"),
            why="The request does not say what is written.",
        )
    else:
        config["rows"] = rows
    key = dataset.dedupe_key_field if dataset is not None else None
    if key is not None and "{" not in key:
        config["dedupe_key_field"] = key
        bench.key_field = key
    else:
        _ask_key(bench, found, at, made_key)
    bench.step("add_rows", "append_board_rows", config, when=when)


def _ask_key(bench: SketchBuilder, found: BoardMatch, at: str, made_key: str | None) -> None:
    """Ask for the dedup key field; this question cannot be skipped."""
    columns = columns_of(found.dataset)
    names = dict.fromkeys((*((made_key,) if made_key else ()), *columns))
    # Each board has its own key; the definition's top level names the first.
    others = () if bench.key_field else ("/writes/dedupe_key_field",)
    bench.key_field = bench.key_field or ""
    bench.ask(
        "dedupe-key",
        join_pointer(at, "dedupe_key_field"),
        "Which field of a row holds an id that never changes, so that no row is written twice?",
        schema={"type": "string", "minLength": 1, "maxLength": 200, "pattern": "^[^{}]+$"},
        choices=tuple(QuestionChoice(name, name) for name in names),
        others=others,
        why="Without it rows are duplicated on every run, on every replay, and with every "
        "teammate's automation.",
    )


def change_rows(bench: SketchBuilder, found: BoardMatch, rows: Any, when: str | None) -> None:
    """Add a step that updates rows by id."""
    at = join_pointer(bench.next_at, "config")
    config = _board(bench, found, at)
    if not isinstance(rows, str):
        # Only a row that was read has an id.
        bench.ask(
            "row",
            join_pointer(at, "rows"),
            "Which rows change, and to what?",
            schema=bench.argument("update_board_rows", "rows"),
        )
    else:
        config["rows"] = rows
    bench.step("change_rows", "update_board_rows", config, when=when)


def _board(bench: SketchBuilder, found: BoardMatch, at: str) -> dict[str, Any]:
    config: dict[str, Any] = {}
    if found.board is None:
        said = f" There is none called {quote_request(found.said)}." if found.said else ""
        if found.said and len({one.name for one in found.choices}) == 1 and len(found.choices) > 1:
            said = f" Several are called {quote_request(found.said)}."
        said += how_to_create_board(found.said, bench.resources)
        place = bench.unknown_board()
        bench.ask(
            "board",
            join_pointer(at, "board_id"),
            f"Which board is written?{said}",
            schema=_ID,
            choices=board_choices(found.choices or bench.resources.boards),
            others=(place,),
        )
        return config
    config["board_id"] = found.board.id
    if found.board.id not in bench.boards:
        bench.boards.append(found.board.id)
    if found.dataset is not None and found.dataset.name != "default":
        config["dataset"] = inert(found.dataset.name)
    return config


_SECRET: Final = {"type": "string", "pattern": r"^\{\{ secrets\.[a-z0-9_]{1,64} \}\}$"}
_SLACK_SECRET: Final = "slack_bot_token"  # noqa: S105
_DAY: Final = "{{ run.started_at | date('%Y-%m-%d') }}"
# Without a body, these only fetch a URL.
_ASKS: Final = frozenset({"call", "ping", "hit", "request"})
_SECONDS: Final = {"second": 1, "minute": 60, "hour": 3_600, "day": 86_400}


@dataclass(frozen=True, slots=True)
class ActionContent:
    """The content available to an action."""

    # A template; empty: unknown.
    text: str
    title: str
    when: str | None = None
    rows: Any = None
    rows_when: str | None = None
    # The dedup key field, where the rows are built here.
    key_field: str | None = None
    # A machine-readable value, where no model was involved.
    value: str | None = None

    @property
    def body(self) -> Any:
        if self.value is not None:
            return self.value if self.value == "{{ trigger }}" else {"items": self.value}
        return {"text": self.text} if self.text else {}


Act = Callable[[SketchBuilder, IntentTarget, Intent, ActionContent], None]


def add_act(
    bench: SketchBuilder, target: IntentTarget, intent: Intent, content: ActionContent
) -> None:
    """Add the step for one target."""
    _ACTS[target.where](bench, target, intent, content)


def _say(
    bench: SketchBuilder, config: dict[str, Any], key: str, content: ActionContent, what: str
) -> None:
    """Set the text, or ask for it."""
    if content.text:
        config[key] = content.text
        return
    action = {"Slack": "slack_post", "mail": "send_email", "Telegram": "telegram_push"}.get(
        what, ""
    )
    bench.ask(
        "text",
        join_pointer(bench.next_at, "config", key),
        f"What should the {what} message say?",
        schema=bench.argument(action, key) or None,
    )


def _slack(
    bench: SketchBuilder, target: IntentTarget, intent: Intent, content: ActionContent
) -> None:
    at = join_pointer(bench.next_at, "config")
    config: dict[str, Any] = {}
    if target.value:
        config["channel"] = target.value
    else:
        bench.ask(
            "slack-channel",
            join_pointer(at, "channel"),
            "To which Slack channel?",
            schema=bench.argument("slack_post", "channel"),
            why=f"For {quote_request(intent.clause.text())}.",
        )
    _say(bench, config, "text", content, "Slack")
    fitting = find_secrets(bench.resources, "slack")
    if len(fitting) == 1:
        config["token"] = f"{{{{ secrets.{fitting[0]} }}}}"
    else:
        names = fitting or (*bench.resources.secrets, _SLACK_SECRET)
        if not fitting:
            bench.note(
                f"Slack needs a bot's token: `mainspring secrets set {_SLACK_SECRET}` keeps it."
            )
        bench.ask(
            "slack-token",
            join_pointer(at, "token"),
            "Which secret holds the Slack bot's token?",
            schema=_SECRET,
            choices=secret_choices(dict.fromkeys(names), bench.resources.secrets),
            why="The message is posted as the bot whose token this is; its value stays in the "
            "vault.",
        )
    bench.step("post", "slack_post", config, when=content.when)


def _telegram(
    bench: SketchBuilder, target: IntentTarget, intent: Intent, content: ActionContent
) -> None:
    config: dict[str, Any] = {}
    _say(bench, config, "text", content, "Telegram")
    bench.step("push", "telegram_push", config, when=content.when, approval="automatic")
    lacking = {"telegram_bot_token", "telegram_chat_id"} - set(bench.resources.secrets)
    if lacking:
        bench.note(f"Telegram needs these secrets of yours: {', '.join(sorted(lacking))}.")


def _mail(
    bench: SketchBuilder, target: IntentTarget, intent: Intent, content: ActionContent
) -> None:
    at = join_pointer(bench.next_at, "config")
    config: dict[str, Any] = {}
    if target.values:
        config["to"] = list(dict.fromkeys(target.values))
    else:
        who = f" of {target.value}" if target.value else ""
        bench.ask(
            "recipient",
            join_pointer(at, "to"),
            f"What is the mail address{who}?",
            schema=bench.argument("send_email", "to"),
            why=f"For {quote_request(intent.clause.text())}.",
        )
    config["subject"] = _find_given_name(bench, "mail") or content.title
    _say(bench, config, "text", content, "mail")
    bench.step("mail", "send_email", config, when=content.when)


def _owner(
    bench: SketchBuilder, target: IntentTarget, intent: Intent, content: ActionContent
) -> None:
    config: dict[str, Any] = {"subject": _find_given_name(bench, "mail") or content.title}
    _say(bench, config, "text", content, "mail")
    bench.step("mail_me", "email.notify_owner", config, when=content.when)


def _inbox(
    bench: SketchBuilder, target: IntentTarget, intent: Intent, content: ActionContent
) -> None:
    config: dict[str, Any] = {"title": _find_given_name(bench, "message") or content.title}
    if content.text and content.text != content.title:
        config["message_template"] = content.text
    bench.step("tell", "notification", config, when=content.when)
    if target.value == "assumed":
        bench.note("No destination was given, so it goes to your inbox.")


def _page(
    bench: SketchBuilder, target: IntentTarget, intent: Intent, content: ActionContent
) -> None:
    named, each = _find_given_name(bench, "page"), content.title.startswith("{{ item.")
    config: dict[str, Any] = {
        "type": "note" if target.value == "note" else "derived",
        "title": named or (content.title if each else f"{content.title} {_DAY}"),
    }
    if named:
        bench.note("The page with this title is overwritten each time.")
    _say(bench, config, "body", content, "page")
    bench.step("write_page", "create_page", config, when=content.when)


def _file(
    bench: SketchBuilder, target: IntentTarget, intent: Intent, content: ActionContent
) -> None:
    end = FILE_ENDS.get(target.values[0] if target.values else "", "md")
    named = _find_given_name(bench, "file")
    if named and "." not in named:
        named = f"{named}.{end}"
    config: dict[str, Any] = {"name": target.value or named or f"{_DAY}.{end}"}
    if content.value is not None and not target.value and end == "md":
        config = {"name": f"{_DAY}.json", "json": content.value}
        bench.step("save", "artifacts.save", config, when=content.when)
        return
    _say(bench, config, "text", content, "file")
    bench.step("save", "artifacts.save", config, when=content.when)


def _event(
    bench: SketchBuilder, target: IntentTarget, intent: Intent, content: ActionContent
) -> None:
    config: dict[str, Any] = {"payload": content.body}
    if target.value:
        config = {"type": target.value, **config}
    else:
        bench.ask(
            "event",
            join_pointer(bench.next_at, "config", "type"),
            "Which type has the event?",
            schema=bench.argument("publish_event", "type"),
            choices=tuple(
                QuestionChoice(name, name)
                for name in bench.resources.event_types or ()
                if EVENT_TYPE.fullmatch(name)
            ),
        )
    bench.step("publish", "publish_event", config, when=content.when)


def _call(
    bench: SketchBuilder, target: IntentTarget, intent: Intent, content: ActionContent
) -> None:
    config: dict[str, Any] = {"url": target.value, "method": "POST"}
    if not target.value:
        config.pop("url")
        _ask_address(bench, intent)
    if target.values:
        config["json"] = _inert_json(json.loads(target.values[0]))
        config["method"] = "PUT" if intent.clause.verb == "put" else "POST"
    elif content.body:
        config["json"] = content.body
    elif intent.clause.verb in _ASKS:
        # Nothing is sent, so the URL is only fetched.
        config.pop("method")
    bench.step("call", "http_fetch", config, when=content.when)


def _inert_json(value: Any) -> Any:
    """A literal JSON value without templates."""
    if isinstance(value, str):
        return inert(value)
    if isinstance(value, dict):
        return {loose(str(key)): _inert_json(one) for key, one in value.items()}
    return [_inert_json(one) for one in value] if isinstance(value, list) else value


def _ask_address(bench: SketchBuilder, intent: Intent) -> None:
    bench.ask(
        "url",
        join_pointer(bench.next_at, "config", "url"),
        "What is its web address?",
        schema=bench.argument("http_fetch", "url"),
        why=f"For {quote_request(intent.clause.text())}.",
    )


def _callback(
    bench: SketchBuilder, target: IntentTarget, intent: Intent, content: ActionContent
) -> None:
    config: dict[str, Any] = {"body": content.body}
    if target.value:
        config = {"url": target.value, **config}
    else:
        _ask_address(bench, intent)
    bench.step("call", "callback_webhook", config, when=content.when)


def _wait(
    bench: SketchBuilder, target: IntentTarget, intent: Intent, content: ActionContent
) -> None:
    seconds = 0
    words = intent.clause.words
    for place, word in enumerate(words[1:], 1):
        unit = _SECONDS.get(word.removesuffix("s"))
        before = words[place - 1]
        count = NUMBERS.get(before) or (int(before) if before.isdecimal() else None)
        if unit and count:
            seconds += unit * count
    if 0 < seconds <= 30 * 86_400:
        bench.step("wait", "delay", {"seconds": seconds})
    else:
        said = intent.clause.text()
        bench.lose(said, f"I did not understand how long to wait: {quote_request(said)}.")


def _automation(
    bench: SketchBuilder, target: IntentTarget, intent: Intent, content: ActionContent
) -> None:
    named = find_automation(intent.clause.tokens, bench.resources)
    config: dict[str, Any] = {"dry_run": False}
    if named is not None:
        config = {"automation_id": named[1], **config}
    else:
        bench.ask(
            "automation",
            join_pointer(bench.next_at, "config", "automation_id"),
            "Which automation should it run?",
            schema={"type": "string", "format": "uuid"},
            choices=tuple(
                QuestionChoice(name, id_)
                for name, id_ in (bench.resources.automations or {}).items()
            ),
        )
    bench.step("run_automation", "run_automation_once", config, when=content.when)


def _rows(
    bench: SketchBuilder, target: IntentTarget, intent: Intent, content: ActionContent
) -> None:
    assert target.board is not None
    when = content.rows_when or content.when
    if target.where == "rows":
        change_rows(bench, target.board, content.rows, when)
    else:
        add_rows(bench, target.board, content.rows, when, content.key_field)


def _find_given_name(bench: SketchBuilder, kind: str) -> str:
    """Return the name that the request gives a thing of this kind."""
    said = bench.titles.pop(kind, "") or bench.titles.pop("any", "")
    return inert(shorten_text(said, 150))


def title_of(name: str) -> str:
    """Turn a name into a title for a template field."""
    words = [host_of(one) for one in name.split()] or [""]
    if len(words) > 1 and words[0].lower() in READ:
        words = words[2:] if words[1].lower() in {"the", "our", "my"} and words[2:] else words[1:]
    if "." not in words[0]:
        words[0] = words[0][:1].upper() + words[0][1:]
    return inert(shorten_text(" ".join(words), 100))


_ACTS: Final[Mapping[str, Act]] = {
    "slack": _slack,
    "telegram": _telegram,
    "mail": _mail,
    "owner": _owner,
    "inbox": _inbox,
    "board": _rows,
    "rows": _rows,
    "page": _page,
    "file": _file,
    "event": _event,
    "call": _call,
    "callback": _callback,
    "wait": _wait,
    "automation": _automation,
}
