"""What is computed of a function before any pass decides: nothing here changes a plan."""
