"""The host as a debugger's server."""
