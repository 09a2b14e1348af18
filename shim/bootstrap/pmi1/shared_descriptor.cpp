// SPDX-License-Identifier: BSD-3-Clause
#include "shim/bootstrap/pmi1/shared_descriptor.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace shim::bootstrap::pmi1 {

std::optional<FileIdentity> identity_of(int descriptor) {
  struct stat status {};
  if (descriptor < 0 || ::fstat(descriptor, &status) != 0) return std::nullopt;
  return FileIdentity{status.st_dev, status.st_ino};
}

Descriptor duplicate_high(int descriptor) {
  constexpr int kMinDescriptor = 200;  // low numbers are left to the program
  const int copy = ::fcntl(descriptor, F_DUPFD_CLOEXEC, kMinDescriptor);
  return Descriptor(copy >= 0 ? copy : ::fcntl(descriptor, F_DUPFD_CLOEXEC, STDERR_FILENO + 1));
}

base::Result<SharedDescriptor> SharedDescriptor::at(int number, const std::string& variable) {
  const auto wrong = [&](const std::string& what) {
    return base::Error(
        base::ErrorClass::other,
        variable + " names descriptor " + std::to_string(number) +
            " as the connection to the launcher, but " + what +
            "; the variable is left over from another job, or a program between the launcher and "
            "this one has closed the descriptor (for example by exec with an open session, or "
            "after "
            "MPI_Init). Start the job with mpiexec, or unset PMI_FD, PMI_RANK and PMI_SIZE to "
            "run as a single process");
  };
  struct stat status {};
  if (::fstat(number, &status) != 0) return wrong("it is not open");
  if (!S_ISSOCK(status.st_mode)) return wrong("it is not a socket");
  SharedDescriptor shared_descriptor;
  shared_descriptor.number = number;
  shared_descriptor.flags = ::fcntl(number, F_GETFD);
  shared_descriptor.launcher = {status.st_dev, status.st_ino};
  return shared_descriptor;
}

std::optional<int> SharedDescriptor::current_fd() const {
  for (const int candidate : {saved.get(), number})
    if (identity_of(candidate) == launcher) return candidate;
  return std::nullopt;
}

}  // namespace shim::bootstrap::pmi1
