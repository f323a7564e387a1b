"""An agreement survives what widens nothing: adding is asked about, taking away is not."""

from __future__ import annotations

import copy
from typing import Any, Final

from hypothesis import given, settings
from hypothesis import strategies as st

from mainspring.app import build_registry
from mainspring.contracts.limits import Limits
from mainspring.definition.authority import AutomationAuthority, find_additions, read_authority
from mainspring.definition.grants import resolve_effective_grants
from mainspring.definition.traits import read_traits
from mainspring.definition.validate import read_definition

WORDS: Final = build_registry(Limits())
Document = dict[str, Any]

texts = st.sampled_from(["Good morning", "{{ steps.read.json }}", "Hello {{ run.id }}", "…"])
hosts = st.sampled_from(["a.example", "b.example"])
people = st.sampled_from(["ada@example.com", "bob@example.com"])


def _mail(text: str, to: str) -> Document:
    return {"action": "send_email", "config": {"to": [to], "subject": "News", "body": text}}


def _post(text: str, host: str) -> Document:
    config = {"url": f"https://{host}/in", "method": "POST", "json": {"text": text}}
    return {"action": "http_fetch", "config": config}


def _hook(text: str, host: str) -> Document:
    return {"action": "callback_webhook", "config": {"url": f"https://{host}/h", "body": text}}


def _read(text: str, host: str) -> Document:
    return {"action": "http_fetch", "config": {"url": f"https://{host}/x", "query": {"q": text}}}


def _think(text: str, host: str) -> Document:
    return {"action": "agent_task", "config": {"instruction": f"{text} about {host}"}}


def _note(text: str, host: str) -> Document:
    del host
    return {"action": "notification", "config": {"title": "Done", "message_template": text}}


sends = st.one_of(
    st.builds(_mail, texts, people), st.builds(_post, texts, hosts), st.builds(_hook, texts, hosts)
)
reads = st.one_of(
    st.builds(_read, texts, hosts), st.builds(_think, texts, hosts), st.builds(_note, texts, hosts)
)


@st.composite
def documents(draw: st.DrawFn) -> Document:
    steps = draw(st.lists(st.one_of(sends, reads), min_size=1, max_size=5))
    plan = [{**copy.deepcopy(one), "step_id": f"s{n}"} for n, one in enumerate(steps)]
    return {
        "schema_version": "1.2",
        "name": "Test",
        "goal": draw(texts),
        "plan": plan,
        "triggers": [
            {"id": "t", "type": "schedule", "config": {"cron": "0 9 * * *", "timezone": "UTC"}}
        ],
    }


def authority(document: Document) -> AutomationAuthority:
    made = read_definition(document)
    whole = made.as_dict()
    grants = resolve_effective_grants(made, WORDS)
    traits = read_traits(whole, grants, WORDS)
    return read_authority(whole, grants, Limits(), None, traits.pure, traits.sends)


def added(before: Document, after: Document) -> list[str]:
    return [one.says for one in find_additions(authority(before), authority(after))]


@given(documents(), st.data())
@settings(deadline=None, max_examples=60)
def test_removing_reordering_and_rewording_ask_nobody(
    before: Document, data: st.DataObject
) -> None:
    after = copy.deepcopy(before)
    after["plan"] = data.draw(st.permutations(after["plan"]))
    for n, one in enumerate(after["plan"]):
        one["step_id"] = f"other{n}"
    del after["plan"][data.draw(st.integers(1, 5)) :]
    after["goal"] = "Another goal."
    after["metadata"] = {"tags": ["other"]}
    cron = data.draw(st.sampled_from(["0 9 * * *", "0 9 * * 1", "0 9 1 * *"]))
    after["triggers"][0]["config"]["cron"] = cron
    assert added(before, after) == []


@given(documents(), reads, st.data())
@settings(deadline=None, max_examples=60)
def test_another_text_of_a_read_a_prompt_or_a_notice_asks_nobody(
    before: Document, more: Document, data: st.DataObject
) -> None:
    before = {**before, "plan": [*before["plan"], {**more, "step_id": "more"}]}
    after = copy.deepcopy(before)
    config, text = after["plan"][-1]["config"], data.draw(texts)
    if "query" in config:
        config["query"] = {"q": text}
    elif "instruction" in config:
        config["instruction"] = text
    else:
        config["message_template"] = text
    assert added(before, after) == []


@given(documents(), sends, st.data())
@settings(deadline=None, max_examples=60)
def test_another_text_or_receiver_of_what_is_sent_is_asked_about(
    before: Document, more: Document, data: st.DataObject
) -> None:
    before = {**before, "plan": [*before["plan"], {**more, "step_id": "more"}]}
    after = copy.deepcopy(before)
    config = after["plan"][-1]["config"]
    key = data.draw(st.sampled_from(sorted(config.keys() - {"method"})))
    other: Any = ["eve@example.com"] if key == "to" else "something that nobody has read"
    config[key] = {"text": other} if key == "json" else other
    if key == "url":
        config[key] = "https://a.example/somewhere-else"
    assert added(before, after)


@given(documents(), sends)
@settings(deadline=None, max_examples=60)
def test_one_more_thing_that_is_sent_is_asked_about(before: Document, more: Document) -> None:
    after = copy.deepcopy(before)
    after["plan"].append({**more, "step_id": "more"})
    known = [{**one, "step_id": ""} for one in before["plan"]]
    assert bool(added(before, after)) == ({**more, "step_id": ""} not in known)
