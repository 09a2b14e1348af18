# SPDX-License-Identifier: BSD-3-Clause
"""Colours and legend texts of phases and calls in pictures."""

# In the order of execution. Consecutive phases have distinct colours, also for colour-blind
# readers.
PHASES = {
    "launcher": ("#4477aa", "connecting to the launcher"),
    "node_segment": ("#228833", "node's shared memory"),
    "node_map": ("#99ddff", "nodes of the processes"),
    "engine": ("#bbcc33", "setting up the engine"),
    "world_fence": ("#882255", "fence over the job"),
    "publish": ("#ffcc66", "publishing the address"),
    "shm_rendezvous": ("#0077bb", "rendezvous on the node"),
    "links": ("#44bb99", "links on the node"),
    "collect": ("#cc3311", "waiting for contributions"),
    "parent": ("#aa4499", "finding the parent"),
    "outcome": ("#ddaa33", "waiting for the outcome"),
    "spread": ("#332288", "forwarding the outcome"),
    "context": ("#777777", "making the communicator"),
    "fabric": ("#ee7733", "opening libfabric"),
    "flush": ("#ffaabb", "last messages"),
    "leave": ("#117733", "closing and leaving"),
}
UNKNOWN_PHASE = ("#000000", "unknown to this version")

CALLS = {"session": "#dce6f2", "creation": "#fbe3d0", "communicator": "#e4efdc", "world": "#e8e8e8"}
UNKNOWN_CALL = "#f4f4f4"


def colour_of(phase: str) -> str:
    return PHASES.get(phase, UNKNOWN_PHASE)[0]


def words_of(phase: str) -> str:
    return PHASES.get(phase, UNKNOWN_PHASE)[1]
