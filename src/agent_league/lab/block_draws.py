"""Random choices that are drawn many at a time, equal to those that `Random.choice` draws one by one.

`Random.choice` looks at one word of 32 bits after the other, until its highest bits are a place in the sequence.
"""

from collections.abc import Iterator
from functools import cache
from itertools import chain
from operator import length_hint
from random import Random
from typing import Any

FIRST_BLOCK, LONGEST_BLOCK = 64, 4096
"""Words of the first block, and of the longest: each is twice as long as the one before."""
WORD_BYTES = 4


class BlockDraws:
    """The places that `dice.choice` would choose in a sequence of `count`, one after the other by `next_place()`.

    `count` is at most 255, so that the highest byte of a word has the place.
    """

    def __init__(self, dice: Random, count: int) -> None:
        self._dice = dice
        self._places_of_bytes, self._skipped_bytes = _map_bytes(count)
        self._before_block: Any = None
        self._bytes = b""
        """The highest byte of each word of the block."""
        self._block: Iterator[int] = iter(())
        self.next_place = chain.from_iterable(self._draw_blocks()).__next__

    def give_back(self) -> None:
        """Leave the dice as they are after one choice for each place that was taken; nothing may be taken after it."""
        if self._before_block is not None:
            used = [number for number, byte in enumerate(self._bytes, 1) if byte not in self._skipped_bytes]
            taken = len(used) - length_hint(self._block)
            self._dice.setstate(self._before_block)
            self._dice.getrandbits(8 * WORD_BYTES * used[taken - 1])

    def _draw_blocks(self) -> Iterator[Iterator[int]]:
        words = FIRST_BLOCK
        while True:
            self._before_block = self._dice.getstate()
            drawn = self._dice.getrandbits(8 * WORD_BYTES * words).to_bytes(WORD_BYTES * words, "little")
            self._bytes = drawn[WORD_BYTES - 1 :: WORD_BYTES]
            self._block = iter(self._bytes.translate(self._places_of_bytes, self._skipped_bytes))
            yield self._block
            words = min(2 * words, LONGEST_BLOCK)


@cache
def _map_bytes(count: int) -> tuple[bytes, bytes]:
    """Return the place that each highest byte of a word stands for, and the bytes that stand for none."""
    shift = 8 - count.bit_length()
    return bytes(byte >> shift for byte in range(256)), bytes(byte for byte in range(256) if byte >> shift >= count)
