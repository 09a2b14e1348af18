// SPDX-License-Identifier: BSD-3-Clause
#include "shim/base/error.hpp"

#include <array>
#include <cerrno>
#include <cstring>

namespace shim::base {
namespace {

struct ErrorClassRow {
  std::string_view name, meaning;
};

// In the order of ErrorClass.
constexpr std::array kRows = std::to_array<ErrorClassRow>({
    {"MPI_SUCCESS", "no error"},
    {"MPI_ERR_BUFFER", "invalid buffer pointer"},
    {"MPI_ERR_COUNT", "invalid count argument"},
    {"MPI_ERR_TYPE", "invalid datatype argument"},
    {"MPI_ERR_TAG", "invalid tag argument"},
    {"MPI_ERR_COMM", "invalid communicator"},
    {"MPI_ERR_RANK", "invalid rank"},
    {"MPI_ERR_REQUEST", "invalid request handle"},
    {"MPI_ERR_ROOT", "invalid root argument"},
    {"MPI_ERR_GROUP", "invalid group"},
    {"MPI_ERR_OP", "invalid reduce operation"},
    {"MPI_ERR_TOPOLOGY", "invalid communicator topology"},
    {"MPI_ERR_DIMS", "invalid topology dimension"},
    {"MPI_ERR_ARG", "invalid argument of some other kind"},
    {"MPI_ERR_UNKNOWN", "unknown error"},
    {"MPI_ERR_TRUNCATE", "message truncated"},
    {"MPI_ERR_OTHER", "known error not in list"},
    {"MPI_ERR_INTERN", "internal error"},
    {"MPI_ERR_PENDING", "pending request"},
    {"MPI_ERR_IN_STATUS", "error code is in status"},
    {"MPI_ERR_ACCESS", "permission denied"},
    {"MPI_ERR_AMODE", "invalid access mode"},
    {"MPI_ERR_ASSERT", "invalid assertion argument"},
    {"MPI_ERR_BAD_FILE", "invalid file name"},
    {"MPI_ERR_BASE", "invalid base argument"},
    {"MPI_ERR_CONVERSION", "error in data conversion function"},
    {"MPI_ERR_DISP", "invalid displacement argument"},
    {"MPI_ERR_DUP_DATAREP", "data representation already defined"},
    {"MPI_ERR_FILE_EXISTS", "file exists"},
    {"MPI_ERR_FILE_IN_USE", "file in use"},
    {"MPI_ERR_FILE", "invalid file handle"},
    {"MPI_ERR_INFO_KEY", "info key too long"},
    {"MPI_ERR_INFO_NOKEY", "no such info key"},
    {"MPI_ERR_INFO_VALUE", "info value too long"},
    {"MPI_ERR_INFO", "invalid info argument"},
    {"MPI_ERR_IO", "input or output error"},
    {"MPI_ERR_KEYVAL", "invalid key value"},
    {"MPI_ERR_LOCKTYPE", "invalid lock type"},
    {"MPI_ERR_NAME", "name not found"},
    {"MPI_ERR_NO_MEM", "out of memory"},
    {"MPI_ERR_NOT_SAME", "argument not the same on all processes"},
    {"MPI_ERR_NO_SPACE", "not enough space"},
    {"MPI_ERR_NO_SUCH_FILE", "no such file"},
    {"MPI_ERR_PORT", "invalid port name"},
    {"MPI_ERR_PROC_ABORTED", "a peer process has aborted"},
    {"MPI_ERR_QUOTA", "quota exceeded"},
    {"MPI_ERR_READ_ONLY", "read-only file"},
    {"MPI_ERR_RMA_ATTACH", "memory cannot be attached"},
    {"MPI_ERR_RMA_CONFLICT", "conflicting accesses to window"},
    {"MPI_ERR_RMA_FLAVOR", "window has the wrong flavor"},
    {"MPI_ERR_RMA_RANGE", "target memory is not part of the window"},
    {"MPI_ERR_RMA_SHARED", "memory cannot be shared"},
    {"MPI_ERR_RMA_SYNC", "wrong synchronization of RMA calls"},
    {"MPI_ERR_SERVICE", "invalid service name"},
    {"MPI_ERR_SESSION", "invalid session"},
    {"MPI_ERR_SIZE", "invalid size argument"},
    {"MPI_ERR_SPAWN", "error in spawning processes"},
    {"MPI_ERR_UNSUPPORTED_DATAREP", "unsupported data representation"},
    {"MPI_ERR_UNSUPPORTED_OPERATION", "unsupported operation"},
    {"MPI_ERR_VALUE_TOO_LARGE", "value is too large to store"},
    {"MPI_ERR_WIN", "invalid window"},
    {"MPI_ERR_ERRHANDLER", "invalid error handler"},
    {"MPIX_ERR_PROC_FAILED", "a process that takes part has failed"},
    {"MPIX_ERR_PROC_FAILED_PENDING",
     "a receive from any source cannot complete before a failure is acknowledged"},
    {"MPIX_ERR_REVOKED", "the communicator has been revoked"},
});
static_assert(kRows.size() == static_cast<std::size_t>(kLastErrorClass) + 1);

ErrorClass class_of_errno(int errno_value) {
  switch (errno_value) {
    case ENOMEM:
      return ErrorClass::no_mem;
    case ENOSPC:
      return ErrorClass::no_space;
    case EACCES:
    case EPERM:
      return ErrorClass::access;
    default:
      return ErrorClass::other;
  }
}

}  // namespace

std::string_view name_of(ErrorClass error_class) {
  return kRows[static_cast<std::size_t>(error_class)].name;
}
std::string_view meaning_of(ErrorClass error_class) {
  return kRows[static_cast<std::size_t>(error_class)].meaning;
}

Error system_error(int errno_value, std::string_view what) {
  return Error(class_of_errno(errno_value), Origin::system, errno_value,
               std::string(what) + ": " + std::strerror(errno_value));
}

}  // namespace shim::base
