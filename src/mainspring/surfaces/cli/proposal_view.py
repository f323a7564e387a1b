"""A proposal as a person reads it at a terminal, from its name to what can be done next."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from mainspring.contracts.errors import Finding
from mainspring.surfaces.cli.formatting import as_called_here, count, hint
from mainspring.surfaces.cli.paragraphs import heading, paragraph
from mainspring.surfaces.cli.pointer_text import describe_pointer
from mainspring.surfaces.cli.problems import finding_lines
from mainspring.surfaces.cli.review_view import review_lines
from mainspring.surfaces.cli.screen import Screen, as_json, one_line
from mainspring.surfaces.cli.summary import Labels, labelled_grant_lines, warning_lines

if TYPE_CHECKING:
    from rich.text import Text

_UNNAMED: Final = "An automation without a name"
_COLOURS: Final = {"ready": "green", "asks": "yellow", "invalid": "red", "saved": "bright_black"}
_WORDS: Final = {
    "ready": "ready to be saved",
    "asks": "asks",
    "invalid": "cannot be saved yet",
    "saved": "saved",
}
# How a review ends that rules made alone.
_NOBODY_ASKED: Final = "no model was called."
_MOST_CHOICES: Final = 20
_SHORT: Final = 13


def proposal_lines(proposal: Mapping[str, Any], labels: Labels, screen: Screen) -> list[Text]:
    """All that somebody should read before they agree, without what comes next."""
    definition = proposal.get("definition") or {}
    return [
        _head(proposal, definition),
        *review_lines(proposal.get("review") or {}, definition, labels, screen),
        *problem_part(proposal.get("problems") or ()),
        *_notes(proposal.get("notes") or (), screen),
        *maker_lines(proposal, screen),
    ]


def _head(proposal: Mapping[str, Any], definition: Mapping[str, Any]) -> Text:
    from rich.text import Text

    name = definition.get("name")
    head = Text(one_line(name if isinstance(name, str) and name else _UNNAMED), style="bold")
    if proposal.get("automation_id"):
        head.append(f"  a change of version {proposal.get('base_version')}", style="not bold")
    return head.append(f"  {status_words(proposal)}", style=_COLOURS.get(proposal["status"], ""))


def status_words(proposal: Mapping[str, Any]) -> str:
    """How far it is, in a few words."""
    open_questions = proposal.get("questions")
    if proposal["status"] == "asks" and open_questions:
        return f"asks {count(len(open_questions), 'question')}"
    return _WORDS.get(proposal["status"], str(proposal["status"]))


def problem_part(problems: Sequence[Mapping[str, Any]]) -> list[Text]:
    """What is wrong with the definition, each with its place."""
    if not problems:
        return []
    lines = heading("What is wrong with it")
    for one in problems:
        lines += finding_lines(
            Finding(one["pointer"], one["detail"], one["code"], one.get("suggestion"))
        )
    return lines


def _notes(notes: Sequence[str], screen: Screen) -> list[Text]:
    lines = heading("Interpretation") if notes else []
    for note in notes:
        lines += paragraph(screen, as_called_here(note))
    return lines


def maker_lines(proposal: Mapping[str, Any], screen: Screen) -> list[Text]:
    """Who made it, who reviewed it and for how much, honestly."""
    made = proposal.get("made_by") or {}
    note, cost = made.get("note") or "No model was used.", made.get("cost_usd") or "0"
    if made.get("by") == "model":
        rounds = count(made.get("rounds") or 1, "round")
        note = f"{made.get('model') or 'A model'} made this in {rounds} for ${cost}."
    elif cost != "0":
        note = f"{note} Model calls cost ${cost}."
    lines = [*heading("Who made it"), *paragraph(screen, note)]
    for refused in made.get("refused") or ():
        lines += paragraph(screen, f"Refused on the way: {refused}", style="bright_black", most=400)
    reviewed = (proposal.get("review") or {}).get("reviewed_by") or {}
    # Rules that review what rules made need no second line.
    quiet = made.get("by") != "model" and str(reviewed.get("note")).endswith(_NOBODY_ASKED)
    told = "" if quiet else reviewed.get("note")
    return [*lines, *(paragraph(screen, told) if told else [])]


def question_lines(
    question: Mapping[str, Any], definition: Mapping[str, Any], screen: Screen, lead: str = "  "
) -> list[Text]:
    """One question with its choices, numbered."""
    lines = paragraph(screen, as_called_here(question["question"]), lead=lead, style="bold")
    margin = " " * len(lead)
    if question.get("why"):
        lines += paragraph(screen, question["why"], lead=margin, style="bright_black")
    choices = question.get("choices") or ()
    for number, choice in enumerate(choices[:_MOST_CHOICES], 1):
        lines += paragraph(
            screen, as_called_here(choice["label"]), lead=f"{margin}{number:>2}. ", most=200
        )
    place = describe_pointer(question.get("pointer", ""), definition)
    if place and not choices and question.get("kind") == "value":
        lines += paragraph(screen, f"for {place}", lead=margin, style="bright_black")
    return lines


def open_lines(proposal: Mapping[str, Any], screen: Screen) -> list[Text]:
    """Every open question, for somebody who answers with a command."""
    questions = proposal.get("questions") or ()
    if not questions:
        return []
    definition = proposal.get("definition") or {}
    lines = heading("Questions, to be answered before it can be saved")
    width = max(len(one_line(one["id"], 40)) for one in questions)
    for one in questions:
        lines += question_lines(one, definition, screen, f"  {one_line(one['id'], 40):<{width}}  ")
    return lines


def next_lines(proposal: Mapping[str, Any]) -> list[Text]:
    """The commands that go on with it, to be copied."""
    from rich.text import Text

    # The beginning of an id is enough to find it again, and the line stays whole.
    name, status = str(proposal["proposal_id"])[:_SHORT], proposal["status"]
    if status == "saved":
        return [
            Text(),
            Text(f"  {hint('show', proposal.get('saved_as') or '')}", style="bright_black"),
        ]
    calls = []
    if status == "asks":
        asked = [one["id"] for one in proposal.get("questions") or ()]
        calls.append(hint("proposals", "answer", name, *(f"{one}=VALUE" for one in asked[:5])))
    if status == "ready":
        calls.append(hint("proposals", "save", name))
    calls.append(hint("proposals", "refine", name, "what should be different"))
    calls.append(hint("proposals", "discard", name))
    head = (
        f"It expires {one_line(str(proposal['expires_at']), 40)[:10]}. Until then it does nothing:"
    )
    return [Text(), Text(head), *(Text(f"  {call}", style="bright_black") for call in calls)]


def saved_lines(saved: Mapping[str, Any], labels: Labels, screen: Screen) -> list[Text]:
    """What became of it."""
    from rich.text import Text

    sign, colour = screen.mark("succeeded")
    became = "is saved as" if saved["changed"] else "is unchanged: it is still"
    head = Text.assemble((sign, colour), " ", (one_line(saved["name"]), "bold"))
    head.append(f" {became} version {saved['version']}, {saved['state']}.")
    lines = [head, Text(f"  {one_line(saved['admin_url'], 400)}")]
    if saved["version"] > 1 and saved["widened"]:
        mark, warn = screen.mark("warning")
        lines.append(Text.assemble("  ", (mark, warn), " New in this version, not allowed before:"))
        lines += labelled_grant_lines(saved["widened"], labels)
    doubts = [
        Finding(one["pointer"], one["detail"], one["code"], one.get("suggestion"))
        for one in saved["warnings"]
    ]
    return [*lines, *warning_lines(doubts, screen)]


def definition_text(proposal: Mapping[str, Any]) -> str:
    """The definition as JSON, as ``save`` takes it."""
    return as_json(proposal.get("definition") or {})
