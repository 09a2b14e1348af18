// SPDX-License-Identifier: BSD-3-Clause
// The attributes that every communicator has from the start, MPI-4.1 §9.1.2. Caching of the user's own is not here yet.
#include "shim/intercept/bodies/communicators.hpp"
#include "shim/intercept/generated/bodies.hpp"

namespace shim::intercept {
namespace {

/// MPI hands out the address of the value; the values never change.
int* value_of(int keyval) {
  static int tag_upper_bound = p2p::kTagUpperBound, any_rank = MPI_ANY_SOURCE, no_host = MPI_PROC_NULL, is_global = 0;
  switch (keyval) {
    case MPI_TAG_UB: return &tag_upper_bound;
    case MPI_IO: return &any_rank;
    case MPI_HOST: return &no_host;
    case MPI_WTIME_IS_GLOBAL: return &is_global;
    default: return nullptr;
  }
}

int get(const char* function, MPI_Comm comm, int keyval, void* attribute, int* flag) {
  return deliver(Subject::comm(comm), function, [&]() -> base::Status {
    SHIM_TRY(take_comm(comm));
    SHIM_TRY(check_output(attribute, "attribute"));
    SHIM_TRY(check_output(flag, "flag"));
    if (keyval == MPI_KEYVAL_INVALID) return base::Error(base::ErrorClass::keyval, "the key is MPI_KEYVAL_INVALID");
    int* value = value_of(keyval);
    *flag = value != nullptr;
    if (value != nullptr) *static_cast<int**>(attribute) = value;
    return {};
  });
}

}  // namespace

namespace ours {

int Comm_get_attr(MPI_Comm comm, int keyval, void* attribute_val, int* flag) {
  return get("MPI_Comm_get_attr", comm, keyval, attribute_val, flag);
}
int Attr_get(MPI_Comm comm, int keyval, void* attribute_val, int* flag) {
  return get("MPI_Attr_get", comm, keyval, attribute_val, flag);
}

}  // namespace ours
}  // namespace shim::intercept
