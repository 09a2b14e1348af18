// SPDX-License-Identifier: BSD-3-Clause
// Initialises and finalizes sessions, MPI-4.1 §11.3.1.
#include <string>
#include <vector>

#include "shim/intercept/generated/impl.hpp"
#include "shim/intercept/handles/error_handlers.hpp"
#include "shim/intercept/handles/info_handles.hpp"
#include "shim/intercept/impl/arguments.hpp"
#include "shim/intercept/impl/p2p/buffer_pool.hpp"
#include "shim/intercept/impl/world/predefined_comms.hpp"
#include "shim/intercept/impl/world/served_world.hpp"
#include "shim/intercept/lifetime.hpp"
#include "shim/intercept/native/activity.hpp"
#include "shim/intercept/native/substrate.hpp"

namespace shim::intercept {
namespace {

using base::Error;
using base::ErrorClass;
using sessions::ErrorHandlerPtr;
using sessions::HandlerFor;
using sessions::HandlerKind;
using sessions::InfoPtr;

/// Return a session's error handler: predefined, or made by MPI_Session_create_errhandler.
base::Result<ErrorHandlerPtr> session_handler(MPI_Errhandler handle) {
  ErrorHandlerPtr handler = find_handler(handle);
  if (!handler)
    return bad_handle(ErrorClass::errhandler, abi::HandleKind::errhandler, handle,
                      static_cast<MPI_Errhandler>(abi::predefined.errhandler_null));
  if (handler->kind == HandlerKind::user && handler->object != HandlerFor::session)
    return Error(ErrorClass::errhandler,
                 "the error handler was not created for sessions (MPI_Session_create_errhandler)");
  return handler;
}

base::Status init(MPI_Info info_handle, MPI_Errhandler errhandler, MPI_Session* session) {
  SHIM_TRY(require_substrate());
  SHIM_TRY(require_link_order());
  SHIM_TRY(check_output(session, "session"));
  SHIM_TRY_ASSIGN(ErrorHandlerPtr handler, session_handler(errhandler));
  SHIM_TRY_ASSIGN(InfoPtr info, copy_info(info_handle));
  SHIM_TRY_ASSIGN(const sessions::SessionOptions options, sessions::read_session_options(info));
  SHIM_TRY_ASSIGN(auto process, acquire_process(options.starts_beside));
  auto made = std::make_shared<sessions::Session>(std::move(process), options, std::move(handler));
  SHIM_TRY_ASSIGN(*session, objects.sessions.insert(sessions::SessionPtr(made)));
  made->set_open(true);
  remember_session(made);
  if (is_served_world_selected()) switch_to_served_table();
  return {};
}

std::string list_of(const std::vector<std::string>& names) {
  std::string list;
  for (const auto& name : names) list += (list.empty() ? "" : ", ") + name;
  return list;
}

/// Check that all communicators of a session are freed, as MPI-4.1 §11.3.1 requires. Those that are
/// not continue to work until they are freed.
base::Status check_nothing_lives(sessions::Session& session) {
  auto living = session.living_objects();
  if (living.empty()) return {};
  std::string text = "the session is finalized before these objects derived from it are freed: " +
                     list_of(living);
  if (session.is_strict())
    return Error(ErrorClass::pending, text + " (the session asked for strict_finalize)");
  SHIM_TRY_ASSIGN(sessions::Process* const process, session.process());
  process->log().write(base::LogLevel::warn, "MPI_Session_finalize: " + text);
  return {};
}

}  // namespace

namespace impl {

int Session_init(MPI_Info info, MPI_Errhandler errhandler, MPI_Session* session) {
  return run_with_handler(Subject::errhandler(errhandler), "MPI_Session_init",
                          [&] { return init(info, errhandler, session); });
}

int Session_finalize(MPI_Session* session) {
  return run_with_handler(Subject::at(abi::HandleKind::session, session), "MPI_Session_finalize",
                          [&]() -> base::Status {
                            SHIM_TRY(check_output(session, "session"));
                            if (reset_handle_of_parent(objects.sessions, session, MPI_SESSION_NULL))
                              return {};
                            SHIM_TRY_ASSIGN(sessions::SessionPtr found, session_of(*session));
                            SHIM_TRY(check_nothing_lives(*found));
                            // of two threads that finalize this session, one fails
                            if (!objects.sessions.take(*session))
                              return std::move(session_of(*session)).error();
                            found->set_open(false);
                            object_buffers().forget(found.get());
                            *session = MPI_SESSION_NULL;
                            if (is_served_world_selected())
                              return delete_served_attributes_without_session();
                            return delete_attributes_without_session();
                          });
}

int Session_get_info(MPI_Session session, MPI_Info* info_used) {
  return run_with_handler(Subject::session(session), "MPI_Session_get_info", [&]() -> base::Status {
    SHIM_TRY_ASSIGN(sessions::SessionPtr found, session_of(session));
    SHIM_TRY(check_output(info_used, "info object"));
    SHIM_TRY_ASSIGN(*info_used, make_info_handle(found->info()));
    return {};
  });
}

int Session_set_errhandler(MPI_Session session, MPI_Errhandler errhandler) {
  return run_with_handler(Subject::session(session), "MPI_Session_set_errhandler",
                          [&]() -> base::Status {
                            SHIM_TRY_ASSIGN(sessions::SessionPtr found, session_of(session));
                            SHIM_TRY_ASSIGN(ErrorHandlerPtr handler, session_handler(errhandler));
                            found->set_error_handler(std::move(handler));
                            return {};
                          });
}

int Session_get_errhandler(MPI_Session session, MPI_Errhandler* errhandler) {
  return run_with_handler(Subject::session(session), "MPI_Session_get_errhandler",
                          [&]() -> base::Status {
                            SHIM_TRY_ASSIGN(sessions::SessionPtr found, session_of(session));
                            SHIM_TRY(check_output(errhandler, "error handler"));
                            SHIM_TRY_ASSIGN(*errhandler, handle_of(found->error_handler()));
                            return {};
                          });
}

int Session_call_errhandler(MPI_Session session, int errorcode) {
  if (auto found = session_of(session); !found)
    return fail(Subject(), "MPI_Session_call_errhandler", found.error());
  return call_handler(Subject::session(session), errorcode);
}

}  // namespace impl
}  // namespace shim::intercept
