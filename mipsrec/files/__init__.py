"""Files that a user names, or that others might have put where they are: who is trusted, how they are read."""
