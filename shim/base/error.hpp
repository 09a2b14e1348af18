// SPDX-License-Identifier: BSD-3-Clause
// Error is an error value: MPI error class, text and foreign code. The function that detects the
// error chooses the class; the interposition layer maps the class to the substrate's number.
#pragma once

#include <memory>
#include <string>
#include <string_view>

namespace shim::base {

/// The error classes of MPI-4.1 §9.4, by name. `shim/intercept/abi` maps them to the substrate's
/// numbers.
enum class ErrorClass : int {
  success,
  buffer,
  count,
  type,
  tag,
  comm,
  rank,
  request,
  root,
  group,
  op,
  topology,
  dims,
  arg,
  unknown,
  truncate,
  other,
  intern,
  pending,
  in_status,
  access,
  amode,
  assert_,
  bad_file,
  base_,
  conversion,
  disp,
  dup_datarep,
  file_exists,
  file_in_use,
  file,
  info_key,
  info_nokey,
  info_value,
  info,
  io,
  keyval,
  locktype,
  name,
  no_mem,
  not_same,
  no_space,
  no_such_file,
  port,
  proc_aborted,
  quota,
  read_only,
  rma_attach,
  rma_conflict,
  rma_flavor,
  rma_range,
  rma_shared,
  rma_sync,
  service,
  session,
  size,
  spawn,
  unsupported_datarep,
  unsupported_operation,
  value_too_large,
  win,
  errhandler,
  // User-Level Failure Mitigation (ULFM); MPIX_ names in MPICH and Open MPI
  proc_failed,
  proc_failed_pending,
  revoked,
};
inline constexpr ErrorClass kLastErrorClass = ErrorClass::revoked;

/// Source of the foreign code of an Error:
/// - shim: this library detected the error; the foreign code is unused
/// - system: errno
/// - pmix: PMIx status
/// - fabric: positive libfabric error number
/// - user: MPI error code that an attribute callback of the program returned and that is no error
///   class; the MPI function returns this code, and the Error's class is `other`
enum class Origin : int { shim, system, pmix, fabric, user };

/// One pointer wide, so that a Result on the hot path stays small. Move-only; not to be read after
/// a move.
class Error {
 public:
  Error(ErrorClass error_class, std::string text)
      : Error(error_class, Origin::shim, 0, std::move(text)) {}
  Error(ErrorClass error_class, Origin origin, int foreign_code, std::string text)
      : detail_(
            std::make_unique<Detail>(Detail{error_class, origin, foreign_code, std::move(text)})) {}

  ErrorClass error_class() const { return detail_->error_class; }
  Origin origin() const { return detail_->origin; }
  int foreign_code() const { return detail_->foreign_code; }
  /// Text for the user: what failed, on which object, and a remedy; one or two sentences, no
  /// newline.
  const std::string& text() const { return detail_->text; }

  Error clone() const { return Error(error_class(), origin(), foreign_code(), text()); }
  /// Prepend the caller's action: "context: text".
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

/// Return the class's name in the MPI standard, e.g. "MPI_ERR_COMM".
std::string_view name_of(ErrorClass error_class);
/// Return the class's meaning, a phrase in lower case.
std::string_view meaning_of(ErrorClass error_class);

/// Return an Error for an errno: no_mem for ENOMEM, no_space for ENOSPC, access for EACCES and
/// EPERM, other for the rest. Text: "what: strerror".
Error system_error(int errno_value, std::string_view what);

}  // namespace shim::base
