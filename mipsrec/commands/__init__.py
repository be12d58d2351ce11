"""What each command of the command line takes and does: `add_arguments` and `main` of its module; others help them."""
