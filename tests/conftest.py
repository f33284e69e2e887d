"""Settings for all tests."""

from hypothesis import settings

# A test that fails because the machine is busy says nothing; slowness is measured in benchmarks.
settings.register_profile("patient", deadline=None)
settings.load_profile("patient")
