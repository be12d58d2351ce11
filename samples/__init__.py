"""The samples, as data of the package; for why this file is here, see that of `runtime/`."""
