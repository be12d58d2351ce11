"""The guest's memory as the loader will lay it out; the only door through which analysis reads a program.

Enters: an `Image`. Leaves: `AddressSpace`, pages of 4 KiB with permissions; an address that the program does not have
reads as None, never as an exception or as something of ours. Not done here: relocation (see `relocated_word`), heap,
stack and everything else that exists only at run time. What a writable page holds is its value at start.

Layout follows the kernel (fs/binfmt_elf.c, elf_load): segments go down in file order, later ones over earlier ones; a
segment takes whole pages from the file, so what stands around it in the file is visible in its first and last page,
except that memory beyond `filesz` of a segment with memsz > filesz is zero. Two simplifications: that tail is zeroed
in a read-only segment too (the kernel cannot and leaves the file's bytes), and pages of pure zeros have the permissions
of their segment (the kernel makes them writable).
"""

from __future__ import annotations

import sys
from array import array
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from mipsrec.elf import Image, Segment
from mipsrec.elf.header import PAGE_BYTES

MAX_READ_BYTES = 16 << 20
"""A longer `read` is None: no analysis wants it, and a size taken from a broken program must not fill our memory."""

_PAGE_WORDS = PAGE_BYTES // 4
_READ, _WRITE, _EXECUTE = 4, 2, 1


@dataclass(frozen=True)
class _Run:
    """Guest pages [start, end) with the same permissions; `data` is None where all of it is zero."""

    start: int
    end: int
    flags: int
    data: memoryview | None

    def part(self, start: int, end: int) -> _Run:
        data = None if self.data is None else self.data[start - self.start : end - self.start]
        return _Run(start, end, self.flags, data)


