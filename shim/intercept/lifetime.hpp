// SPDX-License-Identifier: BSD-3-Clause
// The one Process object of this program: made by the first session, gone with the last session and communicator.
#pragma once

#include <memory>
#include <optional>

#include "shim/base/result.hpp"
#include "shim/sessions/process.hpp"

namespace shim::intercept {

/// The living one, or a new one with the settings as they are now. Waits for one that is just ending on another thread: there
/// are never two. beside: a new one starts on a thread of its own, and whoever needs it waits (ProcessSource); empty: as the
/// settings say. While the world model is up it is there at once. Errors: arg (a setting), and those of Process::start where it
/// does not start beside.
base::Result<std::shared_ptr<sessions::ProcessSource>> acquire_process(std::optional<bool> beside);

/// Null where no session or communicator lives, and while it starts. Waits for nobody.
std::shared_ptr<sessions::Process> living_process() noexcept;

/// Any session that lives, for objects of the world model that come into ours without one; null where none does.
sessions::SessionPtr any_session() noexcept;
void remember_session(const sessions::SessionPtr& session);

/// While the substrate is active and the Process lives, those who wait in one lend time to the other (contract: no deadlock
/// that a single MPI library would not have). Called when the substrate has started (true) and before it ends (false).
void share_progress(bool substrate_is_active);

// The substrate may share its connection to the launcher with us (bootstrap::ProcessLife). Around its MPI_Init and MPI_Finalize,
// on the thread that calls them.

/// Lives from before MPI_Init until it has returned. Its end waits for nobody: a first session on another thread may be waiting
/// for it, with all that belongs to the Process locked.
class WorldStart {
 public:
  WorldStart();
  WorldStart(const WorldStart&) = delete;
  WorldStart& operator=(const WorldStart&) = delete;
  ~WorldStart();

 private:
  std::shared_ptr<bootstrap::ProcessLife> life_;
};
/// Before MPI_Finalize. Where sessions may follow (one has been there, or the program refers to them) the connection outlasts it.
void world_ends();
/// After MPI_Finalize, whatever it returned.
void world_ended();

}  // namespace shim::intercept
