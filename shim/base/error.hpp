// SPDX-License-Identifier: BSD-3-Clause
// What can go wrong, as a value. The MPI error class is decided where the fault is found; its number is the border's affair.
#pragma once

#include <memory>
#include <string>
#include <string_view>

namespace shim::base {

/// The error classes of MPI-4.1 §9.4, by name. `shim/intercept/abi` maps them to the substrate's numbers.
enum class ErrorClass : int {
  success,
  buffer, count, type, tag, comm, rank, request, root, group, op, topology, dims, arg, unknown, truncate, other, intern,
  pending, in_status, access, amode, assert_, bad_file, base_, conversion, disp, dup_datarep, file_exists, file_in_use,
  file, info_key, info_nokey, info_value, info, io, keyval, locktype, name, no_mem, not_same, no_space, no_such_file,
  port, proc_aborted, quota, read_only, rma_attach, rma_conflict, rma_flavor, rma_range, rma_shared, rma_sync, service,
  session, size, spawn, unsupported_datarep, unsupported_operation, value_too_large, win, errhandler,
};

/// Where a foreign code in an Error comes from. One of `user` is an error code of MPI that the program has added itself: it is what
/// the caller gets, the class being only the nearest that we know.
enum class Origin : int { shim, system, pmix, fabric, user };

/// An error value: class, text for the user, and the foreign code behind it if there is one.
/// One pointer wide, so that a Result on the hot path stays small; move-only, never empty except after a move.
class Error {
 public:
  Error(ErrorClass error_class, std::string text) : Error(error_class, Origin::shim, 0, std::move(text)) {}
  Error(ErrorClass error_class, Origin origin, int foreign_code, std::string text)
      : detail_(std::make_unique<Detail>(Detail{error_class, origin, foreign_code, std::move(text)})) {}

  ErrorClass error_class() const { return detail_->error_class; }
  Origin origin() const { return detail_->origin; }
  int foreign_code() const { return detail_->foreign_code; }
  /// What failed, on whom, what to try; one sentence or two, no trailing newline.
  const std::string& text() const { return detail_->text; }

  Error clone() const { return Error(error_class(), origin(), foreign_code(), text()); }
  /// The same error with what the caller was doing put in front: "context: text".
  Error within(std::string_view context) && {
    detail_->text = std::string(context) + ": " + detail_->text;
    return std::move(*this);
  }

 private:
  struct Detail {
    ErrorClass error_class;
    Origin origin;
    int foreign_code;
    std::string text;
  };
  std::unique_ptr<Detail> detail_;
};

/// The standard's name of a class ("MPI_ERR_COMM"), and its one-line meaning.
std::string_view name_of(ErrorClass error_class);
std::string_view meaning_of(ErrorClass error_class);

/// An Error from errno: ENOMEM gives no_mem, ENOSPC no_space, EACCES and EPERM access, the rest other.
Error system_error(int errno_value, std::string_view what);

}  // namespace shim::base
