# SPDX-License-Identifier: BSD-3-Clause
"""The transports of the matrix as data: the settings that choose each."""

AUTO = "auto"
TRANSPORTS = {
    # Shared memory inside a node, TCP connections between nodes.
    AUTO: {},
    # Those connections inside the node, too.
    "connections": {"INTERSESSION_TRANSPORT": "fabric"},
    # For everything the first libfabric provider that is usable.
    "fabric": {"INTERSESSION_TRANSPORT": "fabric", "INTERSESSION_PROVIDER": "any"},
    # The same between nodes only.
    "libfabric": {"INTERSESSION_PROVIDER": "any"},
    # Between nodes, libfabric's oldest provider: one without remote memory that keeps what it can do in software.
    "sockets": {"INTERSESSION_PROVIDER": "sockets"},
    # Likewise, messages of UDP, which libfabric itself repeats and puts in order.
    "datagrams": {"INTERSESSION_PROVIDER": "udp;ofi_rxd"},
    # libfabric's own shared memory for everything.
    "shm_provider": {"INTERSESSION_TRANSPORT": "fabric", "INTERSESSION_PROVIDER": "shm"},
    # Between nodes libfabric, whose providers match messages.
    "matched_rxm": {"INTERSESSION_PROVIDER": "tcp;ofi_rxm", "INTERSESSION_MATCHING": "provider"},
    "matched_sockets": {"INTERSESSION_PROVIDER": "sockets", "INTERSESSION_MATCHING": "provider"},
    # The same for everything.
    "matched_everywhere": {"INTERSESSION_TRANSPORT": "fabric", "INTERSESSION_PROVIDER": "tcp;ofi_rxm", "INTERSESSION_MATCHING": "provider"},
}
# What the provider sockets needs of the nodes, or it stops for ever in a few jobs of a hundred (docs/measurements.md, "Of libfabric").
_ROOM = ["--tcp-memory", "1048576"]
NODE_OPTIONS = {"sockets": _ROOM, "matched_sockets": _ROOM}
