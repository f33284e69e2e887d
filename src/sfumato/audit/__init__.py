"""The audit: does the build that is installed here keep its promise? It makes up its own rows and needs no others.

Rows of this room are made up, so it may have engines and exact counts, which nothing else above `privacy` has.
"""

from sfumato.audit.audit import audit
from sfumato.audit.mutants import MUTANTS, mutant

__all__ = ["MUTANTS", "audit", "mutant"]
