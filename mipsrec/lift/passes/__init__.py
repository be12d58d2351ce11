"""What is decided about a function, one decision in each module."""
