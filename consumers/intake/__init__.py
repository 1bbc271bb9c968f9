"""Intake: strict validation, dedup, correlation into cases, refusals as facts."""
