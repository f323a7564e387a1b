"""Conditions without a model: whether a URL responds, whether it has changed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from mainspring.authoring.sketch.read_steps import ReadMaterial
from mainspring.authoring.sketch.request_tokens import Clause
from mainspring.authoring.sketch.sketch_builder import SketchBuilder
from mainspring.authoring.sketch.word_tables import STOP, split_words

_UP: Final = split_words(
    "up ok okay 200 reachable online available healthy alive fine answer answers respond responds "
    "work works working running status code load loads there green"
)
_DOWN: Final = split_words(
    "down unreachable offline unavailable dead failing error errors broken 500 fails fail failed "
    "outage unhealthy breaks broke crashes wrong"
)
_NOT: Final = split_words(
    "not isn't isnt doesn't doesnt no longer never stops won't aren't other than anything different"
)
_SITE: Final = split_words(
    "website site server homepage url page api address service host our shop app web endpoint it's "
    "returns return returned gives give says say check one any either both them it's goes anything "
    "something an"
)
_CHANGED: Final = split_words("changes changed change different updated updates differs")
LOOKING: Final = split_words("check watch monitor ping see test verify look make")
_REMEMBERED: Final = 20_000


def tight_condition(conditions: Sequence[str], materials: Sequence[ReadMaterial]) -> str | None:
    """Return the condition as an expression, when one URL was fetched and that is enough."""
    web = [one for one in materials if one.web]
    if not web or not conditions:
        return None
    words = [one.strip(".,;:!?").lower().replace("’", "'") for one in conditions[-1].split()]
    told = {one for one in words if one and one not in STOP and "://" not in one} | (
        set(words) & {"not", "no", "up"}
    )
    if not told or told - _UP - _DOWN - _NOT - _SITE:
        return None
    bad = bool(told & _DOWN) != bool(told & _NOT) if told & _DOWN else bool(told & _NOT)
    ok = " and ".join(f"steps.{one.output}.ok" for one in web)
    if bad:
        return f"{{{{ not {ok} }}}}" if len(web) == 1 else f"{{{{ not ({ok}) }}}}"
    return f"{{{{ {ok} }}}}"


def is_reachability_check(clause: Clause) -> bool:
    """Report whether a clause only asks whether a URL responds."""
    if clause.verb not in LOOKING or not (clause.of("url") or clause.of("host")):
        return False
    told = {one.low for one in clause.of("word")} - STOP - {clause.verb}
    return bool(told & _UP) and not told - _UP - _SITE - {"still", "whether"}


def asks_for_site(conditions: Sequence[str]) -> bool:
    """Report whether it is about a URL that was not given."""
    for condition in conditions:
        words = {one.strip(".,;:!?").lower() for one in condition.split()}
        if words & (_UP | _DOWN) and words & {"website", "site", "server", "homepage", "api"}:
            return True
    return False


def change_condition(
    bench: SketchBuilder, conditions: Sequence[str], materials: Sequence[ReadMaterial]
) -> str | None:
    """Compare the fetched content with the stored one; a step loads that."""
    web = [one for one in materials if one.web]
    if len(web) != 1 or len(materials) != 1 or len(conditions) != 1:
        return None
    if not is_about_change(conditions[0]):
        return None
    recalled = bench.step("recall", "automation_kv.get", {"key": "seen", "default": ""})
    bench.note("The first run has nothing to compare with, so it only remembers what it sees.")
    known = f"steps.{recalled}.value"
    return f"{{{{ {known} | length > 0 and {known} != {_build_text_expression(web[0])} }}}}"


def is_about_change(condition: str) -> bool:
    """Report whether words only say that a URL's content changed."""
    words = {one.strip(".,;:!?").lower() for one in condition.split()}
    return bool(words & _CHANGED) and not words - _CHANGED - _SITE - STOP - {"has", "content"}


def is_about_site(condition: str) -> bool:
    """Report whether words only say that a URL is down."""
    words = {one.strip(".,;:!?").lower() for one in condition.split()}
    return bool(words & _DOWN) and not words - _DOWN - _SITE - STOP


def add_memory(bench: SketchBuilder, materials: Sequence[ReadMaterial]) -> None:
    """Add the step that stores what was seen."""
    web = next(one for one in materials if one.web)
    bench.step(
        "remember",
        "automation_kv.set",
        {"key": "seen", "value": f"{{{{ {_build_text_expression(web)} }}}}"},
    )


def _build_text_expression(material: ReadMaterial) -> str:
    return f"(steps.{material.output}.text | truncate({_REMEMBERED}))"
