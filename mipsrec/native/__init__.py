"""From IR to a native shared library: what is compiled how, LLVM, worker processes, the link."""
