"""The impact of an automation: what it may reach, store and be started by, as plain data."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from mainspring.authoring.review.definition_reader import StepView, TriggerView, listing
from mainspring.authoring.review.grants import (
    NO_STEP,
    CapabilityUse,
    effect_of,
    may_go_alone,
    mode_in,
    waits_for_person,
)
from mainspring.authoring.review.quoting import (
    LONGEST_SENTENCE,
    LONGEST_STEP,
    MOST_ENTRIES,
    plain,
    sentence,
)
from mainspring.authoring.review.secrets import hosts_of, signing_secrets
from mainspring.authoring.review.system_names import system_of
from mainspring.authoring.review.trigger_descriptions import BY_HAND, describe_trigger
from mainspring.authoring.review.values import (
    PLACES,
    Names,
    describe_board,
    describe_destination,
    describe_value,
    names_of,
)
from mainspring.authoring.review.view import ReviewFacts, ReviewView, host_name, view_of
from mainspring.contracts.capability import Capability, Effect
from mainspring.contracts.grant import Grant
from mainspring.contracts.registry import Vocabulary
from mainspring.definition.approval import (
    ASK,
    AUTOMATIC,
    can_be_automatic,
    get_write_bounds,
    is_pinned,
    read_written_grants,
)
from mainspring.definition.authority_writes import (
    any_write_words,
    find_named_account,
    owner_account,
)
from mainspring.definition.forms import FORM, is_public_form
from mainspring.definition.secret_use import list_webhook_secrets
from mainspring.definition.strict_json import encode_canonical, join_pointer

# External writes with their approval mode, and how to change it.

_WORKED_OUT: Final = "What it sends is computed during the run."
_OPEN: Final = "Its destination is not fixed: set it in the tools or grants first."


def writes_in(view: ReviewView, accounts: Mapping[str, str]) -> list[dict[str, Any]]:
    """List every write that a step may make, in order.

    ``accounts`` has the owner's account name at each connected integration.
    """
    by_step: dict[str, list[CapabilityUse]] = {}
    for ask in view.asks:
        known = view.vocabulary.capabilities.get(ask.capability)
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
    except Exception:  # an unvalidated script or tool list
        return ()


def _write(
    ask: CapabilityUse,
    all_of_step: list[str],
    bounds: tuple[Grant, ...] | None,
    view: ReviewView,
    accounts: Mapping[str, str],
) -> dict[str, Any]:
    known = view.vocabulary.capabilities[ask.capability]
    waits = waits_for_person(
        known, ask.step, safe_go=may_go_alone(view.document), effect=ask.effect
    )
    return {
        "step": plain(ask.step.name, 64),
        "capability": plain(ask.capability, 200),
        "label": plain(known.label, 120),
        **_describe_use(ask, bounds, accounts),
        "mode": ASK if waits else AUTOMATIC,
        # Where the mode is set, and the value for each choice.
        "pointer": join_pointer(ask.step.pointer, "approval"),
        "values": {mode: _value(ask, mode, all_of_step) for mode in (ASK, AUTOMATIC)},
        "only_asks_because": _why_not(known, bounds),
    }


def _describe_use(
    ask: CapabilityUse, bounds: tuple[Grant, ...] | None, accounts: Mapping[str, str]
) -> dict[str, str | None]:
    """Describe destination, account and text of a write, as in a consent."""
    step = ask.step
    config: Mapping[str, Any] = (
        step.config if bounds is None else _get_fixed_bounds(ask.capability, bounds)
    )
    words = any_write_words(ask.capability, config)
    account = find_named_account(config) or accounts.get(words.integration)
    if account is None and words.integration:
        account = owner_account(words).removeprefix("with ")
    says = words.infinitive[:1].upper() + words.infinitive[1:]
    return {
        "says": plain(says, LONGEST_SENTENCE),
        "account": None if account is None else plain(account, 120),
        "text": None if bounds is not None else _text(config, words.texts),
    }


def _get_fixed_bounds(capability: str, bounds: tuple[Grant, ...]) -> Mapping[str, Any]:
    """Return a capability's grant limits, when it has a single entry."""
    found = [one.params for one in bounds if one.capability == capability]
    return found[0] if len(found) == 1 else {}


def _text(config: Mapping[str, Any], keys: Sequence[str]) -> str:
    """Return the outgoing template line by line, in full."""
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
    """Explain why it cannot be sent automatically; None when it can."""
    if not can_be_automatic(capability):
        return _WORKED_OUT
    if bounds is None or any(is_pinned(capability, one) for one in bounds):
        return None
    return _OPEN


