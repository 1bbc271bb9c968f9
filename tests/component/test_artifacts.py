"""The artifact store on a real database and a real folder."""

import asyncio
from collections.abc import AsyncIterator
from hashlib import sha256
from pathlib import Path

import pytest

from infra import database as db
from infra.artifacts import INLINE_BYTES, LARGEST_BYTES, ArtifactStore, Stored, freeze
from infra.errors import NotFound, WrongInput
from tests.support.store import rows

SMALL = b'{"rows":1}'
LARGE = b"x" * (INLINE_BYTES + 1)
TYPE = "text/plain"


@pytest.fixture
async def pool(database: str) -> AsyncIterator[db.Pool]:
    """Give connections that act as a specialist."""
    pool = db.pool(database, "specialist")
    await pool.open()
    yield pool
    await pool.close()


def digest(data: bytes) -> str:
    """Return the hash of *data*."""
    return sha256(data).hexdigest()


async def put(pool: db.Pool, folder: Path, data: bytes) -> Stored:
    """Return what became of *data*."""
    async with pool.connection() as connection:
        return await ArtifactStore(folder, "caseops").put(
            connection, data, media_type=TYPE, tenant="prod-cn"
        )


@pytest.mark.parametrize("data", [b"", SMALL, b"x" * INLINE_BYTES, LARGE])
async def test_what_is_put_can_be_got(pool: db.Pool, tmp_path: Path, data: bytes) -> None:
    """The address resolves to bytes with that hash, whatever their size (ART-02)."""
    stored = await put(pool, tmp_path, data)

    store = ArtifactStore(tmp_path, "caseops")
    async with pool.connection() as connection:
        assert data == await store.get(connection, stored.sha256)
        assert {digest(data): digest(data)} == await store.digest_of(
            connection, [digest(data)]
        )
    assert f"artifact://sha256/{digest(data)}" == stored.uri
    assert len(data) == stored.size


async def test_small_bytes_are_published_large_ones_are_files(
    pool: db.Pool, database: str, tmp_path: Path
) -> None:
    """Inline bytes travel on the artifacts topic; large ones are only in their file."""
    small = await put(pool, tmp_path, SMALL)
    large = await put(pool, tmp_path, LARGE)

    assert small.record is not None
    assert large.record is None
    assert ("caseops.artifacts", digest(SMALL).encode(), SMALL) == (
        small.record.topic,
        small.record.message_key,
        small.record.value,
    )
    path = tmp_path / "artifacts" / large.sha256[:2] / large.sha256
    assert path.read_bytes() == LARGE
    assert [(True, False), (False, True)] == await rows(
        database,
        "select bytes is not null, bytes is null from artifacts order by size",
    )


@pytest.mark.parametrize("data", [SMALL, LARGE])
async def test_the_same_bytes_twice_change_nothing(
    pool: db.Pool, database: str, tmp_path: Path, data: bytes
) -> None:
    """A second put is a no-op and publishes nothing (ART-01)."""
    await put(pool, tmp_path, data)
    before = await rows(database, "select * from artifacts")
    again = await put(pool, tmp_path, data)

    assert again.record is None
    assert before == await rows(database, "select * from artifacts")
    assert [] == [path for path in tmp_path.rglob("tmp*") if path.is_file()]


async def test_writers_of_the_same_bytes_do_not_block_each_other(
    pool: db.Pool, tmp_path: Path
) -> None:
    """Of many writers of one artifact exactly one publishes it."""
    stored = await asyncio.gather(*(put(pool, tmp_path, SMALL) for _ in range(8)))

    assert 1 == sum(each.record is not None for each in stored)


async def test_replaced_bytes_are_seen(
    pool: db.Pool, database: str, tmp_path: Path
) -> None:
    """The hash is computed from the bytes that are there now (EVI-06, S1-g)."""
    small, large = await put(pool, tmp_path, SMALL), await put(pool, tmp_path, LARGE)
    await rows(
        database, "update artifacts set bytes = 'other' where bytes is not null returning 1"
    )
    path = tmp_path / "artifacts" / large.sha256[:2] / large.sha256
    path.write_bytes(b"other")

    async with pool.connection() as connection:
        found = await ArtifactStore(tmp_path, "caseops").digest_of(
            connection, [small.sha256, large.sha256, "0" * 64]
        )
    assert {
        small.sha256: digest(b"other"),
        large.sha256: digest(b"other"),
        "0" * 64: None,
    } == found


async def test_missing_bytes_are_none(pool: db.Pool, tmp_path: Path) -> None:
    """A lost file is told apart from a changed one, and cannot be got."""
    large = await put(pool, tmp_path, LARGE)
    (tmp_path / "artifacts" / large.sha256[:2] / large.sha256).unlink()

    store = ArtifactStore(tmp_path, "caseops")
    async with pool.connection() as connection:
        assert {large.sha256: None} == await store.digest_of(connection, [large.sha256])
        with pytest.raises(NotFound, match="ARTIFACT_MISSING"):
            await store.get(connection, large.sha256)
        with pytest.raises(NotFound, match="ARTIFACT_MISSING"):
            await store.get(connection, "../../etc/passwd")


@pytest.mark.parametrize(
    ("data", "media_type", "code"),
    [
        (b"x", "application/x-executable", "ARTIFACT_MEDIA_TYPE"),
        (b"x" * (LARGEST_BYTES + 1), TYPE, "ARTIFACT_TOO_LARGE"),
    ],
)
def test_what_cannot_be_kept_is_refused(data: bytes, media_type: str, code: str) -> None:
    """An unknown media type and an oversized artifact end in a stable code (ART-10)."""
    with pytest.raises(WrongInput) as refused:
        freeze(data, media_type, "prod-cn")

    assert code == refused.value.code
