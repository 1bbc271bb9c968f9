"""The sizes of the product's files and functions; `python -m tests.support.sizes` reports them."""

import ast
import io
import sys
import tokenize
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from statistics import median, quantiles

from tests.support.source_tree import Source, sources

NOT_CODE = {
    tokenize.COMMENT,
    tokenize.NL,
    tokenize.NEWLINE,
    tokenize.INDENT,
    tokenize.DEDENT,
    tokenize.ENDMARKER,
}
NESTS = (  # a `with` asks nothing
    ast.If,
    ast.For,
    ast.AsyncFor,
    ast.While,
    ast.Try,
    ast.Match,
)
Function = ast.FunctionDef | ast.AsyncFunctionDef


@dataclass(frozen=True, slots=True)
class Size:
    """How large one file, function or class is."""

    name: str
    lines: int
    parameters: int = 0
    nesting: int = 0


def code_lines(source: Source) -> set[int]:
    """Return the numbers of lines that hold code: no comment, docstring or blank line."""
    lines: set[int] = set()
    for token in tokenize.generate_tokens(io.StringIO(source.text).readline):
        if token.type not in NOT_CODE:
            lines.update(range(token.start[0], token.end[0] + 1))
    return lines - {line for node in ast.walk(source.tree) for line in _docstring(node)}


def files(found: Iterable[Source] | None = None) -> list[Size]:
    """Return the size of each file."""
    return [Size(s.path, len(code_lines(s))) for s in found or sources()]


def functions(found: Iterable[Source] | None = None) -> list[Size]:
    """Return the size of each function; a nested one counts by itself and in its parent."""
    return [size for source in found or sources() for size in _functions(source)]


def _functions(source: Source) -> Iterator[Size]:
    code = code_lines(source)
    for node in ast.walk(source.tree):
        if isinstance(node, Function):
            yield Size(
                f"{source.path}:{node.name}",
                len(code & set(range(node.lineno, (node.end_lineno or node.lineno) + 1))),
                _parameters(node),
                max((_nesting(child) for child in node.body), default=0),
            )


def _parameters(node: Function) -> int:
    arguments = node.args
    named = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]
    return len([a for a in named if a.arg not in {"self", "cls"}])


def _nesting(node: ast.AST) -> int:
    if isinstance(node, Function | ast.ClassDef):
        return 0
    if isinstance(node, ast.If) and len(node.orelse) == 1:
        (following,) = node.orelse
        if isinstance(following, ast.If):  # an elif is no deeper than its if
            return max(1 + max(map(_nesting, node.body)), _nesting(following))
    deepest = max((_nesting(child) for child in ast.iter_child_nodes(node)), default=0)
    return deepest + isinstance(node, NESTS)


def _docstring(node: ast.AST) -> range:
    if not isinstance(node, ast.Module | ast.ClassDef | Function) or not node.body:
        return range(0)
    first = node.body[0]
    if isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant):
        return range(first.lineno, (first.end_lineno or first.lineno) + 1)
    return range(0)


def report() -> Iterator[str]:
    """Yield the lines of the size report."""
    for title, found in (("files", files()), ("functions", functions())):
        lines = sorted(size.lines for size in found if size.lines)
        p90 = quantiles(lines, n=10)[-1]
        yield f"{title}: {len(lines)}, median {median(lines):.0f}, p90 {p90:.0f}, max {lines[-1]}"
        largest = sorted(found, key=lambda size: -size.lines)
        yield from (f"  {size.lines:4} {size.name}" for size in islice(largest, 8))


if __name__ == "__main__":
    sys.stdout.writelines(f"{line}\n" for line in report())
