"""Automations are called by the words of requests, and those words stay words."""

from __future__ import annotations

from dataclasses import replace
from typing import Final
from uuid import NAMESPACE_URL, uuid5

import pytest

from mainspring.authoring.models import ProposalSketch
from mainspring.authoring.sketch.sketcher import sketch
from tests.kit.requests import SETS, Request, read_requests, read_worlds
from tests.unit.authoring.sketch.workspace import IMPORT, actions, draw

REQUESTS: Final = read_requests(SETS["requests"])


def _made(request: Request, *names: str) -> ProposalSketch:
    world = read_worlds()[request.world]
    others = dict(world.resources.automations or {})
    others |= {name: str(uuid5(NAMESPACE_URL, name)) for name in names}
    resources = replace(world.resources, automations=others)
    return sketch(request.wish, world.vocabulary, resources)


def _but_for_its_name(made: ProposalSketch, name: str) -> str:
    """All of a sketch; where any automation is a choice, the new one may be too."""
    document = {key: one for key, one in made.document.items() if key != "name"}
    questions = [
        replace(one, choices=tuple(c for c in one.choices if c.label != name))
        for one in made.questions
    ]
    result = str((document, questions, made.notes))
    # A message may be headed by the name, numbered or not.
    return result.replace(f"{name} 2", name).replace(" 2'", "'")


def test_the_same_words_become_the_same_automation_once_more() -> None:
    differ = []
    for request in REQUESTS:
        first = _made(request)
        name = str(first.document["name"])
        again = _made(request, name)
        assert again.document["name"] == f"{name} 2", request.id
        if _but_for_its_name(again, name) != _but_for_its_name(first, name):
            differ.append(request.id)
    assert differ == []


@pytest.mark.parametrize(
    "text",
    [
        "when Nightly import fails, mail me",
        "when the automation Nightly import has failed, mail me",
        'mail me if "Nightly import" fails',
        "mail me whenever the Nightly import automation fails",
        "mail me when the nightly import did not succeed",
    ],
)
def test_where_an_automation_is_named_it_is_meant(text: str) -> None:
    (trigger,) = draw(text).document["triggers"]
    assert trigger["config"]["event_type"] == "automation.run.failed"
    assert trigger["config"]["filters"] == {"automation_name": {"equals": "Nightly import"}}


def test_one_that_is_to_be_run_is_named_too() -> None:
    made = draw("every hour UTC run the Nightly import")
    assert actions(made) == ["run_automation_once"]
    assert IMPORT in str(made.document["plan"])


def test_words_that_are_also_a_name_keep_their_meaning() -> None:
    made = draw("every day at 9 UTC post a digest of new notes to #ops")
    assert "slack_post" in actions(made)
    assert made.document["triggers"][0]["config"]["cron"] == "0 9 * * *"
