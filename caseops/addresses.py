"""Where Kafka and PostgreSQL are: a data folder that was named, the environment, the default."""

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from infra.errors import DependencyAway
from infra.settings import Settings

if TYPE_CHECKING:
    from infra.database import Connection

HINT = "Start the local stack with `caseops up`, or set CASEOPS_{}."


@dataclass(frozen=True, slots=True)
class Addresses:
    """The addresses a command uses; asking for one that nobody gave raises `DependencyAway`."""

    settings: Settings
    data_dir: Path
    listing: dict[str, Any]
    named: bool

    @property
    def prefix(self) -> str:
        """The prefix of all topic names."""
        return self.settings.topic_prefix

    @property
    def kafka(self) -> str:
        """Kafka's bootstrap servers."""
        given = self.settings.kafka_bootstrap
        return self._pick(given, "kafka_bootstrap", "KAFKA_AWAY")

    @property
    def database(self) -> str:
        """The URL of the store."""
        given = self.settings.database_url
        return self._pick(
            given.get_secret_value() if given else None, "database_url", "DATABASE_AWAY"
        )

    def _pick(self, given: str | None, name: str, code: str) -> str:
        listed = self.listing.get(name)
        found = (listed or given) if self.named else (given or listed)
        if not found:
            what = "Kafka" if code == "KAFKA_AWAY" else "PostgreSQL"
            where = self.data_dir / "stack.json"
            raise DependencyAway(
                code, f"no address of {what}: no {where}", HINT.format(name.upper())
            )
        return str(found)

    @asynccontextmanager
    async def connection(self, role: str = "reader") -> AsyncIterator["Connection"]:
        """Give a connection to the store that acts as *role*."""
        from infra.database import connect, translated

        connection = await connect(self.database, role)
        try:
            async with translated():
                yield connection
        finally:
            await connection.close()


def addresses(data_dir: Path | None = None) -> Addresses:
    """Return the addresses for *data_dir* (None: the configured one)."""
    settings = Settings()
    folder = data_dir or settings.data_dir
    return Addresses(settings, folder, _listing(folder), named=data_dir is not None)


def _listing(folder: Path) -> dict[str, Any]:
    try:
        found = json.loads((folder / "stack.json").read_text())
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}
