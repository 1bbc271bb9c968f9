"""Whether a Kafka broker answers, asked in its own protocol and not by an open port."""

from aiokafka.admin import AIOKafkaAdminClient
from aiokafka.errors import KafkaError

from infra import ports


async def brokers_known_by(port: int) -> set[int]:
    """Return the node ids in the metadata of the broker at *port*; none when it is away."""
    # The client logs every refused connection, so it is asked once the port is open.
    if not await ports.answers(port):
        return set()
    admin = AIOKafkaAdminClient(
        bootstrap_servers=f"127.0.0.1:{port}", request_timeout_ms=2000
    )
    try:
        await admin.start()
        cluster = await admin.describe_cluster()
    except (KafkaError, OSError):
        return set()
    finally:
        await admin.close()
    return {broker["node_id"] for broker in cluster["brokers"]}
