"""Replacing a channel or address in a definition."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from mainspring.authoring.sketch.request_tokens import Clause, Token
from mainspring.authoring.sketch.sketch_builder import SketchBuilder
from mainspring.authoring.sketch.word_tables import split_words

ADDING: Final = split_words("also additionally add too plus")
_REPLACING: Final = split_words("instead not rather change switch use replace move from now")
Document = dict[str, Any]


def plan_of(document: Mapping[str, Any]) -> list[Any]:
    plan = document.get("plan")
    return plan if isinstance(plan, list) else []


def walk(steps: Sequence[Any]) -> Iterator[dict[str, Any]]:
    """Yield every step, nested ones included."""
    for step in steps:
        if not isinstance(step, dict):
            continue
        yield step
        config = step.get("config")
        inner = config.get("steps") if isinstance(config, dict) else None
        if isinstance(inner, list):
            yield from walk(inner)


def replace_destination(document: Document, bench: SketchBuilder, clause: Clause) -> bool:
    """Replace an existing channel or address."""
    channels, mails = clause.of("channel"), clause.of("mail")
    # The word that introduced a clause is no longer in it.
    words = set(clause.words) | ({"now"} & set(bench.text.lower().split()))
    if not (channels or mails) or not words & _REPLACING:
        return False
    if words & ADDING and "instead" not in words:
        return False
    done = False
    for step in walk(plan_of(document)):
        config = step.get("config")
        if not isinstance(config, dict):
            continue
        if channels and step.get("action") == "slack_post":
            done |= _swap_channel(bench, config, clause, channels)
        if mails and step.get("action") == "send_email":
            done |= _swap_mail(config, clause, mails)
    return done


def _old_and_new(clause: Clause, named: Sequence[Token]) -> tuple[str | None, str]:
    """Decide which of one or two names is replaced, and by which."""
    if len(named) == 1:
        return None, named[0].text
    first, second = named[0].text, named[1].text
    low = list(clause.words)
    turned = "from" in low or (low.index("to") if "to" in low else 0) > clause.tokens.index(
        named[0]
    )
    if "instead" in low or "not" in low or "rather" in low:
        turned = False
    return (first, second) if turned else (second, first)


def _swap_channel(
    bench: SketchBuilder, config: dict[str, Any], clause: Clause, named: Sequence[Token]
) -> bool:
    old, new = _old_and_new(clause, named)
    if old is not None and config.get("channel") != old:
        return False
    bench.swapped.append((str(config.get("channel")), new))
    config["channel"] = new
    return True


def _swap_mail(config: dict[str, Any], clause: Clause, named: Sequence[Token]) -> bool:
    old, new = _old_and_new(clause, named)
    there = config.get("to")
    if not isinstance(there, list) or (old is not None and old not in there):
        return False
    config["to"] = [new] if old is None else [new if one == old else one for one in there]
    return True
