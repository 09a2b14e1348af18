// SPDX-License-Identifier: BSD-3-Clause
// Implements MPI_Abort, MPI_Get_library_version, and local inquiries while the substrate is
// inactive (MPI-4.1 §9.1, §9.2, §11.2, §11.4.2).
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <string>

#include "shim/base/version.hpp"
#include "shim/intercept/generated/impl.hpp"
#include "shim/intercept/generated/table.hpp"
#include "shim/intercept/handles/forked.hpp"
#include "shim/intercept/impl/comm_arguments.hpp"
#include "shim/intercept/native/activity.hpp"

namespace shim::intercept {
namespace {

using base::Error;
using base::ErrorClass;

int address_of(const char* function, const void* location, MPI_Aint* address) {
  return run_with_handler(Subject(), function, [&]() -> base::Status {
    SHIM_TRY(check_output(address, "address"));
    *address = reinterpret_cast<MPI_Aint>(location);
    return {};
  });
}

std::string abort_text(const std::string& where, int errorcode) {
  return "MPI_Abort was called on " + where + " with error code " + std::to_string(errorcode);
}

}  // namespace

namespace impl {

/// End the whole job, because the launcher supports no smaller unit (MPI-4.1 §11.4.2 requires a
/// best attempt).
int Abort(MPI_Comm comm, int errorcode) {
  auto found = get_comm(comm);
  if (is_forked_child())
    end_job(abort_text("a communicator in a child made by fork()", errorcode), errorcode);
  if (!found) return fail(Subject(), "MPI_Abort", found.error());
  end_job(abort_text("the " + (*found)->description(), errorcode), errorcode);
}

/// Append Intersession's version to the text of the substrate: programs and tools recognize an MPI
/// library by the first words. With INTERSESSION_NATIVE the text is the substrate's alone.
int Get_library_version(char* version, int* resultlen) {
  const int code = active_table.Get_library_version(version, resultlen);
  if (code != MPI_SUCCESS || is_native_only()) return code;
  const std::size_t length = std::strlen(version);
  const bool ends_line = length > 0 && version[length - 1] == '\n';
  std::string ours = std::string(ends_line ? "Intersession " : ", Intersession ") +
                     base::version_text();
  if (is_served_world_selected()) ours += ", INTERSESSION_WORLD=sessions";
  const std::size_t space = MPI_MAX_LIBRARY_VERSION_STRING - 1 - length;
  version[length + ours.copy(version + length, space)] = '\0';
  *resultlen = static_cast<int>(std::strlen(version));
  return code;
}

}  // namespace impl

namespace impl_when_inactive {

int Abort(MPI_Comm, int errorcode) {
  end_job(abort_text("a communicator of the world model", errorcode), errorcode);
}

int Get_processor_name(char* name, int* resultlen) {
  return run_with_handler(Subject(), "MPI_Get_processor_name", [&]() -> base::Status {
    SHIM_TRY(check_output(name, "name"));
    SHIM_TRY(check_output(resultlen, "length"));
    char host[MPI_MAX_PROCESSOR_NAME] = {};
    if (gethostname(host, sizeof host - 1) != 0)
      return base::system_error(errno, "cannot read the host name");
    std::strcpy(name, host);
    *resultlen = static_cast<int>(std::strlen(host));
    return {};
  });
}

/// Return the thread level that sessions provide by default.
int Query_thread(int* provided) {
  return run_with_handler(Subject(), "MPI_Query_thread", [&]() -> base::Status {
    SHIM_TRY(check_output(provided, "thread level"));
    *provided = MPI_THREAD_MULTIPLE;
    return {};
  });
}

/// True on the thread of main(), because no thread has called MPI_Init.
int Is_thread_main(int* flag) {
  return run_with_handler(Subject(), "MPI_Is_thread_main", [&]() -> base::Status {
    SHIM_TRY(check_output(flag, "flag"));
    *flag = gettid() == getpid();
    return {};
  });
}

int Alloc_mem(MPI_Aint size, MPI_Info info, void* baseptr) {
  return run_with_handler(Subject(), "MPI_Alloc_mem", [&]() -> base::Status {
    if (abi::is_ours(info)) SHIM_TRY(info_of(info));  // no hint is supported
    if (size < 0)
      return Error(ErrorClass::arg, "the size " + std::to_string(size) + " is negative");
    SHIM_TRY(check_output(baseptr, "address"));
    void* memory = std::malloc(static_cast<std::size_t>(size > 0 ? size : 1));
    if (memory == nullptr)
      return Error(ErrorClass::no_mem, "cannot allocate " + std::to_string(size) + " bytes");
    *static_cast<void**>(baseptr) = memory;
    return {};
  });
}

/// Free memory of MPI_Alloc_mem above; the substrate has freed its own.
int Free_mem(void* base) {
  std::free(base);
  return MPI_SUCCESS;
}

int Get_address(const void* location, MPI_Aint* address) {
  return address_of("MPI_Get_address", location, address);
}
int Address(void* location, MPI_Aint* address) {
  return address_of("MPI_Address", location, address);
}

int Pcontrol(int, ...) { return MPI_SUCCESS; }

}  // namespace impl_when_inactive
}  // namespace shim::intercept
