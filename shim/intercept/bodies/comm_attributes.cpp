// SPDX-License-Identifier: BSD-3-Clause
// Attributes of communicators: the user's, MPI-4.1 §7.7.2 and §16.1, and those that every communicator has from the start, §9.1.2.
#include <atomic>
#include <cstdlib>

#include "shim/intercept/bodies/attributes.hpp"
#include "shim/intercept/bodies/communicators.hpp"
#include "shim/intercept/generated/bodies.hpp"
#include "shim/intercept/generated/table.hpp"
#include "shim/intercept/substrate.hpp"
#include "shim/intercept/user_codes.hpp"
#include "shim/sessions/pset_names.hpp"

namespace shim::intercept {
namespace {

using sessions::CommunicatorPtr;
using sessions::KeyFor;

/// The place of this process's application among those of its launch; nothing where the launcher started only one.
std::optional<int> application_of(sessions::Process& process) {
  for (const std::string& name : process.sets().names()) {
    if (!name.starts_with(sessions::kAppPrefix)) continue;
    auto group = process.sets().find(name);
    if (group && (*group)->rank_of(process.self()) != sessions::kUndefined) return std::atoi(name.c_str() + sessions::kAppPrefix.size());
  }
  return std::nullopt;
}

/// Users add codes here and below (MPI_Add_error_code).
int last_used_code() {
  if (auto added = user_codes().last_used()) return *added;
  int *value = nullptr, flag = 0;
  if (is_active() && active_table.Comm_get_attr(abi::predefined.comm_world, MPI_LASTUSEDCODE, &value, &flag) == MPI_SUCCESS && flag != 0)
    return *value;
  return MPI_ERR_LASTCODE;
}

/// MPI hands out the address of the value. Of a session's communicators the standard asks for MPI_TAG_UB alone; the others tell what
/// is known without a world communicator, of mpi://WORLD where it is a number of processes.
int* predefined_value(sessions::Process& process, int number) {
  static int tag_upper_bound = p2p::kTagUpperBound, any_rank = MPI_ANY_SOURCE, no_host = MPI_PROC_NULL, is_global = 0;
  static int universe_size = static_cast<int>(process.bootstrap().job().size), application = application_of(process).value_or(0);
  static int last_code = 0;
  switch (number) {
    case MPI_TAG_UB: return &tag_upper_bound;
    case MPI_IO: return &any_rank;
    case MPI_HOST: return &no_host;
    case MPI_WTIME_IS_GLOBAL: return &is_global;
    case MPI_UNIVERSE_SIZE: return &universe_size;
    case MPI_APPNUM: return &application;
    case MPI_LASTUSEDCODE:  // users may add some; relaxed: a plain number
      std::atomic_ref(last_code).store(last_used_code(), std::memory_order_relaxed);
      return &last_code;
    default: return nullptr;
  }
}

AttributeOwner owner(MPI_Comm handle, const CommunicatorPtr& comm) {
  return {KeyFor::communicator, abi::bits(handle), comm->attributes()};
}

int get(const char* function, MPI_Comm comm, int keyval, void* attribute, int* flag) {
  return deliver(Subject::comm(comm), function, [&]() -> base::Status {
    SHIM_TRY_ASSIGN(CommunicatorPtr found, take_comm(comm));
    SHIM_TRY(check_output(attribute, "attribute"));
    SHIM_TRY(check_output(flag, "flag"));
    std::optional<void*> value = predefined_value(found->process(), keyval);
    if (*value == nullptr) {
      SHIM_TRY_ASSIGN(value, get_attribute(owner(comm, found), keyval));
    }
    *flag = value.has_value();
    if (value) *static_cast<void**>(attribute) = *value;
    return {};
  });
}

int set(const char* function, MPI_Comm comm, int keyval, void* value) {
  return deliver(Subject::comm(comm), function, [&]() -> base::Status {
    SHIM_TRY_ASSIGN(CommunicatorPtr found, take_comm(comm));
    return set_attribute(owner(comm, found), keyval, value);
  });
}

int erase(const char* function, MPI_Comm comm, int keyval) {
  return deliver(Subject::comm(comm), function, [&]() -> base::Status {
    SHIM_TRY_ASSIGN(CommunicatorPtr found, take_comm(comm));
    return delete_attribute(owner(comm, found), keyval);
  });
}

template <typename Copy, typename Delete>
sessions::Key key(Copy* copy, Delete* erase, void* extra_state) {
  return {KeyFor::communicator, MPI_KEYVAL_INVALID, reinterpret_cast<void (*)()>(copy), reinterpret_cast<void (*)()>(erase), extra_state};
}

int make_below(const sessions::Key& key, int* number) {
  return active_table.Comm_create_keyval(reinterpret_cast<MPI_Comm_copy_attr_function*>(key.copy),
                                         reinterpret_cast<MPI_Comm_delete_attr_function*>(key.erase), number, key.extra_state);
}
int make_old_below(const sessions::Key& key, int* number) {
  return active_table.Keyval_create(reinterpret_cast<MPI_Copy_function*>(key.copy), reinterpret_cast<MPI_Delete_function*>(key.erase),
                                    number, key.extra_state);
}

}  // namespace

namespace ours {

int Comm_create_keyval(MPI_Comm_copy_attr_function* comm_copy_attr_fn, MPI_Comm_delete_attr_function* comm_delete_attr_fn,
                       int* comm_keyval, void* extra_state) {
  return create_key("MPI_Comm_create_keyval", key(comm_copy_attr_fn, comm_delete_attr_fn, extra_state), comm_keyval, make_below);
}
int Keyval_create(MPI_Copy_function* copy_fn, MPI_Delete_function* delete_fn, int* keyval, void* extra_state) {
  return create_key("MPI_Keyval_create", key(copy_fn, delete_fn, extra_state), keyval, make_old_below);
}
int Comm_free_keyval(int* comm_keyval) {
  return free_key("MPI_Comm_free_keyval", KeyFor::communicator, comm_keyval,
                  [](int* number) -> int { return active_table.Comm_free_keyval(number); });
}
int Keyval_free(int* keyval) {
  return free_key("MPI_Keyval_free", KeyFor::communicator, keyval, [](int* number) -> int { return active_table.Keyval_free(number); });
}

int Comm_get_attr(MPI_Comm comm, int keyval, void* attribute_val, int* flag) {
  return get("MPI_Comm_get_attr", comm, keyval, attribute_val, flag);
}
int Attr_get(MPI_Comm comm, int keyval, void* attribute_val, int* flag) {
  return get("MPI_Attr_get", comm, keyval, attribute_val, flag);
}
int Comm_set_attr(MPI_Comm comm, int comm_keyval, void* attribute_val) {
  return set("MPI_Comm_set_attr", comm, comm_keyval, attribute_val);
}
int Attr_put(MPI_Comm comm, int keyval, void* attribute_val) { return set("MPI_Attr_put", comm, keyval, attribute_val); }
int Comm_delete_attr(MPI_Comm comm, int comm_keyval) { return erase("MPI_Comm_delete_attr", comm, comm_keyval); }
int Attr_delete(MPI_Comm comm, int keyval) { return erase("MPI_Attr_delete", comm, keyval); }

}  // namespace ours
}  // namespace shim::intercept
