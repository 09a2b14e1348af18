# SPDX-License-Identifier: BSD-3-Clause
"""Emits the coverage page, which lists every function."""

STATES = {
    "both": "work on objects of sessions and of the world model",
    "session": "work; they belong to the sessions model, or the native library lacks them",
    "world": "work on objects of the world model; on objects of sessions they return "
    "`MPI_ERR_UNSUPPORTED_OPERATION`",
    "native_handle": "work on both; for an object of a session they create a native handle, so the "
    "native library must be initialized",
    "any": "work; they take no object of a session",
    "none": "return `MPI_ERR_UNSUPPORTED_OPERATION`",
}


def _is_in_native(function, native):
    """True if the native library has the function, or it is composed of functions that it has."""
    if function.removed or function.mpi_name in native.functions or function.is_composed:
        return True
    return function.made_of is not None and _is_in_native(function.made_of, native)


def state(function, native):
    """Return one of STATES, by route, flags, and whether the native library has the function."""
    is_native = _is_in_native(function, native)
    if function.route == "ours":
        return "session" if function.has_impl else "none"
    if function.has_impl and function.route != "state":
        return "both" if is_native else "session"
    if not is_native:
        return "any" if function.inactive_namespace else "none"
    if function.route in ("native", "state", "tool"):
        return "any"
    return (
        "native_handle"
        if function.route == "by_handle"
        and all(p.handle.has_native_handle for p in function.deciding)
        else "world"
    )


# Text of the page's two columns in each state: objects of sessions, objects of the world model.
_COLUMNS = {
    "both": ("yes", "yes"),
    "session": ("yes", "–"),
    "world": ("unsupported", "yes"),
    "native_handle": ("by native handle", "yes"),
    "any": ("–", "yes"),
    "none": ("unsupported", "unsupported"),
}


def _uninitialised(function):
    """Return the text that tells if the function works without an initialised native library."""
    if function.is_anytime or function.inactive_namespace or function.route in ("state", "tool"):
        return "yes"
    return (
        "yes"
        if function.route == "ours" and function.has_impl
        else "on objects of sessions"
        if function.has_impl
        else "no"
    )


def counts(functions, native):
    result = {name: 0 for name in STATES}
    for function in functions:
        result[state(function, native)] += 1
    return result


def _summary(functions, native):
    lines = ["| functions | that |", "|---:|---|"]
    lines += [
        "| %d | %s |" % (count, STATES[name])
        for name, count in counts(functions, native).items()
        if count
    ]
    return "\n".join(lines) + "\n"


def _chapter_of(function):
    return function.section.partition(".")[0]


_NAMES_SHOWN = 3


def _tests(programs):
    """Return the names of the test programs; the page's head names the tests of every function."""
    more = ["+%d" % (len(programs) - _NAMES_SHOWN)] if len(programs) > _NAMES_SHOWN else []
    return " ".join(programs[:_NAMES_SHOWN] + more) or "–"


def page(functions, chapters, native, substrate, tested_by):
    lines = [
        "# Which functions work",
        "",
        "`scripts/update-readme` generates this page from `shim/intercept/api/mpi_api.txt` for the "
        "native",
        "library `%s`. It lists %d functions: those of MPI-4.1 with their large-count forms, "
        "removed" % (substrate, len(functions)),
        "functions that the native library still has, and the extensions (MPIX_) of Intersession.",
        "",
        'The last column names programs in `tests/mpi` that call the function; "+2" means two '
        "more. In",
        "addition, `tests/intercept` calls each function on objects of the world model and with "
        "invalid",
        "handles.",
        "",
        _summary(functions, native),
    ]
    for chapter, title in chapters.items():
        lines += [
            "## %s %s" % (chapter, title),
            "",
            "| function | section | since | objects of sessions | objects of the world model "
            "| native library not initialized | tests |",
            "|---|---|---|---|---|---|---|",
        ]
        for f in functions:
            if _chapter_of(f) == chapter:
                session, world = _COLUMNS[state(f, native)]
                lines.append(
                    "| %s | %s | %s | %s | %s | %s | %s |"
                    % (
                        f.mpi_name,
                        f.section,
                        "–" if f.is_extension else f.since,
                        session,
                        world,
                        _uninitialised(f),
                        _tests(tested_by.get(f.mpi_name, [])),
                    )
                )
        lines.append("")
    return "\n".join(lines)
