# SPDX-License-Identifier: BSD-3-Clause
"""What works, for people: a page with every function, and a summary for the README."""

STATES = {
    "both": "works on objects of sessions and of the world model",
    "session": "works; it is a call of the sessions model",
    "world": "works on objects of the world model; MPI_ERR_UNSUPPORTED_OPERATION on objects of sessions",
    "any": "works; it takes no object of a session",
    "none": "MPI_ERR_UNSUPPORTED_OPERATION",
}


def state(function, native):
    """One of STATES, from the route, the flags, and whether the library below has the function."""
    below = bool(function.removed) or "MPI_" + function.name in native.functions
    if function.route == "ours":
        return "session" if function.has_body else "none"
    if function.has_body:
        return "both" if below else "session"
    if not below:
        return "any" if function.has_idle_body else "none"
    if function.route in ("native", "state", "tool"):
        return "any"
    return "world"


def _before_init(function):
    if function.is_anytime or function.has_idle_body or function.route in ("ours", "tool"):
        return "yes"
    return "objects of sessions" if function.has_body else "no"


def counts(functions, native):
    result = {name: 0 for name in STATES}
    for function in functions:
        result[state(function, native)] += 1
    return result


def summary(functions, native):
    lines = ["| functions | |", "|---:|---|"]
    lines += ["| %d | %s |" % (count, STATES[name]) for name, count in counts(functions, native).items() if count]
    return "\n".join(lines) + "\n"


def _chapter_of(function):
    return function.section.partition(".")[0]


def page(functions, chapters, native):
    lines = ["# Which functions work", "",
             "Generated from `shim/intercept/api/mpi_api.txt`, for Open MPI 4.1 below. %d functions of MPI-4.1, counting large-count"
             % len(functions),
             "forms and the removed ones that the library below still has.", "", summary(functions, native)]
    for chapter, title in chapters.items():
        lines += ["## %s %s" % (chapter, title), "", "| function | section | since | on objects of sessions | of the world | outside MPI_Init … MPI_Finalize |",
                  "|---|---|---|---|---|---|"]
        for function in functions:
            if _chapter_of(function) == chapter:
                session, world = {"both": ("yes", "yes"), "session": ("yes", "–"), "world": ("unsupported", "yes"),
                                  "any": ("–", "yes"), "none": ("unsupported", "unsupported")}[state(function, native)]
                lines.append("| MPI_%s | %s | %s | %s | %s | %s |" % (
                    function.name, function.section, function.since, session, world, _before_init(function)))
        lines.append("")
    return "\n".join(lines)
