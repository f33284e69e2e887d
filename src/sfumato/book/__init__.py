"""The book: one budget for a population over all its releases, however many runs, tables and studies there are."""

from sfumato.book.book import Book, WhatIf
from sfumato.book.payments import Payment, Standing
from sfumato.book.policy import Policy

__all__ = ["Book", "Payment", "Policy", "Standing", "WhatIf"]
