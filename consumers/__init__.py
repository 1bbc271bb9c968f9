"""The consume loop and the services that decide over it."""
