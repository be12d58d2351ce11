"""Reads MIPS programs and libraries: file in, `Image` out.

`header` refuses what cannot run, as strictly as the kernel does. `tables` reads the raw tables, `marks` what a file is
marked as using, `exceptions` where C++ catches. `image` joins them.
"""

from .header import PIE_BIAS, EFlags, Segment
from .image import AbiFlags, Image, load_elf, parse_elf
from .tables import Relocation, Symbol

__all__ = ["PIE_BIAS", "AbiFlags", "EFlags", "Image", "Relocation", "Segment", "Symbol", "load_elf", "parse_elf"]
