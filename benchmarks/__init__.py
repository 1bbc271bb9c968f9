"""Each promise of speed, measured as whole processes and beside a named peer."""
