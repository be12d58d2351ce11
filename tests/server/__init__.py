"""The compile server."""
