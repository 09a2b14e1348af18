# SPDX-License-Identifier: BSD-3-Clause
"""How phases and calls look in pictures: colours, and a few words for the legend."""

# In the order in which they come. Neighbours in time have colours far apart, also for those who see no red or green.
PHASES = {
    "launcher": ("#4477aa", "connecting to the launcher"),
    "node_segment": ("#228833", "node's shared memory"),
    "node_map": ("#99ddff", "who is on which node"),
    "engine": ("#bbcc33", "setting up messages"),
    "world_fence": ("#882255", "fence over the job"),
    "publish": ("#ffcc66", "publishing the address"),
    "roll_call": ("#0077bb", "all of the node, in memory"),
    "links": ("#44bb99", "links on the node"),
    "collect": ("#cc3311", "waiting for contributions"),
    "parent": ("#aa4499", "finding the root above"),
    "outcome": ("#ddaa33", "waiting for the outcome"),
    "spread": ("#332288", "passing the outcome on"),
    "context": ("#777777", "making the communicator"),
    "fabric": ("#ee7733", "opening libfabric"),
    "flush": ("#ffaabb", "last messages"),
    "leave": ("#117733", "closing and leaving"),
}
UNKNOWN_PHASE = ("#000000", "not known to this version")

CALLS = {"session": "#dce6f2", "creation": "#fbe3d0", "communicator": "#e4efdc", "world": "#e8e8e8"}
UNKNOWN_CALL = "#f4f4f4"


def colour_of(phase: str) -> str:
    return PHASES.get(phase, UNKNOWN_PHASE)[0]


def words_of(phase: str) -> str:
    return PHASES.get(phase, UNKNOWN_PHASE)[1]
