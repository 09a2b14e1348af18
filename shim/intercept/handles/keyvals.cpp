// SPDX-License-Identifier: BSD-3-Clause
#include "shim/intercept/handles/keyvals.hpp"

#include <mpi.h>

#include <atomic>
#include <mutex>
#include <string>
#include <unordered_map>

#include "shim/intercept/abi/ours.hpp"
#include "shim/intercept/generated/table.hpp"
#include "shim/intercept/native/activity.hpp"
#include "shim/intercept/native/fortran.hpp"

namespace shim::intercept {
namespace {

using base::Error;
using base::ErrorClass;
using sessions::Key;
using sessions::KeyFor;
using sessions::KeyPtr;

struct KnownKey {
  KeyPtr key;
  int native_key = MPI_KEYVAL_INVALID;  ///< native handle of a key of ours
};

/// Never destroyed: attributes may be deleted during exit.
struct Keys {
  std::mutex mutex;  ///< guards all members
  std::unordered_map<int, KnownKey> by_number;
  int made = 0;  ///< number of our keys so far
};
Keys& keys() {
  static Keys& known = *new Keys;
  return known;
}

// Functions of the native keys: they call the user's with the number that the user knows. Their
// extra state is the key, which is never freed.

template <typename Object, typename Function>
int native_copy(Object from, int, void* extra_state, void* value, void* copy, int* flag) {
  const Key& key = *static_cast<const Key*>(extra_state);
  *flag = 0;
  if (key.copy == nullptr) return MPI_SUCCESS;
  return reinterpret_cast<Function*>(key.copy)(from, key.number, key.extra_state, value, copy,
                                               flag);
}
template <typename Object, typename Function>
int native_erase(Object from, int, void* value, void* extra_state) {
  const Key& key = *static_cast<const Key*>(extra_state);
  return key.erase == nullptr
             ? MPI_SUCCESS
             : reinterpret_cast<Function*>(key.erase)(from, key.number, value, key.extra_state);
}

int make_native_key(const Key& key, int* made) {
  if (key.language == sessions::KeyLanguage::fortran) return fortran::make_native_key(key, made);
  void* extra_state = const_cast<Key*>(&key);
  return key.object == KeyFor::communicator
             ? active_table.Comm_create_keyval(
                   native_copy<MPI_Comm, MPI_Comm_copy_attr_function>,
                   native_erase<MPI_Comm, MPI_Comm_delete_attr_function>, made, extra_state)
             : active_table.Type_create_keyval(
                   native_copy<MPI_Datatype, MPI_Type_copy_attr_function>,
                   native_erase<MPI_Datatype, MPI_Type_delete_attr_function>, made, extra_state);
}

base::Result<int> make_native_handle(const KeyPtr& key) {
  static auto& kept = *new std::vector<KeyPtr>;  // guarded by the mutex of the keys
  kept.push_back(key);
  int made = MPI_KEYVAL_INVALID;
  const int code = make_native_key(*key, &made);
  if (code != MPI_SUCCESS)
    return Error(ErrorClass::other,
                 "the native MPI library cannot create an attribute key (error code " +
                     std::to_string(code) + ")");
  return made;
}

}  // namespace

base::Result<int> make_key(Key key) {
  Keys& known = keys();
  std::lock_guard lock(known.mutex);
  if (known.made == abi::kMaxKeys)
    return Error(ErrorClass::no_mem, "no more attribute keys can be created in this program");
  key.number = abi::kFirstKey + known.made++;
  known.by_number[key.number] = {std::make_shared<Key>(key)};
  return key.number;
}

void remember_native_key(Key key) {
  Keys& known = keys();
  std::lock_guard lock(known.mutex);
  // a previous key of this number was freed
  known.by_number[key.number] = {std::make_shared<Key>(key)};
}

void change_key_to_fortran(int number) {
  Keys& known = keys();
  std::lock_guard lock(known.mutex);
  auto at = known.by_number.find(number);
  if (at == known.by_number.end() || at->second.key->language == sessions::KeyLanguage::fortran)
    return;
  Key changed = *at->second.key;
  changed.language = sessions::KeyLanguage::fortran;
  const void* address = changed.extra_state;
  const std::intptr_t extra_state = changed.is_of_mpi1 ? *static_cast<const MPI_Fint*>(address)
                                                       : *static_cast<const MPI_Aint*>(address);
  changed.extra_state = reinterpret_cast<void*>(extra_state);
  at->second.key = std::make_shared<Key>(changed);
}

KeyPtr find_key(int number) {
  Keys& known = keys();
  std::lock_guard lock(known.mutex);
  auto at = known.by_number.find(number);
  return at == known.by_number.end() ? nullptr : at->second.key;
}

bool forget_key(int number) {
  KnownKey forgotten;
  {
    Keys& known = keys();
    std::lock_guard lock(known.mutex);
    auto at = known.by_number.find(number);
    if (at == known.by_number.end()) return false;
    forgotten = std::move(at->second);
    known.by_number.erase(at);
  }
  if (forgotten.native_key == MPI_KEYVAL_INVALID || !is_active()) return true;
  if (forgotten.key->object == KeyFor::communicator)
    active_table.Comm_free_keyval(&forgotten.native_key);
  else
    active_table.Type_free_keyval(&forgotten.native_key);
  return true;
}

base::Result<int> native_key_of(int number) {
  Keys& known = keys();
  std::lock_guard lock(known.mutex);
  auto at = known.by_number.find(number);
  if (at == known.by_number.end())
    return Error(ErrorClass::keyval, "the key " + std::to_string(number) + " was freed");
  if (at->second.native_key == MPI_KEYVAL_INVALID) {
    SHIM_TRY_ASSIGN(at->second.native_key, make_native_handle(at->second.key));
  }
  return at->second.native_key;
}

}  // namespace shim::intercept
