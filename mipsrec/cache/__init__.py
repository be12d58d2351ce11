"""The per-user cache and the layers beside it: where code is kept, what is there, what may go."""
