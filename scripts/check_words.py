"""Advises on the wording of everything that people read; see docs/contributing/writing.md.

    python -m scripts.check_words [PATH ...] [--summary] [--strict]

It reads Markdown (docs, README, CHANGELOG), command help and all texts in the Python sources, the
texts of the recipes, and the strings of the web interface. It prints words to replace with their
places, long sentences, and the reading ease of each page. It exits with 0 unless ``--strict`` is
given.
"""

from __future__ import annotations

import argparse
import ast
import re
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).resolve().parent.parent
MAX_SENTENCE_WORDS: Final = 30
LEAST_EASE: Final = 50.0

# A pattern of words to replace, and what to write instead.
WORDS: Final = {
    r"whoever|whosoever|whomever": "you, the user, callers",
    r"nobody|somebody|everybody": "no one, someone, everyone; or name the role",
    r"stands? (?:still|in line|beside|between|for itself|apart|alone|as)": "is halted, is queued",
    r"(?:values?|secrets?|it|tokens?|what) stands? (?:in|at|there|here|before)": "is in, is at",
    r"by hand": "manually",
    r"(?:is|are|was|were|be|been) told": "is notified, is reported",
    r"(?:is|are|was|were|be) asked (?:in|for)": "is invited, is requested",
    r"was said|were said": "was given",
    r"lets? (?:in|go)|(?:is|are) let (?:in|go)": "allow, sign in, send",
    r"what leaves|leaves the house": "outgoing messages, writes",
    r"comes? to (?:nothing|pass)|(?:which|that|would|all) comes? to": "fails, happens, costs",
    r"c(?:a|o)me in(?:to)? (?:anew|again|last|the workspace)|in anew|anew": "again",
    r"(?:the|a|this|our) house": "installation, application",
    r"(?:at|through|past|into) the door|the door enforces": "API, gate, check",
    r"desks?|drawers?|purses?|knock(?:s|ed)?": "a term of the field",
    r"hitherto|heretofore|henceforth|once more": "until now, again",
    r"goes? off": "fires",
    r"left out(?=[:;])|left out,": "Default: ...",
    r"sleeps?|asleep": "waits, is stored",
    r"walks? (?:round|through|over)": "checks, processes",
    r"looks? (?:at it|after)|(?:was|is|are|were) looked at|look at the": "checks, manages, review",
    r"under way": "running",
    r"for good": "permanently",
    r"wants? a look": "needs attention",
    r"neighbou?rs?": "other tenants, other workspaces",
    r"mend(?:s|ed|ing)?": "fix",
    r"shall": "must, will",
    r"aught|naught|thereof|thereby|wherein|hence|lest": "plain English",
    r"sleeps? sealed|sealed": "encrypted",
    r"squeezed": "compressed",
    r"takes? turns": "run one after the other",
    r"at once\b(?! per)": "immediately, at the same time",
    r"said to be|says so": "reports, is documented",
    r"hands? out|handed (?:out|over|in)": "issues, returns, transfers, submits",
    r"within reach": "reachable",
    r"a word to": "a message to",
    r"utili[sz]e": "use",
    r"in order to": "to",
}
_LISTED: Final = [
    (re.compile(rf"\b(?:{word})\b", re.IGNORECASE), better) for word, better in WORDS.items()
]
# The requirements are quoted, and everything else in the reference is read where it is written.
_GENERATED: Final = ("docs/reference/", "docs/requirements/")
# The words that requests are made of, the prompts of models, and the word list itself.
_WORD_TABLES: Final = (
    "src/mainspring/authoring/phrases/",
    "src/mainspring/authoring/sketch/",
    "src/mainspring/authoring/generate/prompts.py",
    "src/mainspring/actions/agent/prompts.py",
    "src/mainspring/authoring/review/flags_of_texts.py",
    "docs/contributing/writing.md",
)
# Queries and other code in strings.
_CODE: Final = re.compile(
    r"\b(?:SELECT|INSERT|UPDATE|DELETE|CREATE|ALTER|WHERE|JOIN|GRANT|RETURNING)\b"
    r"|\\b|\(\?|=>|[{};]\n"
)
_COMMENT: Final = re.compile(r"<!--.*?-->", re.DOTALL)
_FENCE: Final = re.compile(r"^( *)(`{3,}).*?^\1\2[^\n]*$", re.DOTALL | re.MULTILINE)
_SENTENCE_END: Final = re.compile(r"(?<=[.!?:])\s+|\n\s*\n|\n(?=\s*(?:[-*|#>]|\d+\.))")
_JSX_TEXT: Final = re.compile(r">([^<>{}=;()]*[a-z]{2,} [^<>{}=;()]*)<")
_JSX_STRING: Final = re.compile(r'"((?:[^"\\\n]|\\.)*)"')
_READ: Final = frozenset({".md", ".py", ".ts", ".tsx", ".json"})


