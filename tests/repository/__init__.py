"""Rules of the repository itself: layers, packaging, the shape of the tests."""
