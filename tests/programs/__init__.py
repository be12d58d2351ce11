"""Whole programs and the samples, beside native builds and qemu-user."""
