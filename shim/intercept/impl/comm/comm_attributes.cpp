// SPDX-License-Identifier: BSD-3-Clause
// Implements attributes of communicators: the user's (MPI-4.1 §7.7.2, §16.1) and predefined ones
// (§9.1.2).
#include "shim/intercept/impl/comm/comm_attributes.hpp"

#include <atomic>
#include <string_view>

#include "shim/base/parsing.hpp"
#include "shim/base/settings.hpp"
#include "shim/intercept/abi/library.hpp"
#include "shim/intercept/generated/impl.hpp"
#include "shim/intercept/generated/table.hpp"
#include "shim/intercept/handles/user_codes.hpp"
#include "shim/intercept/handles/world_comms.hpp"
#include "shim/intercept/impl/attributes.hpp"
#include "shim/intercept/impl/comm_arguments.hpp"
#include "shim/intercept/native/activity.hpp"
#include "shim/sessions/pset_names.hpp"

namespace shim::intercept {
namespace {

using sessions::AttributeValue;
using sessions::CommunicatorPtr;
using sessions::KeyFor;

/// Return this process's application number in its launch; nothing if the launcher started only one
/// application.
std::optional<int> application_of(sessions::Process& process) {
  for (const std::string& name : process.sets().names()) {
    if (!name.starts_with(sessions::kAppPrefix)) continue;
    auto group = process.sets().find(name);
    if (group && (*group)->rank_of(process.self()) != sessions::kUndefined)
      return base::number_in<int>(std::string_view(name).substr(sessions::kAppPrefix.size()));
  }
  return std::nullopt;
}

/// Numbers of the launcher as integers of C, to whose addresses attributes point.
struct LaunchValues {
  std::optional<int> universe_size, app_number;
};

/// Query the launcher for its numbers, and complete them as the native library does.
LaunchValues query_launch_values(sessions::Process& process) {
  const bootstrap::LaunchNumbers passed = process.bootstrap().query_launch_numbers();
  LaunchValues found{passed.universe_size, passed.app_number};
  if (abi::kUniverseSizeVariable != nullptr)
    if (const auto text = base::from_environment(abi::kUniverseSizeVariable))
      if (const auto number = base::number_in<int>(*text)) found.universe_size = number;
  if (const auto application = application_of(process)) found.app_number = application;
  if (abi::kHasOnlyNumbersOfLauncher) return found;
  if (!found.universe_size) found.universe_size = static_cast<int>(process.bootstrap().job().size);
  if (!found.app_number) found.app_number = 0;
  return found;
}

/// Return what the first call has queried.
LaunchValues& launch_values(sessions::Process& process) {
  static LaunchValues queried = query_launch_values(process);
  return queried;
}

/// Return the last code added in either library (MPI_Add_error_code).
int last_used_code() {
  if (auto added = user_codes().last_used()) return *added;
  int *value = nullptr, flag = 0;
  if (is_active() &&
      active_table.Comm_get_attr(abi::predefined.comm_world, MPI_LASTUSEDCODE, &value, &flag) ==
          MPI_SUCCESS &&
      flag != 0)
    return *value;
  return MPI_ERR_LASTCODE;
}

/// Return the address of a predefined value, as MPI does. On session communicators the standard
/// requires only MPI_TAG_UB; the others have values that are known without world communicator, and
/// refer to mpi://WORLD if they count processes.
PredefinedValue predefined_value(sessions::Process& process, int number) {
  static int tag_upper_bound = p2p::kTagUpperBound, any_rank = MPI_ANY_SOURCE,
             no_host = MPI_PROC_NULL, is_global = 0;
  static int last_code = 0;
  switch (number) {
    case MPI_TAG_UB:
      return &tag_upper_bound;
    case MPI_IO:
      return &any_rank;
    case MPI_HOST:
      return &no_host;
    case MPI_WTIME_IS_GLOBAL:
      return &is_global;
    case MPI_UNIVERSE_SIZE: {
      static int size = static_cast<int>(process.bootstrap().job().size);
      return &size;
    }
    case MPI_APPNUM: {  // queries the launcher
      static int application = launch_values(process).app_number.value_or(0);
      return &application;
    }
    case MPI_LASTUSEDCODE:  // users may add some; relaxed: a plain number
      std::atomic_ref(last_code).store(last_used_code(), std::memory_order_relaxed);
      return &last_code;
    default:
      return std::nullopt;
  }
}

PredefinedValue launch_value(sessions::Process& process, int number) {
  LaunchValues& values = launch_values(process);
  std::optional<int>& value = number == MPI_UNIVERSE_SIZE ? values.universe_size
                                                          : values.app_number;
  return value ? &*value : nullptr;
}

PredefinedValue predefined_value_on(MPI_Comm comm, sessions::Process& process, int number) {
  const MPI_Comm shown = programs_handle(comm);
  return shown != comm ? predefined_comm_value(shown, process, number)
                       : predefined_value(process, number);
}

AttributeOwner owner(MPI_Comm handle, const CommunicatorPtr& comm) {
  return {KeyFor::communicator, abi::bits(programs_handle(handle)), comm->attributes()};
}

base::Result<OptionalCommAttribute> attribute_of(MPI_Comm comm, int keyval) {
  SHIM_TRY_ASSIGN(CommunicatorPtr found, get_comm(comm));
  return find_comm_attribute(predefined_value_on(comm, found->process(), keyval),
                             owner(comm, found), keyval);
}

int get(const char* function, MPI_Comm comm, int keyval, void* attribute, int* flag) {
  return run_with_handler(Subject::comm(comm), function, [&]() -> base::Status {
    SHIM_TRY_ASSIGN(const OptionalCommAttribute found, attribute_of(comm, keyval));
    return store_comm_attribute(found, attribute, flag);
  });
}

int set_comm_attribute(const char* function, MPI_Comm comm, int keyval,
                       const AttributeValue& value) {
  return run_with_handler(Subject::comm(comm), function, [&]() -> base::Status {
    SHIM_TRY_ASSIGN(CommunicatorPtr found, get_comm(comm));
    return set_attribute(owner(comm, found), keyval, value);
  });
}

int erase(const char* function, MPI_Comm comm, int keyval) {
  return run_with_handler(Subject::comm(comm), function, [&]() -> base::Status {
    SHIM_TRY_ASSIGN(CommunicatorPtr found, get_comm(comm));
    return delete_attribute(owner(comm, found), keyval);
  });
}

template <typename Copy, typename Delete>
sessions::Key key(Copy* copy, Delete* erase, void* extra_state) {
  return {KeyFor::communicator, MPI_KEYVAL_INVALID, reinterpret_cast<void (*)()>(copy),
          reinterpret_cast<void (*)()>(erase), extra_state};
}
template <typename Copy, typename Delete>
sessions::Key key_of_mpi1(Copy* copy, Delete* erase, void* extra_state) {
  sessions::Key made = key(copy, erase, extra_state);
  made.is_of_mpi1 = true;
  return made;
}

int make_native_comm_key(const sessions::Key& key, int* number) {
  return active_table.Comm_create_keyval(
      reinterpret_cast<MPI_Comm_copy_attr_function*>(key.copy),
      reinterpret_cast<MPI_Comm_delete_attr_function*>(key.erase), number, key.extra_state);
}
int make_native_mpi1_key(const sessions::Key& key, int* number) {
  return active_table.Keyval_create(reinterpret_cast<MPI_Copy_function*>(key.copy),
                                    reinterpret_cast<MPI_Delete_function*>(key.erase), number,
                                    key.extra_state);
}

}  // namespace

PredefinedValue predefined_comm_value(MPI_Comm predefined, sessions::Process& process, int number) {
  static int tag_upper_bound = abi::kTagUpperBound;
  const PredefinedValue of_sessions = predefined_value(process, number);
  if (!of_sessions) return of_sessions;
  if (predefined == MPI_Comm(abi::predefined.comm_self) && !abi::kSelfHasPredefinedAttributes)
    return nullptr;
  if (number == MPI_TAG_UB) return &tag_upper_bound;
  if (number != MPI_UNIVERSE_SIZE && number != MPI_APPNUM) return of_sessions;
  return launch_value(process, number);
}

base::Result<OptionalCommAttribute> find_comm_attribute(const PredefinedValue& predefined,
                                                        const AttributeOwner& owner, int keyval) {
  if (predefined) {
    return *predefined != nullptr ? OptionalCommAttribute(CommAttribute(*predefined))
                                  : OptionalCommAttribute();
  }
  SHIM_TRY_ASSIGN(std::optional<AttributeValue> value, get_attribute(owner, keyval));
  return value ? OptionalCommAttribute(CommAttribute(std::move(*value))) : OptionalCommAttribute();
}

base::Status store_comm_attribute(const OptionalCommAttribute& found, void* attribute, int* flag) {
  SHIM_TRY(check_output(attribute, "attribute"));
  SHIM_TRY(check_output(flag, "flag"));
  *flag = found.has_value();
  if (found) *static_cast<void**>(attribute) = found->as_pointer();
  return {};
}

void store_comm_number(const OptionalCommAttribute& found, std::intptr_t* value, bool* flag) {
  *flag = found.has_value();
  if (found) *value = found->as_number();
}

int get_comm_number(const char* function, MPI_Comm comm, int keyval, std::intptr_t* value,
                    bool* flag) {
  return run_with_handler(Subject::comm(comm), function, [&]() -> base::Status {
    SHIM_TRY_ASSIGN(const OptionalCommAttribute found, attribute_of(comm, keyval));
    store_comm_number(found, value, flag);
    return {};
  });
}

int set_comm_number(const char* function, MPI_Comm comm, int keyval, std::intptr_t value) {
  return set_comm_attribute(function, comm, keyval, AttributeValue::of_number(value));
}

namespace impl {

int Comm_create_keyval(MPI_Comm_copy_attr_function* comm_copy_attr_fn,
                       MPI_Comm_delete_attr_function* comm_delete_attr_fn, int* comm_keyval,
                       void* extra_state) {
  return create_key("MPI_Comm_create_keyval",
                    key(comm_copy_attr_fn, comm_delete_attr_fn, extra_state), comm_keyval,
                    make_native_comm_key);
}
int Keyval_create(MPI_Copy_function* copy_fn, MPI_Delete_function* delete_fn, int* keyval,
                  void* extra_state) {
  return create_key("MPI_Keyval_create", key_of_mpi1(copy_fn, delete_fn, extra_state), keyval,
                    make_native_mpi1_key);
}
int Comm_free_keyval(int* comm_keyval) {
  return free_key("MPI_Comm_free_keyval", KeyFor::communicator, comm_keyval,
                  [](int* number) -> int { return active_table.Comm_free_keyval(number); });
}
int Keyval_free(int* keyval) {
  return free_key("MPI_Keyval_free", KeyFor::communicator, keyval,
                  [](int* number) -> int { return active_table.Keyval_free(number); });
}

int Comm_get_attr(MPI_Comm comm, int keyval, void* attribute_val, int* flag) {
  return get("MPI_Comm_get_attr", comm, keyval, attribute_val, flag);
}
int Attr_get(MPI_Comm comm, int keyval, void* attribute_val, int* flag) {
  return get("MPI_Attr_get", comm, keyval, attribute_val, flag);
}
int Comm_set_attr(MPI_Comm comm, int comm_keyval, void* attribute_val) {
  return set_comm_attribute("MPI_Comm_set_attr", comm, comm_keyval, attribute_val);
}
int Attr_put(MPI_Comm comm, int keyval, void* attribute_val) {
  return set_comm_attribute("MPI_Attr_put", comm, keyval, attribute_val);
}
int Comm_delete_attr(MPI_Comm comm, int comm_keyval) {
  return erase("MPI_Comm_delete_attr", comm, comm_keyval);
}
int Attr_delete(MPI_Comm comm, int keyval) { return erase("MPI_Attr_delete", comm, keyval); }

}  // namespace impl
}  // namespace shim::intercept
