"""agent.run: a model works on a task with exactly the given tools."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

from mainspring.actions.agent.loop import AgentLoop, AgentOutcome
from mainspring.actions.agent.prompts import build_first_message
from mainspring.actions.agent.sample import build_sample_answer
from mainspring.actions.agent.schema import build_agent_input_schema, build_agent_output_schema
from mainspring.actions.agent.task import read_material
from mainspring.actions.agent.transcript import AgentTranscript, describe_ending
from mainspring.connections.call_context import GateContext
from mainspring.contracts.agent import AGENT_RUN
from mainspring.contracts.capability import Annotations, Audience, Capability, Effect
from mainspring.contracts.context import CallContext
from mainspring.contracts.errors import DeadlineExceeded, InternalError, Problem, as_problem
from mainspring.contracts.limits import Limits
from mainspring.contracts.toolset import Toolset


def build_agent_capability(limits: Limits) -> Capability:
    """The capability, within the limits of this installation."""

    async def run(ctx: CallContext, arguments: Mapping[str, Any]) -> dict[str, Any]:
        if not isinstance(ctx, GateContext) or ctx.agency is None:
            raise InternalError("Only the gate can run an agent.", retryable=False)
        material = read_material(arguments, ctx.model, limits)
        loop = AgentLoop(ctx.agency, material, limits, AgentTranscript(material))
        try:
            ending = await loop.run()
        except asyncio.CancelledError:
            stopped = DeadlineExceeded("It was stopped while it was at work.", code="agent_stopped")
            await _store_transcript(loop, ctx.key, describe_ending(stopped), limits)
            raise
        except Problem as problem:
            await _store_transcript(loop, ctx.key, describe_ending(problem), limits)
            raise
        except Exception as error:
            await _store_transcript(loop, ctx.key, describe_ending(as_problem(error)), limits)
            raise
        return await _answer(loop, ctx.key, ending, limits)

    return Capability(
        id=AGENT_RUN,
        description="Run an agent on a task\n\n"
        "A model works on the prompt with the given tools until it has an answer in "
        "the requested schema, finds nothing to do, or gives up. Its tools are "
        "limited to the run's grants; writes outside wait for approval. It resumes "
        "after a crash. Only runs can call it.",
        input_schema=build_agent_input_schema(),
        output_schema=build_agent_output_schema(),
        handler=run,
        annotations=Annotations(
            toolset=Toolset.RUNS,
            # The effects of its tools are theirs, and each is checked by itself: a trial calls the
            # model, and pays.
            effect=Effect.READ,
            seconds=60.0,
            audience=Audience.RUNS,
            asks_models=True,
            secret_arguments=frozenset({"tools"}),
            stub=lambda arguments: build_sample_answer(arguments, limits),
        ),
    )


async def _answer(
    loop: AgentLoop, key: str, ending: AgentOutcome, limits: Limits
) -> dict[str, Any]:
    shown = {"kind": ending.kind, "text": ending.text, "output": ending.output}
    artifact = await _store_transcript(loop, key, shown, limits)
    said = loop.transcript
    return {
        "output": ending.output,
        "text": ending.text,
        "kind": ending.kind,
        "turns": len(said.turns),
        "usage": {
            "input_tokens": said.input_tokens,
            "output_tokens": said.output_tokens,
            "cost_usd": float(loop.session.spent),
        },
        "model": said.model,
        "transcript": artifact,
    }


async def _store_transcript(
    loop: AgentLoop, key: str, ending: Mapping[str, Any], limits: Limits
) -> dict[str, str] | None:
    """Store the transcript, whatever the end was; a task that never began has none."""
    if not loop.messages:
        return None
    whole = loop.transcript.whole(
        key,
        loop.system,
        build_first_message(loop.material, loop.marks),
        [handle.tool.id for handle in loop.toolset.handles.values()],
        ending,
        loop.session.spent,
        limits.artifact_bytes // 2,
    )
    kept = await loop.session.keep(whole)
    return None if kept is None else {"artifact_id": str(kept)}
