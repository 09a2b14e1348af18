// SPDX-License-Identifier: BSD-3-Clause
// Converts an error value to an error handler call and a return code. No other code does so.
#pragma once

#include <string>
#include <utility>

#include "shim/base/result.hpp"
#include "shim/intercept/dispatch.hpp"
#include "shim/sessions/error_handler.hpp"

namespace shim::intercept {

/// Call the subject's error handler once and return the code that MPI_X returns. The handler is the
/// one given in the call; else the communicator's, else the session's; else that of
/// MPI_COMM_SELF, native or served, while that exists, else the initial one (MPI-4.1 §9.3, setting
/// initial_errhandler). Keep the text "MPI_X: …" for this thread's MPI_Error_string.
/// @param function "MPI_X".
[[gnu::cold]] int fail(const Subject& subject, const char* function, const base::Error& error);

struct CommReference;
/// Call the handler of an operation's communicator, even if its handle has been freed.
[[gnu::cold]] int fail(const CommReference& on, const char* function, const base::Error& error);
/// Raise a code that is not a class of ours: returned by a user's callback or by the native
/// library.
[[gnu::cold]] int fail(const CommReference& on, const char* function, int code,
                       const std::string& text);

/// Run an MPI function's implementation; on error call fail() on the subject (a Subject or a
/// CommReference).
template <typename On, typename Call>
[[gnu::always_inline]] inline int run_with_handler(const On& subject, const char* function,
                                                   Call&& call) {
  base::Status status = std::forward<Call>(call)();
  if (status) [[likely]]
    return MPI_SUCCESS;
  return fail(subject, function, status.error());
}

/// Call the object's error handler with a code (MPI_Comm_call_errhandler, MPI_Win_call_errhandler,
/// …).
int call_handler(const Subject& subject, int code);

/// Return the handler of objects that the program has given none (setting initial_errhandler).
sessions::ErrorHandlerPtr initial_handler();

/// Return the text of this thread's last error if it had this code, else an empty string.
std::string last_error_text(int code);

/// Return "host:rank", as far as known.
std::string process_label();

/// Write "intersession[host:rank] error: text" to standard error.
void print_error(const std::string& text);
/// Return the error of check_link_order(), and print it, because the program's MPI_Error_string
/// does not reach this library then. Errors: other.
base::Status require_link_order();
/// Print the error and end the job: through the substrate while it is active, else through the
/// launcher, else only this process. The exit status is never 0.
[[noreturn]] void end_job(const std::string& text, int code);
/// Print the error and end only this process (MPI_ERRORS_ABORT on a session).
[[noreturn]] void end_process(const std::string& text, int code);

}  // namespace shim::intercept
