"""Decisions about code before any of it is written: what is promoted, merged, inlined, vectorised, and how hard."""
