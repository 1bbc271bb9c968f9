"""Each type has one writer: only its folder may construct the payload. (EVT, design: registry)."""

import ast
from collections.abc import Iterator

import pytest

from event_schemas.registry import REGISTRY, EventType
from tests.support.source_tree import Source, sources

WRITTEN = {
    (entry.payload.__module__, entry.payload.__name__): entry
    for entry in REGISTRY
    if entry.kind != "outside"
}
FOLDER = {"specialist": "consumers/specialists/"}
PUBLISHED_LANGUAGE = "event_schemas/"


def folder_of(entry: EventType) -> str:
    """Return the folder of the one writer of *entry*."""
    return FOLDER.get(entry.writer, f"consumers/{entry.writer}/")


def names_in(source: Source) -> dict[str, str]:
    """Return what each imported name of *source* stands for, as a dotted path."""
    meant: dict[str, str] = {}
    for node in ast.walk(source.tree):
        if isinstance(node, ast.ImportFrom):
            for alias in node.names:
                meant[alias.asname or alias.name] = f"{node.module}.{alias.name}"
        if isinstance(node, ast.Import):
            for alias in node.names:
                name = alias.asname or alias.name.split(".")[0]
                meant[name] = alias.name if alias.asname else name
    return meant


def dotted(node: ast.expr, meant: dict[str, str]) -> str:
    """Return the dotted path that *node* names, empty when it names none."""
    if isinstance(node, ast.Name):
        return meant.get(node.id, node.id)
    if isinstance(node, ast.Attribute):
        return f"{dotted(node.value, meant)}.{node.attr}"
    return ""


def strangers(source: Source) -> Iterator[str]:
    """Yield each construction in *source* of a payload that another folder writes."""
    meant = names_in(source)
    for node in ast.walk(source.tree):
        if isinstance(node, ast.Call):
            path = dotted(node.func, meant).removesuffix(".model_construct")
            module, _, name = path.rpartition(".")
            entry = WRITTEN.get((module, name))
            if entry and not source.path.startswith((folder_of(entry), PUBLISHED_LANGUAGE)):
                yield f"{source.path}:{node.lineno} constructs {name} of {entry.writer}"


def a_source(text: str, path: str = "consumers/specialists/runner.py") -> Source:
    """Return a source file of a specialist that holds *text*."""
    return Source(path, text, ast.parse(text))


def test_only_the_writer_constructs_a_fact() -> None:
    """No folder but the registry's writer constructs an event or a command."""
    assert [line for source in sources() for line in strangers(source)] == []


@pytest.mark.parametrize(
    "text",
    [
        "from event_schemas.runs import RunStatusChanged\nRunStatusChanged(run_id='r')",
        "from event_schemas.runs import RunStatusChanged as R\nR(run_id='r')",
        "from event_schemas import runs\nruns.RunStatusChanged(run_id='r')",
        "import event_schemas.runs\nevent_schemas.runs.RunStatusChanged(run_id='r')",
        "import event_schemas.runs as runs\nruns.RunStatusChanged.model_construct()",
    ],
)
def test_a_stranger_is_found_however_it_imports(text: str) -> None:
    """A specialist that marks a run resolved is found under any spelling."""
    found = list(strangers(a_source(text)))

    assert [
        "consumers/specialists/runner.py:2 constructs RunStatusChanged of supervisor"
    ] == found


def test_a_writer_may_write() -> None:
    """The writer's own folder constructs its facts."""
    text = "from event_schemas.runs import RunStatusChanged\nRunStatusChanged(run_id='r')"

    assert [] == list(strangers(a_source(text, "consumers/supervisor/decider.py")))


def test_every_stream_category_has_one_writer() -> None:
    """No two services append to streams of the same category."""
    pairs = {(entry.stream, entry.writer) for entry in REGISTRY if entry.stream}

    assert len({stream for stream, _ in pairs}) == len(pairs)