@dataclass(frozen=True, slots=True)
class Text:
    """One text with its place."""

    path: str
    line: int
    words: str


@dataclass(frozen=True, slots=True)
class Advice:
    """One thing to look at."""

    path: str
    line: int
    text: str
    listed: bool

    def __str__(self) -> str:
        return f"{self.path}:{self.line}: {self.text}"


def main(arguments: Sequence[str] | None = None) -> int:
    """Prints the advice and how much there is of each kind."""
    parser = argparse.ArgumentParser(description="Advises on wording.")
    parser.add_argument("paths", nargs="*", type=Path, help="files or folders; default: everything")
    parser.add_argument("--summary", action="store_true", help="print counts only")
    parser.add_argument("--strict", action="store_true", help="exit with 1 if a word is listed")
    asked = parser.parse_args(arguments)
    texts = [text for path in _files(asked.paths) for text in read_texts(path)]
    found = [advice for text in texts for advice in advise(text)]
    if not asked.summary:
        print("\n".join(map(str, found)))
    _print_ease(texts, only_low=not asked.summary)
    listed = sum(advice.listed for advice in found)
    print(f"{len(texts)} texts: {listed} listed words, {len(found) - listed} long sentences.")
    return 1 if asked.strict and listed else 0


def _files(asked: Sequence[Path]) -> Iterator[Path]:
    if not asked:
        asked = [ROOT / name for name in ("README.md", "CHANGELOG.md", "CONTRIBUTING.md")]
        asked = [*asked, ROOT / "docs", ROOT / "src" / "mainspring", ROOT / "web" / "src"]
    for start in asked:
        found = sorted(start.resolve().rglob("*")) if start.is_dir() else [start.resolve()]
        for path in found:
            generated = _shown(path).startswith(_GENERATED) or ".test." in path.name
            if path.suffix in _READ and path.is_file() and not generated:
                yield path


def read_texts(path: Path) -> Iterator[Text]:
    """Everything in a file that people read."""
    content = path.read_text(encoding="utf-8")
    match path.suffix:
        case ".md":
            yield from _sentences(_shown(path), content)
        case ".py":
            yield from _python_texts(path, content)
        case ".json":
            yield from _json_texts(path, content)
        case _ if "/src/api/schema" not in path.as_posix():
            yield from _page_texts(path, content)


def _sentences(path: str, content: str) -> Iterator[Text]:
    def blank(found: re.Match[str]) -> str:
        return "\n" * found[0].count("\n")

    content = _FENCE.sub(blank, _COMMENT.sub(blank, content))
    place = 0
    for part in _SENTENCE_END.split(content):
        place = content.index(part, place)
        line = content.count("\n", 0, place) + 1
        words = re.sub(r"`[^`]*`", "code", part)
        words = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", words)
        words = " ".join(re.sub(r"[*_#|>]+", " ", words).split())
        if words:
            yield Text(path, line, words)


