# SPDX-License-Identifier: BSD-3-Clause
"""Parts of scripts/docs: pages that are generated from sources, and checks of the site."""
