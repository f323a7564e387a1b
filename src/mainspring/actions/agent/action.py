"""agent_task: a step that runs an agent, through the capability agent.run."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from mainspring.actions.agent.schema import build_agent_config_schema
from mainspring.contracts.action import Action
from mainspring.contracts.agent import AGENT_RUN, AGENT_TASK
from mainspring.contracts.capability import Capability
from mainspring.contracts.context import StepContext
from mainspring.contracts.errors import Finding
from mainspring.contracts.outcome import NothingToDo
from mainspring.definition.suggestions import suggest_capability, suggest_nearest
from mainspring.definition.tool_patterns import (
    BY_NAME,
    MOST_STARS,
    is_pattern,
    match_pattern,
    matches_pattern,
    read_agent_grants,
    read_fixed_params,
    read_tool_name,
)

# Problems of an agent_task beyond its schema, reported when it is saved.

# A pattern that matches more tools is most likely wider than intended.
MOST_TOOLS: Final = 40
# The schema rejects a longer list; further entries are not checked.
MOST_LISTED: Final = 100


def validate_agent_config(
    config: Mapping[str, Any], capabilities: Mapping[str, Capability]
) -> Sequence[Finding]:
    """Check each tool by its name and its fixed arguments."""
    given = config.get("tools")
    entries = given[:MOST_LISTED] if isinstance(given, list) else []
    found: list[Finding] = []
    seen: set[str] = set()
    for place, entry in enumerate(entries):
        name = read_tool_name(entry)
        if name is None:
            continue
        at = f"/tools/{place}" + ("/tool" if isinstance(entry, Mapping) else "")
        if name in seen:
            found.append(Finding(at, f"The tool {name[:100]!r} is listed twice.", "tool_twice"))
        seen.add(name)
        found += _validate_tool(name, read_fixed_params(entry), at, f"/tools/{place}", capabilities)
    return found


def warn_about_agent_config(
    config: Mapping[str, Any], capabilities: Mapping[str, Capability]
) -> Sequence[Finding]:
    """Warn about what is allowed but rarely intended: an answer without a schema, and too many
    tools.
    """
    found = [*_warn_about_many_tools(config, capabilities)]
    if "output_schema" not in config:
        found.append(
            Finding(
                "",
                "This agent_task has no output_schema, so its answer is any text.",
                "no_output_schema",
                "Declare the shape of the answer: it is then checked, and later steps can rely "
                "on it.",
            )
        )
    return found


def _warn_about_many_tools(
    config: Mapping[str, Any], capabilities: Mapping[str, Capability]
) -> Iterator[Finding]:
    given = config.get("tools")
    for place, entry in enumerate(given[:MOST_LISTED] if isinstance(given, list) else []):
        name = read_tool_name(entry)
        if name is None or not is_pattern(name):
            continue
        many = sum(1 for _ in match_pattern(name, capabilities))
        if many > MOST_TOOLS:
            detail = (
                f"{name[:100]!r} stands for {many} tools, and every turn pays for reading them."
            )
            yield Finding(f"/tools/{place}", detail, "many_tools", "Name those that are needed.")


def _validate_tool(
    name: str,
    params: Mapping[str, Any],
    at: str,
    entry: str,
    capabilities: Mapping[str, Capability],
) -> Iterator[Finding]:
    shown = repr(name[:100])
    may = sorted(known for known, one in capabilities.items() if one.grantable)
    if name == AGENT_RUN:
        yield Finding(at, "An agent is never the tool of another agent.", "agent_in_agent")
    elif name.count("*") > MOST_STARS:
        detail = f"{shown} has more than {MOST_STARS} stars."
        yield Finding(at, detail, "pattern_stars", "Say which tools are meant in fewer pieces.")
    elif is_pattern(name):
        if not any(match_pattern(name, capabilities)):
            way = _match_unnamed(name, capabilities) or suggest_capability(name, may)
            yield Finding(at, f"No capability is called like {shown}.", "unknown_capability", way)
        if params:
            detail = "Arguments are fixed for one tool, and a pattern matches several."
            yield Finding(f"{entry}/params", detail, "params_of_pattern", "Name the tool.")
    elif name not in capabilities:
        detail = f"There is no capability called {shown}."
        yield Finding(at, detail, "unknown_capability", suggest_capability(name, may))
    elif not capabilities[name].grantable:
        yield Finding(at, f"{shown} can never be granted to an automation.", "never_granted")
    else:
        yield from _validate_params(capabilities[name], params, entry)


def _match_unnamed(pattern: str, capabilities: Mapping[str, Capability]) -> str | None:
    """What a pattern would match, including capabilities that must be named."""
    found = sorted(name for name in BY_NAME & capabilities.keys() if matches_pattern(pattern, name))
    return f"No pattern matches {', '.join(found)}: name it." if found else None


def _validate_params(
    capability: Capability, params: Mapping[str, Any], entry: str
) -> Iterator[Finding]:
    known = capability.input_schema.get("properties", {})
    open_ended = capability.input_schema.get("additionalProperties", True) is not False
    for key in params:
        if key not in known and not open_ended:
            detail = f"{capability.id} has no argument called {key[:100]!r}."
            yield Finding(
                f"{entry}/params", detail, "unknown_argument", suggest_nearest(key, known)
            )
    wanted = set(capability.input_schema.get("required", ()))
    for key in sorted((wanted & capability.annotations.only_secrets) - params.keys()):
        yield Finding(
            entry,
            f"{capability.id} needs the secret {key!r}, which a model can never give.",
            "tool_needs_secret",
            f'Fix it: {{"tool": "{capability.id}", "params": '
            f'{{"{key}": "{{{{ secrets.NAME }}}}"}}}}.',
        )


async def run_agent_task(ctx: StepContext, config: Mapping[str, Any]) -> Any:
    """The answer in its declared schema; without one, the text."""
    called = await ctx.called(AGENT_RUN, config)
    if called.problem is not None:
        raise called.problem
    answer = called.value
    if answer["kind"] == "nothing":
        return NothingToDo(answer["text"])
    return answer["output"] if "output_schema" in config else {"text": answer["text"]}


AGENT_ACTION = Action(
    type=AGENT_TASK,
    description="Let an agent do a task\n\n"
    "A model works on the prompt with the tools it is given until it has an answer of the shape "
    "that output_schema says. It thinks once; what is to be done with the answer are best steps "
    "of their own. After a crash it goes on where it was.",
    config_schema=build_agent_config_schema(),
    output_schema=None,
    handler=run_agent_task,
    uses=read_agent_grants,
    check=validate_agent_config,
    doubt=warn_about_agent_config,
    resumes=True,
    seconds=60.0,
)
