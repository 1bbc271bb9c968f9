"""The outbox relay: the only publisher."""
