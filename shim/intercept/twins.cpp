// SPDX-License-Identifier: BSD-3-Clause
// Objects of ours in calls of the substrate: each gets a twin there when it is first needed (contract: objects mix).
#include <string>

#include "shim/intercept/abi/predefined.hpp"
#include "shim/intercept/border.hpp"
#include "shim/intercept/errors.hpp"
#include "shim/intercept/generated/table.hpp"
#include "shim/intercept/native/substrate.hpp"
#include "shim/intercept/objects.hpp"
#include "shim/intercept/operations.hpp"
#include "shim/intercept/substrate.hpp"

namespace shim::intercept {
namespace {

using base::Error;
using base::ErrorClass;

/// The substrate raised the error already, through the handler it found right.
Error failed_below(const char* what, int code) {
  return Error(ErrorClass::other, std::string("the MPI library below refuses ") + what + " (code " + std::to_string(code) + ")");
}

base::Result<MPI_Info> make_twin(const InfoObject& object) {
  MPI_Info made = abi::predefined.info_null;
  if (int code = active_table.Info_create(&made)) return failed_below("an info object", code);
  for (int i = 0; i < static_cast<int>(object.info->size()); ++i) {
    SHIM_TRY_ASSIGN(std::string key, object.info->nth_key(i));
    // longer keys and values than the substrate has room for are hints it cannot know
    auto value = object.info->get(key);
    if (value && key.size() <= MPI_MAX_INFO_KEY && value->size() <= MPI_MAX_INFO_VAL)
      active_table.Info_set(made, key.c_str(), value->c_str());
  }
  return made;
}

int make_below(const sessions::ErrorHandler& handler, MPI_Errhandler* made) {
  switch (handler.object) {
    case sessions::HandlerFor::window:
      return active_table.Win_create_errhandler(reinterpret_cast<MPI_Win_errhandler_function*>(handler.function), made);
    case sessions::HandlerFor::file:
      return active_table.File_create_errhandler(reinterpret_cast<MPI_File_errhandler_function*>(handler.function), made);
    default: return active_table.Comm_create_errhandler(reinterpret_cast<MPI_Comm_errhandler_function*>(handler.function), made);
  }
}

base::Result<MPI_Errhandler> make_twin(const sessions::ErrorHandler& handler) {
  if (handler.object == sessions::HandlerFor::session)
    return Error(ErrorClass::errhandler, "the error handler was made for sessions");
  MPI_Errhandler made = abi::predefined.errhandler_null;
  if (int code = make_below(handler, &made)) return failed_below("an error handler", code);
  return made;
}

/// MPI_ERRORS_ABORT, which an older library has not: ends the job as MPI_Abort on the object's communicator would.
void abort_handler(MPI_Comm*, int* code, ...) { end_job("MPI_ERRORS_ABORT was called", *code); }

base::Result<MPI_Errhandler> abort_twin() {
  static constinit std::atomic<MPI_Errhandler> twin{};
  if (MPI_Errhandler made = twin.load(std::memory_order_acquire); !abi::is_unset(made)) return made;  // pairs with the release below
  MPI_Errhandler made = abi::predefined.errhandler_null;
  if (int code = active_table.Comm_create_errhandler(abort_handler, &made)) return failed_below("an error handler", code);
  twin.store(made, std::memory_order_release);  // two threads may make two; either will do
  return made;
}

/// Puts the twin in the handle's place, making it at the first need.
template <typename Object, typename Handle, typename Make>
int replace(const Subject& subject, const char* function, base::Result<Object*> found, Handle& handle, Make make) {
  return deliver(subject, function, [&]() -> base::Status {
    SHIM_TRY_ASSIGN(Object * object, std::move(found));
    Handle twin = object->twin.get();
    if (abi::is_unset(twin)) {
      SHIM_TRY_ASSIGN(twin, make(*object));
      object->twin.set(twin);
    }
    handle = twin;
    return {};
  });
}

/// Outside MPI_Init … MPI_Finalize nothing can be made below; the call goes to our idle body, which takes our objects. (Asked
/// anew, because else a library below that was initialised unseen would get our handle from the idle table.)
template <typename Handle>
bool has_no_twin(Handle handle) { return !abi::is_ours(handle) || !notice_activity(); }

}  // namespace

int twin_info(const Subject& subject, const char* function, MPI_Info& info) {
  if (has_no_twin(info)) return MPI_SUCCESS;
  return replace(subject, function, info_of(info), info, [](const InfoObject& object) { return make_twin(object); });
}

int twin_errhandler(const Subject& subject, const char* function, MPI_Errhandler& handler) {
  if (handler == MPI_ERRORS_ABORT && is_active())
    return deliver(subject, function, [&]() -> base::Status {
      SHIM_TRY_ASSIGN(handler, abort_twin());
      return {};
    });
  if (has_no_twin(handler)) return MPI_SUCCESS;
  return replace(subject, function, errhandler_of(handler), handler,
                 [](const ErrhandlerObject& object) { return make_twin(*object.handler); });
}

int twin_datatype(const Subject& subject, const char* function, MPI_Datatype& datatype) {
  if (has_no_twin(datatype)) return MPI_SUCCESS;
  return deliver(subject, function, [&]() -> base::Status {
    SHIM_TRY_ASSIGN(DatatypeObject * object, datatype_of(datatype));
    SHIM_TRY_ASSIGN(datatype, object->derived->twin());
    return {};
  });
}

int twin_op(const Subject& subject, const char* function, MPI_Op& op) {
  if (has_no_twin(op)) return MPI_SUCCESS;
  return replace(subject, function, op_of(op), op,
                 [](const OpObject& object) { return make_native_operation(*object.operation); });
}

}  // namespace shim::intercept
