"""A proposal talked through at a terminal: read, asked about, changed in words, saved.

What is saved is what was shown last: its digest goes with the agreement. Whoever stops early,
by an empty answer, Ctrl-D or Ctrl-C, loses nothing, because the proposal is kept.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Mapping
from typing import TYPE_CHECKING, Any, Final

from mainspring.contracts.errors import Problem
from mainspring.surfaces.cli import exits
from mainspring.surfaces.cli.answers import read_answer
from mainspring.surfaces.cli.formatting import count, hint
from mainspring.surfaces.cli.paragraphs import paragraph
from mainspring.surfaces.cli.problems import problem_lines
from mainspring.surfaces.cli.proposal_view import (
    definition_text,
    next_lines,
    question_lines,
    saved_lines,
)
from mainspring.surfaces.cli.proposals import (
    OVERLAP,
    GenerationOptions,
    go_on,
    read_labels,
    render_proposal,
    save_by_digest,
)
from mainspring.surfaces.cli.states import change_state_at, local_home
from mainspring.surfaces.cli.terminal_prompt import Ask, TerminalPrompt

if TYPE_CHECKING:
    from mainspring.surfaces.cli.context import CommandContext
    from mainspring.surfaces.cli.http_client import ApiClient
    from mainspring.surfaces.cli.screen import Screen

Proposal = Mapping[str, Any]
_YES: Final = frozenset({"y", "yes"})
_SAVE: Final = "Save it? [y]es, [e]dit, show the [d]efinition, [q]uit:"
_NOT_YET: Final = "[a]nswer, [e]dit, show the [d]efinition, [q]uit:"


async def converse(
    context: CommandContext,
    client: ApiClient,
    screen: Screen,
    proposal: Proposal,
    *,
    making: GenerationOptions | None = None,
    ask: Ask | None = None,
) -> int:
    """Goes through a proposal to its end, and says how it ended."""
    talk = ProposalConversation(
        context, client, screen, ask or TerminalPrompt(screen), making or GenerationOptions()
    )
    return await talk.to_the_end(proposal)


async def thinking(screen: Screen, work: Awaitable[dict[str, Any]]) -> dict[str, Any]:
    """Waits for what may take a model a while, and shows that it waits."""
    if not screen.is_lively:
        return await work
    with screen.console.status("Generating …"):
        return await work


class ProposalConversation:
    """One person and one proposal."""

    def __init__(
        self,
        context: CommandContext,
        client: ApiClient,
        screen: Screen,
        ask: Ask,
        making: GenerationOptions,
    ) -> None:
        self._context = context
        self._client = client
        self._screen = screen
        self._ask = ask
        self._making = making
        self._now: Proposal = {}

    async def to_the_end(self, proposal: Proposal) -> int:
        """Questions first, then the decision, until it is saved or left."""
        self._now = proposal
        try:
            if proposal["status"] == "saved":
                await self._show()
                return self._left()
            await self._show()
            await self.ask_open()
            return await self._decide()
        except asyncio.CancelledError:
            self._screen.say("")
            self._left()
            raise

    async def answered(self, proposal: Proposal) -> Proposal:
        """Shows it and asks what is open, without a decision at the end."""
        self._now = proposal
        await self._show()
        await self.ask_open()
        return self._now

    async def _show(self) -> None:
        self._screen.say("", *await render_proposal(self._client, self._screen, self._now))

    def _left(self) -> int:
        self._screen.say(*next_lines(self._now))
        return exits.INVALID if self._now["problems"] else exits.DONE

    async def ask_open(self) -> None:
        """One question after the other; an empty answer leaves one for later."""
        later: set[str] = set()
        before = self._now["digest"]
        first = True
        while True:
            left = [one for one in self._now["questions"] if one["id"] not in later]
            # With more words all of it is read again, so nothing else is asked before them.
            left.sort(key=lambda one: one["kind"] != "words")
            if not left:
                break
            if first:
                text = f"{count(len(left), 'question')}; Enter alone leaves one for later."
                self._screen.say("", text)
                first = False
            if not await self._ask_one(left[0]):
                later.add(left[0]["id"])
        if self._now["digest"] != before:
            # What is agreed to is what was read: all of it, with the answers in it.
            await self._show()

    async def _ask_one(self, question: Mapping[str, Any]) -> bool:
        """Asks until the answer can be used; False: it is left for later."""
        self._screen.say("", *question_lines(question, self._now["definition"], self._screen))
        while True:
            text = await self._ask("  >")
            if not text:
                return False
            try:
                answer = read_answer(text, question, self._context.limits())
                await self._change({"answers": {question["id"]: answer}})
            except Problem as problem:
                self._say_problem(problem)
                if problem.code in ("proposal_changed", "proposal_saved"):
                    await self._read_again()
                    return True
                continue
            return True

    async def _change(self, change: Mapping[str, Any]) -> None:
        work = go_on(self._client, self._now, {**change, **self._making.arguments()})
        self._now = await thinking(self._screen, work)

    async def _read_again(self) -> None:
        given = {"proposal_id": self._now["proposal_id"]}
        self._now = await self._client.call("get_proposal", given)

    def _say_problem(self, problem: Problem) -> None:
        for line in problem_lines(problem.detail, (), _way_out(problem)):
            self._screen.say(*paragraph(self._screen, line.plain.strip(), style=str(line.style)))

    async def _decide(self) -> int:
        while True:
            ready = self._now["status"] == "ready"
            self._screen.say("")
            if not ready:
                self._screen.say(*paragraph(self._screen, self._why_not(), lead=""))
            said = await self._ask(_SAVE if ready else _NOT_YET)
            chosen = (said or "q").strip().lower()
            if chosen in ("q", "quit", "n", "no"):
                return self._left()
            if chosen in _YES and ready:
                if await self._save():
                    return exits.DONE
            elif chosen in ("e", "edit"):
                await self._edit()
            elif chosen in ("d", "definition"):
                for line in definition_text(self._now).splitlines():
                    self._screen.note(line)
            elif chosen in ("a", "answer") and not ready:
                await self.ask_open()
            else:
                self._screen.say("One letter is enough: what it begins with.")

    def _why_not(self) -> str:
        asked = len(self._now["questions"])
        if asked:
            things = count(asked, "question is", "questions are")
            return f"It cannot be saved before {things} answered."
        if self._now["status"] == "saved":
            return "It is saved already."
        return "It cannot be saved. The problems are listed above."

    async def _edit(self) -> None:
        text = await self._ask("What should be different?")
        if not text:
            return
        try:
            await self._change({"instruction": text})
        except Problem as problem:
            self._say_problem(problem)
            if problem.code in ("proposal_changed", "proposal_saved"):
                await self._read_again()
                await self._show()
            return
        await self._show()
        await self.ask_open()

    async def _save(self, note: str | None = None) -> bool:
        """Saves what was shown; False: there is more to talk about."""
        try:
            saved = await save_by_digest(self._client, self._now, self._now["digest"], note)
        except Problem as problem:
            self._say_problem(problem)
            if problem.code == OVERLAP and note is None:
                why = await self._ask("Why may both live? (Enter alone: do not save)")
                return bool(why) and await self._save(why)
            if problem.code in ("proposal_changed", "proposal_saved"):
                await self._read_again()
                await self._show()
            return False
        labels = await read_labels(self._client, saved["widened"])
        self._screen.say(*saved_lines(saved, labels, self._screen))
        if saved["state"] != "active":
            await self._offer_to_activate(saved)
        return True

    async def _offer_to_activate(self, saved: Mapping[str, Any]) -> None:
        said = await self._ask("Activate it now? [y/N]")
        if (said or "").lower() not in _YES:
            self._screen.say(f"  {hint('activate', saved['name'])}")
            return
        try:
            await change_state_at(
                self._client,
                local_home(self._context),
                self._screen,
                "activate",
                saved["automation_id"],
                self._ask,
            )
        except Problem as problem:
            # It is saved all the same.
            self._say_problem(problem)
            self._screen.say(f"  {hint('activate', saved['name'])}")


def _way_out(problem: Problem) -> str | None:
    """The problem's own way out, or the first that a finding has."""
    found = (one.suggestion for one in problem.findings if one.suggestion)
    return problem.suggestion or next(found, None)
