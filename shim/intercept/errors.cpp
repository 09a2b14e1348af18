// SPDX-License-Identifier: BSD-3-Clause
#include "shim/intercept/errors.hpp"

#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <future>
#include <optional>
#include <system_error>
#include <thread>

#include "shim/base/log.hpp"
#include "shim/base/settings.hpp"
#include "shim/base/signals_blocked.hpp"
#include "shim/intercept/abi/codes.hpp"
#include "shim/intercept/abi/library.hpp"
#include "shim/intercept/abi/predefined.hpp"
#include "shim/intercept/generated/table.hpp"
#include "shim/intercept/handles/error_handlers.hpp"
#include "shim/intercept/handles/forked.hpp"
#include "shim/intercept/handles/objects.hpp"
#include "shim/intercept/handles/world_comms.hpp"
#include "shim/intercept/lifetime.hpp"
#include "shim/intercept/native/activity.hpp"
#include "shim/intercept/native/fortran.hpp"
#include "shim/intercept/native/link_order.hpp"
#include "shim/intercept/native/substrate.hpp"

namespace shim::intercept {
namespace {

using sessions::ErrorHandler;
using sessions::ErrorHandlerPtr;
using sessions::HandlerFor;
using sessions::HandlerKind;

struct LastError {
  int code = MPI_SUCCESS;
  std::string text;
};
/// Last error of this thread. exit(3) destroys it before the program's destructors, which may call
/// MPI: it is then made again.
class LastErrorOfThread {
 public:
  ~LastErrorOfThread() { delete std::exchange(kept_, nullptr); }
  void set(int code, const std::string& text) {
    if (kept_ == nullptr) kept_ = new LastError;
    *kept_ = {code, text};
  }
  std::string text_of(int code) const {
    return kept_ != nullptr && kept_->code == code ? kept_->text : std::string();
  }

 private:
  LastError* kept_ = nullptr;
};
thread_local constinit LastErrorOfThread last_error;

/// Target of an error: a handler and the object it is called for, or an object of the substrate
/// with a handler of its own.
struct Target {
  ErrorHandlerPtr handler;
  HandlerFor object = HandlerFor::any;
  abi::Bits handle = 0;
  bool is_native = false;
  /// No object has a handler for the call: the initial error handler runs.
  bool is_initial = false;
  sessions::CommunicatorPtr comm = nullptr;  ///< of an object of ours: its handle may be freed
};

/// The communicator's handle for a handler: the user's own. If the user has freed it while
/// operations continued, a handle for the duration of the call.
class CommOfCall {
 public:
  explicit CommOfCall(const Target& target) : handle_(abi::from_bits<MPI_Comm>(target.handle)) {
    if (target.comm && objects.comms.find(handle_) == nullptr)
      if (auto made = objects.comms.insert(sessions::CommunicatorPtr(target.comm)))
        handle_ = own_ = *made;
    handle_ = programs_handle(handle_);
  }
  ~CommOfCall() {
    if (!abi::is_unset(own_)) static_cast<void>(objects.comms.take(own_));
  }
  CommOfCall(const CommOfCall&) = delete;
  CommOfCall& operator=(const CommOfCall&) = delete;
  MPI_Comm handle() const { return handle_; }

