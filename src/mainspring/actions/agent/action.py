"""agent_task: a step that thinks, through the capability agent.run."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from mainspring.actions.agent.judging import validate_agent_config, warn_about_agent_config
from mainspring.actions.agent.schema import build_agent_config_schema
from mainspring.contracts.action import Action
from mainspring.contracts.agency import AGENT_RUN, AGENT_TASK
from mainspring.contracts.context import StepContext
from mainspring.contracts.outcome import NothingToDo
from mainspring.definition.tool_patterns import read_agent_grants


async def run_agent_task(ctx: StepContext, config: Mapping[str, Any]) -> Any:
    """The answer in its declared shape; without one, the text."""
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
