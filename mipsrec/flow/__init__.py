"""The control flow of one function as a graph, and the solver of data-flow problems on it."""
