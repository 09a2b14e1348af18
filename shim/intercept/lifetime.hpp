// SPDX-License-Identifier: BSD-3-Clause
// Manages the one sessions::Process of this program: the state that all sessions share. The first
// session makes it; it ends with the last session and communicator.
#pragma once

#include <memory>
#include <optional>

#include "shim/base/result.hpp"
#include "shim/sessions/process.hpp"

namespace shim::intercept {

/// Return the living Process, or make one with the present settings. Wait for a Process that is
/// ending on another thread: there are never two. Make none while another thread is in the
/// substrate's MPI_Init or MPI_Finalize (EnvironmentInterlock), for at most kWorldStartSeconds of
/// that call. Errors: arg (a setting), and those of Process::start unless it starts in the
/// background.
/// @param in_background true: start on a background thread, and users wait (ProcessSource); empty:
/// per the settings. While the world model is active the start is always synchronous.
base::Result<std::shared_ptr<sessions::ProcessSource>> acquire_process(
    std::optional<bool> in_background);

/// Return the Process; null if there is no session or communicator, during a start in the
/// background, and after a failed start.
std::shared_ptr<sessions::Process> living_process() noexcept;

/// Return any living session, for objects of the world model that are converted without one; null
/// if there is none.
sessions::SessionPtr any_session() noexcept;
/// Return a session that the program has opened and not finalized; null if there is none.
sessions::SessionPtr any_open_session() noexcept;
/// Make a session with default options, which ends with the last object made from it. Errors: those
/// of acquire_process.
base::Result<sessions::SessionPtr> make_session();
/// Return any living session, or make one with default options, which ends with the last object
/// made from it. Errors: those of acquire_process.
base::Result<sessions::SessionPtr> session_for_world();
void remember_session(const sessions::SessionPtr& session);

/// Warn once, on process 0 of MPI_COMM_WORLD, of variables that look like misspelled settings. Call
/// after the substrate's MPI_Init: a misspelled INTERSESSION_WORLD has no other effect.
void warn_about_unknown_settings_in_world();

/// Start (true) or stop (false) cross-progress. While the substrate is active and the Process
/// lives, a thread blocked in either library makes progress in the other, so that no deadlock
/// occurs that a single MPI library would not have. Call after the substrate has started and before
/// it ends.
void couple_progress(bool substrate_is_active);

// The substrate may share its launcher connection with Intersession (bootstrap::ProcessLifetime).
// For use around the substrate's MPI_Init and MPI_Finalize, on the calling thread.

/// True if the calling thread is in the substrate's MPI_Init.
bool is_in_native_init() noexcept;

/// Exists from before MPI_Init until it has returned. The constructor waits for the start of a
/// Process that is in progress. The destructor never blocks: a first session on another thread may
/// wait for it while holding all locks of the Process.
class NativeInitScope {
 public:
  NativeInitScope();
  NativeInitScope(const NativeInitScope&) = delete;
  NativeInitScope& operator=(const NativeInitScope&) = delete;
  ~NativeInitScope();

 private:
  std::shared_ptr<bootstrap::ProcessLifetime> lifetime_;
};
/// Call before MPI_Finalize. The connection outlasts MPI_Finalize if sessions may follow: the
/// program has had one, or refers to session functions.
void before_native_finalize();
/// Call after MPI_Finalize, whatever it returned.
void after_native_finalize();

}  // namespace shim::intercept
