"""Finding workspace names in words: boards, secrets, automations, page types."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import Final

from mainspring.authoring.models import QuestionChoice
from mainspring.authoring.resources import BoardSummary, DatasetSummary, WorkspaceResources
from mainspring.authoring.sketch.request_tokens import Clause, Token
from mainspring.authoring.sketch.texts import loose, shorten_text
from mainspring.authoring.sketch.word_tables import PAGE_NOUNS, STOP

_PAGE_TYPE: Final = "abcdefghijklmnopqrstuvwxyz0123456789_"
_SHORTEST: Final = 2


@dataclass(frozen=True, slots=True)
class BoardMatch:
    """A matched board, the candidates, or only the name that was given."""

    board: BoardSummary | None
    choices: tuple[BoardSummary, ...] = ()
    said: str = ""
    tokens: tuple[Token, ...] = ()

    @property
    def dataset(self) -> DatasetSummary | None:
        if self.board is None:
            return None
        named = [one for one in self.board.datasets if one.name == "default"]
        return next(iter((*named, *self.board.datasets)), None)


def find_board(
    tokens: Sequence[Token], resources: WorkspaceResources, *, bare: bool = False
) -> BoardMatch | None:
    """Find the board that words name; ``bare``: also without the word "board"."""
    low = [one.content.casefold().removesuffix("'s") for one in tokens]
    at = next((place for place, word in enumerate(low) if word in {"board", "boards"}), None)
    there = set(low)
    named = [
        (board, place, length, len(name))
        for board in resources.boards
        for name in (board.name, *(one.name for one in board.datasets if one.name != "default"))
        for place, length in _places(name, low, there)
    ]
    if named and (at is not None or bare):
        best = max(size for *_, size in named)
        longest = [one for one in named if one[3] == best]
        first = min(place for _, place, _, _ in longest)
        boards = [board for board, place, _, _ in longest if place == first]
        length = next(length for _, place, length, _ in longest if place == first)
        used = tuple(tokens[first : first + length]) + (() if at is None else (tokens[at],))
        if len(boards) == 1:
            return BoardMatch(boards[0], (), boards[0].name, used)
        return BoardMatch(None, tuple(boards), boards[0].name, used)
    if at is None:
        return None
    said = _find_board_words(tokens, at)
    return BoardMatch(
        None, resources.boards, " ".join(one.content for one in said), (*said, tokens[at])
    )


def _places(name: str, low: Sequence[str], there: AbstractSet[str]) -> list[tuple[int, int]]:
    """Find a name in words, as position and number of tokens."""
    wanted = name.casefold().split()
    if not wanted or len(name) < _SHORTEST:
        return []
    for form in (name.casefold(), in_other_number(name).casefold()) if len(wanted) > 1 else ():
        if form in there:
            # A multi-word name was marked before, and is one token.
            return [(low.index(form), 1)]
    if len(wanted) == 1 and wanted[0].endswith("s") and wanted[0] not in there:
        # The singular names a row: a lead is of the board Leads.
        singular = wanted[0].removesuffix("s")
        return [(low.index(singular), 1)] if singular in there and len(singular) > 2 else []
    if wanted[-1] not in there and len(wanted[-1]) > 2:
        wanted = [*wanted[:-1], _other_number(wanted[-1])]
    if wanted[0] not in there:
        return []
    return [
        (at, len(wanted))
        for at in range(len(low) - len(wanted) + 1)
        if low[at] == wanted[0] and list(low[at : at + len(wanted)]) == wanted
    ]


def in_other_number(name: str) -> str:
    """A name in singular or plural: the weekly win board."""
    *rest, last = name.split() or [""]
    return " ".join((*rest, _other_number(last.lower()))) if last else name


def _other_number(word: str) -> str:
    """Singular to plural, and plural to singular."""
    if word.endswith("ies") and len(word) > 4:
        return f"{word[:-3]}y"
    if word.endswith("s") and len(word) > 3:
        return word.removesuffix("s")
    return f"{word[:-1]}ies" if word.endswith("y") and word[-2:-1] not in "aeiou" else f"{word}s"


def _find_board_words(tokens: Sequence[Token], at: int) -> tuple[Token, ...]:
    """Return the words that name a board: before or after the word "board"."""
    behind = tokens[at + 1 : at + 2]
    if behind and (behind[0].kind == "quote" or behind[0].text[:1].isupper()):
        return tuple(behind)
    named: list[Token] = []
    for one in reversed(tokens[:at]):
        if one.kind == "mark" or one.low in STOP or len(named) == 3:
            break
        named.insert(0, one)
    return tuple(named)


def how_to_create_board(text: str, resources: WorkspaceResources) -> str:
    """Explain how to create the first board."""
    if resources.boards:
        return ""
    name = loose(shorten_text(text, 100)).replace('"', "") or "NAME"
    named = name if name.isalnum() else f'"{name}"'
    return f" No board is here yet: `mainspring boards create {named}` makes one."


def board_choices(boards: Iterable[BoardSummary]) -> tuple[QuestionChoice, ...]:
    return tuple(QuestionChoice(one.name, one.id) for one in boards)


def columns_of(dataset: DatasetSummary | None) -> tuple[str, ...]:
    """Columns whose names are valid in a definition."""
    if dataset is None:
        return ()
    return tuple(one for one in dataset.columns if one and "{" not in one and len(one) <= 200)[:50]


def find_secrets(resources: WorkspaceResources, *wanted: str) -> tuple[str, ...]:
    """Find secrets whose names match."""
    return tuple(one for one in resources.secrets if all(word in one for word in wanted))


def secret_choices(names: Iterable[str], kept: Collection[str]) -> tuple[QuestionChoice, ...]:
    """Secrets to choose from; for a missing one, how to set it."""
    told = {
        one: one if one in kept else f"{one} (not kept yet: `mainspring secrets set {one}`)"
        for one in names
    }
    return tuple(QuestionChoice(label, f"{{{{ secrets.{one} }}}}") for one, label in told.items())


def find_automation(
    clause: Sequence[Token], resources: WorkspaceResources
) -> tuple[str, str] | None:
    """Find the automation that words name, with its id."""
    low = [one.content.casefold() for one in clause]
    there = set(low)
    found = [
        (length, name)
        for name in resources.automations or {}
        for _, length in _places(name, low, there)
    ]
    if not found:
        return None
    name = max(found)[1]
    return name, (resources.automations or {})[name]


def automations(resources: WorkspaceResources) -> frozenset[str]:
    return frozenset(one.casefold() for one in resources.automations or ())


def page_type_of(word: str, resources: WorkspaceResources) -> str | None:
    """Return the page type that a word names, if it exists here or in an integration."""
    forms = {word, word.removesuffix("s"), word.removesuffix("es"), word.replace("-", "_")}
    for one in resources.page_types:
        if is_type(one) and (one in forms or ("_" in one and one.rpartition("_")[2] in forms)):
            return one
    return PAGE_NOUNS.get(word)


def is_type(word: str) -> bool:
    return 0 < len(word) <= 64 and word[0].isalpha() and all(one in _PAGE_TYPE for one in word)


def names_pages(word: str, resources: WorkspaceResources) -> bool:
    return word in PAGE_NOUNS or page_type_of(word, resources) is not None


def mentions(clause: Clause, resources: WorkspaceResources) -> list[Token]:
    """Return the tokens of a clause that name pages."""
    return [one for one in clause.of("word") if names_pages(one.low, resources)]
