# SPDX-License-Identifier: BSD-3-Clause
"""with_ctypes.py LIBRARY FUNCTION: loads the library and calls the function, as host.c does."""
import ctypes
import sys

sys.exit(getattr(ctypes.CDLL(sys.argv[1], mode=ctypes.RTLD_LOCAL), sys.argv[2])())
