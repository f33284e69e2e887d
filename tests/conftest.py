"""Settings for all tests: patient Hypothesis, and noise that is the same in every run (docs/testing.md)."""

import random
from contextlib import contextmanager

import hypothesis
import pytest
from hypothesis import HealthCheck, settings

from helpers_closing import LEFT_OPEN
from helpers_entropy import ScriptedEntropy
from sfumato.privacy.entropy import SystemEntropy

# A test that fails because the machine is busy, or because examples were hard to find, says nothing about the code.
settings.register_profile(
    "patient",
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much, HealthCheck.data_too_large],
)
# `make test-stability` wants other examples in every run, and more of them.
settings.register_profile("restless", settings.get_profile("patient"), max_examples=150, database=None)
settings.load_profile("patient")

SCRIPT = random.Random()
"""Where scripted entropy takes its seeds. Hypothesis sets it back for every example, so examples can be replayed."""
hypothesis.register_random(SCRIPT)


def pytest_configure(config):
    config.addinivalue_line("markers", "real_entropy: noise is drawn from the operating system, as users have it")


@contextmanager
def scripted(name):
    """Every source of entropy that is made in this block is a script of its own, which depends on `name` alone."""
    before = SystemEntropy.__init__, SystemEntropy.words, SCRIPT.getstate()
    SCRIPT.seed(name)
    SystemEntropy.__init__ = lambda self: setattr(self, "script", ScriptedEntropy(SCRIPT.getrandbits(64)))
    SystemEntropy.words = lambda self, count: self.script.words(count)
    try:
        yield
    finally:
        SystemEntropy.__init__, SystemEntropy.words = before[:2]
        SCRIPT.setstate(before[2])


@pytest.hookimpl(wrapper=True)
def pytest_fixture_setup(fixturedef, request):
    # A fixture that several tests share must not depend on which of them comes first.
    if fixturedef.scope == "function":
        return (yield)
    place = request.param_index if fixturedef.params else ""
    with scripted(f"{fixturedef.baseid} {fixturedef.argname} {place}"):
        return (yield)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item, nextitem):
    if item.get_closest_marker("real_entropy") is not None:
        return (yield)
    with scripted(item.nodeid):
        return (yield)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item):
    with LEFT_OPEN:
        return (yield)
