"""Randomness without global state: every number is a pure function of a key and a counter.

Four seeds never mix: data, init, order (batches and noise) and sampling. Each image owns a key, so image 17 is the
same in any batch; each training draw is keyed by images seen, so a resumed run draws what the uninterrupted run would
have drawn. The bits are plain integer arithmetic on tensors: the same on every device, in eager code and inside
a captured CUDA graph.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

import torch
from pydantic import Field

from recombine.settings import Settings

if TYPE_CHECKING:
    from torch import Tensor

_MASK = 0xFFFFFFFF


class Seeds(Settings):
    """The four seeds of a run."""

    data: int = Field(default=0, ge=0)
    init: int = Field(default=0, ge=0)
    order: int = Field(default=0, ge=0)
    sampling: int = Field(default=0, ge=0)

    @classmethod
    def all(cls, seed: int) -> Seeds:
        """One replicate: all four seeds set to the same number (their streams differ by name)."""
        return cls(data=seed, init=seed, order=seed, sampling=seed)


def fold(seed: int, name: str) -> int:
    """A 31-bit number for the stream `name` of `seed`."""
    return int.from_bytes(hashlib.blake2s(f"{name}:{seed}".encode(), digest_size=4).digest(), "little") >> 1


def keys(seed: int, name: str, index: Tensor) -> Tensor:
    """One key for each index (images seen, image number): stream in the high word, index in the low word.  # [n]"""
    return (fold(seed, name) << 32) + (index.to(torch.int64) & _MASK)


def bits(key: Tensor, count: int, lane: int = 0) -> Tensor:
    """`count` hashed 32-bit words for each key, as int64; `lane` separates draws that share a key.  # [n, count]"""
    return _words(key, count, lane).to(torch.int64) & _MASK


def uniform(key: Tensor, shape: Sequence[int] = (), lane: int = 0) -> Tensor:
    """Uniform numbers in the open interval (0, 1), float32.  # [n, *shape]"""
    return _open_unit(_words(key, math.prod(shape), lane)).reshape(len(key), *shape)


def normal(key: Tensor, shape: Sequence[int] = (), lane: int = 0) -> Tensor:
    """Standard normal numbers, float32, by Box and Muller; none is beyond 5.8.  # [n, *shape]"""
    count = math.prod(shape)
    half = (count + 1) // 2
    words = _words(key, 2 * half, lane)
    radius = torch.sqrt(-2.0 * torch.log(_open_unit(words[:, :half])))
    angle = (2.0 * math.pi * 2.0**-32) * words[:, half:].float()  # from -pi to pi
    both = torch.cat([radius * torch.cos(angle), radius * torch.sin(angle)], dim=1)  # [n, 2 half]
    return both[:, :count].reshape(len(key), *shape)


@contextmanager
def torch_seeded(seed: int) -> Iterator[None]:
    """Seed torch's CPU generator for library code that insists on it (layer initialisation), then restore it."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(fold(seed, "torch"))
        yield


def _words(key: Tensor, count: int, lane: int) -> Tensor:
    """The words as int32, the sign bit among them: half the work of int64.  # [n, count]"""
    low, high = key.to(torch.int32), (key >> 32).to(torch.int32)  # the casts keep the low word
    lanes = torch.full_like(low, _signed(lane * 0x632BE5AB))
    base = _mix(low ^ _mix(high ^ _mix(lanes)))  # two words of state, mixed in two orders:
    twin = _mix(high ^ _mix(low ^ _mix(lanes ^ 0x5BD1E995)))  # no two streams share both
    step = _mix(torch.arange(count, device=key.device, dtype=torch.int32))  # [count]
    return _mix(_mix(base[:, None] + step) ^ twin[:, None])


def _mix(h: Tensor) -> Tensor:
    """The 32-bit finaliser of MurmurHash3 on int32: products wrap, and a mask makes each shift an unsigned one."""
    h = (h ^ ((h >> 16) & 0xFFFF)) * _signed(0x85EBCA6B)
    h = (h ^ ((h >> 13) & 0x7FFFF)) * _signed(0xC2B2AE35)
    return h ^ ((h >> 16) & 0xFFFF)


def _open_unit(words: Tensor) -> Tensor:
    """The upper 23 bits of each word and a half, in (0, 1): exact in float32."""
    return (((words >> 9) & 0x7FFFFF).float() + 0.5) * 2.0**-23


def _signed(word: int) -> int:
    """The low 32 bits of a number as int32 reads them."""
    return ((word + 2**31) & _MASK) - 2**31
