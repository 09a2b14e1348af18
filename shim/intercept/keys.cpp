// SPDX-License-Identifier: BSD-3-Clause
#include "shim/intercept/keys.hpp"

#include <mpi.h>

#include <atomic>
#include <mutex>
#include <string>
#include <unordered_map>

#include "shim/intercept/errors.hpp"
#include "shim/intercept/generated/table.hpp"
#include "shim/intercept/substrate.hpp"

namespace shim::intercept {
namespace {

using base::Error;
using base::ErrorClass;
using sessions::Key;
using sessions::KeyFor;
using sessions::KeyPtr;

struct Known {
  KeyPtr key;
  int twin = MPI_KEYVAL_INVALID;  ///< what stands for a key of ours below
};

/// Never destroyed: attributes may be deleted while the program ends.
struct Keys {
  std::mutex mutex;  ///< guards what follows
  std::unordered_map<int, Known> by_number;
  int made = 0;      ///< keys of ours so far
};
Keys& keys() {
  static Keys& known = *new Keys;
  return known;
}

// The twin's functions: they give the user's the number that the user knows. Their extra state is the key, which is kept for good.

template <typename Object, typename Function>
int copy_below(Object from, int, void* extra_state, void* value, void* copy, int* flag) {
  const Key& key = *static_cast<const Key*>(extra_state);
  *flag = 0;
  if (key.copy == nullptr) return MPI_SUCCESS;
  return reinterpret_cast<Function*>(key.copy)(from, key.number, key.extra_state, value, copy, flag);
}
template <typename Object, typename Function>
int erase_below(Object from, int, void* value, void* extra_state) {
  const Key& key = *static_cast<const Key*>(extra_state);
  return key.erase == nullptr ? MPI_SUCCESS : reinterpret_cast<Function*>(key.erase)(from, key.number, value, key.extra_state);
}

base::Result<int> make_twin(const KeyPtr& key) {
  static auto& kept = *new std::vector<KeyPtr>;  // under the mutex of the keys
  kept.push_back(key);
  void* extra_state = const_cast<Key*>(key.get());
  int made = MPI_KEYVAL_INVALID;
  const int code =
      key->object == KeyFor::communicator
          ? active_table.Comm_create_keyval(copy_below<MPI_Comm, MPI_Comm_copy_attr_function>,
                                            erase_below<MPI_Comm, MPI_Comm_delete_attr_function>, &made, extra_state)
          : active_table.Type_create_keyval(copy_below<MPI_Datatype, MPI_Type_copy_attr_function>,
                                            erase_below<MPI_Datatype, MPI_Type_delete_attr_function>, &made, extra_state);
  if (code != MPI_SUCCESS) return Error(ErrorClass::other, "the MPI library below refuses a key (code " + std::to_string(code) + ")");
  return made;
}

base::Result<int> twin_of(int number) {
  Keys& known = keys();
  std::lock_guard lock(known.mutex);
  auto at = known.by_number.find(number);
  if (at == known.by_number.end()) return Error(ErrorClass::keyval, "the key " + std::to_string(number) + " was freed");
  if (at->second.twin == MPI_KEYVAL_INVALID) {
    SHIM_TRY_ASSIGN(at->second.twin, make_twin(at->second.key));
  }
  return at->second.twin;
}

}  // namespace

base::Result<int> make_key(Key key) {
  Keys& known = keys();
  std::lock_guard lock(known.mutex);
  if (known.made == kMostKeys) return Error(ErrorClass::no_mem, "no more keys of attributes can be made in this program");
  key.number = kFirstKey + known.made++;
  known.by_number[key.number] = {std::make_shared<Key>(key)};
  return key.number;
}

void remember_native_key(Key key) {
  Keys& known = keys();
  std::lock_guard lock(known.mutex);
  known.by_number[key.number] = {std::make_shared<Key>(key)};  // an old one of this number is gone
}

KeyPtr find_key(int number) {
  Keys& known = keys();
  std::lock_guard lock(known.mutex);
  auto at = known.by_number.find(number);
  return at == known.by_number.end() ? nullptr : at->second.key;
}

bool forget_key(int number) {
  Known forgotten;
  {
    Keys& known = keys();
    std::lock_guard lock(known.mutex);
    auto at = known.by_number.find(number);
    if (at == known.by_number.end()) return false;
    forgotten = std::move(at->second);
    known.by_number.erase(at);
  }
  if (forgotten.twin == MPI_KEYVAL_INVALID || !is_active()) return true;
  if (forgotten.key->object == KeyFor::communicator) active_table.Comm_free_keyval(&forgotten.twin);
  else active_table.Type_free_keyval(&forgotten.twin);
  return true;
}

/// Outside MPI_Init … MPI_Finalize no key can be made below, and no object be given one.
int twin_keyval(const Subject& subject, const char* function, int& keyval) {
  if (!is_key_of_ours(keyval) || !notice_activity()) return MPI_SUCCESS;
  return deliver(subject, function, [&]() -> base::Status {
    SHIM_TRY_ASSIGN(keyval, twin_of(keyval));
    return {};
  });
}

}  // namespace shim::intercept
