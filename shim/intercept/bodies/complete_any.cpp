// SPDX-License-Identifier: BSD-3-Clause
// MPI_Waitany and MPI_Testany, MPI-4.1 §3.7.5: one request of an array.
#include "shim/intercept/bodies/mixed.hpp"
#include "shim/intercept/generated/bodies.hpp"

namespace shim::intercept {
namespace {

/// One look at an array: what was completed by it.
struct Pick {
  bool found = false;
  int index = MPI_UNDEFINED;  ///< MPI_UNDEFINED where the array has no active request
  int code = MPI_SUCCESS;     ///< of the operation; its handler has run
};

Pick pick_ours(const char* function, const Batch& batch, MPI_Request* requests, MPI_Status* status) {
  for (const auto& [index, object] : batch.ours()) {
    if (is_inactive(*object) || !is_ready(*object)) continue;
    return {true, index, finish(collect(*object, &requests[index], status), function)};
  }
  return {};
}

Pick pick(const char* function, Batch& batch, MPI_Request* requests, MPI_Status* status) {
  Pick picked = pick_ours(function, batch, requests, status);
  if (picked.found) return picked;
  auto native = batch.native().test_any(status);
  if (native && *native != MPI_UNDEFINED) {
    batch.native().put_back(requests);
    return {true, *native, batch.native().code()};
  }
  if (native && !batch.has_active()) {
    abi::write_empty_status(status);
    return {true};
  }
  return {};
}

}  // namespace

namespace ours {

int Waitany(int count, MPI_Request requests[], int* index, MPI_Status* status) {
  constexpr const char* kName = "MPI_Waitany";
  if (index == nullptr) return fail(Subject(), kName, slow::no_output("index"));
  Batch batch;
  if (auto added = batch.add(count, requests); !added) return fail(Subject(), kName, added.error());
  Pick picked;
  auto waited = batch.wait_until([&] { return (picked = pick(kName, batch, requests, status)).found; });
  if (!waited) return fail(Subject(), kName, waited.error());
  *index = picked.index;
  return picked.code;
}

int Testany(int count, MPI_Request requests[], int* index, int* flag, MPI_Status* status) {
  constexpr const char* kName = "MPI_Testany";
  if (index == nullptr) return fail(Subject(), kName, slow::no_output("index"));
  if (flag == nullptr) return fail(Subject(), kName, slow::no_output("flag"));
  Batch batch;
  if (auto added = batch.add(count, requests); !added) return fail(Subject(), kName, added.error());
  auto moved = batch.progress();
  if (!moved) return fail(Subject(), kName, moved.error());
  Pick picked = pick(kName, batch, requests, status);
  *flag = picked.found;
  *index = picked.index;
  return picked.code;
}

}  // namespace ours
}  // namespace shim::intercept
