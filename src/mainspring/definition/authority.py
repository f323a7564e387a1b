"""The authority of an automation as plain values, and the authority that a change adds.

A person consents to one version of an automation. When someone else changes it, the question is
whether the new version can do more: another tool, another host, a secret in a new place, another
outgoing text, more money, more runs. Each addition is one sentence for the person who is asked for
consent. A change that only removes authority needs no consent.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any, Final, Literal

from mainspring.contracts.action import is_declared_pure
from mainspring.contracts.display_text import format_usd
from mainspring.contracts.grant import Grant
from mainspring.contracts.limits import Limits
from mainspring.contracts.write_description import quote_name
from mainspring.definition.authority_text import (
    describe_secret_use,
    grant_words,
    is_memory,
    is_read,
    reach,
)
from mainspring.definition.authority_writes import (
    AutomaticWrite,
    EnabledTrigger,
    StepsWithDefaults,
    find_added_sends,
    find_added_triggers,
    find_added_writes,
    granted_write,
    list_answering_steps,
    list_automatic_writes,
    read_enabled_triggers,
    read_writes,
)
from mainspring.definition.grants import find_missing_grants
from mainspring.definition.secret_use import SecretUsage, find_secret_uses
from mainspring.definition.traits import FlattenedStep, flatten_steps
from mainspring.definition.upgrade import upgrade

# Approval gates: steps that ask a person, and the steps that would run without the answer.

_ASKS: Final = "approval"
# The approval modes of a write, and the hold mode in which the run waits for the answer.
_ASK, _AUTOMATIC, _WAIT = "ask", "automatic", "wait"
# The config keys that a person reads before answering.
_QUESTION: Final = ("title", "message", "form")
_DAY: Final = 86_400
_SHORTEST: Final = 60


def open_gates(
    before: Sequence[FlattenedStep],
    after: Sequence[FlattenedStep],
    pure: frozenset[str] | None = None,
) -> Iterator[tuple[str, str]]:
    """Steps that no longer wait for a person: pointer and sentence.

    ``pure`` holds the pointers of the steps of ``after`` that change nothing. They need no consent
    anywhere in the plan.
    """
    kept = {one.id: one for one in after if one.action == _ASKS}
    for was in before:
        if was.action != _ASKS:
            continue
        gate = kept.get(was.id)
        freed = [
            one for one in _list_ungated_steps(was, before, gate, after) if not _is_pure(one, pure)
        ]
        if gate is None:
            if freed:
                says = f"It no longer asks a person at the step {quote_name(was.id)}."
                yield freed[0].pointer, says
            continue
        yield from ((f"{gate.pointer}{at}", says) for at, says in _find_weakened_gate(was, gate))
        for one in freed:
            doing = f"{quote_name(one.id)} ({quote_name(one.action)})"
            says = (
                f"It now does {doing} without waiting for the answer at the step "
                f"{quote_name(was.id)}."
            )
            yield one.pointer, says
    yield from _unheld(before, after, pure)


def _unheld(
    before: Sequence[FlattenedStep], after: Sequence[FlattenedStep], pure: frozenset[str] | None
) -> Iterator[tuple[str, str]]:
    """Steps that no longer wait for the answer to a held write."""
    kept = {one.id: one for one in after if _waits(one)}
    for was in filter(_waits, before):
        gate = kept.get(was.id)
        for one in _list_ungated_steps(was, before, gate, after):
            if one.id == was.id or one.approval == _ASK or _is_pure(one, pure):
                continue
            doing = f"{quote_name(one.id)} ({quote_name(one.action)})"
            says = f"It now does {doing} without waiting for the approval of {quote_name(was.id)}."
            yield one.pointer, says


def _waits(step: FlattenedStep) -> bool:
    """Whether the run waits until a person has answered a write of this step."""
    return bool(step.on_hold == _WAIT and step.approval != _AUTOMATIC)


def _find_weakened_gate(was: FlattenedStep, gate: FlattenedStep) -> Iterator[tuple[str, str]]:
    name = f"the step {quote_name(was.id)}"
    if gate.when is not None and gate.when != was.when:
        yield "/when", f"It now asks a person at {name} only under a different condition."
    if gate.around != was.around:
        yield "", f"It now asks a person at {name} only where the steps around it lead there."
    if any(was.config.get(key) != gate.config.get(key) for key in _QUESTION):
        yield "/config", f"It now asks a person a different question at {name}."
    if _answers_itself(was, gate):
        says = (
            f"Without an answer at {name} it now continues automatically after {_time(gate)} "
            "seconds."
        )
        yield "/config/default", says
    if was.config.get("roles") is not None:
        roles = gate.config.get("roles")
        if not isinstance(roles, list) or any(one not in was.config["roles"] for one in roles):
            yield "/config/roles", f"More people may now answer at {name}: {_who(roles)}."
    if gate.config.get("on_decline") == "continue" != was.config.get("on_decline"):
        yield "/config/on_decline", f"After a no at {name} it now continues."


def _answers_itself(was: FlattenedStep, gate: FlattenedStep) -> bool:
    if "default" not in gate.config:
        return False
    missing = object()
    other = was.config.get("default", missing) != gate.config["default"]
    return other or _time(gate) < _time(was)


def _time(gate: FlattenedStep) -> int:
    wanted = gate.config.get("timeout_seconds", _DAY)
    return wanted if isinstance(wanted, int) else _SHORTEST


def _who(roles: Any) -> str:
    if not isinstance(roles, list):
        return "everyone who may decide here"
    return ", ".join(quote_name(str(one)) for one in roles)


def _list_ungated_steps(
    was: FlattenedStep,
    before: Sequence[FlattenedStep],
    gate: FlattenedStep | None,
    after: Sequence[FlattenedStep],
) -> list[FlattenedStep]:
    """The steps that run without this answer and did not before."""
    guards = _guards(was, before)
    known = _free(was, before, guards)
    now = list(after)
    if gate is not None:
        # Continuing after a rejection is reported separately; compare the rest as before.
        patient = gate.config.get("on_decline") == was.config.get("on_decline")
        now = _free(gate, after, guards if patient else None)
    return [one for one in now if not any(one.does_as(other) for other in known)]


def _guards(gate: FlattenedStep, steps: Sequence[FlattenedStep]) -> frozenset[str] | None:
    """The conditions that read the answer; None when a rejection ends the run."""
    if gate.config.get("on_decline") != "continue":
        return None
    return frozenset(
        one.when
        for one in steps
        if one.when is not None and (gate.output in one.when or f"steps.{gate.id}" in one.when)
    )


def _free(
    gate: FlattenedStep, steps: Sequence[FlattenedStep], guards: frozenset[str] | None
) -> list[FlattenedStep]:
    """The steps that run regardless of the answer: before the question, and in on_failure."""
    place = steps.index(gate)
    return [
        one
        for at, one in enumerate(steps)
        if one is not gate
        and (
            at < place
            or (one.after_failure and not gate.after_failure)
            or (guards is not None and one.when not in guards)
        )
    ]


def _is_pure(step: FlattenedStep, pure: frozenset[str] | None) -> bool:
    return is_declared_pure(step.action) if pure is None else step.pointer in pure


# The models that an automation uses: named ones, and the places that leave the choice open.

_USUAL: Final = "/execution/model"
# The pointer of the whole definition, as the place of an action.
_WHOLE: Final = ""
_OPEN: Final = ("{{", "{%")
_INPUT: Final = re.compile(r"\{\{\s*inputs\.([A-Za-z_][A-Za-z0-9_]*)\s*\}\}")


@dataclass(frozen=True, slots=True)
class ModelReferences:
    """The models that an automation refers to."""

    # Each model name with its pointer.
    named: Mapping[str, str] = field(default_factory=dict)
    # Each place where the model is only known in the run.
    decided: tuple[str, ...] = ()
    # The actions that name a model, and those that use the installation's default.
    naming: frozenset[str] = frozenset()
    left_open: Mapping[str, str] = field(default_factory=dict)


def read_models(document: Mapping[str, Any], steps: Sequence[FlattenedStep]) -> ModelReferences:
    usual = (document.get("execution") or {}).get("model")
    found = [
        (one.action, one.config["model"], f"{one.pointer}/config/model")
        for one in steps
        if isinstance(one.config.get("model"), str)
    ]
    if isinstance(usual, str):
        found.append((_WHOLE, usual, _USUAL))
    silent = {one.action: one.pointer for one in steps if "model" not in one.config}
    return ModelReferences(
        {name: at for _, text, at in reversed(found) for name in _names(text, document)},
        tuple(at for _, text, at in found if _is_open(text)),
        frozenset(action for action, _, _ in found),
        {} if isinstance(usual, str) or not silent else {_WHOLE: _USUAL, **silent},
    )


def find_added_models(
    before: ModelReferences, after: ModelReferences, now: str
) -> Iterator[tuple[str, str]]:
    """Models that the automation could not use before: pointer and sentence."""
    for name, at in reversed(list(after.named.items())):
        if name not in before.named:
            yield at, f"It{now} calls the model {quote_name(name)}."
    if after.decided and not before.decided:
        yield after.decided[0], f"It{now} calls any model that a run chooses."
    lost = (before.naming & after.left_open.keys()) - before.left_open.keys()
    if lost:
        yield after.left_open[min(lost)], "It now calls the installation's default model."


def _is_open(text: str) -> bool:
    return any(mark in text for mark in _OPEN)


def _names(text: str, document: Mapping[str, Any]) -> Iterator[str]:
    if not _is_open(text):
        yield text
        return
    found = _INPUT.fullmatch(text.strip())
    if found is None:
        return
    shape = (document.get("inputs") or {}).get("schema") or {}
    entry = (shape.get("properties") or {}).get(found[1])
    given = [
        one.get("inputs") for one in document.get("triggers") or () if isinstance(one, Mapping)
    ]
    chosen = [one.get(found[1]) for one in given if isinstance(one, Mapping)]
    usual = entry.get("default") if isinstance(entry, Mapping) else None
    yield from (one for one in (usual, *chosen) if isinstance(one, str))


# Repetition: retries, script timeouts and concurrent runs.

_SCRIPT: Final = "script"
_USUAL_RETRIES: Final = 2
_USUAL_WALL: Final = 60
_LONGEST_WALL: Final = 86_400
_TOGETHER: Final = ("drop_if_running", "queue", "allow_parallel")
_TOGETHER_WORDS: Final = {
    "queue": "Starts during a run{now} wait and are not dropped.",
    "allow_parallel": "Its runs{now} run in parallel.",
}


@dataclass(frozen=True, slots=True)
class RepeatPolicy:
    """The settings that multiply the work of an automation."""

    retries: int = _USUAL_RETRIES
    together: str = "queue"
    # With a concurrency key, only runs with the same key wait for each other.
    key: str | None = None


def read_repeat_policy(execution: Mapping[str, Any]) -> RepeatPolicy:
    retries = execution.get("max_retries")
    return RepeatPolicy(
        _USUAL_RETRIES if retries is None else int(retries),
        str(execution.get("concurrency") or "queue"),
        execution.get("concurrency_key"),
    )


def find_added_work(
    before: tuple[RepeatPolicy, Sequence[FlattenedStep]],
    after: tuple[RepeatPolicy, Sequence[FlattenedStep]],
    now: str,
) -> Iterator[tuple[str, str]]:
    """Work that is repeated more often, longer or concurrently: pointer and sentence."""
    (was, known), (pace, steps) = before, after
    if pace.retries > was.retries:
        says = f"It may{now} retry a failed step {pace.retries} times"
        yield "/execution/max_retries", f"{says} instead of {was.retries}."
    yield from _retries(was, known, pace, steps, now)
    yield from _compare_timeouts(known, steps, now)


def find_added_concurrency(
    was: RepeatPolicy, pace: RepeatPolicy, now: str
) -> Iterator[tuple[str, str]]:
    """Runs that were dropped or queued before and now run."""
    if _rank_concurrency(pace.together) > _rank_concurrency(was.together):
        words = _TOGETHER_WORDS.get(
            pace.together, ("Starts during a run are{now} handled differently.")
        )
        yield "/execution/concurrency", words.format(now=now)
    elif pace.key not in (None, was.key) and was.together != _TOGETHER[-1]:
        says = (
            f"Its runs{now} run in parallel unless they have the same {quote_name(str(pace.key))}."
        )
        yield "/execution/concurrency_key", says


def _retries(
    was: RepeatPolicy,
    known: Sequence[FlattenedStep],
    pace: RepeatPolicy,
    steps: Sequence[FlattenedStep],
    now: str,
) -> Iterator[tuple[str, str]]:
    """Retry counts of the steps that set their own, in either version."""
    own = {one.id: one.retries for one in known}
    for one in steps:
        if one.retries is None and own.get(one.id) is None:
            continue
        then, may = _first(own.get(one.id), was.retries), _first(one.retries, pace.retries)
        if may > then:
            says = f"It may{now} retry the step {quote_name(one.id)} {may} times instead of {then}."
            yield f"{one.pointer}/max_retries", says


def _compare_timeouts(
    known: Sequence[FlattenedStep], steps: Sequence[FlattenedStep], now: str
) -> Iterator[tuple[str, str]]:
    walls = {one.id: _wall(one) for one in known if one.action == _SCRIPT}
    usual = max(walls.values(), default=_USUAL_WALL)
    for one in steps:
        then = walls.get(one.id, usual)
        if one.action == _SCRIPT and _wall(one) > then:
            says = f"Its script may{now} run {_wall(one):g} seconds at a time instead of {then:g}."
            yield f"{one.pointer}/config/wall_seconds", says


def _wall(step: FlattenedStep) -> float:
    wanted = step.config.get("wall_seconds", _USUAL_WALL)
    # A value that is only known in the run may be anything.
    return wanted if isinstance(wanted, int | float) else _LONGEST_WALL


def _first(own: int | None, usual: int) -> int:
    return usual if own is None else own


def _rank_concurrency(together: str) -> int:
    return _TOGETHER.index(together) if together in _TOGETHER else len(_TOGETHER)


AdditionKind = Literal[
    "grant",
    "secret",
    "account",
    "spend",
    "start",
    "write_policy",
    "approval",
    "send",
    "model",
    "tool",
    "review",
]

# The limits of a run or a day: pointer, default and text.
_BOUNDS: Final[tuple[tuple[str, Decimal, str], ...]] = (
    ("cost_cap_daily_usd", Decimal(1), "spend {} a day"),
    ("budget_cap_usd", Decimal(1), "spend {} in one run"),
    ("max_llm_tokens", Decimal(200_000), "use {} tokens in one run"),
    ("timeout_seconds", Decimal(600), "run {} seconds in one run"),
)
_POLICIES: Final = ("always_draft", "auto_confirm_safe")
_POLICY_WORDS: Final = {"auto_confirm_safe": "send safe writes without approval"}
# The config keys in which a step names an account or a connection.
_ACCOUNT_KEYS: Final = frozenset({"account", "account_id", "connection", "connection_id"})


@dataclass(frozen=True, slots=True)
class AuthorityAddition:
    """One thing that the new version may do beyond the version that was consented to."""

    kind: AdditionKind
    # The JSON pointer in the definition.
    pointer: str
    # The sentence for the person who is asked for consent.
    says: str
    # The capability id; empty when the addition is not a call.
    capability: str = ""

    def as_dict(self) -> dict[str, str]:
        told = {"kind": self.kind, "pointer": self.pointer, "says": self.says}
        return {**told, "capability": self.capability} if self.capability else told


@dataclass(frozen=True, slots=True)
class AutomationAuthority:
    """Everything that an automation may do."""

    grants: tuple[Grant, ...] = ()
    secrets: tuple[SecretUsage, ...] = ()
    # Accounts and connections named by its steps, each with its pointer.
    accounts: Mapping[str, str] = field(default_factory=dict)
    bounds: Mapping[str, Decimal] = field(default_factory=dict)
    starts: tuple[EnabledTrigger, ...] = ()
    write_policy: str = "always_draft"
    # The models that it uses; empty means the installation's default.
    models: ModelReferences = field(default_factory=ModelReferences)
    pace: RepeatPolicy = field(default_factory=RepeatPolicy)
    # Its steps, including approval gates.
    steps: tuple[FlattenedStep, ...] = ()
    # The pointers of the steps that change nothing; None when traits were not read.
    pure: frozenset[str] | None = None
    # The pointers of the steps that send something; None when traits were not read.
    sends: frozenset[str] | None = None
    # For tools of MCP servers: the exact version that was agreed to.
    pins: Mapping[str, str] = field(default_factory=dict)
    # What the granted capabilities are called, for people.
    labels: Mapping[str, str] = field(default_factory=dict)
    # The writes that it sends without asking a person.
    writes: tuple[AutomaticWrite, ...] = ()
    # The values that its templates read in addition to run data.
    written: StepsWithDefaults = field(default_factory=StepsWithDefaults)


def read_authority(
    document: Mapping[str, Any],
    grants: Iterable[Grant],
    limits: Limits,
    pins: Mapping[str, str] | None = None,
    pure: frozenset[str] | None = None,
    sends: frozenset[str] | None = None,
    labels: Mapping[str, str] | None = None,
) -> AutomationAuthority:
    """Read the authority of an accepted definition and its grants."""
    document, _ = upgrade(document)
    execution = document.get("execution") or {}
    steps = flatten_steps(document)
    return AutomationAuthority(
        grants=tuple(grants),
        secrets=find_secret_uses(document, limits),
        accounts=dict(_accounts(steps)),
        bounds={name: _amount(execution.get(name), usual) for name, usual, _ in _BOUNDS},
        starts=read_enabled_triggers(document.get("triggers") or ()),
        write_policy=str(execution.get("write_policy") or _POLICIES[0]),
        models=read_models(document, steps),
        pace=read_repeat_policy(execution),
        steps=steps,
        pure=pure,
        sends=sends,
        pins=dict(pins or {}),
        labels=dict(labels or {}),
        writes=list_automatic_writes(document),
        written=read_writes(document),
    )


def find_additions(
    before: AutomationAuthority | None, after: AutomationAuthority
) -> tuple[AuthorityAddition, ...]:
    """What ``after`` may do and ``before`` may not; everything when ``before`` is None.

    Sorted by reach: external access first, workspace reads last.
    """
    known = before or _NOTHING
    now = "" if before is None else " now"
    new = sorted(find_missing_grants(after.grants, known.grants), key=reach)
    return (
        *_compare_grants([one for one in new if not is_read(one)], after, now),
        *_each("approval", find_added_writes(known.writes, after.writes, now)),
        *_compare_tools(known, after),
        *_compare_secrets(known, after, now),
        *_compare_accounts(known, after, now),
        *_compare_limits(before, after),
        *_each("spend", find_added_work((known.pace, known.steps), (after.pace, after.steps), now)),
        *_each("start", find_added_triggers(known.starts, after.starts, now)),
        *_each("start", find_added_concurrency(known.pace, after.pace, now)),
        *_compare_write_policy(known, after, now),
        *_each("approval", open_gates(known.steps, after.steps, after.pure)),
        *_each("send", _compare_sends(before, after)),
        *_each("model", find_added_models(known.models, after.models, now)),
        *_compare_grants([one for one in new if is_read(one)], after, now),
        *_compare_memory(new, now),
    )


def _compare_sends(
    before: AutomationAuthority | None, after: AutomationAuthority
) -> Iterator[tuple[str, str]]:
    if before is not None:
        automatic = frozenset(one.step.pointer for one in after.writes)
        sends = automatic | (after.sends or frozenset())
        sends |= list_answering_steps(after.starts, after.steps)
        yield from find_added_sends(before.written, after.written, sends)


def build_review_addition(says: str) -> AuthorityAddition:
    """An addition that asks for a review although no authority was added."""
    return AuthorityAddition("review", "", says)


def _each(kind: AdditionKind, found: Iterable[tuple[str, str]]) -> Iterator[AuthorityAddition]:
    return (AuthorityAddition(kind, at, says) for at, says in found)


def _compare_grants(
    new: Iterable[Grant], after: AutomationAuthority, now: str
) -> Iterator[AuthorityAddition]:
    lent = {grant.capability for grant in after.grants if grant.lent}
    drafts = after.write_policy == _POLICIES[0]
    for grant in new:
        if not is_memory(grant):
            text = granted_write(grant, after.steps, drafts=drafts)
            label = after.labels.get(grant.capability, "")
            text = text or grant_words(grant, lent=grant.capability in lent, label=label)
            yield AuthorityAddition("grant", "/grants", f"It may{now} {text}.", grant.capability)


def _compare_memory(new: Iterable[Grant], now: str) -> Iterator[AuthorityAddition]:
    """The automation's own memory counts once, whichever capabilities reach it."""
    if any(map(is_memory, new)):
        yield AuthorityAddition("grant", "/grants", f"It may{now} store values between runs.")


