"""The advice on wording: what is read, and what it says about it."""

from __future__ import annotations

from pathlib import Path

import pytest

from scripts import check_words


def _advice(path: Path) -> list[str]:
    texts = list(check_words.read_texts(path))
    return [str(one).rpartition("/")[2] for text in texts for one in check_words.advise(text)]


def test_markdown_is_read_without_code_and_comments(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(
        "# Title\n\n<!-- whoever -->\n```sh\nwhoever\n```\n\nAsk `whoever` you like.\n\n"
        "Open it by hand.\n"
    )

    assert _advice(page) == ["page.md:10: 'by hand': write manually"]


def test_a_long_sentence_is_named_by_its_beginning(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(" ".join(["word"] * 31) + ".\n")

    assert _advice(page) == ["page.md:1: 31 words: word word word word word word ..."]


def test_errors_help_and_descriptions_in_python_are_read(tmp_path: Path) -> None:
    module = tmp_path / "module.py"
    module.write_text(
        "def f(x):\n    raise Invalid(f'Ask whoever {x} is.', suggestion='Do it by hand.')\n"
        "option(help='Mend it, quickly.')\nother = 'All of you, whoever it is.'\n"
        "def g():\n    '''Not whoever is read.'''\n"
    )

    assert sorted(_advice(module)) == [
        "module.py:2: 'by hand': write manually",
        "module.py:2: 'whoever': write you, the user, callers",
        "module.py:3: 'Mend': write fix",
        "module.py:4: 'whoever': write you, the user, callers",
    ]


def test_strings_of_the_page_are_read(tmp_path: Path) -> None:
    screen = tmp_path / "Screen.tsx"
    screen.write_text(
        'import x from "whoever is it";\n<p>Do it by hand</p>\n<A label="Mend it now"/>\n'
    )

    assert _advice(screen) == [
        "Screen.tsx:2: 'by hand': write manually",
        "Screen.tsx:3: 'Mend': write fix",
    ]


def test_advice_does_not_fail_unless_it_is_asked_to(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    page = tmp_path / "page.md"
    page.write_text("Open it by hand.\n")

    assert check_words.main([str(page)]) == 0
    assert check_words.main([str(page), "--strict"]) == 1
    assert "1 texts: 1 listed words, 0 long sentences." in capsys.readouterr().out


def test_short_words_and_sentences_read_more_easily() -> None:
    easy = check_words.reading_ease(["You run it. It ends."])
    hard = check_words.reading_ease(["Organizational interoperability necessitates documentation."])

    assert easy > check_words.LEAST_EASE > hard
