// SPDX-License-Identifier: BSD-3-Clause
// Starting and ending the substrate, MPI-4.1 §11.2. Sessions do not care; only the table of calls changes, and who lends time
// to whom.
#include "shim/intercept/bodies/below_request.hpp"
#include "shim/intercept/buffer_pool.hpp"
#include "shim/intercept/generated/bodies.hpp"
#include "shim/intercept/generated/table.hpp"
#include "shim/intercept/lifetime.hpp"
#include "shim/intercept/link_order.hpp"
#include "shim/intercept/substrate.hpp"

namespace shim::intercept {
namespace {

/// The substrate has started: from here on its calls go to it, and what it needs to know of earlier it is told.
void started(int thread_level) {
  enter_active(thread_level);
  attach_below();
}

/// The substrate's own MPI_Init.
template <typename Call>
int init_below(Call call) {
  WorldStart start;
  return call();
}

}  // namespace

namespace ours {

int Init(int* argc, char*** argv) {
  stay_in_front();
  int code = init_below([&] { return active_table.Init(argc, argv); });
  if (code != MPI_SUCCESS) return code;
  int level = MPI_THREAD_SINGLE;
  active_table.Query_thread(&level);
  started(level);
  return code;
}

int Init_thread(int* argc, char*** argv, int required, int* provided) {
  stay_in_front();
  int code = init_below([&] { return active_table.Init_thread(argc, argv, required, provided); });
  if (code == MPI_SUCCESS) started(*provided);
  return code;
}

/// Callbacks that run inside (attributes of MPI_COMM_SELF) may use the world model to the end.
int Finalize() {
  finish_let_go();
  prepare_idle();
  world_ends();
  int code = active_table.Finalize();
  world_ended();
  if (code == MPI_SUCCESS) enter_idle();
  return code;
}

}  // namespace ours
}  // namespace shim::intercept
