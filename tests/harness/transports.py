# SPDX-License-Identifier: BSD-3-Clause
"""The transports of the matrix as data: the settings that choose each."""

AUTO = "auto"
TRANSPORTS = {
    # Shared memory inside a node, the first libfabric provider that is usable between nodes.
    AUTO: {},
    # That provider inside the node, too.
    "fabric": {"INTERSESSION_TRANSPORT": "fabric"},
    # Between nodes, libfabric's oldest provider: one without remote memory that keeps what it can do in software.
    "sockets": {"INTERSESSION_PROVIDER": "sockets"},
    # libfabric's own shared memory for everything.
    "shm_provider": {"INTERSESSION_TRANSPORT": "fabric", "INTERSESSION_PROVIDER": "shm"},
}