def _compare_tools(
    before: AutomationAuthority, after: AutomationAuthority
) -> Iterator[AuthorityAddition]:
    for name, pin in sorted(after.pins.items()):
        if before.pins.get(name, pin) != pin:
            says = f"The tool {quote_name(name)} differs from the one that was approved."
            yield AuthorityAddition("tool", "/grants", says)


def _compare_secrets(
    before: AutomationAuthority, after: AutomationAuthority, now: str
) -> Iterator[AuthorityAddition]:
    found = [one for one in after.secrets if not one.is_within(before.secrets)]
    said = {describe_secret_use(one, now): one.pointer for one in reversed(found)}
    for says, pointer in reversed(said.items()):
        yield AuthorityAddition("secret", pointer, says)


def _compare_accounts(
    before: AutomationAuthority, after: AutomationAuthority, now: str
) -> Iterator[AuthorityAddition]:
    for name, pointer in after.accounts.items():
        if name not in before.accounts:
            yield AuthorityAddition(
                "account", pointer, f"It{now} uses the account {quote_name(name)}."
            )


def _compare_limits(
    before: AutomationAuthority | None, after: AutomationAuthority
) -> Iterator[AuthorityAddition]:
    for name, usual, words in _BOUNDS:
        amount = after.bounds.get(name, usual)
        at = f"/execution/{name}"
        if before is None:
            if name == _BOUNDS[0][0]:
                # The cost of a step is not known here, and it is often zero.
                most = f"It may spend up to {format_usd(amount)} a day"
                yield AuthorityAddition("spend", at, f"{most} if its steps cost anything.")
            elif amount > usual:
                yield AuthorityAddition(
                    "spend", at, f"It may {words.format(_format_bound(name, amount))}."
                )
            continue
        was = before.bounds.get(name, usual)
        if amount > was:
            text = words.format(_format_bound(name, amount))
            yield AuthorityAddition(
                "spend", at, f"It may now {text} instead of {_format_bound(name, was)}."
            )


