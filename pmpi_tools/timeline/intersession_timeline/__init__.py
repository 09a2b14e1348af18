# SPDX-License-Identifier: BSD-3-Clause
"""Reads the files of the recorder and makes a trace, a picture and a summary."""
