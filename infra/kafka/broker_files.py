"""The files a local Kafka node is started from, as text; pure."""

from dataclasses import dataclass
from html import escape
from pathlib import Path

JVM = (
    "-Xms128m",
    "-Xmx384m",
    "-XX:+UseSerialGC",
    # Half the start-up time; it slows TLS down, which the local cluster does not use.
    "-XX:TieredStopAtLevel=1",
    # The compression libraries load native code; newer Java versions warn about it.
    "--enable-native-access=ALL-UNNAMED",
    "--sun-misc-unsafe-memory-access=allow",
)


@dataclass(frozen=True)
class Node:
    """One node's id and its two ports on 127.0.0.1: for clients, and among controllers."""

    id: int
    client_port: int
    controller_port: int


def properties(node: Node, nodes: tuple[Node, ...], log_dir: Path) -> str:
    """Return the server.properties of *node* in a cluster of *nodes*."""
    voters = ",".join(f"{n.id}@127.0.0.1:{n.controller_port}" for n in nodes)
    listeners = (
        f"PLAINTEXT://127.0.0.1:{node.client_port},"
        f"CONTROLLER://127.0.0.1:{node.controller_port}"
    )
    settings = {
        "process.roles": "broker,controller",
        "node.id": node.id,
        "controller.quorum.voters": voters,
        "controller.listener.names": "CONTROLLER",
        "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT",
        "inter.broker.listener.name": "PLAINTEXT",
        "listeners": listeners,
        "advertised.listeners": f"PLAINTEXT://127.0.0.1:{node.client_port}",
        "log.dirs": log_dir,
        **_STEADY,
        **(_alone() if len(nodes) == 1 else _replicated()),
    }
    return "".join(f"{name}={value}\n" for name, value in settings.items())


_STEADY: dict[str, object] = {
    "auto.create.topics.enable": "false",
    "group.initial.rebalance.delay.ms": 0,
    "offsets.topic.num.partitions": 8,
    "transaction.state.log.num.partitions": 8,
    "share.coordinator.state.topic.num.partitions": 8,
    # A value of 1 MiB plus its headers fits.
    "message.max.bytes": 2 * 1024 * 1024,
    "replica.fetch.max.bytes": 2 * 1024 * 1024,
    "num.network.threads": 2,
    "num.io.threads": 4,
    "num.recovery.threads.per.data.dir": 2,
    "log.cleaner.dedupe.buffer.size": 16 * 1024 * 1024,
}


def _alone() -> dict[str, object]:
    # A node killed and started again waits for its own former session to expire.
    return {
        **_replication(1, 1),
        "broker.session.timeout.ms": 1000,
        "broker.heartbeat.interval.ms": 200,
    }


def _replicated() -> dict[str, object]:
    return {
        **_replication(3, 2),
        "broker.session.timeout.ms": 6000,
        "broker.heartbeat.interval.ms": 1000,
    }


def _replication(factor: int, min_isr: int) -> dict[str, object]:
    return {
        "default.replication.factor": factor,
        "min.insync.replicas": min_isr,
        "offsets.topic.replication.factor": factor,
        "transaction.state.log.replication.factor": factor,
        "transaction.state.log.min.isr": min_isr,
        "share.coordinator.state.topic.replication.factor": factor,
        "share.coordinator.state.topic.min.isr": min_isr,
    }


def log4j2(log_dir: Path) -> str:
    """Return a log4j2 configuration: warnings into two small files under *log_dir*."""
    folder = escape(str(log_dir))
    return f"""<?xml version="1.0" encoding="UTF-8"?>
<Configuration status="ERROR">
  <Appenders>
    <RollingFile name="file" fileName="{folder}/server.log"
                 filePattern="{folder}/server.log.%i">
      <PatternLayout pattern="%d{{ISO8601}} %p %m (%c)%n"/>
      <SizeBasedTriggeringPolicy size="4 MB"/>
      <DefaultRolloverStrategy max="1"/>
    </RollingFile>
  </Appenders>
  <Loggers>
    <Root level="WARN"><AppenderRef ref="file"/></Root>
  </Loggers>
</Configuration>
"""
