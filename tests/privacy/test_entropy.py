"""Entropy: it cannot be seeded, copied or replayed."""

import copy
import inspect
import os
import pickle
import subprocess
import sys
import threading

import numpy as np
import pytest

from sfumato.privacy import entropy, noise
from sfumato.privacy.entropy import SystemEntropy

pytestmark = pytest.mark.real_entropy


def test_no_part_of_the_public_surface_can_be_seeded():
    assert not inspect.signature(SystemEntropy).parameters
    assert [*inspect.signature(SystemEntropy.words).parameters] == ["self", "count"]
    for module in (noise, entropy):
        functions = [f for name, f in vars(module).items() if inspect.isfunction(f) and not name.startswith("_")]
        for function in functions:
            assert not {"seed", "rng", "random_state", "key"} & set(inspect.signature(function).parameters)


def test_system_entropy_never_repeats_a_word():
    sources = [SystemEntropy() for _ in range(10)]
    words = np.concatenate([source.words(count) for source in sources for count in (1, 1000, 0, 3000)])
    assert np.unique(words).size == words.size == 40_010


def test_system_entropy_is_balanced():
    bits = np.unpackbits(SystemEntropy().words(1 << 16).view(np.uint8))
    assert abs(bits.mean() - 0.5) < 0.0025  # more than ten standard deviations


def test_threads_share_one_stream_without_repeating_it():
    source = SystemEntropy()
    drawn: list[np.ndarray] = []
    threads = [threading.Thread(target=lambda: drawn.extend(source.words(64) for _ in range(200))) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    words = np.concatenate(drawn)
    assert np.unique(words).size == words.size == 4 * 200 * 64


@pytest.mark.parametrize("duplicate", [pickle.dumps, copy.copy, copy.deepcopy])
def test_system_entropy_cannot_be_duplicated(duplicate):
    with pytest.raises(TypeError, match="the copy would repeat its noise"):
        duplicate(SystemEntropy())


@pytest.mark.skipif(sys.platform == "win32", reason="processes cannot fork there")
def test_a_forked_child_and_grandchild_do_not_repeat_the_stream():
    # In a process of its own: a fork of the test process would also fork the test runner.
    program = """if True:
        import os
        from sfumato.privacy.entropy import SystemEntropy
        source = SystemEntropy()
        source.words(5)
        generation = 0
        while generation < 2 and os.fork() == 0:
            generation += 1
        if generation < 2:
            os.wait()
        print(*source.words(4), flush=True)
        os._exit(0)
    """
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, env=environment)
    lines = run.stdout.splitlines()
    assert len(lines) == 3
    assert len({word for line in lines for word in line.split()}) == 12
