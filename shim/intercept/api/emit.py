# SPDX-License-Identifier: BSD-3-Clause
"""What the emitters have in common."""

NOTICE = "// SPDX-License-Identifier: BSD-3-Clause\n// Generated from shim/intercept/api/mpi_api.txt."


def call(function):
    """A call with the function's own parameters: "X(comm, rank)"."""
    return "%s(%s)" % (function.name, function.arguments)


def subject_expression(function):
    """C++ for the object whose error handler is to be called."""
    subject = function.subject
    if subject is None:
        return "Subject()"
    kind = subject.handle.name
    return "Subject::%s(%s)" % (kind, subject.name) if subject.is_scalar else "Subject::at(abi::Kind::%s, %s)" % (kind, subject.name)


def error(function, what):
    """C++ that raises an error by calling one of border.hpp's functions."""
    return '%s(%s, "%s")' % (what, subject_expression(function), function.mpi_name)


def fail(function, code):
    """What a function does when the error handler has returned: return the error code, or the nearest thing to it."""
    if function.returns == "int":
        return "return %s;" % code
    value = "-1" if function.returns == "MPI_Fint" else "{}"  # -1 is a Fortran handle of nothing
    return "static_cast<void>(%s); return %s;" % (code, value)
