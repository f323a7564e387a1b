"""Each outside write of a definition with its approval mode, and how to choose the other one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from mainspring.authoring.review.grants import (
    NO_STEP,
    CapabilityUse,
    may_go_alone,
    mode_in,
    waits_for_person,
)
from mainspring.authoring.review.reading import StepView
from mainspring.authoring.review.view import ReviewView
from mainspring.authoring.review.wording import (
    LONGEST_SENTENCE,
    LONGEST_STEP,
    MOST_ENTRIES,
    plain,
)
from mainspring.contracts.capability import Capability, Effect
from mainspring.contracts.grant import Grant
from mainspring.definition.approval import (
    ASK,
    AUTOMATIC,
    can_be_automatic,
    get_write_bounds,
    is_pinned,
    read_written_grants,
)
from mainspring.definition.json_values import encode_canonical
from mainspring.definition.pointers import join_pointer
from mainspring.definition.write_words import OWNER_ACCOUNTS, any_write_words, named_account

_WORKED_OUT: Final = "What it sends is worked out in the run."
_OPEN: Final = "Nothing fixes where it goes: fix it in the tools or grants first."


def writes_in(view: ReviewView, accounts: Mapping[str, str]) -> list[dict[str, Any]]:
    """Every write that a step may make, in the order of the steps.

    ``accounts`` says who the owner is at each integration that they have connected.
    """
    by_step: dict[str, list[CapabilityUse]] = {}
    for ask in view.asks:
        known = view.words.capabilities.get(ask.capability)
        sends = known is not None and known.write is not None and ask.effect is not Effect.READ
        if sends and ask.step is not NO_STEP:
            kept = by_step.setdefault(ask.step.pointer, [])
            if all(one.capability != ask.capability for one in kept):
                kept.append(ask)
    found: list[dict[str, Any]] = []
    granted = read_written_grants(view.document)
    for asks in by_step.values():
        if len(found) >= MOST_ENTRIES:
            break
        bounds, names = _bounds(asks[0].step, granted), [one.capability for one in asks]
        found += [_write(ask, names, bounds, view, accounts) for ask in asks[:MOST_ENTRIES]]
    return found[:MOST_ENTRIES]


def _bounds(step: StepView, granted: Sequence[Grant]) -> tuple[Grant, ...] | None:
    try:
        return get_write_bounds(step.action, step.config, granted)
    except Exception:  # a script or a list of tools that has not been judged
        return ()


def _write(
    ask: CapabilityUse,
    all_of_step: list[str],
    bounds: tuple[Grant, ...] | None,
    view: ReviewView,
    accounts: Mapping[str, str],
) -> dict[str, Any]:
    known = view.words.capabilities[ask.capability]
    waits = waits_for_person(
        known, ask.step, safe_go=may_go_alone(view.document), effect=ask.effect
    )
    return {
        "step": plain(ask.step.name, 64),
        "capability": plain(ask.capability, 200),
        "label": plain(known.label, 120),
        **_told(ask, bounds, accounts),
        "mode": ASK if waits else AUTOMATIC,
        # Where the mode is written, and what is written there for each choice.
        "pointer": join_pointer(ask.step.pointer, "approval"),
        "values": {mode: _value(ask, mode, all_of_step) for mode in (ASK, AUTOMATIC)},
        "only_asks_because": _why_not(known, bounds),
    }


def _told(
    ask: CapabilityUse, bounds: tuple[Grant, ...] | None, accounts: Mapping[str, str]
) -> dict[str, str | None]:
    """Where it goes, by which account and with which text, in the words of a consent."""
    step = ask.step
    config: Mapping[str, Any] = step.config if bounds is None else _fixed(ask.capability, bounds)
    words = any_write_words(ask.capability, config)
    account = named_account(config) or accounts.get(words.integration)
    if account is None and words.integration:
        account = OWNER_ACCOUNTS[words.integration].removeprefix("with ")
    says = words.infinitive[:1].upper() + words.infinitive[1:]
    return {
        "says": plain(says, LONGEST_SENTENCE),
        "account": None if account is None else plain(account, 120),
        "text": None if bounds is not None else _text(config, words.texts),
    }


def _fixed(capability: str, bounds: tuple[Grant, ...]) -> Mapping[str, Any]:
    """The bounds of one capability, where there is one entry of it."""
    found = [one.params for one in bounds if one.capability == capability]
    return found[0] if len(found) == 1 else {}


def _text(config: Mapping[str, Any], keys: Sequence[str]) -> str:
    """The outgoing template, line by line, for a person to read whole."""
    given = [(key, config[key]) for key in keys if config.get(key) not in (None, "", [], {})]
    lines = [
        line
        for key, value in given
        for line in ([f"{key}:"] if len(given) > 1 else []) + _lines(value)
    ]
    return "\n".join(plain(line, LONGEST_STEP) for line in lines)[:LONGEST_STEP]


def _lines(value: Any) -> list[str]:
    text = value if isinstance(value, str) else encode_canonical(value).decode()
    return text[:LONGEST_STEP].splitlines()


def _value(ask: CapabilityUse, mode: str, all_of_step: list[str]) -> Any:
    if len(all_of_step) == 1:
        return mode
    said = {name: mode_in(ask.step, name) for name in all_of_step}
    return {name: one for name, one in {**said, ask.capability: mode}.items() if one is not None}


def _why_not(capability: Capability, bounds: tuple[Grant, ...] | None) -> str | None:
    """Why it cannot be sent automatically; None where it can."""
    if not can_be_automatic(capability):
        return _WORKED_OUT
    if bounds is None or any(is_pinned(capability, one) for one in bounds):
        return None
    return _OPEN
