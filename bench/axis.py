# SPDX-License-Identifier: BSD-3-Clause
"""Where the marks of an axis are, and how far along it a value is."""
import math


def steps(top):
    """About five round numbers from 0 up to the top."""
    unit = 10.0 ** math.floor(math.log10(top))
    step = next(step for step in (unit / 5, unit / 2, unit, 2 * unit) if top / step <= 6)
    return [i * step for i in range(int(top / step) + 1)]


def round_numbers(low, high):
    """Those of 1, 2 and 5 times a power of ten between the two, or the powers alone where these are many."""
    powers = range(math.floor(math.log10(low)), math.floor(math.log10(high)) + 1)
    digits = (1, 2, 5) if len(powers) <= 3 else (1,)
    return [number for power in powers for digit in digits if low <= (number := digit * 10.0 ** power) <= high]


def share(value, low, high):
    """Of the way from low to high on a logarithmic axis."""
    return math.log(value / low) / math.log(high / low)
