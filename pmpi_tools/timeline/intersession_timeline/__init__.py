# SPDX-License-Identifier: BSD-3-Clause
"""Reads what the recorder has written, and makes a trace, a picture and a summary of it."""
