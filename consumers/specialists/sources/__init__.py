"""Where telemetry comes from: one module per kind of source, all behind `telemetry`."""
