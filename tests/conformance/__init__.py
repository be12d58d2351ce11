"""Large suites of others: gcc's tests, Debian's programs, a firmware; and samples of them."""
