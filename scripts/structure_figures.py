"""Print how large the code is: modules, lines, single-importer modules, repeated class names.

``python -m scripts.structure_figures [ROOT]``. Integrations do not count: each is a plug-in.
"""

from __future__ import annotations

import argparse
import ast
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("root", nargs="?", type=Path, default=ROOT, help="another checkout")
    package: Path = parser.parse_args().root / "src" / "mainspring"
    sources = {
        _module_name(package, path): path.read_text(encoding="utf-8")
        for path in sorted(package.rglob("*.py"))
        if package / "integrations" not in path.parents
    }
    trees = {name: ast.parse(text) for name, text in sources.items()}
    cli = [text for name, text in sources.items() if name.startswith("mainspring.surfaces.cli")]
    rows = {
        "Modules": len(sources),
        "Lines": sum(map(_count_lines, sources.values())),
        "Modules with exactly one importer": count_single_importers(trees),
        "Public class names defined more than once": count_repeated_classes(trees),
        "CLI modules": len(cli),
        "CLI lines": sum(map(_count_lines, cli)),
    }
    for label, figure in rows.items():
        print(f"{label:<42} {figure:>8,}")


def count_single_importers(trees: dict[str, ast.Module]) -> int:
    importers: defaultdict[str, set[str]] = defaultdict(set)
    for importer, tree in trees.items():
        for imported in _list_imports(tree):
            # ``from package import name`` may name a module or a symbol of the package.
            if imported in trees and imported != importer:
                importers[imported].add(importer)
    return sum(len(found) == 1 for found in importers.values())


def count_repeated_classes(trees: dict[str, ast.Module]) -> int:
    owners: defaultdict[str, int] = defaultdict(int)
    for tree in trees.values():
        for node in tree.body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                owners[node.name] += 1
    return sum(count > 1 for count in owners.values())


def _list_imports(tree: ast.Module) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            yield node.module
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def _module_name(package: Path, path: Path) -> str:
    parts = path.relative_to(package.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def _count_lines(text: str) -> int:
    return text.count("\n")


if __name__ == "__main__":
    main()
