"""Everything that knows Apache Kafka: the local cluster, client builders, topic creation."""
