"""What the files in deploy/ say about the program is true of the program."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Iterator
from typing import Any

import jsonschema_rs
import pytest
import yaml
from typer.main import get_command

from mainspring.__main__ import command_line
from mainspring.settings import PREFIX, setting_names
from scripts.check_deploy import CHART, DEPLOY, PLAIN, ROOT, UNITS, header

_FILES = sorted(
    path for path in DEPLOY.rglob("*") if path.is_file() and path.name != "values.schema.json"
)


def _compose() -> dict[str, Any]:
    found: dict[str, Any] = yaml.safe_load((DEPLOY / "compose.yaml").read_text())
    return found


def _manifests() -> list[dict[str, Any]]:
    return [found for found in yaml.safe_load_all(PLAIN.read_text()) if found]


def _commands() -> Iterator[list[str]]:
    """Every command line that a unit, a container or a pod starts."""
    for unit in UNITS.glob("*.service"):
        (line,) = re.findall(r"^ExecStart=\S+/mainspring (.*)$", unit.read_text(), re.MULTILINE)
        yield shlex.split(line)
    for service in _compose()["services"].values():
        if service.get("image") == "mainspring":
            yield service["command"]
    for found in _manifests():
        if found["kind"] == "Deployment":
            yield found["spec"]["template"]["spec"]["containers"][0]["args"]
    (output,) = re.findall(r"^CMD (\[.*\])$", (DEPLOY / "Dockerfile").read_text(), re.MULTILINE)
    yield json.loads(output)


def test_every_setting_that_is_set_is_one() -> None:
    named = {
        (path.name, name)
        for path in _FILES
        for name in re.findall(rf"\b{PREFIX}[A-Z_]+", path.read_text())
    }
    assert {name for _, name in named} >= {"MAINSPRING_DATABASE_URL", "MAINSPRING_BROKER_URL"}
    assert [one for one in sorted(named) if one[1] not in setting_names()] == []


def test_every_command_that_is_started_is_one() -> None:
    root: Any = get_command(command_line())
    commands = list(_commands())
    assert len(commands) >= 11
    for name, *words in commands:
        # Refuses an option that there is not, and a value that it cannot have.
        root.commands[name].make_context(name, list(words))


def test_every_probe_asks_at_an_address_that_answers() -> None:
    known = json.loads((ROOT / "docs" / "reference" / "openapi.json").read_text())["paths"]
    asked = {path for file in _FILES for path in re.findall(r"/api/v1/[a-z/]+", file.read_text())}
    assert asked
    assert asked <= known.keys()


def test_the_plain_manifests_are_made_from_this_chart() -> None:
    assert PLAIN.read_text().startswith(header())


def test_the_chart_keeps_its_own_rules() -> None:
    schema = json.loads((CHART / "values.schema.json").read_text())
    values = yaml.safe_load((CHART / "values.yaml").read_text())
    judge = jsonschema_rs.validator_for(schema)
    judge.validate(values)
    with pytest.raises(jsonschema_rs.ValidationError, match="slow"):
        judge.validate({**values, "workers": [{"name": "a", "queues": ["slow"], "replicas": 1}]})


def test_a_container_is_given_longer_to_stop_than_its_steps_are() -> None:
    for found in _manifests():
        if found["kind"] == "Deployment":
            pod = found["spec"]["template"]["spec"]
            output = {one["name"]: one.get("value") for one in pod["containers"][0]["env"]}
            assert pod["terminationGracePeriodSeconds"] > float(output["MAINSPRING_STOP_SECONDS"])
    for unit in UNITS.glob("*.service"):
        (seconds,) = re.findall(r"^TimeoutStopSec=(\d+)$", unit.read_text(), re.MULTILINE)
        assert int(seconds) > 30
