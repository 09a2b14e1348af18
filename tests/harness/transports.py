# SPDX-License-Identifier: BSD-3-Clause
"""Table of the transports, with the settings that select each."""

AUTO = "auto"
TRANSPORTS = {
    # Shared memory inside a node, TCP between nodes.
    AUTO: {},
    # TCP inside a node and between nodes.
    "connections": {"INTERSESSION_TRANSPORT": "fabric"},
    # The first usable libfabric provider, inside a node and between nodes.
    "fabric": {"INTERSESSION_TRANSPORT": "fabric", "INTERSESSION_PROVIDER": "any"},
    # The first usable libfabric provider between nodes, shared memory inside a node.
    "libfabric": {"INTERSESSION_PROVIDER": "any"},
    # Between nodes, libfabric's oldest provider, which emulates all its capabilities in software.
    "sockets": {"INTERSESSION_PROVIDER": "sockets"},
    # Between nodes, UDP; libfabric retransmits and orders the datagrams.
    "datagrams": {"INTERSESSION_PROVIDER": "udp;ofi_rxd"},
    # libfabric's shared memory provider, inside a node and between nodes.
    "shm_provider": {"INTERSESSION_TRANSPORT": "fabric", "INTERSESSION_PROVIDER": "shm"},
    # Between nodes, libfabric with provider matching.
    "matched_rxm": {"INTERSESSION_PROVIDER": "tcp;ofi_rxm", "INTERSESSION_MATCHING": "provider"},
    "matched_sockets": {"INTERSESSION_PROVIDER": "sockets", "INTERSESSION_MATCHING": "provider"},
    # Inside a node and between nodes, libfabric with provider matching.
    "matched_everywhere": {
        "INTERSESSION_TRANSPORT": "fabric",
        "INTERSESSION_PROVIDER": "tcp;ofi_rxm",
        "INTERSESSION_MATCHING": "provider",
    },
}
# With less TCP memory, the provider sockets hangs in a few jobs of a hundred
# (docs/decisions/0025-libfabric-provider-workarounds.md).
_TCP_MEMORY = ["--tcp-memory", "1048576"]
NODE_OPTIONS = {"sockets": _TCP_MEMORY, "matched_sockets": _TCP_MEMORY}
