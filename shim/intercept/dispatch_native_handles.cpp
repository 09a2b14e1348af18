// SPDX-License-Identifier: BSD-3-Clause
// Makes native handles for Intersession's objects that the program passes to the substrate's calls.
// A native handle is made at the first such call.
#include <array>
#include <string>
#include <vector>

#include "shim/intercept/abi/ours.hpp"
#include "shim/intercept/abi/predefined.hpp"
#include "shim/intercept/dispatch.hpp"
#include "shim/intercept/errors.hpp"
#include "shim/intercept/generated/table.hpp"
#include "shim/intercept/handles/keyvals.hpp"
#include "shim/intercept/handles/objects.hpp"
#include "shim/intercept/handles/user_operations.hpp"
#include "shim/intercept/native/activity.hpp"
#include "shim/intercept/native/fortran.hpp"
#include "shim/intercept/native/substrate.hpp"

namespace shim::intercept {
namespace {

using base::Error;
using base::ErrorClass;

/// The substrate has already raised the error through its own handler.
Error native_failure(const char* what, int code) {
  return Error(ErrorClass::other, std::string("the native MPI library cannot create ") + what +
                                      " (error code " + std::to_string(code) + ")");
}

base::Result<MPI_Info> make_native_handle(const InfoObject& object) {
  MPI_Info made = abi::predefined.info_null;
  if (int code = active_table.Info_create(&made)) return native_failure("an info object", code);
  for (int i = 0; i < static_cast<int>(object.info->size()); ++i) {
    SHIM_TRY_ASSIGN(std::string key, object.info->nth_key(i));
    // skip keys and values longer than the substrate supports: hints that it cannot know
    auto value = object.info->get(key);
    if (value && key.size() <= MPI_MAX_INFO_KEY && value->size() <= MPI_MAX_INFO_VAL)
      active_table.Info_set(made, key.c_str(), value->c_str());
  }
  return made;
}

int make_native(const sessions::ErrorHandler& handler, MPI_Errhandler* made) {
  if (handler.is_fortran) return fortran::make_native_errhandler(handler, made);
  switch (handler.object) {
    case sessions::HandlerFor::window:
      return active_table.Win_create_errhandler(
          reinterpret_cast<MPI_Win_errhandler_function*>(handler.function), made);
    case sessions::HandlerFor::file:
      return active_table.File_create_errhandler(
          reinterpret_cast<MPI_File_errhandler_function*>(handler.function), made);
    default:
      return active_table.Comm_create_errhandler(
          reinterpret_cast<MPI_Comm_errhandler_function*>(handler.function), made);
  }
}

base::Result<MPI_Errhandler> make_native_handle(const sessions::ErrorHandler& handler) {
  if (handler.object == sessions::HandlerFor::session)
    return Error(ErrorClass::errhandler, "the error handler was created for sessions");
  MPI_Errhandler made = abi::predefined.errhandler_null;
  if (int code = make_native(handler, &made)) return native_failure("an error handler", code);
  return made;
}

/// Make the group by ranks in MPI_COMM_WORLD, which equal the launcher's ranks and thus ours.
base::Result<MPI_Group> make_native_handle(const sessions::Group& group) {
  int size = 0;
  MPI_Group world = abi::predefined.group_null, made = abi::predefined.group_null;
  if (int code = active_table.Comm_size(abi::predefined.comm_world, &size))
    return native_failure("a group", code);
  std::vector<std::array<int, 3>> triplets;
  for (const sessions::ProcessRange& range : group.ranges()) {
    if (range.world != 0 || range.highest() >= size)
      return Error(ErrorClass::group, "the group " + group.text() +
                                          " has members outside MPI_COMM_WORLD, which the native "
                                          "MPI library does not know");
    triplets.push_back({static_cast<int>(range.start),
                        static_cast<int>(range.at(std::int64_t{range.count} - 1)), range.stride});
  }
  if (int code = active_table.Comm_group(abi::predefined.comm_world, &world))
    return native_failure("a group", code);
  const int code = active_table.Group_range_incl(world, static_cast<int>(triplets.size()),
                                                 reinterpret_cast<int(*)[3]>(triplets.data()),
                                                 &made);
  active_table.Group_free(&world);
  if (code != MPI_SUCCESS) return native_failure("a group", code);
  return made;
}

/// Return the native handle, made at the first need. If two threads make one at the same time, free
/// the second.
template <typename Native, typename Make, typename Free>
base::Result<Native> first_made(NativeHandle<Native>& kept, const Make& make, const Free& free) {
  if (const Native present = kept.get(); !abi::is_unset(present)) return present;
  SHIM_TRY_ASSIGN(Native made, make());
  const Native first = kept.set_first(made);
  if (first != made) free(made);
  return first;
}

void free_errhandler(MPI_Errhandler& made) { active_table.Errhandler_free(&made); }

/// Implement MPI_ERRORS_ABORT for an older library that lacks it: end the job, as MPI_Abort on the
/// object's communicator would.
void abort_handler(MPI_Comm*, int* code, ...) { end_job("MPI_ERRORS_ABORT was called", *code); }

base::Result<MPI_Errhandler> native_abort_handler() {
  static constinit NativeHandle<MPI_Errhandler> native_handle;
  const auto make = []() -> base::Result<MPI_Errhandler> {
    MPI_Errhandler made = abi::predefined.errhandler_null;
    if (int code = active_table.Comm_create_errhandler(abort_handler, &made))
      return native_failure("an error handler", code);
    return made;
  };
  return first_made(native_handle, make, free_errhandler);
}

/// Replace a handle with its native handle, made at the first need.
template <typename Object, typename Handle, typename Make, typename Free>
int replace(const Subject& subject, const char* function, base::Result<Object*> found,
            Handle& handle, Make make, Free free) {
  return run_with_handler(subject, function, [&]() -> base::Status {
    SHIM_TRY_ASSIGN(Object * object, std::move(found));
    SHIM_TRY_ASSIGN(handle, first_made(
                                object->native_handle, [&] { return make(*object); }, free));
    return {};
  });
}

/// True if the handle needs no replacement. Outside MPI_Init … MPI_Finalize no native handle can be
/// made; the call reaches impl_when_inactive::X, which accepts our objects. (Detects activity
/// again: otherwise a native library initialised unseen would get our handle from the inactive
/// table.)
template <typename Handle>
bool is_passed_unchanged(Handle handle) {
  return !abi::is_ours(handle) || !detect_activity();
}

}  // namespace

int to_native_info(const Subject& subject, const char* function, MPI_Info& info) {
  if (is_passed_unchanged(info)) return MPI_SUCCESS;
  return replace(
      subject, function, info_of(info), info,
      [](const InfoObject& object) { return make_native_handle(object); },
      [](MPI_Info& made) { active_table.Info_free(&made); });
}

int to_native_errhandler(const Subject& subject, const char* function, MPI_Errhandler& handler) {
  if (handler == MPI_ERRORS_ABORT && is_active())
    return run_with_handler(subject, function, [&]() -> base::Status {
      SHIM_TRY_ASSIGN(handler, native_abort_handler());
      return {};
    });
  if (is_passed_unchanged(handler)) return MPI_SUCCESS;
  return replace(
      subject, function, errhandler_of(handler), handler,
      [](const ErrhandlerObject& object) { return make_native_handle(*object.handler); },
      free_errhandler);
}

int to_native_group(const Subject& subject, const char* function, MPI_Group& group) {
  if (is_passed_unchanged(group)) return MPI_SUCCESS;
  return replace(
      subject, function, group_of(group), group,
      [](const GroupObject& object) { return make_native_handle(*object.group); },
      [](MPI_Group& made) { active_table.Group_free(&made); });
}

int to_native_datatype(const Subject& subject, const char* function, MPI_Datatype& datatype) {
  if (is_passed_unchanged(datatype)) return MPI_SUCCESS;
  return run_with_handler(subject, function, [&]() -> base::Status {
    SHIM_TRY_ASSIGN(DatatypeObject * object, datatype_of(datatype));
    SHIM_TRY_ASSIGN(datatype, object->derived->native_handle());
    return {};
  });
}

int to_native_op(const Subject& subject, const char* function, MPI_Op& op) {
  if (is_passed_unchanged(op)) return MPI_SUCCESS;
  return replace(
      subject, function, op_of(op), op,
      [](const OpObject& object) { return make_native_operation(*object.operation); },
      free_native_operation);
}

/// Return success outside MPI_Init … MPI_Finalize, where no native key can be made and no native
/// object can have an attribute.
int to_native_keyval(const Subject& subject, const char* function, int& keyval) {
  if (!abi::is_key_of_ours(keyval) || !detect_activity()) return MPI_SUCCESS;
  return run_with_handler(subject, function, [&]() -> base::Status {
    SHIM_TRY_ASSIGN(keyval, native_key_of(keyval));
    return {};
  });
}

}  // namespace shim::intercept
