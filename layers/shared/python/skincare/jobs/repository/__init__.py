"""The ledger's SQL, one file per concern. docs/job-lifecycle.md tells why each condition is there.

Every statement names the states it expects and returns what it hit; zero rows is normal. Rows are
locked in the order of their ids wherever a statement may wait for them.
"""

LONGEST_REASON = 1000
"""Characters of an error message that are kept."""
