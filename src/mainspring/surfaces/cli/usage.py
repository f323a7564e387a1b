"""Usage errors: the parser's messages, rewritten with a suggestion."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import typer

from mainspring.contracts.errors import Invalid
from mainspring.definition.suggestions import find_nearest
from mainspring.surfaces.cli.formatting import hint, read_home_option

# What the library says about a value, and what is said instead; {0} is what it is about.
_VALUES: Final = (
    (r"Input should be a valid integer\b.*", "{0} must be a whole number."),
    (r"Input should be a valid (?:number|decimal)\b.*", "{0} must be a number."),
    (r"Input should be a valid boolean\b.*", "{0} must be true or false."),
    (r"Input should be greater than or equal to (\S+)", "{0} must be at least {1}."),
    (r"Input should be less than or equal to (\S+)", "{0} must be at most {1}."),
    (r"Input should be greater than (\S+)", "{0} must be above {1}."),
    (r"Input should be less than (\S+)", "{0} must be below {1}."),
    (r"Input should be (.+?)\.?", "{0} must be {1}."),
    (r"Value error, (.+)", "{0}: {1}"),
)
_SENTENCES: Final = (
    (r"Got unexpected extra argument\(s\) \((.*)\)", "Unexpected argument: {0}."),
    (r"No such option: (\S+).*", "There is no option {0} here."),
    (r"No such command '(.*)'\.(.*)", "There is no command {0!r}.{1}"),
    (r"Missing (?:argument|option|parameter) '(.+?)'\.(.*)", "{0} is missing.{1}"),
    (r"Option '(.+)' does not take a value\.", "{0} takes no value."),
    (r"Option '(.+)' requires an argument\.", "{0} needs a value."),
)
_ABOUT_VALUE: Final = re.compile(r"Invalid value for (?P<what>.+?): (?P<said>.*)", re.DOTALL)
_STOPPING: Final = frozenset({"stop", "down", "kill", "shutdown", "quit", "exit"})


def usage_problem(error: typer.TyperException, words: Sequence[str]) -> Invalid:
    """The problem with what was typed."""
    said = " ".join(error.format_message().split())
    return Invalid(
        translate_usage_error(said), code="usage", suggestion=_way_out(error, said, words)
    )


def translate_usage_error(text: str) -> str:
    """What the library says, translated; what it has never said before stays as it is."""
    about = _ABOUT_VALUE.fullmatch(text)
    if about is not None:
        what = about["what"].replace("'", "")
        return _translated(_VALUES, about["said"], what) or f"{what}: {about['said']}"
    return _translated(_SENTENCES, text) or text


def _translated(pairs: tuple[tuple[str, str], ...], text: str, *before: str) -> str | None:
    for pattern, ours in pairs:
        found = re.fullmatch(pattern, text, re.DOTALL)
        if found is not None:
            return ours.format(*before, *found.groups(default=""))
    return None


def _way_out(error: typer.TyperException, text: str, words: Sequence[str]) -> str:
    context: Any = getattr(error, "ctx", None)
    path = "" if context is None else str(context.command_path)
    command = path.split()[1:]
    if text.startswith("No such command") and not command and _stops(text):
        return _how_to_stop(words)
    if text.startswith("Got unexpected extra") and command:
        return f"A name with spaces needs quotes; {hint(*command, '--help')} shows what it takes."
    if command:
        near = _nearest_option(error)
        return f"{near}{hint(*command, '--help')} shows what it takes."
    if text.startswith("No such option"):
        return (
            "Options of a command come after its name;"
            f" {hint('--help')} lists the commands, and each has a --help too."
        )
    return f"{hint('--help')} lists the commands; each of them has a --help too."


def _nearest_option(error: typer.TyperException) -> str:
    possible = getattr(error, "possibilities", None) or ()
    found = find_nearest(str(getattr(error, "option_name", "")), possible)
    return f"Did you mean {found}? " if found else ""


def _stops(text: str) -> bool:
    found = re.match(r"No such command '(.*?)'", text)
    return found is not None and found[1].lower() in _STOPPING


def _how_to_stop(words: Sequence[str]) -> str:
    """Who would have to be told, if anybody is up."""
    from mainspring.settings import read_settings
    from mainspring.surfaces.cli.running_server import find_running_server

    given = read_home_option(words)
    home = read_settings().home if given is None else Path(given).expanduser()
    standing = find_running_server(home)
    if standing is None:
        return "No server is running on this data folder."
    pid = f": kill -TERM {standing.pid}" if standing.pid else ""
    return f"Ctrl-C in its terminal stops the server, and so does SIGTERM{pid}"
