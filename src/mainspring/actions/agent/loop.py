"""The agent loop: ask the model, execute its tool calls, return the results, until it ends.

It knows nothing of grants, records or budgets. After a crash the session answers from the record,
so the loop restarts from its beginning and must repeat the same requests: everything it sends to
the model is derived from the material and the results of turns and calls.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final, Literal

import orjson

from mainspring.actions.agent.prompts import (
    CANNOT,
    CUT_OFF,
    FINAL,
    LAST_TURN,
    NO_ANSWER,
    NOTHING,
    SILENCE,
    TOO_MANY,
    WAITS,
    QuoteMarkers,
    build_first_message,
    build_system_prompt,
    format_problem,
    format_unknown_tool,
    format_value,
)
from mainspring.actions.agent.task import (
    VALUE,
    AgentTask,
    OutputShape,
    as_own,
    check_limits,
    out_of_turns_error,
)
from mainspring.actions.agent.transcript import AgentTranscript
from mainspring.contracts.agent import AgentSession, AgentTool, ToolCallResult
from mainspring.contracts.errors import BudgetExceeded, Conflict, Finding, Invalid
from mainspring.contracts.limits import Limits
from mainspring.contracts.model import (
    ModelMessage,
    ModelReply,
    ModelRequest,
    ModelTool,
    ToolCall,
    ToolResult,
)
from mainspring.contracts.outcome import NothingToDo
from mainspring.definition.json_in_text import parse_json_text
from mainspring.definition.json_schema.published import flatten_schema
from mainspring.definition.strict_json import check_value, encode_canonical
from mainspring.definition.tool_patterns import choose_tool_name, is_pattern

# The tools of an agent: names as a provider accepts them, and their capabilities.

_DESCRIPTION: Final = 4_000
# These keywords refer to the whole schema, parts of which may be fixed.
_EXAMPLES: Final = frozenset({"examples", "$schema"})
_REASON: Final[dict[str, Any]] = {
    "type": "object",
    "required": ["reason"],
    "additionalProperties": False,
    "properties": {"reason": {"type": "string", "minLength": 1}},
}


@dataclass(frozen=True, slots=True)
class ToolBinding:
    """One tool with its name for the model."""

    tool: AgentTool
    fixed: Mapping[str, Any]


@dataclass(slots=True)
class AgentToolset:
    """The tools that a model may call."""

    handles: dict[str, ToolBinding] = field(default_factory=dict)
    tools: tuple[ModelTool, ...] = ()

    @property
    def names(self) -> list[str]:
        return [tool.name for tool in self.tools]


def build_toolset(
    tools: Sequence[AgentTool], fixed: Mapping[str, Mapping[str, Any]], shape: OutputShape | None
) -> AgentToolset:
    """Every tool under a unique name, and the tools that end the task."""
    toolset = AgentToolset()
    taken = {FINAL, NOTHING, CANNOT}
    offered: list[ModelTool] = []
    for tool in tools:
        params = {} if is_pattern(tool.id) else fixed.get(tool.id, {})
        _check_secrets(tool, params)
        name = choose_tool_name(tool.id, taken)
        taken.add(name)
        toolset.handles[name] = ToolBinding(tool, params)
        schema, rule = flatten_schema(tool.input_schema)
        described = _describe_tool(tool, "" if params else rule)
        offered.append(ModelTool(name, described, _remove_fixed(schema, params)))
    toolset.tools = (*offered, *_build_ending_tools(shape))
    return toolset


def _build_ending_tools(shape: OutputShape | None) -> list[ModelTool]:
    ways = [
        ModelTool(NOTHING, "End the task because there is nothing to do.", _REASON),
        ModelTool(CANNOT, "End the task because it cannot be done.", _REASON),
    ]
    if shape is None:
        return ways
    schema = {key: value for key, value in shape.schema.items() if key != "$schema"}
    return [ModelTool(FINAL, "End the task with its answer.", schema), *ways]


def _describe_tool(tool: AgentTool, rule: str) -> str:
    text = tool.description.strip()[:_DESCRIPTION] or tool.id
    text = f"{text}\n\n{rule}" if rule else text
    return f"{text}\n\nA person must agree before this is done." if tool.waits else text


def _remove_fixed(schema: Mapping[str, Any], fixed: Mapping[str, Any]) -> dict[str, Any]:
    """The schema without the fixed arguments, as shown to the model."""
    shown = {key: value for key, value in schema.items() if key not in _EXAMPLES}
    properties = shown.get("properties", {})
    shown["properties"] = {key: value for key, value in properties.items() if key not in fixed}
    if "required" in shown:
        shown["required"] = [key for key in shown["required"] if key not in fixed]
    return {"type": "object", **shown}


def _check_secrets(tool: AgentTool, params: Mapping[str, Any]) -> None:
    needed = set(tool.input_schema.get("required", ())) & tool.secrets
    for name in sorted(needed - params.keys()):
        detail = f"{tool.id} needs the secret {name!r}, which a model can never give."
        way_out = f'List it as {{"tool": "{tool.id}", "params": {{"{name}": a secret}}}}.'
        raise Invalid(
            detail,
            code="tool_needs_secret",
            findings=[Finding("/tools", detail, "tool_needs_secret", way_out)],
            suggestion=way_out,
        )


# Replaces arguments that are too deep or too large to be stored; the model must send them again.


def must_be_object(what: str, limits: Limits) -> str:
    """The error for arguments that are not an object, or that were too deep to be stored."""
    return f"{what} a JSON object, nested at most {limits.json_depth} levels deep."


def find_output_problems(output: Any, limits: Limits) -> list[Finding]:
    """Why the output of an agent cannot be stored as that of its step; empty when it can."""
    try:
        # It is nested one level deeper in the result of the call.
        check_value([output], limits)
    except Invalid as problem:
        return [replace(one, pointer="") for one in problem.findings]
    size = len(encode_canonical(output))
    if size <= limits.step_output_bytes:
        return []
    detail = f"The answer is {size} bytes; at most {limits.step_output_bytes} are kept."
    return [Finding("", detail, "output_too_large", "Give a shorter answer.")]


def shorten_call(call: ToolCall, limits: Limits) -> ToolCall:
    """A refused call as the conversation keeps it, shortened to save tokens."""
    text = format_value(call.arguments)
    short = shorten_text(text, limits)
    return call if short == text else replace(call, arguments=short)


def shorten_text(text: str, limits: Limits) -> str:
    """An unusable text of the model, shortened for the reminder."""
    most = limits.agent_result_characters
    return text if len(text) <= most else f"{text[:most]} … ({len(text) - most}omitted)"


# How often in a row a model may be asked to correct itself.
MAX_CORRECTIONS: Final = 3
_CALLS_AT_ONCE: Final = 32
_CUT: Final = frozenset({"max_tokens", "length"})
_REFUSED: Final = frozenset({"refusal", "content_filter"})
_SHOWN: Final = 4_000
_NAME: Final = 100


@dataclass(frozen=True, slots=True)
class AgentOutcome:
    """How an agent ended by itself."""

    kind: Literal["done", "nothing"]
    text: str = ""
    output: Any = None


@dataclass(frozen=True, slots=True)
class ToolCallReply:
    """The result of one call, as the model receives it."""

    content: str
    failed: bool = False
    # What it is derived from; empty for our own text, which another release may change.
    raw: str = ""
    # The problem, if it was the model's own mistake.
    findings: tuple[Finding, ...] = ()

    @property
    def refused(self) -> bool:
        """Whether it was not executed."""
        return self.failed and not self.raw


@dataclass(slots=True)
class AgentLoop:
    """One conversation."""

    session: AgentSession
    material: AgentTask
    limits: Limits
    transcript: AgentTranscript
    marks: QuoteMarkers = field(default_factory=lambda: QuoteMarkers("untrusted", 0))
    toolset: AgentToolset = field(default_factory=AgentToolset)
    messages: list[ModelMessage] = field(default_factory=list)
    # A hash of everything before the next request.
    chain: bytes = b""
    corrections: int = 0

    async def run(self) -> AgentOutcome:
        """Run to the end: an answer, nothing to do, or a problem."""
        material = self.material
        mark = await self.session.begin(material.digest)
        self.marks = QuoteMarkers(f"untrusted-{mark}", self.limits.agent_result_characters)
        tools = await self.session.tools(list(material.tools))
        self.toolset = build_toolset(tools, material.tools, material.shape)
        self.messages = [ModelMessage("user", build_first_message(material, self.marks))]
        self.chain = material.digest
        for number in range(1, material.bounds.turns + 1):
            ending = await self._turn(number)
            if ending is not None:
                await self.session.say(
                    {"kind": "answer", "turn": number, **_format_outcome(ending)}
                )
                return ending
        raise out_of_turns_error(material.bounds)

    @property
    def system(self) -> str:
        return build_system_prompt(self.material, self.marks.mark)

    async def _turn(self, number: int) -> AgentOutcome | None:
        if not self.session.recorded(number):
            self._check_bounds()
        reply = await self._asked(number)
        if reply.stop_reason in _REFUSED:
            said = f" It said: {reply.text[:500]}" if reply.text else ""
            raise Conflict(
                f"The model's provider refused to continue this task.{said}",
                code="agent_refused",
                suggestion="Say the task in another way, or name another model.",
            )
        if reply.stop_reason in _CUT:
            none = self._none_done(reply)
            await self._tell(number, replace(reply, kept=""), none, CUT_OFF)
            self._request_correction(
                "agent_truncated", "Its answers were longer than max_tokens allows."
            )
            return None
        if reply.calls:
            return await self._calls(number, reply)
        shape = self.material.shape
        ending = None if shape is None else self._answered_in_text(reply.text, shape)
        if ending is not None:
            return ending
        words = SILENCE if shape is None else NO_ANSWER
        if shape is None and reply.text.strip():
            wrong = find_output_problems({"text": reply.text}, self.limits)
            if not wrong:
                return AgentOutcome("done", reply.text)
            words = wrong[0].detail
            reply = replace(reply, text=shorten_text(reply.text, self.limits))
        await self._tell(number, reply, [], words)
        self._request_correction("agent_answer", "It did not answer in the required form.")
        return None

    async def _asked(self, number: int) -> ModelReply:
        bounds, spent = self.material.bounds, self.session.spent
        request = ModelRequest(
            model=self.material.model,
            messages=tuple(self.messages),
            system=self.system,
            max_tokens=bounds.tokens,
            tools=self.toolset.tools,
            max_usd=None if bounds.usd is None else bounds.usd - spent,
        )
        room = None if bounds.total_tokens is None else bounds.total_tokens - self.transcript.tokens
        try:
            turn = await self.session.turn(number, request, self.chain, room)
        except BudgetExceeded as over:
            raise as_own(over, bounds) from None
        self.transcript.hear(number, turn)
        reply = turn.reply
        self._link([reply.text, [[one.id, one.name, one.arguments] for one in reply.calls]])
        thought = "\n".join(filter(None, (reply.thoughts, self._spoken(reply))))
        if thought:
            await self.session.say({"kind": "thought", "turn": number, "text": thought[:_SHOWN]})
        await self.session.say(
            {
                "kind": "turn",
                "turn": number,
                "model": reply.model,
                "input_tokens": reply.input_tokens,
                "output_tokens": reply.output_tokens,
                "cost_usd": float(turn.cost),
                "total_usd": float(self.session.spent),
            }
        )
        return reply

    def _spoken(self, reply: ModelReply) -> str:
        """The text of a turn besides an answer, which is shown when the task ends."""
        shaped = self.material.shape is not None
        return reply.text if shaped or reply.calls or reply.stop_reason in _CUT else ""

    async def _calls(self, number: int, reply: ModelReply) -> AgentOutcome | None:
        """Execute the calls in order; one that ends the task ends the turn as well."""
        results: list[ToolCallReply] = []
        for place, call in enumerate(reply.calls, 1):
            if place > _CALLS_AT_ONCE:
                results.append(self._refused(call, TOO_MANY.format(most=_CALLS_AT_ONCE)))
                continue
            done = self._ended(call) if call.name in (FINAL, NOTHING, CANNOT) else None
            if isinstance(done, AgentOutcome):
                return done
            results.append(done or await self._call(number, place, call))
        await self._tell(number, reply, results)
        wrong = [finding for result in results for finding in result.findings]
        if all(result.failed for result in results) and wrong:
            self._request_correction(
                "agent_answer", "Its answer does not fit the requested schema.", wrong
            )
        else:
            self.corrections = 0
        return None

    def _ended(self, call: ToolCall) -> AgentOutcome | ToolCallReply | None:
        """The end that a call asks for, or what is wrong with it."""
        given = call.arguments
        shape = self.material.shape
        if call.name == FINAL:
            return None if shape is None else self._answered(call, shape)
        reason = given.get("reason") if isinstance(given, Mapping) else None
        if not isinstance(reason, str) or not reason.strip():
            return self._refused(call, "Say why, in reason.", "/reason")
        wrong = find_output_problems(NothingToDo(reason).as_value(), self.limits)
        if wrong:
            return self._refused(call, wrong[0].detail, "/reason")
        if call.name == NOTHING:
            return AgentOutcome("nothing", reason)
        raise Conflict(
            f"The agent could not do it: {reason[:1_000]}",
            code="agent_cannot",
            suggestion="Its transcript says what it tried.",
        )

    def _answered(self, call: ToolCall, shape: OutputShape) -> AgentOutcome | ToolCallReply:
        given = call.arguments
        if not isinstance(given, Mapping):
            return self._refused(call, must_be_object("An answer is", self.limits))
        findings = shape.validator.findings(dict(given), "")
        phrase = "This answer does not fit its schema:"
        if not findings:
            output, phrase = shape.value_of(given), "This answer cannot be kept:"
            findings = find_output_problems(output, self.limits)
            if not findings:
                return AgentOutcome("done", output=output)
        text = format_problem(Invalid(phrase, findings=findings))
        self.transcript.called(call.name, None, given, text, failed=True)
        return ToolCallReply(text, failed=True, findings=tuple(findings))

    def _answered_in_text(self, text: str, shape: OutputShape) -> AgentOutcome | None:
        """The answer of a model that wrote it as JSON instead of calling the tool."""
        for value in parse_json_text(text, self.limits):
            given = [value] if isinstance(value, dict) else []
            for one in [*given, {VALUE: value}] if shape.wrapped else given:
                if not shape.validator.findings(one, ""):
                    output = shape.value_of(one)
                    if not find_output_problems(output, self.limits):
                        return AgentOutcome("done", output=output)
        return None

    def _refused(self, call: ToolCall, text: str, pointer: str = "") -> ToolCallReply:
        """A call that is not executed because of the model's own mistake."""
        self.transcript.called(call.name, None, call.arguments, text, failed=True)
        return ToolCallReply(text, failed=True, findings=(Finding(pointer, text, "agent_call"),))

    async def _call(self, number: int, place: int, call: ToolCall) -> ToolCallReply:
        handle = self.toolset.handles.get(call.name)
        if handle is None:
            return self._refused(call, format_unknown_tool(call.name, self.toolset.names))
        given = call.arguments
        if not isinstance(given, Mapping):
            return self._refused(call, must_be_object("The arguments of a tool are", self.limits))
        extra = sorted(handle.fixed.keys() & given.keys())
        if extra:
            return self._refused(call, f"{call.name} has no argument called {extra[0]!r}.")
        if not self.session.made(number, place):
            return self._refused(call, format_unknown_tool(call.name, self.toolset.names))
        if not self.session.recorded(number, place):
            self._check_bounds()
        tool = handle.tool.id
        at = {"turn": number, "place": place, "tool": tool}
        await self.session.say({"kind": "call", **at, "arguments": _shorten_value(given)})
        answer = await self.session.call(number, place, tool, {**given, **handle.fixed})
        result = self._result(tool, answer)
        self.transcript.called(
            call.name, tool, given, result.content, failed=result.failed, answer=answer
        )
        await self.session.say(
            {
                "kind": "result",
                **at,
                "outcome": answer.outcome,
                "failed": result.failed,
                "text": _shorten_value(
                    answer.value if answer.problem is None else format_problem(answer.problem)
                ),
                "cost_usd": float(answer.cost),
                "total_usd": float(self.session.spent),
            }
        )
        return result

    def _result(self, tool: str, answer: ToolCallResult) -> ToolCallReply:
        problem = answer.problem
        if problem is not None:
            raw = format_problem(problem)
            text = f"This did not work.\n{self.marks.around(tool, raw)}"
            wrong = isinstance(problem, Invalid)
            found = (Finding("", problem.detail, problem.code),)
            return ToolCallReply(text, failed=True, raw=raw, findings=found if wrong else ())
        raw = format_value(answer.value)
        quoted = self.marks.around(tool, raw)
        return ToolCallReply(f"{WAITS}\n{quoted}" if answer.outcome == "held" else quoted, raw=raw)

    def _none_done(self, reply: ModelReply) -> list[ToolCallReply]:
        return [self._refused(call, CUT_OFF) for call in reply.calls]

    async def _tell(
        self, number: int, reply: ModelReply, results: Sequence[ToolCallReply], text: str = ""
    ) -> None:
        """Add the model's turn and our reply to the conversation."""
        said = reply.text if reply.text or reply.calls else "…"
        calls = tuple(
            shorten_call(call, self.limits) if result.refused else call
            for call, result in zip(reply.calls, results, strict=True)
        )
        self.messages.append(ModelMessage("assistant", said, calls=calls, kept=reply.kept))
        self._link([[result.failed, result.raw] for result in results])
        if results:
            text = ""
        if number + 1 == self.material.bounds.turns:
            text = f"{text}\n{LAST_TURN}".strip()
        if text:
            self.transcript.said(text)
        told_of = tuple(
            ToolResult(call.id, call.name, result.content, result.failed)
            for call, result in zip(reply.calls, results, strict=True)
        )
        self.messages.append(ModelMessage("user", text, results=told_of))
        await self._show_refusals(number)

    async def _show_refusals(self, number: int) -> None:
        """Show observers the calls that were not executed, and what the model was told."""
        turn = self.transcript.turns[-1]
        for call in turn["calls"]:
            if call["tool"] is None:
                given, text = _shorten_value(call["arguments"]), _shorten_value(call["result"])
                event = {"kind": "refused", "turn": number, "tool": call["name"][:_NAME]}
                await self.session.say({**event, "arguments": given, "text": text})
        if "told" in turn:
            await self.session.say({"kind": "told", "turn": number, "text": turn["told"]})

    def _link(self, answer: Any) -> None:
        """Add what was said to the hash of the conversation."""
        text = orjson.dumps(answer, option=orjson.OPT_SORT_KEYS)
        self.chain = hashlib.blake2b(self.chain + text, digest_size=16).digest()

    def _request_correction(self, code: str, detail: str, findings: Sequence[Finding] = ()) -> None:
        self.corrections += 1
        if self.corrections > MAX_CORRECTIONS:
            raise Invalid(
                f"The model was asked {MAX_CORRECTIONS} times to correct its answer. {detail}",
                code=code,
                findings=findings,
                suggestion="Its transcript shows what it gave. Raise max_tokens, ask for a "
                "simpler shape, or name another model.",
            )

    def _check_bounds(self) -> None:
        """Check the limits before anything else is done."""
        session, used = self.session, self.transcript.tokens
        gone = session.used_up() or check_limits(
            self.material.bounds, session.spent, used, session.seconds
        )
        if gone is not None:
            raise gone


def _shorten_value(value: Any) -> Any:
    """A value as the live view shows it."""
    text = format_value(value)
    return value if len(text) <= _SHOWN else f"{text[:_SHOWN]} …"


def _format_outcome(ending: AgentOutcome) -> dict[str, Any]:
    return {
        "how": ending.kind,
        "text": _shorten_value(ending.text),
        "output": _shorten_value(ending.output),
    }
