"""From LLVM IR to libraries: objects, workers, processors."""
