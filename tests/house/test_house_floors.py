"""The house stands: imports go down only, each library has one door, files and functions stay small."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "manusfs"
FILES = sorted(PACKAGE.rglob("*.py"))

# DESIGN section 9: the folders or files that may import a library. What is not listed may be imported by nobody.
DOORS = {
    "anthropic": ("models/",),
    "click": ("cli/",),
    "charset_normalizer": ("extract/",),
    "ddgs": ("fetch/",),
    "diskcache": ("fetch/cache.py",),
    "genai_prices": ("models/",),
    "httpcore": ("fetch/",),
    "httpx": ("fetch/",),
    "httpx2": ("models/",),
    "jsonschema": ("agent/expects.py",),
    "lxml": ("extract/",),
    "platformdirs": ("cli/",),
    "protego": ("fetch/",),
    "pypdf": ("extract/",),
    "pypdfium2": ("extract/",),
    "referencing": ("agent/expects.py",),
    "regex": ("memory/",),
    "resiliparse": ("extract/",),
    "rich": ("cli/",),
    "snowballstemmer": ("models/offline/",),
    "sqlite3": ("store/", "fetch/cache.py"),
    "sqlite_utils": ("store/",),
    "trafilatura": ("extract/",),
    "yaml": ("skills/",),
}
STANDARD = sys.stdlib_module_names - {"sqlite3"}


def _name(file: Path) -> str:
    return file.relative_to(PACKAGE).as_posix()


def _imports(tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and node.level == 0:
            yield node.module


@pytest.mark.parametrize("file", FILES, ids=_name)
def test_each_library_is_imported_only_through_its_door(file: Path) -> None:
    for module in _imports(ast.parse(file.read_text("utf-8"))):
        library = module.partition(".")[0]
        if library in STANDARD or library == "manusfs":
            continue
        assert library in DOORS, f"{library} has no door yet"
        assert _name(file).startswith(DOORS[library]), f"{library} is imported in {_name(file)}"


@pytest.mark.parametrize("file", FILES, ids=_name)
def test_files_and_functions_stay_small(file: Path) -> None:
    text = file.read_text("utf-8")
    assert len(text.splitlines()) <= 400
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            assert (node.end_lineno or 0) - node.lineno < 60, f"{node.name} is too long"
            assert not isinstance(node, ast.AsyncFunctionDef), f"{node.name} is async"


@pytest.mark.parametrize("file", FILES, ids=_name)
def test_every_file_opens_with_one_sentence_on_what_it_owns(file: Path) -> None:
    doc = ast.get_docstring(ast.parse(file.read_text("utf-8")))
    assert doc and doc.splitlines()[0].strip().endswith((".", ":")), _name(file)


@pytest.mark.parametrize("file", FILES, ids=_name)
def test_only_the_command_line_reads_the_environment_or_prints(file: Path) -> None:
    if _name(file).startswith(("cli/", "extract/worker", "extract/child")):
        return
    for node in ast.walk(ast.parse(file.read_text("utf-8"))):
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "os":
            assert node.attr not in ("environ", "getenv", "environb"), f"line {node.lineno} reads the environment"
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            assert node.func.id != "print", f"line {node.lineno} prints"


@pytest.mark.parametrize("file", FILES, ids=_name)
def test_there_is_no_junk_drawer(file: Path) -> None:
    assert file.stem not in ("utils", "util", "helpers", "common", "misc")


def test_imports_go_down_only() -> None:
    """The floors of the design, held by import-linter."""
    command = [str(Path(sys.executable).with_name("lint-imports")), "--no-cache"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-3000:]


def test_no_two_files_need_each_other() -> None:
    """Also for types only: what knows each other is one matter, and belongs into one file or into three."""
    modules = {f"manusfs.{_name(file)[:-3].replace('/', '.')}": file for file in FILES if file.name != "__init__.py"}
    needs = {name: {*_imports(ast.parse(file.read_text("utf-8")))} & modules.keys() for name, file in modules.items()}
    assert list(TopologicalSorter(needs).static_order())


def test_no_file_of_the_project_tells_where_it_was_made() -> None:
    listed = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=False)
    names = listed.stdout.split("\n") if listed.returncode == 0 else []
    forbidden = ("/wo" + "rk/", "/root" + "/", "pypi" + ".org", "files.python" + "hosted")
    for name in filter(None, names):
        file = ROOT / name
        if file.is_file() and file.suffix in (".py", ".md", ".toml", ".sh", "", ".txt", ".html"):
            text = file.read_text("utf-8", "replace")
            assert not any(word in text for word in forbidden), name
