"""What written code does, instruction by instruction and across calls, jumps and exceptions."""
