"""Releases: what may leave the building, as an object and as a folder."""

from sfumato.release.release import Release

__all__ = ["Release"]
