"""What tests share: tools, paths, compilers of guests, the command line, single-instruction executors."""
