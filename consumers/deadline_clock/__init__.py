"""The deadline clock: the only owner of time; due deadlines become facts."""