def _compare_write_policy(
    before: AutomationAuthority, after: AutomationAuthority, now: str
) -> Iterator[AuthorityAddition]:
    if _rank_write_policy(after.write_policy) > _rank_write_policy(before.write_policy):
        words = _POLICY_WORDS.get(after.write_policy, f"write by {quote_name(after.write_policy)}")
        yield AuthorityAddition("write_policy", "/execution/write_policy", f"It may{now} {words}.")


def _rank_write_policy(policy: str) -> int:
    """The rank of a write policy; an unknown policy has the highest rank."""
    return _POLICIES.index(policy) if policy in _POLICIES else len(_POLICIES)


def _amount(value: Any, usual: Decimal) -> Decimal:
    return usual if value is None else Decimal(str(value))


def _format_bound(name: str, amount: Decimal) -> str:
    if name.endswith("_usd"):
        return format_usd(amount)
    return f"{amount.normalize():f}" if amount % 1 else f"{int(amount):,}"


def _accounts(steps: Iterable[FlattenedStep]) -> Iterator[tuple[str, str]]:
    """The accounts that the steps name, including nested steps."""
    for step in steps:
        for key in sorted(_ACCOUNT_KEYS & step.config.keys()):
            if isinstance(step.config[key], str):
                yield step.config[key], f"{step.pointer}/config/{key}"


_NOTHING: Final = AutomationAuthority()