class AddressSpace:
    """Reads of the guest's memory at analysis time; an unmapped address (or a page without any permission) is None."""

    def __init__(self, image: Image) -> None:
        self.image = image
        self._runs = _lay_out(image)
        self._starts = [run.start for run in self._runs]
        self._word_pages: dict[int, array[int]] = {}
        self._flags: dict[int, int] = {}
        self._relocated = {entry.address: entry.target for entry in image.relocations}
        for run in self._runs:
            if run.data is None:
                continue
            words = array("I", run.data.tobytes())
            if image.byte_order != sys.byteorder:
                words.byteswap()
            for page in range(run.start // PAGE_BYTES, run.end // PAGE_BYTES):
                first = page * _PAGE_WORDS - run.start // 4
                self._word_pages[page] = words[first : first + _PAGE_WORDS]
                self._flags[page] = run.flags

    def word(self, address: int) -> int | None:
        """Return the aligned word at a guest address; None where nothing is mapped or the address is not aligned."""
        page = self._word_pages.get(address >> 12)
        if page is None or address & 3:
            return 0 if not address & 3 and self._run(address) is not None else None
        return page[(address & 0xFFF) >> 2]

    def relocated_word(self, address: int) -> int | None:
        """Return the word the program finds there once it has relocated itself; None where only run time can tell."""
        if address in self._relocated:
            return self._relocated[address]
        return self.word(address)

    def signed_half(self, address: int) -> int | None:
        """Return the half at a guest address, extended by its sign; None where nothing is mapped."""
        data = self.read(address, 2)
        order: Literal["little", "big"] = "little" if self.image.byte_order == "little" else "big"
        return int.from_bytes(data, order, signed=True) if data is not None else None

    def read(self, address: int, size: int) -> bytes | None:
        """Return `size` bytes, None when any of them is unmapped or `size` is not 0 to MAX_READ_BYTES."""
        if not 0 <= size <= MAX_READ_BYTES:
            return None
        parts, end = [], address + size
        while address < end:
            run = self._run(address)
            if run is None:
                return None
            stop = min(end, run.end)
            if run.data is None:
                parts.append(bytes(stop - address))
            else:
                parts.append(bytes(run.data[address - run.start : stop - run.start]))
            address = stop
        return b"".join(parts)

    def words(self, start: int, end: int) -> array[int]:
        """Return the words of [start, end) for bulk decoding, up to the first one that is not in the file.

        `start` must be aligned. Pages that are only zero (.bss) count as not in the file.
        """
        found = array("I")
        while start + 4 <= end and (page := self._word_pages.get(start >> 12)) is not None:
            index = start // 4 % _PAGE_WORDS
            part = page[index : index + (end - start) // 4]
            found.extend(part)
            start += 4 * len(part)
        return found

    def is_executable(self, address: int) -> bool:
        """Tell whether the page of a guest address may be executed; headers and .rodata often share such a page."""
        return self._page_flags(address) & _EXECUTE != 0

    def is_writable(self, address: int) -> bool:
        """Tell whether the page of a guest address may be written, so that what it holds may change."""
        return self._page_flags(address) & _WRITE != 0

    def aligned_words_in_data(self, low: int, high: int) -> Iterator[tuple[int, int]]:
        """Yield (address, word) of each aligned word outside `Image.executable_ranges` with low <= word < high.

        Words are those after relocation. Meant for finding code addresses in data: some 15 million words a second.
        """
        relocated = self._relocated
        for start, end in self._data_ranges():
            for index, word in enumerate(self.words(start, end)):
                if low <= word < high and start + 4 * index not in relocated:
                    yield start + 4 * index, word
        for address, target in relocated.items():
            if target is not None and low <= target < high:
                yield address, target

    def _data_ranges(self) -> Iterator[tuple[int, int]]:
        """Yield the parts of the pages from the file that are not in `Image.executable_ranges`."""
        for run in self._runs:
            if run.data is None or not run.flags:
                continue
            start = run.start
            for code_start, code_end in self.image.executable_ranges:
                if code_end <= start or code_start >= run.end:
                    continue
                if start < code_start:
                    yield start, code_start
                start = code_end
            if start < run.end:
                yield start, run.end

    def _run(self, address: int) -> _Run | None:
        index = bisect_right(self._starts, address) - 1
        if index < 0:
            return None
        run = self._runs[index]
        return run if address < run.end else None

    def _page_flags(self, address: int) -> int:
        flags = self._flags.get(address >> 12)
        if flags is not None:
            return flags
        run = self._run(address)
        return 0 if run is None else run.flags


def _lay_out(image: Image) -> list[_Run]:
    """Return the mapped pages as disjoint runs in order of address; pages without any permission are left out."""
    runs: list[_Run] = []
    for segment in image.segments:
        for new in _pages_of(image, segment):
            runs = [part for old in runs for part in _outside(old, new.start, new.end)] + [new]
    return sorted((run for run in runs if run.flags), key=lambda run: run.start)


def _pages_of(image: Image, segment: Segment) -> Iterator[_Run]:
    """Yield what one segment maps: pages from the file, then pages of zeros."""
    flags = _READ * segment.read | _WRITE * segment.write | _EXECUTE * segment.execute
    start = segment.vaddr // PAGE_BYTES * PAGE_BYTES
    file_end = -(-(segment.vaddr + segment.filesz) // PAGE_BYTES) * PAGE_BYTES if segment.filesz else start
    memory_end = -(-(segment.vaddr + segment.memsz) // PAGE_BYTES) * PAGE_BYTES
    if file_end > start:
        offset = segment.offset - segment.vaddr % PAGE_BYTES
        size = file_end - start
        if segment.memsz > segment.filesz:
            size = segment.vaddr + segment.filesz - start
        data = image.content[offset : offset + size]
        yield _Run(start, file_end, flags, memoryview(data.ljust(file_end - start, b"\0")))
    if memory_end > file_end:
        yield _Run(file_end, memory_end, flags, None)


def _outside(run: _Run, start: int, end: int) -> Iterator[_Run]:
    """Yield the parts of a run that lie outside [start, end)."""
    if run.start < min(run.end, start):
        yield run.part(run.start, min(run.end, start))
    if max(run.start, end) < run.end:
        yield run.part(max(run.start, end), run.end)