_LONGEST_BOUND: Final = 200
_MOST_BOUNDS: Final = 100
# What a write stores, and the argument that says where.
_KEPT: Final[Mapping[str, tuple[str, str]]] = {
    "append_board_rows": ("board", "board_id"),
    "update_board_rows": ("board", "board_id"),
    "delete_board_rows": ("board", "board_id"),
    "restore_board_rows": ("board", "board_id"),
    "update_board": ("board", "board_id"),
    "create_board": ("board", "name"),
    "archive_board": ("board", "board_id"),
    "set_board_dashboard": ("board", "board_id"),
    "set_board_form": ("board", "board_id"),
    "set_board_skill": ("board", "board_id"),
    "create_page": ("page", "title"),
    "update_page": ("page", "slug"),
    "delete_page": ("page", "slug"),
    "restore_page": ("page", "slug"),
    "artifacts.save": ("file", "name"),
    "automation_kv.set": ("value", "key"),
    "automation_kv.delete": ("value", "key"),
    "publish_event": ("event", "type"),
    "inbox.post_notification": ("message", "title"),
    "notification": ("message", "title"),
    "save_automation_draft": ("automation", "name"),
    "update_automation": ("automation", "automation_id"),
    "delete_automation": ("automation", "automation_id"),
    "run_automation_once": ("automation", "automation_id"),
}


def impact_of(
    document: Mapping[str, Any],
    grants: Sequence[Grant],
    vocabulary: Vocabulary,
    boards: Mapping[str, str] | None = None,
    accounts: Mapping[str, str] | None = None,
) -> dict[str, Any]:
    """Build the impact of a definition, as far as it is finished."""
    view = view_of(document, grants, vocabulary, ReviewFacts())
    names = names_of(view.steps, boards)
    return {
        "outside": _outside(view),
        "grants": _grants(view),
        "keeps": _keeps(view, names),
        "secrets": _secrets(view),
        "wakes": [_wake(trigger, names) for trigger in view.triggers] or [_by_hand()],
        "people": _people(view),
        "writes": writes_in(view, accounts or {}),
    }


def describe_grants(
    document: Mapping[str, Any], grants: Sequence[Grant], vocabulary: Vocabulary
) -> list[dict[str, Any]]:
    """Describe each grant with the effect its own steps give it."""
    view = view_of(document, grants, vocabulary, ReviewFacts())
    calls = _calls(view)
    return [
        {**grant.as_dict(), **{key: made[key] for key in ("label", "effect", "waits_for_person")}}
        for grant in grants
        for made in [_grant(grant, view, calls)]
    ]


def _calls(view: ReviewView) -> dict[str, tuple[set[Effect], bool]]:
    """Return the effect of each capability's calls, and whether any waits for approval."""
    found: dict[str, tuple[set[Effect], bool]] = {}
    alone = may_go_alone(view.document)
    for ask in view.reach:
        effects, waits = found.get(ask.capability, (set(), False))
        found[ask.capability] = effects | {ask.effect}, waits or _waits(ask, view, alone)
    return found


def _waits(ask: CapabilityUse, view: ReviewView, alone: bool) -> bool:
    known = view.vocabulary.capabilities.get(ask.capability)
    return waits_for_person(known, ask.step, safe_go=alone, effect=ask.effect)


def _steps_of(asks: Iterable[CapabilityUse]) -> list[str]:
    named = (plain(ask.step.name, 64) for ask in asks if ask.step is not NO_STEP)
    return list(dict.fromkeys(named))[:MOST_ENTRIES]


def _outside(view: ReviewView) -> list[dict[str, Any]]:
    """Return what the grants reach, with the steps that need it, if known."""
    found: dict[tuple[str, str], list[tuple[CapabilityUse, tuple[str, ...]]]] = {}
    for ask in view.reach:
        known = view.vocabulary.capabilities.get(ask.capability)
        system = system_of(ask.capability, known)
        if system is not None:
            reach = _list_reached(ask, view)
            found.setdefault((system, ask.effect.value), []).append((ask, reach))
    return [
        {
            "system": plain(system, 60),
            "hosts": sorted({plain(host, 120) for _, hosts in asks for host in hosts})[
                :MOST_ENTRIES
            ],
            "why": _steps_of(ask for ask, _ in asks),
            "effect": Effect.READ.value if effect != Effect.SEND.value else effect,
        }
        for (system, effect), asks in list(found.items())[:MOST_ENTRIES]
    ]


def _list_reached(ask: CapabilityUse, view: ReviewView) -> tuple[str, ...]:
    known = view.vocabulary.capabilities.get(ask.capability)
    fixed = None if known is None else known.annotations.hosts
    if fixed:
        return tuple(host_name(one) for one in fixed)
    mine = listing(ask.params.get("hosts"))
    granted = [
        host
        for grant in view.grants
        if grant.capability == ask.capability
        for host in listing(grant.params.get("hosts"))
    ]
    # A URL known only at run time may reach every granted host.
    return tuple(str(host)[:200] for host in (mine or granted)[:MOST_ENTRIES])


def _grants(view: ReviewView) -> list[dict[str, Any]]:
    calls = _calls(view)
    found = [_grant(grant, view, calls) for grant in view.grants]
    if len(found) > MOST_ENTRIES:
        found.sort(key=lambda one: _FURTHEST.index(one["effect"]))
    return found[:MOST_ENTRIES]


