"""Searching capabilities by words, including MCP tools.

Every grantable capability is scored by the words it shares with a clause. Words in the name count
more than in the description, and rare words more than common ones (inverse document frequency).
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from math import log
from typing import Final

from mainspring.authoring.sketch.request_tokens import Clause
from mainspring.authoring.sketch.word_tables import READ, STOP, SYNONYMS, VERBS
from mainspring.contracts.capability import Capability, Effect

# Never guessed: capabilities that change automations, release drafts, or are steps of another kind.
NEVER: Final = frozenset(
    {
        "confirm_action",
        "update_automation",
        "delete_automation",
        "save_automation_draft",
        "run_automation_once",
        "create_automation_flow",
        "act_on_integration",
        "agent.run",
        "automation_llm_complete",
        "read_schedule",
        "automation_kv.set",
        "automation_kv.get",
        "automation_kv.delete",
        "automation_kv.list",
        "automation_recent_failures",
        "search_space.query",
        "search_space.fetch_document",
        "find_overlapping_automations",
        "propose_automation",
        "refine_proposal",
        "review_automation",
        "save_proposal",
        "get_proposal",
        "list_proposals",
        "discard_proposal",
    }
)
OURS: Final = frozenset({"agent", "artifacts", "automation_kv", "email", "inbox", "search_space"})
_WORD: Final = re.compile(r"[a-z]{2,30}")
_CAMEL: Final = re.compile(r"(?<=[a-z])(?=[A-Z])")
_ENDINGS: Final = ("ing", "ed")
_LEAST: Final = 4.0
_NEAR: Final = 0.85
_ASKING: Final = ("which", "what", "how", "who")
_DESCRIBED: Final = 600


@dataclass(frozen=True, slots=True)
class CapabilityMatch:
    """The best match, and close competitors."""

    capability: Capability
    near: tuple[Capability, ...] = ()


def stem(word: str) -> str:
    """Stem a word, and map synonyms to one."""
    plain = _singular(word)
    plain = SYNONYMS.get(word, SYNONYMS.get(plain, plain))
    for ending in _ENDINGS:
        if plain.endswith(ending) and len(plain) - len(ending) >= 4:
            plain = plain.removesuffix(ending)
            break
    return plain.removesuffix("e") if len(plain) > 4 else plain


def _singular(word: str) -> str:
    if word.endswith("ies") and len(word) > 4:
        return word[:-3] + "y"
    if word.endswith(("sses", "xes", "ches", "shes")):
        return word[:-2]
    return word[:-1] if word.endswith("s") and not word.endswith("ss") and len(word) > 3 else word


def _stems(text: str) -> list[str]:
    plain = _CAMEL.sub(" ", text.replace("_", " ").replace(".", " ").replace("-", " ")).lower()
    return [stem(one) for one in _WORD.findall(plain) if one not in STOP]


def aliases(capabilities: Mapping[str, Capability]) -> frozenset[str]:
    """The aliases of the connections."""
    made = {name.partition(".")[0] for name in capabilities if "." in name}
    return frozenset(made - OURS)


def search_tools(
    clause: Clause, capabilities: Mapping[str, Capability], alias: str | None = None
) -> CapabilityMatch | None:
    """Find the capability that a clause asks for, if one matches well enough."""
    entries = [
        one
        for one in capabilities.values()
        if one.grantable
        and one.id not in NEVER
        and (alias is None or one.id.startswith(f"{alias}."))
    ]
    wanted = Counter(stem(word) for word in clause.words if _WORD.fullmatch(word))
    for word in (*STOP, *((alias,) if alias else ())):
        wanted.pop(stem(word), None)
    if not wanted or not entries:
        return None
    indexed = [(one, set(_stems(one.id)), _list_description_words(one)) for one in entries]
    spread = Counter(word for _, name, told in indexed for word in name | told)
    verb = "" if alias else clause.verb
    reads = not clause.verb or clause.verb in READ or clause.has(_ASKING)
    scored = [
        (_score(wanted, name, told, spread, len(indexed), verb) * _fit(one, reads), one.id, one)
        for one, name, told in indexed
    ]
    scored.sort(key=lambda entry: (-entry[0], entry[1]))
    best = scored[0][0]
    if best < (1.0 if alias else _LEAST):
        return None
    first = stem(clause.verb) if clause.verb else ""
    named = first in _stems(scored[0][2].id)
    near = [
        one
        for score, _, one in scored[1:4]
        if score >= best * _NEAR and (not named or first in _stems(one.id))
    ]
    return CapabilityMatch(scored[0][2], tuple(near))


def count_name_words(clause: Clause, capability: Capability) -> int:
    """Count the words of a clause in a capability's name."""
    wanted = {stem(word) for word in clause.words if _WORD.fullmatch(word) and word not in STOP}
    return len(wanted & set(_stems(capability.id)))


def _fit(one: Capability, reads: bool) -> float:
    """Questions prefer reads, instructions prefer writes."""
    return 1.5 if (one.annotations.effect is Effect.READ) == reads else 1.0


def _list_description_words(one: Capability) -> set[str]:
    return set(_stems(one.description[:_DESCRIBED]))


def _score(
    wanted: Iterable[str],
    name: set[str],
    told: set[str],
    spread: Counter[str],
    count: int,
    verb: str,
) -> float:
    total, things = 0.0, 0
    first = stem(verb) if verb else ""
    for word in wanted:
        rare = log((count + 2) / (spread[word] + 1)) + 0.5
        if word in name:
            total += 3 * rare
            things += word != first
        elif word in told:
            total += rare
    # A verb alone, or words of the description alone, are not enough.
    if verb and (not things or (verb in VERBS and first not in name and first not in told)):
        return total / 4
    return total
