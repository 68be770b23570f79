"""Random streams that depend on what they are for, never on what was drawn before."""

import zlib
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Streams:
    """All randomness of one fold, from its seed, its number and a purpose."""

    seed: int
    fold: int

    def numpy(self, purpose: str, *numbers: int) -> np.random.Generator:
        """A generator for one purpose (and, say, one epoch)."""
        return np.random.default_rng(self._sequence(purpose, numbers))

    def integer(self, purpose: str, *numbers: int) -> int:
        """A 63-bit seed for one purpose, for generators of other libraries."""
        return int(self._sequence(purpose, numbers).generate_state(1, np.uint64)[0] >> np.uint64(1))

    def _sequence(self, purpose: str, numbers: tuple[int, ...]) -> np.random.SeedSequence:
        key = (self.fold, zlib.crc32(purpose.encode()), *numbers)
        return np.random.SeedSequence(self.seed, spawn_key=key)
