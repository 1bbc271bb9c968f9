"""The investigators: a runner, and per domain an analysis and a tool server."""
