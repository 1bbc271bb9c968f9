"""The published language: payloads, envelope, codec, registry, topics, upcasters."""
