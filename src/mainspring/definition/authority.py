"""What an automation may do, as plain values, and what one version may do beyond another.

A person agrees to an automation as it is. When somebody or something else changes it, the
question is never whether it is different but whether it reaches further: another tool, another
host, a secret at a new place, another text that is sent, more money, more often. Each such thing
is one sentence for the person who is asked. What only takes away is no addition, and nobody is
asked.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any, Final, Literal

from mainspring.contracts.grant import Grant
from mainspring.contracts.limits import Limits
from mainspring.definition.authority_gates import open_gates
from mainspring.definition.authority_models import ModelReferences, find_added_models, read_models
from mainspring.definition.authority_pace import (
    RepeatPolicy,
    find_added_concurrency,
    find_added_work,
    read_repeat_policy,
)
from mainspring.definition.authority_sends import StepsWithDefaults, find_added_sends, written_of
from mainspring.definition.authority_starts import (
    EnabledTrigger,
    find_added_triggers,
    read_enabled_triggers,
)
from mainspring.definition.authority_steps import FlattenedStep, flatten_steps
from mainspring.definition.authority_words import (
    describe_secret_use,
    grant_words,
    is_memory,
    is_read,
    quote_name,
    reach,
)
from mainspring.definition.authority_writes import (
    AutomaticWrite,
    find_added_writes,
    list_automatic_writes,
)
from mainspring.definition.grants import find_missing_grants
from mainspring.definition.secret_use import SecretUsage, find_secret_uses
from mainspring.definition.upgrade import upgrade
from mainspring.definition.write_words import granted_write

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

# What bounds a run or a day: where it stands, what it is when it is left out, and its words.
_BOUNDS: Final[tuple[tuple[str, Decimal, str], ...]] = (
    ("cost_cap_daily_usd", Decimal(1), "spend {} USD a day"),
    ("budget_cap_usd", Decimal(1), "spend {} USD in one run"),
    ("max_llm_tokens", Decimal(200_000), "use {} tokens in one run"),
    ("timeout_seconds", Decimal(600), "work {} seconds in one run"),
)
_POLICIES: Final = ("always_draft", "auto_confirm_safe")
_POLICY_WORDS: Final = {"auto_confirm_safe": "send safe writes without asking a person"}
# Where a step names an account or a connection outright.
_ACCOUNT_KEYS: Final = frozenset({"account", "account_id", "connection", "connection_id"})


@dataclass(frozen=True, slots=True)
class AuthorityAddition:
    """One thing that it may do beyond what was agreed to."""

    kind: AdditionKind
    # Where in the definition it stands.
    pointer: str
    # The sentence for the person who is asked.
    says: str
    # What is called for it, by its id; empty where it is no call.
    capability: str = ""

    def as_dict(self) -> dict[str, str]:
        told = {"kind": self.kind, "pointer": self.pointer, "says": self.says}
        return {**told, "capability": self.capability} if self.capability else told


@dataclass(frozen=True, slots=True)
class AutomationAuthority:
    """Everything an automation may do."""

    grants: tuple[Grant, ...] = ()
    secrets: tuple[SecretUsage, ...] = ()
    # Accounts and connections that its steps name, each with its place.
    accounts: Mapping[str, str] = field(default_factory=dict)
    bounds: Mapping[str, Decimal] = field(default_factory=dict)
    starts: tuple[EnabledTrigger, ...] = ()
    write_policy: str = "always_draft"
    # The models that it asks; none: the installation's.
    models: ModelReferences = field(default_factory=ModelReferences)
    pace: RepeatPolicy = field(default_factory=RepeatPolicy)
    # Its steps, among which those that ask a person before it goes on.
    steps: tuple[FlattenedStep, ...] = ()
    # The pointers of those that change nothing; None where that was not declared.
    pure: frozenset[str] | None = None
    # The pointers of those that send something; None where that was not declared.
    sends: frozenset[str] | None = None
    # Of tools from outside: exactly what was agreed to there.
    pins: Mapping[str, str] = field(default_factory=dict)
    # What it sends outside without asking a person.
    writes: tuple[AutomaticWrite, ...] = ()
    # What its templates find besides what a run reads.
    written: StepsWithDefaults = field(default_factory=StepsWithDefaults)


def read_authority(
    document: Mapping[str, Any],
    grants: Iterable[Grant],
    limits: Limits,
    pins: Mapping[str, str] | None = None,
    pure: frozenset[str] | None = None,
    sends: frozenset[str] | None = None,
) -> AutomationAuthority:
    """Reads a definition that has been judged before, with the grants that stand beside it."""
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
        writes=list_automatic_writes(document),
        written=written_of(document),
    )


def find_additions(
    before: AutomationAuthority | None, after: AutomationAuthority
) -> tuple[AuthorityAddition, ...]:
    """What ``after`` may do and ``before`` may not; all of it where nothing was agreed to.

    What reaches furthest comes first, and what only looks at what is here comes last.
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
        yield from find_added_sends(before.written, after.written, sends)


