"""The compile server: recompiles what got hot in running programs.

Enters: messages of hosts on a socket of this user's (runtime/growth). Leaves: libraries in the store, which grow.
`protocol.py` has the messages and where the socket is, `serve.py` the process, `growth.py` the libraries, `choice.py`
what of a file is worth compiling.
"""
