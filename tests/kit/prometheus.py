"""Reads the text format of Prometheus as strictly as its own scraper, and a little more so."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

_NAME = r"[a-zA-Z_:][a-zA-Z0-9_:]*"
_LABEL = r'([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\\n]|\\\\|\\"|\\n)*)"'
_SAMPLE = re.compile(rf"({_NAME})(?:\{{({_LABEL}(?:,{_LABEL})*)\}})? ([0-9.eE+-]+|NaN|[+-]Inf)")
_ENDINGS = {"histogram": ("_bucket", "_sum", "_count")}

Labels = tuple[tuple[str, str], ...]


@dataclass(slots=True)
class Read:
    """A family as a scraper sees it."""

    kind: str
    sentence: str
    samples: dict[tuple[str, Labels], float] = field(default_factory=dict)


def read_metrics(text: str) -> Mapping[str, Read]:
    """Every family by its name; a page that breaks a rule of the format is refused."""
    assert text.endswith("\n")
    families: dict[str, Read] = {}
    lines = iter(text.splitlines())
    name = ""
    for line in lines:
        if line.startswith("# HELP "):
            _, _, name, sentence = line.split(" ", 3)
            assert name not in families, f"{name} is told twice"
            hash_, type_, same, kind = next(lines).split(" ")
            assert (hash_, type_, same) == ("#", "TYPE", name)
            assert kind in ("counter", "gauge", "histogram")
            assert kind != "counter" or name.endswith("_total")
            families[name] = Read(kind, sentence)
            continue
        found = _SAMPLE.fullmatch(line)
        assert found is not None, line
        family = families[name]
        allowed = {name + ending for ending in _ENDINGS.get(family.kind, ("",))}
        assert found[1] in allowed, f"{line} stands among {name}"
        labels = tuple(sorted(re.findall(_LABEL, found[2] or "")))
        assert len(dict(labels)) == len(labels)
        assert (found[1], labels) not in family.samples, f"{line} is told twice"
        family.samples[found[1], labels] = float(found[found.re.groups])
    for name, family in families.items():
        assert family.samples, f"{name} has no samples"
        if family.kind == "histogram":
            _check_histogram(name, family)
    return families


def value(families: Mapping[str, Read], name: str, /, of: str = "", **labels: str) -> float:
    """One number; ``of`` is the ending of a histogram's sample."""
    return families[name].samples[f"{name}{of}", tuple(sorted(labels.items()))]


def _check_histogram(name: str, family: Read) -> None:
    """Buckets only grow, and the last of them holds everything."""
    rows: dict[Labels, list[tuple[float, float]]] = {}
    for (shown, labels), count in family.samples.items():
        if shown == f"{name}_bucket":
            rest = tuple(pair for pair in labels if pair[0] != "le")
            rows.setdefault(rest, []).append((float(dict(labels)["le"]), count))
    for labels, buckets in rows.items():
        counts = [count for _, count in sorted(buckets)]
        assert counts == sorted(counts)
        assert max(buckets)[0] == float("inf")
        assert counts[-1] == family.samples[f"{name}_count", labels]
        assert family.samples[f"{name}_sum", labels] >= 0
