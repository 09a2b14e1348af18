# SPDX-License-Identifier: BSD-3-Clause
"""What works, for people: a page with every function, and a summary for the README."""

STATES = {
    "both": "works on objects of sessions and of the world model",
    "session": "works; it is a call of the sessions model",
    "world": "works on objects of the world model; MPI_ERR_UNSUPPORTED_OPERATION on objects of sessions",
    "twin": "works on both; an object of a session is given a twin in the library below, which must be initialised",
    "any": "works; it takes no object of a session",
    "none": "MPI_ERR_UNSUPPORTED_OPERATION",
}


def _is_below(function, native):
    """Has the library below the function, or is it made of what that has?"""
    if function.removed or function.mpi_name in native.functions or function.is_composed:
        return True
    return function.made_of is not None and _is_below(function.made_of, native)


def state(function, native):
    """One of STATES, from the route, the flags, and whether the library below has the function."""
    below = _is_below(function, native)
    if function.route == "ours":
        return "session" if function.has_body else "none"
    if function.has_body and function.route != "state":
        return "both" if below else "session"
    if not below:
        return "any" if function.idle_namespace else "none"
    if function.route in ("native", "state", "tool"):
        return "any"
    return "twin" if function.route == "by_handle" and all(p.handle.has_twin for p in function.deciding) else "world"


# What the two columns of the page say in each state: on objects of sessions, on objects of the world model.
_COLUMNS = {
    "both": ("yes", "yes"),
    "session": ("yes", "–"),
    "world": ("unsupported", "yes"),
    "twin": ("by twin", "yes"),
    "any": ("–", "yes"),
    "none": ("unsupported", "unsupported"),
}


def _uninitialised(function):
    """Does it work while the library below is not initialised?"""
    if function.is_anytime or function.idle_namespace or function.route in ("state", "tool"):
        return "yes"
    return "yes" if function.route == "ours" and function.has_body else "on objects of sessions" if function.has_body else "no"


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


_NAMES_SHOWN = 3


def _tests(programs):
    """What every function has beside these: rows of the tests that forward it and give it dead handles."""
    more = ["+%d" % (len(programs) - _NAMES_SHOWN)] if len(programs) > _NAMES_SHOWN else []
    return " ".join(programs[:_NAMES_SHOWN] + more) or "–"


def page(functions, chapters, native, substrate, tested_by):
    lines = ["# Which functions work", "",
             "Generated from `shim/intercept/api/mpi_api.txt`, over `%s`. %d functions of MPI-4.1, counting large-count" % (
                 substrate, len(functions)),
             "forms, the removed ones that the library below still has, and extensions of our own (MPIX_). *Tests*: programs of",
             "`tests/mpi` that call it by its name; every function is also forwarded, and given dead handles, by `tests/intercept`.",
             "", summary(functions, native)]
    for chapter, title in chapters.items():
        lines += ["## %s %s" % (chapter, title), "",
                  "| function | section | since | on objects of sessions | of the world model | while that is not initialised | tests |",
                  "|---|---|---|---|---|---|---|"]
        for f in functions:
            if _chapter_of(f) == chapter:
                session, world = _COLUMNS[state(f, native)]
                lines.append("| %s | %s | %s | %s | %s | %s | %s |" % (
                    f.mpi_name, f.section, "–" if f.is_extension else f.since, session, world, _uninitialised(f),
                    _tests(tested_by.get(f.mpi_name, []))))
        lines.append("")
    return "\n".join(lines)
