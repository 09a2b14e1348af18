// SPDX-License-Identifier: BSD-3-Clause
// Makes native objects with Fortran procedures. Handles are integers in MPICH, so that C functions
// make operations and error handlers of both languages.
#include "shim/intercept/abi/mpich/native/fortran.hpp"

#include <atomic>

#include "shim/intercept/generated/table.hpp"
#include "shim/intercept/native/fortran.hpp"

namespace shim::intercept::fortran {
namespace {

struct Proxies {
  std::atomic<Proxy*> copy, erase;
};
constinit Proxies proxies_of_mpi1{}, proxies{};

Proxies& proxies_of(const sessions::Key& key) { return key.is_of_mpi1 ? proxies_of_mpi1 : proxies; }

using SetProxy = void(int keyval, Proxy* copy, Proxy* erase);
constexpr const char* kSetProxy = "MPII_Keyval_set_proxy";

}  // namespace

void keep_proxies(const sessions::Key& key, Proxy* copy, Proxy* erase) {
  Proxies& kept = proxies_of(key);
  kept.copy.store(copy);
  kept.erase.store(erase);
}

int make_native_key(const sessions::Key& key, int* made) {
  const Proxies& called_by = proxies_of(key);
  void* extra_state = const_cast<void**>(&key.extra_state);
  auto* copy = reinterpret_cast<MPI_Comm_copy_attr_function*>(key.copy);
  auto* erase = reinterpret_cast<MPI_Comm_delete_attr_function*>(key.erase);
  const int code = key.object == sessions::KeyFor::communicator
                       ? active_table.Comm_create_keyval(copy, erase, made, extra_state)
                       : active_table.Type_create_keyval(copy, erase, made, extra_state);
  if (code != MPI_SUCCESS) return code;
  auto* const set_proxy = find_native<SetProxy>(kSetProxy);
  if (set_proxy == nullptr) return fail_without_native("MPI_Comm_create_keyval", kSetProxy);
  set_proxy(*made, called_by.copy.load(), called_by.erase.load());
  return code;
}

int make_native_operation(MPI_User_function* function, bool commutes, MPI_Op* made) {
  return active_table.Op_create(function, commutes, made);
}

int make_native_errhandler(const sessions::ErrorHandler& handler, MPI_Errhandler* made) {
  return active_table.Comm_create_errhandler(
      reinterpret_cast<MPI_Comm_errhandler_function*>(handler.function), made);
}

}  // namespace shim::intercept::fortran
