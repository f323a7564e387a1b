"""The model conversation that produces a definition, limited in rounds, calls, time and cost.

It ends with a valid sketch or with the reason why there is none. Provider and budget errors
propagate.
"""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from mainspring.actions.agent.prompts import QuoteMarkers, format_unknown_tool
from mainspring.authoring.generate import looking
from mainspring.authoring.generate.context import (
    CUT,
    MOST_ASKS,
    MOST_ROUNDS,
    REFUSED,
    GenerationContext,
    GenerationResult,
    RequestTurn,
    tidy,
)
from mainspring.authoring.generate.looking import LookupResult, ModelLookup
from mainspring.authoring.generate.name_checks import KnownNames
from mainspring.authoring.generate.prompts import dump_json, opening, system_text
from mainspring.authoring.generate.schedule_reconciliation import read_schedule
from mainspring.authoring.generate.submission import (
    HAND_IN,
    TOOL,
    SubmissionReviewer,
    parse_text_submission,
)
from mainspring.authoring.models import AutomationRequest, ProposalSketch
from mainspring.contracts.model import ModelMessage, ModelReply, ModelRequest, ToolCall, ToolResult

TOOLS: Final = (*looking.TOOLS, TOOL)
_NAMES: Final = [tool.name for tool in TOOLS]
_MAX_TOKENS: Final = 8_192
_SHOWN: Final = 50_000
_NAME: Final = 200
# The largest definition that a model can repeat in full, in characters.
_LONGEST: Final = 20_000
_MOST_CALLS: Final = 16
# How many consecutive responses may come without a tool call.
_MOST_IDLE: Final = 3

_CUT_OFF: Final = (
    "Your answer was cut off because it was too long, so nothing of it was done. Hand in a shorter "
    "definition: fewer steps, shorter texts."
)
_NO_TOOL: Final = (
    "No one reads text. Call hand_in with the definition, or reply with its JSON and no other "
    "text, or look something up."
)
_LAST: Final = "This is your last turn: call hand_in now, with questions for what you do not know."
_MEND: Final = (
    "This was not accepted ({number} of {most}). Fix what is listed here and hand in the whole "
    "definition again."
)
_TOO_LONG: Final = "The definition is too long for a model to rewrite. Edit it yourself."
_ONCE: Final = "Only one definition is checked at a time. This one was not checked."
_TOO_MANY: Final = f"Only the first {_MOST_CALLS} calls of one turn are answered."


