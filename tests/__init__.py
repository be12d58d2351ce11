"""The tests of mipsrec; README.md says where the test of what is."""
