"""What the host instructions of running programs are."""
