// SPDX-License-Identifier: BSD-3-Clause
// The one place where an error value becomes a call of an error handler and a return code.
#pragma once

#include <string>
#include <utility>

#include "shim/base/result.hpp"
#include "shim/intercept/border.hpp"
#include "shim/sessions/error_handler.hpp"

namespace shim::intercept {

/// Calls the error handler that the subject leads to, once, and returns the code for the caller of MPI_X to see. The handler:
/// the one given in the call; else the communicator's, else the session's; else that of the substrate's MPI_COMM_SELF while
/// there is one, else the initial one (MPI-4.1 §9.3, setting initial_errhandler).
/// The text "MPI_X: …" is kept for this thread's MPI_Error_string.
/// @param function "MPI_X".
[[gnu::cold]] int fail(const Subject& subject, const char* function, const base::Error& error);

/// For operations that remember their communicator: its handler runs even if its handle has been freed since.
struct CommReference;
[[gnu::cold]] int fail(const CommReference& on, const char* function, const base::Error& error);
/// For codes that are no class of ours: a user's callback has answered them, or the library below.
[[gnu::cold]] int fail(const CommReference& on, const char* function, int code, const std::string& text);

/// Runs what an MPI function does; its error, if there is one, goes to the error handler that the subject (a Subject or a
/// CommReference) leads to.
template <typename On, typename Body>
[[gnu::always_inline]] inline int deliver(const On& subject, const char* function, Body&& body) {
  base::Status status = std::forward<Body>(body)();
  if (status) [[likely]] return MPI_SUCCESS;
  return fail(subject, function, status.error());
}

/// As if an error of this code had been raised on the object (MPI_Comm_call_errhandler and its siblings).
int call_handler(const Subject& subject, int code);

/// The text of this thread's last error if it had this code, else empty.
std::string last_error_text(int code);

/// "host:rank", as far as it is known.
std::string who_am_i();

/// Writes "intersession[host:rank] error: text" to standard error.
void print_error(const std::string& text);
/// Prints the error and ends the job: by the substrate while it is active, else by the launcher,
/// else this process alone. The exit status is never 0.
[[noreturn]] void end_job(const std::string& text, int code);
/// The same for this process alone (MPI_ERRORS_ABORT on a session).
[[noreturn]] void end_process(const std::string& text, int code);

}  // namespace shim::intercept