def _python_texts(path: Path, content: str) -> Iterator[Text]:
    tree = ast.parse(content)
    for node in ast.walk(tree):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            continue
        for child in ast.iter_child_nodes(node):
            yield from _string(path, child, inside=isinstance(node, ast.JoinedStr))
        if isinstance(node, ast.FunctionDef) and "/surfaces/cli/" in path.as_posix():
            text = ast.get_docstring(node)
            if text and any("command" in ast.unparse(one) for one in node.decorator_list):
                yield Text(_shown(path), node.lineno, " ".join(text.split()))


def _string(path: Path, node: ast.AST, *, inside: bool) -> Iterator[Text]:
    """A string or an f-string, unless it is code or part of another one."""
    if inside or not isinstance(node, ast.Constant | ast.JoinedStr):
        return
    parts = node.values if isinstance(node, ast.JoinedStr) else [node]
    pieces = [
        str(one.value) if isinstance(one, ast.Constant) else "X"
        for one in parts
        if not isinstance(one, ast.Constant) or isinstance(one.value, str)
    ]
    text = "".join(pieces)
    if " " in text.strip() and not _CODE.search(text):
        yield Text(_shown(path), node.lineno, " ".join(text.split()))


def _json_texts(path: Path, content: str) -> Iterator[Text]:
    for number, line in enumerate(content.splitlines(), start=1):
        for found in _JSX_STRING.findall(line):
            if re.search(r"[A-Za-z]{2,} [A-Za-z]{2,}", found):
                yield Text(_shown(path), number, " ".join(found.split()))


def _page_texts(path: Path, content: str) -> Iterator[Text]:
    patterns = [_JSX_STRING] if "strings" in path.parts else [_JSX_TEXT, _JSX_STRING]
    for number, line in enumerate(content.splitlines(), start=1):
        if line.lstrip().startswith(("//", "import ", "*", "/*")):
            continue
        for pattern in patterns:
            for found in pattern.findall(line):
                if re.search(r"[A-Za-z]{2,} [A-Za-z]{2,}", found):
                    yield Text(_shown(path), number, " ".join(found.split()))


def advise(text: Text) -> Iterator[Advice]:
    """The listed words and the length of one text."""
    for pattern, better in () if text.path.startswith(_WORD_TABLES) else _LISTED:
        for found in pattern.findall(text.words):
            yield Advice(text.path, text.line, f"{found!r}: write {better}", listed=True)
    for sentence in re.split(r"(?<=[.!?])\s+", text.words):
        count = len(sentence.split())
        if count > MAX_SENTENCE_WORDS:
            start = " ".join(sentence.split()[:6])
            yield Advice(text.path, text.line, f"{count} words: {start} ...", listed=False)


def reading_ease(texts: Sequence[str]) -> float:
    """The Flesch reading ease: 60 is plain English, 30 is hard."""
    sentences = [one for text in texts for one in re.split(r"(?<=[.!?])\s+", text) if one.strip()]
    words = [word for one in sentences for word in re.findall(r"[A-Za-z']+", one)]
    if not words:
        return 100.0
    syllables = sum(max(1, len(re.findall(r"[aeiouy]+", word.lower()))) for word in words)
    return 206.835 - 1.015 * len(words) / len(sentences) - 84.6 * syllables / len(words)


def _print_ease(texts: Sequence[Text], *, only_low: bool) -> None:
    pages: dict[str, list[str]] = {}
    for text in texts:
        if text.path.endswith(".md") and len(text.words.split()) > 3:
            pages.setdefault(text.path, []).append(text.words)
    levels = Counter[str]()
    for path, sentences in sorted(pages.items()):
        ease = reading_ease(sentences)
        levels["low" if ease < LEAST_EASE else "good"] += 1
        if only_low and ease < LEAST_EASE:
            print(f"{path}: reading ease {ease:.0f}, aim for {LEAST_EASE:.0f}")
    print(f"Reading ease: {levels['good']} pages good, {levels['low']} below {LEAST_EASE:.0f}.")


def _shown(path: Path) -> str:
    return path.relative_to(ROOT).as_posix() if path.is_relative_to(ROOT) else str(path)


if __name__ == "__main__":
    sys.exit(main())
