// SPDX-License-Identifier: BSD-3-Clause
#include "shim/intercept/impl/request/composed.hpp"

#include "shim/intercept/abi/predefined.hpp"
#include "shim/intercept/generated/table.hpp"
#include "shim/intercept/handles/user_operations.hpp"
#include "shim/intercept/impl/arguments.hpp"
#include "shim/intercept/impl/request/native_request.hpp"
#include "shim/intercept/native/activity.hpp"

namespace shim::intercept {

using base::Error;
using base::ErrorClass;

void NarrowedCall::record(const char* name, MPI_Count value) {
  if (!misfit_.empty()) return;
  misfit_ =
      std::string("the ") + name + " " + std::to_string(value) +
      " exceeds the int range of the native MPI library, which has no functions with large counts";
}

MPI_Count NarrowedCall::length_sent(MPI_Comm comm, Reach reach, const void* sendbuf) {
  return sendbuf == MPI_IN_PLACE ? 0 : lengths_of(comm, reach).send;
}

MPI_Count NarrowedCall::length_at_root(MPI_Comm comm, int root) {
  int rank = MPI_UNDEFINED;
  if (root != MPI_ROOT &&
      (root < 0 || active_table.Comm_rank(comm, &rank) != MPI_SUCCESS || rank != root))
    return 0;
  return lengths_of(comm, Reach::peers).send;
}

int NarrowedCall::fail() const {
  return intercept::fail(subject_, function_, Error(ErrorClass::count, misfit_));
}

int NarrowedCall::done(int code, MPI_Request* request) {
  if (code != MPI_SUCCESS || kept_.empty()) return code;
  return run_with_handler(subject_, function_, [&]() -> base::Status {
    if (abi::is_ours(*request)) {  // itself composed
      SHIM_TRY_ASSIGN(RequestObject * object, request_of(*request));
      if (auto* native_request = dynamic_cast<NativeRequest*>(object->polled))
        native_request->keep(std::move(kept_));
      return {};
    }
    auto* around = new NativeRequest;
    around->keep(std::move(kept_));
    around->add(*request);
    return make_request_handle(around, {}, request);
  });
}

int ComposedPersistent::keep_datatype(MPI_Datatype& datatype) {
  if (abi::find_type(datatype) != nullptr || datatype == abi::predefined.datatype_null)
    return MPI_SUCCESS;
  MPI_Datatype copy = abi::predefined.datatype_null;
  if (int code = active_table.Type_dup(datatype, &copy)) return code;
  datatype = copy;
  kept_.push_back(std::shared_ptr<const void>(nullptr, [copy](const void*) mutable {
    if (is_active()) active_table.Type_free(&copy);
  }));
  return MPI_SUCCESS;
}

int ComposedPersistent::keep_op(MPI_Op& op) {
  const UserOperationPtr operation = find_operation(op);
  if (operation == nullptr) return MPI_SUCCESS;  // predefined, or known only to the native library
  return run_with_handler(subject_, function_, [&]() -> base::Status {
    SHIM_TRY_ASSIGN(MPI_Op copy, make_native_operation(*operation));
    op = copy;
    kept_.push_back(
        std::shared_ptr<const void>(nullptr, [copy](const void*) { free_native_operation(copy); }));
    return {};
  });
}

int ComposedPersistent::make_request_handle(MPI_Request* request,
                                            std::function<int(MPI_Request*)> begin) {
  return run_with_handler(subject_, function_, [&]() -> base::Status {
    SHIM_TRY(check_output(request, "request"));
    auto* made = new NativeRequest(std::move(begin));
    made->keep(std::move(kept_));
    return intercept::make_request_handle(made, {}, request);
  });
}

}  // namespace shim::intercept