 private:
  MPI_Comm handle_, own_{};
};

constexpr const char* kInitialHandlerHint =
    " (no valid object of the call has an error handler, so the initial one applies; set "
    "INTERSESSION_INITIAL_ERRHANDLER=mpi_errors_return to get error codes)";

}  // namespace

ErrorHandlerPtr initial_handler() {
  // Read without base::read_settings(), which fails if any other setting is invalid: errors must be
  // raised then, too.
  auto word = base::from_environment("INTERSESSION_INITIAL_ERRHANDLER")
                  .value_or("mpi_errors_are_fatal");
  if (word == "mpi_errors_return") return predefined_handler(HandlerKind::ret);
  if (word == "mpi_errors_abort") return predefined_handler(HandlerKind::abort);
  return predefined_handler(HandlerKind::fatal);
}

namespace {

Target of_comm(const sessions::CommunicatorPtr& comm, MPI_Comm handle) {
  ErrorHandlerPtr handler = comm->error_handler();
  return {handler ? handler : initial_handler(),
          HandlerFor::communicator,
          abi::bits(handle),
          false,
          false,
          comm};
}

Target without_object() {
  if (is_active())
    return {nullptr, HandlerFor::communicator, abi::bits(MPI_Comm(abi::predefined.comm_self)),
            true};
  const MPI_Comm served_self = world_comms.self.load(std::memory_order_acquire);
  if (auto* comm = objects.comms.find(served_self)) return of_comm(*comm, served_self);
  return {initial_handler(), HandlerFor::communicator,
          abi::bits(MPI_Comm(abi::predefined.comm_null)), false, true};
}

Target of_operation(const CommReference& on) {
  return on.comm ? of_comm(on.comm, on.handle)
                 : without_object();  // a generalised operation without a communicator
}

Target of_session(sessions::Session& session, MPI_Session handle) {
  ErrorHandlerPtr handler = session.error_handler();
  return {handler ? handler : initial_handler(), HandlerFor::session, abi::bits(handle)};
}

std::optional<Target> of_group(MPI_Group handle) {
  GroupObject* group = objects.groups.find(handle);
  if (group == nullptr) return std::nullopt;
  sessions::SessionPtr session = group->session.lock();
  if (!session) return std::nullopt;
  if (abi::is_unset(group->session_handle) && !session->error_handler())
    return std::nullopt;  // of an object of the served world model: no session of the program
  const bool is_finalized = !abi::is_unset(group->session_handle) &&
                            objects.sessions.find(group->session_handle) == nullptr;
  if (is_finalized) return std::nullopt;
  return of_session(
      *session, abi::is_unset(group->session_handle) ? MPI_SESSION_NULL : group->session_handle);
}

std::optional<Target> given(MPI_Errhandler handle) {
  ErrorHandlerPtr handler = find_handler(handle);
  if (!handler) return std::nullopt;
  if (handler->object == HandlerFor::session)
    return Target{handler, HandlerFor::session, abi::bits(MPI_SESSION_NULL)};
  return Target{handler, HandlerFor::communicator, abi::bits(MPI_Comm(abi::predefined.comm_null))};
}

std::optional<Target> of_native(const Subject& subject) {
  bool is_null = subject.handle == 0 ||
                 subject.handle == abi::bits(MPI_Comm(abi::predefined.comm_null)) ||
                 subject.handle == abi::bits(MPI_Win(abi::predefined.win_null));
  if (is_null || !is_active()) return std::nullopt;
  if (subject.kind == abi::HandleKind::comm)
    return Target{nullptr, HandlerFor::communicator, subject.handle, true};
  if (subject.kind == abi::HandleKind::win)
    return Target{nullptr, HandlerFor::window, subject.handle, true};
  if (subject.kind == abi::HandleKind::file)
    return Target{nullptr, HandlerFor::file, subject.handle, true};
  return std::nullopt;
}

std::optional<Target> of_ours(const Subject& subject) {
  switch (subject.kind) {
    case abi::HandleKind::comm:
      if (auto* comm = objects.comms.find_hidden(abi::from_bits<MPI_Comm>(subject.handle)))
        return of_comm(*comm, abi::from_bits<MPI_Comm>(subject.handle));
      return std::nullopt;
    case abi::HandleKind::session:
      if (auto* session = objects.sessions.find_hidden(abi::from_bits<MPI_Session>(subject.handle)))
        return of_session(**session, abi::from_bits<MPI_Session>(subject.handle));
      return std::nullopt;
    case abi::HandleKind::request:
      if (auto* request = objects.requests.find_hidden(abi::from_bits<MPI_Request>(subject.handle)))
        return of_operation(request->on());
      return std::nullopt;
    case abi::HandleKind::message:
      if (auto* message = objects.messages.find_hidden(abi::from_bits<MPI_Message>(subject.handle)))
        return of_operation(message->on);
      return std::nullopt;
    case abi::HandleKind::group:
      return of_group(abi::from_bits<MPI_Group>(subject.handle));
    default:
      return std::nullopt;
  }
}

/// Return the target of errors of file functions without open file: the handler of MPI_FILE_NULL,
/// which returns unless the program has set another (MPI-4.1 §14.7).
Target of_no_file() {
  if (is_active())
    return {nullptr, HandlerFor::file, abi::bits(MPI_File(abi::predefined.file_null)), true};
  return {predefined_handler(HandlerKind::ret), HandlerFor::file,
          abi::bits(MPI_File(abi::predefined.file_null))};
}

/// True for functions of chapter 14.
bool is_about_files(std::string_view function) {
  return function.starts_with("MPI_File_") || function == "MPI_Register_datarep" ||
         function == "MPI_Register_datarep_c";
}

Target target_of(const Subject& subject) {
  static_cast<void>(require_substrate());  // the call may be the program's first into Intersession
  std::optional<Target> found;
  if (subject.kind == abi::HandleKind::errhandler)
    found = given(abi::from_bits<MPI_Errhandler>(subject.handle));
  else if (abi::is_ours_bits(subject.handle))
    found = of_ours(subject);
  else
    found = of_native(subject);
  return found ? *found : without_object();
}

/// Raise an error on a native file. If the library refuses MPI_FILE_NULL in
/// MPI_File_call_errhandler, a user's handler of MPI_FILE_NULL does not run.
void raise_on_native_file(MPI_File file, int code, const std::string& text) {
  if (file == MPI_File(abi::predefined.file_null) && !abi::kCallsHandlerOfNullFile) {
    MPI_Errhandler handler{};
    active_table.File_get_errhandler(file, &handler);
    if (handler == abi::predefined.errors_are_fatal) end_job(text, code);
    active_table.Errhandler_free(&handler);
    return;
  }
  active_table.File_call_errhandler(file, code);
}

/// Raise an error on an object of the substrate, which has its handler. Intersession runs only a
/// fatal handler itself, because the substrate would not print the text.
void raise_natively(const Target& target, int code, const std::string& text) {
  if (target.object == HandlerFor::window) {
    active_table.Win_call_errhandler(abi::from_bits<MPI_Win>(target.handle), code);
  } else if (target.object == HandlerFor::file) {
    raise_on_native_file(abi::from_bits<MPI_File>(target.handle), code, text);
  } else {
    auto comm = abi::from_bits<MPI_Comm>(target.handle);
    MPI_Errhandler handler{};
    active_table.Comm_get_errhandler(comm, &handler);
    bool is_fatal = handler == abi::predefined.errors_are_fatal;
    active_table.Errhandler_free(&handler);
    if (is_fatal) end_job(text, code);
    active_table.Comm_call_errhandler(comm, code);
  }
}

using FortranHandler = void(MPI_Fint* object, MPI_Fint* code);

/// Call a user's handler. It gets copies of the handle and the code by address, so that it cannot
/// change them.
void run_user_handler(const Target& target, int code) {
  if (target.object == HandlerFor::session) {
    auto session = abi::from_bits<MPI_Session>(target.handle);
    if (target.handler->is_fortran) {
      MPI_Fint number = PMPI_Session_c2f(session);
      return reinterpret_cast<FortranHandler*>(target.handler->function)(&number, &code);
    }
    reinterpret_cast<MPI_Session_errhandler_function*>(target.handler->function)(&session, &code);
  } else {
    const CommOfCall of_call(target);
    MPI_Comm comm = of_call.handle();
    if (target.handler->is_fortran) {
      MPI_Fint number = PMPI_Comm_c2f(comm);
      return reinterpret_cast<FortranHandler*>(target.handler->function)(&number, &code);
    }
    reinterpret_cast<MPI_Comm_errhandler_function*>(target.handler->function)(&comm, &code);
  }
}

void raise(const Target& target, int code, const std::string& text) {
  if (target.is_native) return raise_natively(target, code, text);
  switch (target.handler->kind) {
    case HandlerKind::ret:
      return;
    case HandlerKind::user:
      return run_user_handler(target, code);
    case HandlerKind::abort:
      if (target.object == HandlerFor::session) end_process(text, code);
      end_job(text, code);
    case HandlerKind::fatal:
      end_job(text, code);
  }
}

int fail_at(const Target& target, const char* function, int code, std::string_view name,
            const std::string& what) {
  std::string text = std::string(function) + ": " + what;
  last_error.set(code, text);
  raise(target, code,
        std::string(name) + ": " + text + (target.is_initial ? kInitialHandlerHint : ""));
  return code;
}

std::string name_of(int code) {
  auto known = abi::class_of(code);
  return known ? std::string(base::name_of(*known)) : "error code " + std::to_string(code);
}

int fail_at(const Target& target, const char* function, const base::Error& error) {
  const int code = error.origin() == base::Origin::user ? error.foreign_code()
                                                        : abi::code_of(error.error_class());
  return fail_at(target, function, code, name_of(code), error.text());
}

/// Flush stdout and stderr if no other thread holds their locks, then all streams. The latter may
/// block on a stream whose lock a reading thread holds.
void flush_each_stream() {
  for (FILE* stream : {stdout, stderr}) {
    if (ftrylockfile(stream) != 0) continue;
    fflush_unlocked(stream);
    funlockfile(stream);
  }
  std::fflush(nullptr);
}

/// Flush the program's streams, as exit(3) would, on another thread, because a stream may be
/// locked, or a pipe full, indefinitely.
void flush_streams() {
  constexpr auto kLongest = std::chrono::milliseconds(500);
  auto is_over = std::make_shared<std::promise<void>>();
  auto end = is_over->get_future();
  try {
    base::SignalsBlocked blocked;
    std::thread([is_over] {
      flush_each_stream();
      is_over->set_value();
    }).detach();
  } catch (const std::system_error&) {
    return;  // no thread available
  }
  end.wait_for(kLongest);
}

/// Wait until the launcher has read this process's output from its pipes, so that the end of the
/// job does not discard it.
void wait_for_the_launcher_to_read() {
  constexpr double kReadSeconds = 1;
  base::wait_until_read(STDOUT_FILENO, kReadSeconds);
  base::wait_until_read(STDERR_FILENO, kReadSeconds);
}

int exit_status(int code) { return (code & 0xff) != 0 ? code & 0xff : 1; }

}  // namespace

int fail(const Subject& subject, const char* function, const base::Error& error) {
  if (is_about_files(function) && subject.kind != abi::HandleKind::errhandler) {
    const bool may_be_open = subject.kind == abi::HandleKind::file &&
                             !abi::is_ours_bits(subject.handle);
    const auto file = may_be_open ? of_native(subject) : std::nullopt;
    return fail_at(file ? *file : of_no_file(), function, error);
  }
  return fail_at(target_of(subject), function, error);
}

int fail(const CommReference& on, const char* function, const base::Error& error) {
  return fail_at(of_operation(on), function, error);
}

int fail(const CommReference& on, const char* function, int code, const std::string& text) {
  return fail_at(of_operation(on), function, code, name_of(code), text);
}

int call_handler(const Subject& subject, int code) {
  raise(target_of(subject), code,
        "error code " + std::to_string(code) + " was passed to the error handler");
  return MPI_SUCCESS;
}

std::string last_error_text(int code) { return last_error.text_of(code); }

std::string process_label() {
  if (auto process = living_process())
    return process->node().location().host + ":" + std::to_string(process->self().rank);
  char host[256] = "?";
  gethostname(host, sizeof host - 1);
  const char* rank = std::getenv("PMIX_RANK");
  if (rank == nullptr) rank = std::getenv("PMI_RANK");
  return std::string(host) + (rank != nullptr ? std::string(":") + rank : std::string());
}

void print_error(const std::string& text) {
  std::string line = "intersession[" + process_label() + "] error: " + text + "\n";
  [[maybe_unused]] auto written = write(STDERR_FILENO, line.data(), line.size());
}

base::Status require_link_order() {
  auto order = check_link_order();
  if (!order) print_error(order.error().text());
  return order;
}

void end_job(const std::string& text, int code) {
  flush_streams();
  print_error(text);
  if (is_forked_child()) _exit(exit_status(code));  // the job belongs to the parent
  auto process = living_process();
  // MPI_Abort before MPI_Init: the Process is made for its connection to the launcher
  if (!process && is_served_world_selected() && acquire_process(false)) process = living_process();
  if (process) process->node().release_file();
  wait_for_the_launcher_to_read();
  if (is_active()) active_table.Abort(abi::predefined.comm_world, exit_status(code));
  if (process) process->bootstrap().abort(exit_status(code), text);
  _exit(exit_status(code));
}

void end_process(const std::string& text, int code) {
  flush_streams();
  print_error(text);
  if (auto process = living_process()) process->node().release_file();
  wait_for_the_launcher_to_read();
  _exit(exit_status(code));
}

int fortran::fail_without_native(const char* function, const char* symbol) {
  return fail(
      Subject(), function,
      base::Error(base::ErrorClass::unsupported_operation,
                  std::string("no loaded library has the function ") + symbol + "; link or load " +
                      abi::kFamily.fortran_sonames.front() + " of the same MPI library"));
}

}  // namespace shim::intercept
