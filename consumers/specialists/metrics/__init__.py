"""Metric analyst: impact, time lines, resource pressure, call graph."""
