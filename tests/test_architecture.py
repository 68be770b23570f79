"""The shape of the house: modules import each other one way, imports inside functions included."""

import ast
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

import unseen

PACKAGE = Path(unseen.__file__).parent


def test_no_modules_import_each_other_in_a_circle():
    modules = {_name(path): path for path in PACKAGE.rglob("*.py")}
    imports = {name: _imported(path, modules.keys()) - {name} for name, path in modules.items()}
    assert len(imports) > 50
    TopologicalSorter(imports).prepare()  # a CycleError names the modules


def test_a_circle_would_be_found():
    with pytest.raises(CycleError):
        TopologicalSorter({"a": {"b"}, "b": {"a"}}).prepare()
    source = "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from x import y\ndef f():\n"
    found = _from(ast.parse(source + "    from a.b import c\n"), {"a.b", "a.b.c", "x", "x.y"})
    assert found == {"a.b.c"}


def _name(path: Path) -> str:
    parts = path.relative_to(PACKAGE.parent).with_suffix("").parts
    return ".".join(parts).removesuffix(".__init__")


def _imported(path: Path, modules: set[str]) -> set[str]:
    return _from(ast.parse(path.read_text()), modules)


def _from(tree: ast.AST, modules: set[str]) -> set[str]:
    """The modules that a source imports, but for those that it needs for its types alone."""
    found, nodes = set(), [tree]
    while nodes:
        node = nodes.pop()
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            continue
        nodes += ast.iter_child_nodes(node)
        if isinstance(node, ast.ImportFrom) and node.module:
            names = {f"{node.module}.{alias.name}" for alias in node.names}
            found |= (names & modules) or ({node.module} & modules)
    return found
