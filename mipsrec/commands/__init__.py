"""What each command of the command line does; cli.py parses, these act and print."""
