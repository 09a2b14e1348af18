// SPDX-License-Identifier: BSD-3-Clause
#include "shim/intercept/native/composed.hpp"

#include "shim/intercept/abi/predefined.hpp"
#include "shim/intercept/bodies/arguments.hpp"
#include "shim/intercept/bodies/below_request.hpp"
#include "shim/intercept/generated/table.hpp"
#include "shim/intercept/operations.hpp"
#include "shim/intercept/substrate.hpp"

namespace shim::intercept {

using base::Error;
using base::ErrorClass;

void Narrow::note(const char* name, MPI_Count value) {
  if (!misfit_.empty()) return;
  misfit_ = std::string("the ") + name + " " + std::to_string(value) +
            " is more than the MPI library below can count: it has no function with large counts";
}

MPI_Count Narrow::length_sent(MPI_Comm comm, Reach reach, const void* sendbuf) {
  return sendbuf == MPI_IN_PLACE ? 0 : lengths_of(comm, reach).send;
}

MPI_Count Narrow::length_at_root(MPI_Comm comm, int root) {
  int rank = MPI_UNDEFINED;
  if (root != MPI_ROOT && (root < 0 || active_table.Comm_rank(comm, &rank) != MPI_SUCCESS || rank != root)) return 0;
  return lengths_of(comm, Reach::peers).send;
}

int Narrow::fail() const { return intercept::fail(subject_, function_, Error(ErrorClass::count, misfit_)); }

int Narrow::done(int code, MPI_Request* request) {
  if (code != MPI_SUCCESS || kept_.empty()) return code;
  return deliver(subject_, function_, [&]() -> base::Status {
    if (abi::is_ours(*request)) {  // composed in its turn
      SHIM_TRY_ASSIGN(RequestObject * object, request_of(*request));
      if (auto* below = dynamic_cast<BelowRequest*>(object->own)) below->keep(std::move(kept_));
      return {};
    }
    auto* around = new BelowRequest;
    around->keep(std::move(kept_));
    around->add(*request);
    return hand_out(around, {}, request);
  });
}

int Later::keep_datatype(MPI_Datatype& datatype) {
  if (abi::find_type(datatype) != nullptr || datatype == abi::predefined.datatype_null) return MPI_SUCCESS;
  MPI_Datatype copy = abi::predefined.datatype_null;
  if (int code = active_table.Type_dup(datatype, &copy)) return code;
  datatype = copy;
  kept_.push_back(std::shared_ptr<const void>(nullptr, [copy](const void*) mutable {
    if (is_active()) active_table.Type_free(&copy);
  }));
  return MPI_SUCCESS;
}

int Later::keep_op(MPI_Op& op) {
  const UserOperationPtr operation = find_operation(op);
  if (operation == nullptr) return MPI_SUCCESS;  // predefined, or known to the library below alone
  return deliver(subject_, function_, [&]() -> base::Status {
    SHIM_TRY_ASSIGN(MPI_Op copy, make_native_operation(*operation));
    op = copy;
    kept_.push_back(
        std::shared_ptr<const void>(nullptr, [copy](const void*) { free_native_operation(copy); }));
    return {};
  });
}

int Later::hand_out(MPI_Request* request, std::function<int(MPI_Request*)> begin) {
  return deliver(subject_, function_, [&]() -> base::Status {
    SHIM_TRY(check_output(request, "request"));
    auto* made = new BelowRequest(std::move(begin));
    made->keep(std::move(kept_));
    return intercept::hand_out(made, {}, request);
  });
}

}  // namespace shim::intercept
