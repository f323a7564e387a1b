"""How well and how fast the local model finds a page by what it means.

python -m scripts.check_embeddings

Each question shares hardly a word with the page that answers it. Needs the extra; without it
the command says how to get it.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence

from mainspring.contracts.errors import Invalid
from mainspring.workspace.pages.local_embedder import LocalEmbedder, open_local_model

# A page, and a question that it answers.
PAIRS = (
    ("The office opens at nine on weekdays.", "When can I get into the building on a Monday?"),
    ("Invoices are paid within thirty days.", "How long until a supplier receives the money?"),
    ("Staff may take twenty-five days of leave a year.", "How much vacation do employees have?"),
    ("Reset your password from the sign-in screen.", "I forgot my login, what now?"),
    ("Servers are backed up every night.", "Can we recover data after a disk failure?"),
    ("The cafeteria serves vegetarian dishes.", "Is there lunch without meat?"),
    ("Customers can return goods for two weeks.", "May a buyer send back what they bought?"),
    ("The printer on floor two needs new toner.", "Why are my pages coming out pale?"),
    ("Travel by train is preferred to flying.", "Should I book a plane for the meeting?"),
    ("New laptops are replaced after four years.", "When do I get a fresh computer?"),
    ("Sales rose by a tenth in the third quarter.", "Did revenue grow over the summer?"),
    ("The fire drill takes place in October.", "When do we practise leaving the building?"),
    ("Patient records are kept for ten years.", "How long do we store medical files?"),
    ("Parking is free for visitors.", "Do guests pay to leave their car?"),
    ("The database was slow because an index was missing.", "What made the queries take so long?"),
    ("Our mascot is a small green frog.", "Which animal stands for the company?"),
    ("Meetings should end five minutes early.", "How can people get a break between calls?"),
    ("The heating is switched off in May.", "Why is it cold indoors in spring?"),
    ("Contracts above ten thousand need two signatures.", "Who must approve a large deal?"),
    ("Plants are watered on Fridays.", "Who looks after the flowers before the weekend?"),
)


def found_within(model: LocalEmbedder, most: int) -> float:
    """The share of questions whose page is among the first so many."""
    pages = model.compute([page for page, _ in PAIRS])
    hits = 0
    for number, question in enumerate(model.compute([asked for _, asked in PAIRS])):
        near = sorted(range(len(pages)), key=lambda at: -_product(question, pages[at]))
        hits += number in near[:most]
    return hits / len(PAIRS)


def _product(left: Sequence[float], right: Sequence[float]) -> float:
    return sum(one * other for one, other in zip(left, right, strict=True))


def texts_per_second(model: LocalEmbedder, texts: Sequence[str]) -> float:
    begun = time.perf_counter()
    model.compute(texts)
    return len(texts) / (time.perf_counter() - begun)


def main() -> int:
    try:
        model = open_local_model()
    except Invalid as problem:
        print(problem.detail, problem.suggestion, sep="\n", file=sys.stderr)
        return 1
    begun = time.perf_counter()
    model.compute(["warm"])
    print(f"{model.name}, {model.dimensions} dimensions")
    print(f"ready in {time.perf_counter() - begun:.1f} s")
    for most in (1, 3):
        print(f"recall@{most} over {len(PAIRS)} paraphrases: {found_within(model, most):.2f}")
    short = [f"{page} ({number})" for number in range(10) for page, _ in PAIRS]
    long = [" ".join(page for page, _ in PAIRS) + f" {number}" for number in range(16)]
    print(f"sentences: {texts_per_second(model, short):.0f}/s")
    print(f"pieces of 900 characters: {texts_per_second(model, long):.0f}/s")
    begun = time.perf_counter()
    model.compute(["When is the office open?"])
    print(f"one question: {1e3 * (time.perf_counter() - begun):.0f} ms")
    return 0


if __name__ == "__main__":
    sys.exit(main())
