// SPDX-License-Identifier: BSD-3-Clause
// Starts and ends the substrate, MPI-4.1 §11.2. Sessions are unaffected; the table of native
// functions changes, and cross-progress starts or stops.
#include "shim/intercept/generated/impl.hpp"
#include "shim/intercept/generated/table.hpp"
#include "shim/intercept/impl/arguments.hpp"
#include "shim/intercept/impl/p2p/buffer_pool.hpp"
#include "shim/intercept/impl/request/native_request.hpp"
#include "shim/intercept/impl/world/predefined_comms.hpp"
#include "shim/intercept/impl/world/served_world.hpp"
#include "shim/intercept/lifetime.hpp"
#include "shim/intercept/native/activity.hpp"
#include "shim/intercept/native/link_order.hpp"

namespace shim::intercept {
namespace {

/// Record the substrate's start: forward its calls from here on, and pass on earlier state.
void started(int thread_level) {
  enter_active(thread_level);
  warn_about_unknown_settings_in_world();
  couple_progress(true);
  attach_native_buffer();
}

/// Call the substrate's MPI_Init.
template <typename Call>
int call_native_init(const char* function, Call call) {
  if (const auto deleted = delete_attributes_of_self(); !deleted)
    return fail(Subject(), function, deleted.error());
  NativeInitScope start;
  return call();
}

/// @param provided null for MPI_Init.
int init_served(const char* function, int required, int* provided) {
  return run_with_handler(Subject(), function, [&]() -> base::Status {
    if (required < MPI_THREAD_SINGLE || required > MPI_THREAD_MULTIPLE)
      return base::Error(base::ErrorClass::arg,
                         "the thread level " + std::to_string(required) + " is invalid");
    SHIM_TRY(start_served_world(required));
    if (provided != nullptr) *provided = required;
    return {};
  });
}

}  // namespace

namespace impl {

int Init(int* argc, char*** argv) {
  if (const auto setting = check_world_setting(); !setting)
    return fail(Subject(), "MPI_Init", setting.error());
  if (is_served_world_selected()) return init_served("MPI_Init", MPI_THREAD_SINGLE, nullptr);
  become_globally_visible();
  int code = call_native_init("MPI_Init", [&] { return active_table.Init(argc, argv); });
  if (code != MPI_SUCCESS) return code;
  int level = MPI_THREAD_SINGLE;
  active_table.Query_thread(&level);
  started(level);
  return code;
}

int Init_thread(int* argc, char*** argv, int required, int* provided) {
  if (const auto setting = check_world_setting(); !setting)
    return fail(Subject(), "MPI_Init_thread", setting.error());
  if (is_served_world_selected()) return init_served("MPI_Init_thread", required, provided);
  become_globally_visible();
  int code = call_native_init(
      "MPI_Init_thread", [&] { return active_table.Init_thread(argc, argv, required, provided); });
  if (code == MPI_SUCCESS) started(*provided);
  return code;
}

/// Finalize the substrate. Callbacks inside it (attributes of MPI_COMM_SELF) may use the world
/// model until it ends.
int Finalize() {
  if (is_served_world_selected())
    return run_with_handler(Subject(), "MPI_Finalize", end_served_world);
  finish_detached();
  couple_progress(false);
  before_native_finalize();
  int code = active_table.Finalize();
  after_native_finalize();
  if (code == MPI_SUCCESS) enter_inactive();
  return code;
}

}  // namespace impl
}  // namespace shim::intercept
