"""Artifacts: immutable bytes under their SHA-256; small ones in the store, large ones as files."""

import asyncio
import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from hashlib import file_digest, sha256
from pathlib import Path
from tempfile import NamedTemporaryFile

from event_schemas.topics import ARTIFACTS, full_name
from infra.database import Connection
from infra.errors import NotFound, WrongInput
from infra.unit_of_work import Outgoing

INLINE_BYTES = 256 * 1024
LARGEST_BYTES = 16 * 1024 * 1024
MEDIA_TYPES = frozenset(
    {
        "application/json",
        "application/x-ndjson",
        "text/csv",
        "text/markdown",
        "text/plain",
    }
)
SCHEME = "artifact://sha256/"


@dataclass(frozen=True, slots=True)
class Frozen:
    """Bytes that are fit to be kept, under the hash that names them."""

    sha256: str
    media_type: str
    tenant: str
    data: bytes = field(repr=False)

    @property
    def uri(self) -> str:
        """Return the address that evidence cites."""
        return f"{SCHEME}{self.sha256}"

    @property
    def size(self) -> int:
        """Return the number of bytes."""
        return len(self.data)

    @property
    def inline(self) -> bool:
        """Say whether the bytes stay in the store itself."""
        return len(self.data) <= INLINE_BYTES


@dataclass(frozen=True, slots=True)
class Stored:
    """What became of a `put`: *record* goes to the outbox in the same transaction, if any."""

    sha256: str
    uri: str
    size: int
    record: Outgoing | None


def freeze(data: bytes, media_type: str, tenant: str) -> Frozen:
    """Return *data* under its hash; raise `WrongInput` for what the store refuses (ART-10)."""
    if media_type not in MEDIA_TYPES:
        raise WrongInput(
            "ARTIFACT_MEDIA_TYPE",
            f"media type {media_type[:80]} is not kept",
            f"Use one of {', '.join(sorted(MEDIA_TYPES))}.",
        )
    if len(data) > LARGEST_BYTES:
        raise WrongInput(
            "ARTIFACT_TOO_LARGE",
            f"{len(data)} bytes, at most {LARGEST_BYTES} are kept",
            "Aggregate, or ask a narrower question.",
        )
    return Frozen(sha256(data).hexdigest(), media_type, tenant, data)


@dataclass(frozen=True, slots=True)
class ArtifactStore:
    """The artifacts of one installation: rows of `artifacts`, and files below *data_dir*."""

    data_dir: Path
    prefix: str

    async def put(
        self, connection: Connection, data: bytes, *, media_type: str, tenant: str
    ) -> Stored:
        """Keep *data*; idempotent. The caller's transaction writes the returned record."""
        frozen = freeze(data, media_type, tenant)
        await self.keep([frozen])
        records = await self.save(connection, [frozen])
        return Stored(
            frozen.sha256, frozen.uri, frozen.size, records[0] if records else None
        )

    async def keep(self, artifacts: Sequence[Frozen]) -> None:
        """Write the bytes that are too large for a row; do it before the transaction."""
        for artifact in artifacts:
            if not artifact.inline:
                await asyncio.to_thread(
                    _write_file, self._path(artifact.sha256), artifact.data
                )

    async def save(
        self, connection: Connection, artifacts: Sequence[Frozen]
    ) -> list[Outgoing]:
        """Insert the rows in one statement; return the records of bytes not known before.

        Known bytes are left as they are. The rows go in by hash, so that two writers of the
        same bytes cannot lock each other out.
        """
        rows = sorted({each.sha256: each for each in artifacts}.items())
        if not rows:
            return []
        each = [artifact for _, artifact in rows]
        cursor = await connection.execute(
            "insert into artifacts (sha256, size, media_type, tenant, bytes)"
            " select * from unnest(%s::text[], %s::bigint[], %s::text[], %s::text[],"
            " %s::bytea[]) on conflict (sha256) do nothing returning sha256",
            (
                [artifact.sha256 for artifact in each],
                [artifact.size for artifact in each],
                [artifact.media_type for artifact in each],
                [artifact.tenant for artifact in each],
                [artifact.data if artifact.inline else None for artifact in each],
            ),
        )
        new = {row[0] async for row in cursor}
        return [self._record(a) for a in each if a.inline and a.sha256 in new]

    async def get(self, connection: Connection, sha: str) -> bytes:
        """Return the bytes kept under *sha*; raise `NotFound` when there are none."""
        cursor = await connection.execute(
            "select bytes from artifacts where sha256 = %s", (sha,)
        )
        row = await cursor.fetchone()
        data: bytes | None = bytes(row[0]) if row and row[0] is not None else None
        if data is None and row is not None:
            data = await asyncio.to_thread(_read_file, self._path(sha))
        if data is None:
            raise NotFound("ARTIFACT_MISSING", f"no artifact {sha[:80]}")
        return data

    async def digest_of(
        self, connection: Connection, shas: Sequence[str]
    ) -> dict[str, str | None]:
        """Return for each of *shas* the hash of the bytes really there, None without bytes."""
        found: dict[str, str | None] = dict.fromkeys(shas)
        cursor = await connection.execute(
            "select sha256, encode(sha256(bytes), 'hex') from artifacts"
            " where sha256 = any(%s)",
            (list(shas),),
        )
        for sha, digest in await cursor.fetchall():
            found[sha] = digest or await asyncio.to_thread(_file_hash, self._path(sha))
        return found

    def _path(self, sha: str) -> Path:
        return self.data_dir / "artifacts" / sha[:2] / sha

    def _record(self, artifact: Frozen) -> Outgoing:
        return Outgoing(
            kind="artifact",
            order_key=artifact.sha256.encode(),
            topic=full_name(self.prefix, ARTIFACTS.name),
            message_key=artifact.sha256.encode(),
            headers=[
                ("content-type", artifact.media_type.encode()),
                ("caseops-tenant", artifact.tenant.encode()),
            ],
            value=artifact.data,
        )


def _write_file(path: Path, data: bytes) -> None:
    """Write *data* so that after a crash the file is whole or absent; a known one stays."""
    if path.is_file() and path.stat().st_size == len(data):
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    with NamedTemporaryFile(dir=path.parent, delete=False) as file:
        written = Path(file.name)
        try:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
            written.replace(path)
        except BaseException:
            written.unlink(missing_ok=True)
            raise
    folder = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)


def _read_file(path: Path) -> bytes | None:
    return path.read_bytes() if path.is_file() else None


def _file_hash(path: Path) -> str | None:
    if not path.is_file():
        return None
    with path.open("rb") as file:
        return file_digest(file, "sha256").hexdigest()
