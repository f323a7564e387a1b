"""From words to a finished run: four requests, without any model and with one.

Everything is asked over REST as a client does, and saved by a person at the command line. The
model is in another process and plays a script over the wire of its provider.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest

from tests.acceptance.commands import Mainspring, open_folder
from tests.acceptance.server import Json, Started, problem, started
from tests.acceptance.test_models import KEY, ModelProcess, call, slack
from tests.kit.processes import first_line, module_process
from tests.kit.slack import TOKEN, SlackDouble

ZONE = "Europe/Berlin"
SHAPE = {
    "type": "object",
    "required": ["text"],
    "additionalProperties": False,
    "properties": {"text": {"type": "string"}},
}
SAID = "Acme cut its prices by a tenth."


@dataclass(frozen=True, slots=True)
class Story:
    """A request, the trigger and the deed that it must come to, and what a person answers."""

    text: str
    trigger: str
    deed: str
    answers: Json


DIGEST = Story(
    "every weekday at 9 summarise new competitor pages and post five bullets to #standup",
    "schedule",
    "slack_post",
    {"slack-token": "{{ secrets.slack_bot_token }}"},
)
BUILD = Story(
    "when our CI calls the webhook, explain in two sentences what broke and leave me a message in "
    "the inbox",
    "webhook",
    "notification",
    {},
)
FILE = Story(
    "when a document comes in, write a short summary of it and leave me a message in the inbox",
    "page_ingested",
    "notification",
    {},
)
REPORT = Story(
    "every Friday at 4pm read the Orders board, write a short report and save it as a page",
    "schedule",
    "create_page",
    {},
)
STORIES = (DIGEST, BUILD, FILE, REPORT)
IDS = ("digest", "build", "file", "report")


@pytest.fixture(scope="module")
def minds() -> Iterator[ModelProcess]:
    with module_process("tests.kit.model_server", ["--port", "0"]) as process:
        yield ModelProcess(int(first_line(process).rpartition(" ")[2]))


@pytest.fixture(scope="module")
def channel() -> Iterator[SlackDouble]:
    with slack() as double:
        yield double


@pytest.fixture(scope="module")
def server(channel: SlackDouble) -> Iterator[Started]:
    settings = {"egress_allow": channel.pair, "slack_url": channel.url}
    with open_folder() as folder, started(Mainspring(folder / "home"), settings) as made:
        made.post("/secrets", {"name": "slack_bot_token", "value": TOKEN}, 201)
        made.post("/boards", {"name": "Orders"}, 201)
        yield made


@pytest.fixture(scope="module")
def connected(server: Started, minds: ModelProcess) -> Started:
    """The same server, with a model from now on."""
    # Agreed automations use models by now, so a person connects this one.
    given = {"name": "anthropic", "base_url": minds.url, "key": KEY}
    server.post("/capabilities/admin_connect_model", given)
    return server


def proposed(server: Started, story: Story, **more: Any) -> Json:
    given = {"text": story.text, "timezone": ZONE, **more}
    made: Json = server.post("/proposals", given, 201)
    return made


def answered(server: Started, made: Json, answers: Json) -> Json:
    """Answers what is open, with the first choice where nothing else is known."""
    open_ = {one["id"]: one for one in made["questions"]}
    given = {name: answers.get(name, _first(one)) for name, one in open_.items()}
    if not given:
        return made
    now: Json = server.post(f"/proposals/{made['proposal_id']}/refine", {"answers": given})
    return answered(server, now, answers)


def _first(question: Json) -> Any:
    assert question["choices"], f"nobody can answer {question}"
    return question["choices"][0]["value"]


def saved(server: Started, made: Json) -> str:
    """A person saves what was read; a client with a token cannot."""
    path = f"/proposals/{made['proposal_id']}/save"
    body = {"digest": made["digest"]}
    assert problem(server.program.post(path, json=body), 403)["code"] == "person_needed"
    words = ("proposals", "save", made["proposal_id"], "--digest", made["digest"])
    assert server.mainspring(*words, "--json").json["code"] == "person_needed"
    done = server.mainspring.asked(*words)
    assert done.code == 0, done.output
    stored: Json = server.get(f"/proposals/{made['proposal_id']}")
    return str(stored["saved_as"])


def actions(made: Json) -> set[str]:
    """What its steps do, nested ones too."""
    found, waiting = set(), list(made["definition"]["plan"])
    while waiting:
        step = waiting.pop()
        found.add(step["action"])
        waiting += step["config"].get("steps", [])
    return found


@pytest.mark.parametrize("story", STORIES, ids=IDS)
def test_without_a_model_words_and_answers_become_a_saved_automation(
    server: Started, story: Story
) -> None:
    made = proposed(server, story, by="rules")
    assert (made["made_by"]["by"], made["made_by"]["model"]) == ("rules", None)
    assert "no model was used" in made["made_by"]["note"]
    ready = answered(server, made, story.answers)
    assert ready["status"] == "ready", (ready["questions"], ready["problems"])
    assert [one["type"] for one in ready["definition"]["triggers"]] == [story.trigger]
    assert story.deed in actions(ready)
    review = ready["review"]
    assert review["explained"]
    assert review["forecast"]["sentence"]
    assert story.deed in {one["capability"] for one in review["impact"]["grants"]} | {
        "notification"
    }
    made_id = saved(server, ready)
    stored = server.get(f"/automations/{made_id}")
    assert (stored["state"], stored["version"]) == ("paused", 1)
    server.post(f"/automations/{made_id}/archive")


def handed(story: Story) -> Json:
    """What a model hands in for a story, its questions left out."""
    think = {
        "step_id": "think",
        "action": "agent_task",
        "config": {"prompt": "Say what matters, in short.", "output_schema": SHAPE},
    }
    text = "{{ steps.think.text }}"
    deeds: Json = {
        "slack_post": {"channel": "#standup", "text": text},
        "notification": {"title": "News", "message_template": text},
        "create_page": {"type": "report", "title": "The week", "body": text},
    }
    triggers: Json = {
        "schedule": {"cron": "0 9 * * 1-5" if story is DIGEST else "0 16 * * 5", "timezone": ZONE},
        "webhook": {},
        "page_ingested": {},
    }
    return {
        "schema_version": "1.2",
        "name": f"By a model: {story.trigger} {story.deed}",
        "goal": "Say what is new.",
        "triggers": [{"id": "start", "type": story.trigger, "config": triggers[story.trigger]}],
        "plan": [think, {"step_id": "act", "action": story.deed, "config": deeds[story.deed]}],
    }


@pytest.mark.parametrize("story", STORIES, ids=IDS)
def test_with_a_model_words_become_a_run_that_is_finished(
    connected: Started, minds: ModelProcess, channel: SlackDouble, story: Story
) -> None:
    server, whole = connected, handed(story)
    questions = []
    if story is DIGEST:
        asked = {"pointer": "/plan/1/config/token", "question": "Which secret is the token in?"}
        questions = [asked]
    invented = {**whole, "plan": [{"step_id": "x", "action": "do_magic", "config": {}}]}
    flags = [
        {"pointer": "/plan/0", "text": "It reads whatever comes in."},
        {"pointer": "/nowhere", "text": "This leads nowhere."},
    ]
    summary = "It says what is new."
    minds.play(
        call("hand_in", definition=invented),
        call("hand_in", definition=whole, questions=questions),
        call("review", summary=summary, flags=flags),
        call("final_answer", text=SAID),
    )
    made = proposed(server, story)
    assert (made["made_by"]["by"], made["made_by"]["rounds"]) == ("model", 2), made["made_by"]
    assert "do_magic" in made["made_by"]["refused"][0]
    assert "do_magic" not in str(made["definition"])
    ready = answered(
        server, made, {one["id"]: "{{ secrets.slack_bot_token }}" for one in made["questions"]}
    )
    assert ready["status"] == "ready", (ready["questions"], ready["problems"])
    assert ready["review"]["opinion"] == summary
    output = [one for one in ready["review"]["flags"] if one["by"] == "model"]
    assert [one["pointer"] for one in output] == ["/plan/0"]
    made_id = saved(server, ready)
    server.post(f"/automations/{made_id}/activate")
    run = server.ended(_set_off(server, story, made_id))
    assert run["status"] == "succeeded", run
    assert minds.refusals() == []
    _happened(server, channel, story, run)
    server.post(f"/automations/{made_id}/archive")


def _set_off(server: Started, story: Story, made_id: str) -> str:
    if story.trigger == "webhook":
        token = server.token(made_id, "start")
        answer = server.fire(made_id, token, {"build": 7, "failed": True})
        assert answer.status_code == 202, answer.text
    elif story.trigger == "page_ingested":
        server.post(
            "/capabilities/create_page",
            {"type": "document", "title": "Terms", "slug": "terms", "body": "They are new."},
        )
    else:
        return server.run(made_id)
    [run] = server.first_runs(made_id)
    return str(run["id"])


def _happened(server: Started, channel: SlackDouble, story: Story, run: Json) -> None:
    if story is DIGEST:
        assert channel.messages == []
        [draft] = [one for one in server.items("/drafts") if one["run_id"] == run["id"]]
        settings = {"egress_allow": channel.pair, "slack_url": channel.url}
        assert (
            server.mainspring.asked("drafts", "confirm", draft["id"], settings=settings).code == 0
        )
        [message] = channel.messages
        assert (message["channel"], message["text"]) == ("#standup", SAID)
    elif story is REPORT:
        pages = server.post("/capabilities/list_pages", {"type": "report"})["pages"]
        assert [one["title"] for one in pages] == ["The week"]
    else:
        assert SAID in str(server.items("/inbox"))
