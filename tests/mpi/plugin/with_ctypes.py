# SPDX-License-Identifier: BSD-3-Clause
"""with_ctypes.py <library> <function>: the same as host.c, from Python."""
import ctypes
import sys

sys.exit(getattr(ctypes.CDLL(sys.argv[1], mode=ctypes.RTLD_LOCAL), sys.argv[2])())
