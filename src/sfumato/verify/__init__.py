"""Verification of a release by anybody: from its folder alone, without the private rows."""

from sfumato.verify.findings import Finding, Result, Verdict
from sfumato.verify.verify import verify

__all__ = ["Finding", "Result", "Verdict", "verify"]
