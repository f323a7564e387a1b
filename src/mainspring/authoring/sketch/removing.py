"""Steps taken out of a plan because somebody asked for it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

from mainspring.authoring.sketch.reading import Clause
from mainspring.authoring.sketch.search import stem
from mainspring.authoring.sketch.texts import quote_request
from mainspring.authoring.sketch.verbs import split_words
from mainspring.authoring.sketch.workbench import SketchBuilder

_ACTIONS: Final[Mapping[str, frozenset[str]]] = {
    "slack_post": split_words("slack post posting posts channel message"),
    "send_email": split_words("mail mailing email emailing emails mails e-mail"),
    "email.notify_owner": split_words("mail mailing email emailing emails mails e-mail"),
    "telegram_push": frozenset({"telegram"}),
    "notification": split_words("notification notify notifying tell telling inbox alert"),
    "inbox.post_notification": split_words("notification notify notifying telling inbox"),
    "append_board_rows": split_words("board row rows logging appending adding"),
    "update_board_rows": split_words("board row rows updating"),
    "create_page": split_words("page note report"),
    "artifacts.save": split_words("file artifact saving"),
    "callback_webhook": split_words("callback webhook calling"),
    "publish_event": split_words("event publishing"),
    "delay": split_words("wait waiting delay pause"),
}


def remove_steps(document: dict[str, Any], bench: SketchBuilder, clause: Clause) -> bool:
    """Takes out the steps that the words name, where nothing else needs them."""
    plan = document.get("plan")
    if not isinstance(plan, list):
        return False
    meant = [place for place, step in enumerate(plan) if _is_meant(step, clause)]
    if not meant:
        return False
    if len(meant) == len(plan):
        bench.note("A plan has at least one step, so nothing was removed.")
        return True
    for place in reversed(meant):
        step = plan[place]
        user = _user(step, plan[place + 1 :])
        if user is not None:
            bench.note(
                f"The step {quote_request(str(step.get('step_id')))} stays: "
                f"{quote_request(str(user.get('step_id')))} needs what it answers."
            )
            continue
        del plan[place]
    bench.first = len(plan)
    return True


def _is_meant(step: Any, clause: Clause) -> bool:
    if not isinstance(step, dict):
        return False
    words = set(clause.words)
    action, name = str(step.get("action")), str(step.get("step_id"))
    if name in words or action in words:
        return True
    known = _ACTIONS.get(action)
    if known is None:
        return "." in action and stem(action.partition(".")[0]) in {stem(one) for one in words}
    if not words & known:
        return False
    channels = {one.text for one in clause.of("channel")}
    config = step.get("config")
    there = config.get("channel") if isinstance(config, dict) else None
    return not channels or action != "slack_post" or there in channels


def _user(step: Mapping[str, Any], later: list[Any]) -> Mapping[str, Any] | None:
    """A later step that reads the output of this one."""
    names = [re.escape(str(step[key])) for key in ("output_as", "step_id") if step.get(key)]
    used = re.compile(rf"\b(?:{'|'.join(names)})\b")
    for one in later:
        if isinstance(one, dict) and any(used.search(text) for text in _templates(one)):
            return one
    return None


def _templates(value: Any) -> list[str]:
    if isinstance(value, str):
        return [value] if "{" in value else []
    if isinstance(value, Mapping):
        return [
            text
            for key, one in value.items()
            for text in ([str(one)] if key == "when" and isinstance(one, str) else _templates(one))
        ]
    if isinstance(value, list):
        return [text for one in value for text in _templates(one)]
    return []