def build_review_addition(says: str) -> AuthorityAddition:
    """Nothing is new, and a person is asked to look all the same."""
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
            said = granted_write(grant, after.steps, drafts=drafts)
            said = said or grant_words(grant, lent=grant.capability in lent)
            yield AuthorityAddition("grant", "/grants", f"It may{now} {said}.", grant.capability)


def _compare_memory(new: Iterable[Grant], now: str) -> Iterator[AuthorityAddition]:
    """Its own memory is one thing, by however many names it is reached."""
    if any(map(is_memory, new)):
        yield AuthorityAddition("grant", "/grants", f"It may{now} keep a small memory of its own.")


def _compare_tools(
    before: AutomationAuthority, after: AutomationAuthority
) -> Iterator[AuthorityAddition]:
    for name, pin in sorted(after.pins.items()):
        if before.pins.get(name, pin) != pin:
            says = f"The tool {quote_name(name)} is not the one that was agreed to any more."
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
                # What a step costs is not known here, and often it is nothing.
                most = f"It may spend up to {_format_amount(amount)} USD a day"
                yield AuthorityAddition("spend", at, f"{most}, should a step cost anything.")
            elif amount > usual:
                yield AuthorityAddition(
                    "spend", at, f"It may {words.format(_format_amount(amount))}."
                )
            continue
        was = before.bounds.get(name, usual)
        if amount > was:
            said = words.format(_format_amount(amount))
            yield AuthorityAddition(
                "spend", at, f"It may now {said} instead of {_format_amount(was)}."
            )


def _compare_write_policy(
    before: AutomationAuthority, after: AutomationAuthority, now: str
) -> Iterator[AuthorityAddition]:
    if _rank_write_policy(after.write_policy) > _rank_write_policy(before.write_policy):
        words = _POLICY_WORDS.get(after.write_policy, f"write by {quote_name(after.write_policy)}")
        yield AuthorityAddition("write_policy", "/execution/write_policy", f"It may{now} {words}.")


def _rank_write_policy(policy: str) -> int:
    """How far a policy goes; one that is not known goes furthest."""
    return _POLICIES.index(policy) if policy in _POLICIES else len(_POLICIES)


def _amount(value: Any, usual: Decimal) -> Decimal:
    return usual if value is None else Decimal(str(value))


def _format_amount(amount: Decimal) -> str:
    return f"{amount.normalize():f}" if amount % 1 else f"{int(amount):,}"


def _accounts(steps: Iterable[FlattenedStep]) -> Iterator[tuple[str, str]]:
    """What the steps name outright, nested steps included."""
    for step in steps:
        for key in sorted(_ACCOUNT_KEYS & step.config.keys()):
            if isinstance(step.config[key], str):
                yield step.config[key], f"{step.pointer}/config/{key}"


_NOTHING: Final = AutomationAuthority()