@dataclass(slots=True)
class GenerationConversation:
    """A conversation with a model."""

    context: GenerationContext
    hands: SubmissionReviewer
    looking: ModelLookup
    marks: QuoteMarkers
    system: str
    messages: list[ModelMessage]
    model: str
    end: float
    refused: list[str] = field(default_factory=list)
    idle: int = 0
    # The message when the conversation ends without a definition.
    gave_up: str = ""

    async def run(self) -> GenerationResult:
        for number in range(1, MOST_ASKS + 1):
            if self._is_exhausted():
                return self._nothing()
            reply = await self._ask_model(number)
            sketch = await self._handle_reply(reply)
            if sketch is not None:
                return self._done(sketch)
            if self.gave_up:
                return self._nothing()
        self.gave_up = f"The model tried {MOST_ASKS} times and produced no valid definition."
        return self._nothing()

    def _is_exhausted(self) -> bool:
        if self.context.clock.monotonic() >= self.end:
            self.gave_up = "The time limit was reached before the model produced a definition."
        elif self.context.left <= 0:
            self.gave_up = "The budget was spent before the model produced a definition."
        return bool(self.gave_up)

    async def _ask_model(self, number: int) -> ModelReply:
        if number == MOST_ASKS:
            last = self.messages[-1]
            told = f"{last.content}\n{_LAST}".strip()
            self.messages[-1] = replace(last, content=told)
        reply = await self.context.ask(
            ModelRequest(
                model=self.context.model,
                messages=tuple(self.messages),
                system=self.system,
                max_tokens=_MAX_TOKENS,
                tools=TOOLS,
                choice="any",
                max_usd=self.context.left,
            )
        )
        self.model = tidy(reply.model, _NAME) or self.model
        return reply

    async def _handle_reply(self, reply: ModelReply) -> ProposalSketch | None:
        """Handle a response; without a sketch the conversation continues or is given up."""
        if reply.stop_reason in REFUSED:
            self.gave_up = "The model's provider refused to work on this request."
            return None
        cut = reply.stop_reason in CUT
        written = None if cut or reply.calls else parse_text_submission(reply.text)
        if written is not None:
            self.idle = 0
            found = await self._accept_submission(written)
            if isinstance(found, ProposalSketch):
                return found
            self._tell(reply, [], found.content)
            return None
        if cut or not reply.calls:
            self.idle += 1
            words = _CUT_OFF if cut else _NO_TOOL
            results = [LookupResult(words, failed=True) for _ in reply.calls]
            self._tell(replace(reply, kept="") if cut else reply, results, words)
            if self.idle >= _MOST_IDLE:
                why = "was cut off each time" if cut else "answered with text and no definition"
                self.gave_up = f"The model {why}, {_MOST_IDLE} times in a row."
            return None
        self.idle = 0
        return await self._calls(reply)

    async def _calls(self, reply: ModelReply) -> ProposalSketch | None:
        results: list[LookupResult] = []
        judged = False
        for place, call in enumerate(reply.calls):
            if place >= _MOST_CALLS:
                results.append(LookupResult(_TOO_MANY, failed=True))
            elif call.name != HAND_IN:
                results.append(self._look_up(call))
            elif judged:
                results.append(LookupResult(_ONCE, failed=True))
            else:
                judged = True
                found = await self._accept_submission(call)
                if isinstance(found, ProposalSketch):
                    return found
                results.append(found)
        self._tell(reply, results)
        return None

    def _look_up(self, call: ToolCall) -> LookupResult:
        found = self.looking.answer(call.name, call.arguments)
        return found or LookupResult(format_unknown_tool(call.name, _NAMES), failed=True)

    async def _accept_submission(self, call: ToolCall) -> ProposalSketch | LookupResult:
        verdict = await self.hands.review(call.arguments)
        if verdict.sketch is not None:
            return verdict.sketch
        self.refused.append(verdict.summary)
        if len(self.refused) >= MOST_ROUNDS:
            self.gave_up = f"The model submitted {MOST_ROUNDS} definitions, and none was valid."
        head = _MEND.format(number=len(self.refused), most=MOST_ROUNDS)
        return LookupResult(
            f"{head}\n{self.marks.around('verdict', verdict.feedback)}", failed=True
        )

    def _tell(self, reply: ModelReply, results: Sequence[LookupResult], text: str = "") -> None:
        """Append the model's turn and our reply."""
        said = reply.text if reply.text or reply.calls else "…"
        self.messages.append(
            ModelMessage("assistant", said[:_SHOWN], calls=reply.calls, kept=reply.kept)
        )
        told = tuple(
            ToolResult(call.id, call.name, one.content, one.failed)
            for call, one in zip(reply.calls, results, strict=True)
        )
        self.messages.append(ModelMessage("user", "" if told else text, results=told))

    def _done(self, sketch: ProposalSketch) -> GenerationResult:
        rounds = len(self.refused) + 1
        note = "A model wrote this" + (
            "." if rounds == 1 else f", after {rounds - 1} of its definitions had to be corrected."
        )
        return GenerationResult(sketch, rounds, tuple(self.refused), self.model, note)

    def _nothing(self) -> GenerationResult:
        refused = tuple(self.refused)
        return GenerationResult(None, len(refused), refused, self.model, self.gave_up)


async def generate(
    context: GenerationContext, request: AutomationRequest, talk: Sequence[RequestTurn] = ()
) -> GenerationResult:
    """Generate a definition for a request, or return the reason for failing."""
    model = tidy(context.model, _NAME)
    if request.before is not None and len(dump_json(request.before)) > _LONGEST:
        return GenerationResult(None, 0, (), model, _TOO_LONG)
    marks = QuoteMarkers(f"data-{secrets.token_hex(8)}", _SHOWN)
    read = read_schedule(request)
    known = KnownNames.of(request, talk, context.resources, context.vocabulary)
    begun = opening(request, talk, read, marks)
    return await GenerationConversation(
        context=context,
        hands=SubmissionReviewer(context, request, read, known),
        looking=ModelLookup(context.resources, context.vocabulary, marks),
        marks=marks,
        system=system_text(context.vocabulary, marks.mark),
        messages=[ModelMessage("user", begun)],
        model=model,
        end=context.clock.monotonic() + context.seconds,
    ).run()
