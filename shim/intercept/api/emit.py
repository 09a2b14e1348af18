# SPDX-License-Identifier: BSD-3-Clause
"""Common code of the emitters."""

# REUSE-IgnoreStart
NOTICE = (
    "// SPDX-License-Identifier: BSD-3-Clause\n// Generated from shim/intercept/api/mpi_api.txt."
)
# REUSE-IgnoreEnd

# Lines at the end of a source file whose functions programs call.
END_OF_EXPORTS = [
    "",
    '}  // extern "C"',
    "#pragma GCC visibility pop",
    "}  // namespace shim::intercept",
    "",
]


def call(function):
    """Return a call with the function's own parameters: "X(comm, rank)"."""
    return "%s(%s)" % (function.name, function.arguments)


def subject_expression(function):
    """Return C++ for the object whose error handler is called."""
    subject = function.subject
    if subject is None:
        return "Subject()"
    kind = subject.handle.name
    return (
        "Subject::%s(%s)" % (kind, subject.name)
        if subject.is_scalar
        else "Subject::at(abi::HandleKind::%s, %s)" % (kind, subject.name)
    )


def error(function, what):
    """Return C++ that raises an error through a function of dispatch.hpp."""
    return '%s(%s, "%s")' % (what, subject_expression(function), function.mpi_name)


def fail(function, code):
    """Return C++ that returns the error code after the error handler has returned.

    A function that returns no error code returns -1 or a zero value.
    """
    if function.returns == "int":
        return "return %s;" % code
    value = "-1" if function.returns == "MPI_Fint" else "{}"  # -1: no object has this integer
    return "static_cast<void>(%s); return %s;" % (code, value)
