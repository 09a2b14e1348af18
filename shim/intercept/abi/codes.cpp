// SPDX-License-Identifier: BSD-3-Clause
#include "shim/intercept/abi/codes.hpp"

#include <mpi.h>

#include <algorithm>
#include <array>

namespace shim::intercept::abi {
namespace {

// In the order of base::ErrorClass.
constexpr std::array kCodes = std::to_array<int>({
    MPI_SUCCESS,
    MPI_ERR_BUFFER,
    MPI_ERR_COUNT,
    MPI_ERR_TYPE,
    MPI_ERR_TAG,
    MPI_ERR_COMM,
    MPI_ERR_RANK,
    MPI_ERR_REQUEST,
    MPI_ERR_ROOT,
    MPI_ERR_GROUP,
    MPI_ERR_OP,
    MPI_ERR_TOPOLOGY,
    MPI_ERR_DIMS,
    MPI_ERR_ARG,
    MPI_ERR_UNKNOWN,
    MPI_ERR_TRUNCATE,
    MPI_ERR_OTHER,
    MPI_ERR_INTERN,
    MPI_ERR_PENDING,
    MPI_ERR_IN_STATUS,
    MPI_ERR_ACCESS,
    MPI_ERR_AMODE,
    MPI_ERR_ASSERT,
    MPI_ERR_BAD_FILE,
    MPI_ERR_BASE,
    MPI_ERR_CONVERSION,
    MPI_ERR_DISP,
    MPI_ERR_DUP_DATAREP,
    MPI_ERR_FILE_EXISTS,
    MPI_ERR_FILE_IN_USE,
    MPI_ERR_FILE,
    MPI_ERR_INFO_KEY,
    MPI_ERR_INFO_NOKEY,
    MPI_ERR_INFO_VALUE,
    MPI_ERR_INFO,
    MPI_ERR_IO,
    MPI_ERR_KEYVAL,
    MPI_ERR_LOCKTYPE,
    MPI_ERR_NAME,
    MPI_ERR_NO_MEM,
    MPI_ERR_NOT_SAME,
    MPI_ERR_NO_SPACE,
    MPI_ERR_NO_SUCH_FILE,
    MPI_ERR_PORT,
    MPI_ERR_PROC_ABORTED,
    MPI_ERR_QUOTA,
    MPI_ERR_READ_ONLY,
    MPI_ERR_RMA_ATTACH,
    MPI_ERR_RMA_CONFLICT,
    MPI_ERR_RMA_FLAVOR,
    MPI_ERR_RMA_RANGE,
    MPI_ERR_RMA_SHARED,
    MPI_ERR_RMA_SYNC,
    MPI_ERR_SERVICE,
    MPI_ERR_SESSION,
    MPI_ERR_SIZE,
    MPI_ERR_SPAWN,
    MPI_ERR_UNSUPPORTED_DATAREP,
    MPI_ERR_UNSUPPORTED_OPERATION,
    MPI_ERR_VALUE_TOO_LARGE,
    MPI_ERR_WIN,
    MPI_ERR_ERRHANDLER,
    MPIX_ERR_PROC_FAILED,
    MPIX_ERR_PROC_FAILED_PENDING,
    MPIX_ERR_REVOKED,
});
static_assert(kCodes.size() == static_cast<std::size_t>(base::kLastErrorClass) + 1);
static_assert(kCodes[0] == 0, "MPI_SUCCESS is zero in every MPI");

}  // namespace

int code_of(base::ErrorClass error_class) noexcept {
  return kCodes[static_cast<std::size_t>(error_class)];
}

std::optional<base::ErrorClass> class_of(int code) noexcept {
  auto at = std::find(kCodes.begin(), kCodes.end(), code);
  if (at == kCodes.end()) return std::nullopt;
  return static_cast<base::ErrorClass>(at - kCodes.begin());
}

}  // namespace shim::intercept::abi