# The widest effects are shown first when the list is truncated.
_FURTHEST: Final = (Effect.SEND.value, Effect.KEEP.value, Effect.READ.value)


def _grant(
    grant: Grant, view: ReviewView, calls: Mapping[str, tuple[set[Effect], bool]]
) -> dict[str, Any]:
    known = view.vocabulary.capabilities.get(grant.capability)
    effects, waits = calls.get(grant.capability, (set(), False))
    effect = Effect.READ if effects == {Effect.READ} else effect_of(known)
    return {
        "capability": plain(grant.capability, 200),
        "label": plain(grant.capability if known is None else known.label, 120),
        "effect": effect.value,
        "params": {
            plain(str(key), 60): _summarize_bound(one)
            for key, one in list(grant.params.items())[:20]
        },
        "waits_for_person": waits,
    }


def _summarize_bound(value: Any) -> Any:
    """A grant limit; a long one is summarized."""
    if isinstance(value, bool) or value is None:
        return value
    if isinstance(value, int | float):
        return value if abs(value) < 1e15 else plain(str(value)[:40])
    if isinstance(value, str):
        return plain(value, _LONGEST_BOUND)
    if isinstance(value, list | tuple):
        more = [f"and {len(value) - _MOST_BOUNDS} more"] if len(value) > _MOST_BOUNDS else []
        return [plain(str(one), 100) for one in value[:_MOST_BOUNDS]] + more
    return describe_value(value, {})


def _keeps(view: ReviewView, names: Names) -> list[dict[str, Any]]:
    found: dict[tuple[str, str], list[str]] = {}
    for step in view.steps:
        if step.action in _KEPT:
            kind, key = _KEPT[step.action]
            value = step.config.get(key) or step.config.get("id")
            what = _what(key, value, names)
            found.setdefault((kind, what), []).append(plain(step.name, 64))
    for ask in view.asks:
        if ask.as_tool and ask.capability in _KEPT:
            kind = _KEPT[ask.capability][0]
            found.setdefault((kind, "whatever the model chooses"), []).append(
                plain(ask.step.name, 64)
            )
    return [
        {"kind": kind, "what": what, "why": list(dict.fromkeys(why))[:MOST_ENTRIES]}
        for (kind, what), why in list(found.items())[:MOST_ENTRIES]
    ]


def _what(key: str, value: Any, names: Names) -> str:
    if not value:
        return "not chosen yet"
    board = key == "board_id" and isinstance(value, str)
    if board:
        return describe_board(value, names)
    return describe_destination(value, names) if key in PLACES else describe_value(value, names)


def _secrets(view: ReviewView) -> list[dict[str, Any]]:
    found: dict[str, dict[str, dict[str, None]]] = {}
    for use in view.secrets:
        entry = found.setdefault(use.name, {"hosts": {}, "capabilities": {}})
        entry["hosts"].update(
            dict.fromkeys(host_name(one) for one in hosts_of(use, view.vocabulary))
        )
        entry["capabilities"][plain(use.step.action, 120)] = None
    for name, _ in signing_secrets(listing(view.document.get("triggers"))[:20]):
        entry = found.setdefault(plain(name, 64), {"hosts": {}, "capabilities": {}})
        entry["capabilities"]["webhook"] = None
    return [
        {"name": name, "hosts": list(entry["hosts"]), "capabilities": list(entry["capabilities"])}
        for name, entry in list(found.items())[:MOST_ENTRIES]
    ]


def _wake(trigger: TriggerView, names: Names) -> dict[str, Any]:
    who = "anyone with the webhook's address" if trigger.type == "webhook" else ""
    if trigger.type == "webhook" and any(list_webhook_secrets(trigger.config)):
        who = "anyone who has the sender's key"
    if trigger.type == FORM:
        public = is_public_form(trigger.type, trigger.config)
        who = "anyone with the link" if public else "members who are signed in"
    return {
        "type": plain(trigger.type, 40) or "unknown",
        "when": sentence(describe_trigger(trigger, names)),
        "by": who or {"schedule": "the clock"}.get(trigger.type, "what happens in the workspace"),
        "enabled": trigger.enabled,
    }


def _by_hand() -> dict[str, Any]:
    return {"type": "manual", "when": sentence(BY_HAND), "by": "members", "enabled": True}


def _people(view: ReviewView) -> list[dict[str, Any]]:
    """What will wait in the inbox before it is done."""
    alone = may_go_alone(view.document)
    waiting: dict[str, list[CapabilityUse]] = {}
    for ask in view.reach:
        if _waits(ask, view, alone):
            waiting.setdefault(ask.capability, []).append(ask)
    return [
        {
            "capability": plain(name, 200),
            "label": plain(view.vocabulary.capabilities[name].label, 120),
            "why": _steps_of(asks),
        }
        for name, asks in list(waiting.items())[:MOST_ENTRIES]
    ]
