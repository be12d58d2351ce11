"""What analysis finds in code: functions, blocks, jump tables."""
