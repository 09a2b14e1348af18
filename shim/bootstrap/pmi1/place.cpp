// SPDX-License-Identifier: BSD-3-Clause
#include "shim/bootstrap/pmi1/place.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace shim::bootstrap::pmi1 {

std::optional<FileIdentity> identity_of(int descriptor) {
  struct stat status {};
  if (descriptor < 0 || ::fstat(descriptor, &status) != 0) return std::nullopt;
  return FileIdentity{status.st_dev, status.st_ino};
}

Descriptor copy_aside(int descriptor) {
  constexpr int kOutOfTheWay = 200;  // numbers below are for the program, which may count on getting low ones
  const int copy = ::fcntl(descriptor, F_DUPFD_CLOEXEC, kOutOfTheWay);
  return Descriptor(copy >= 0 ? copy : ::fcntl(descriptor, F_DUPFD_CLOEXEC, STDERR_FILENO + 1));
}

base::Result<Place> Place::at(int number, const std::string& variable) {
  const auto wrong = [&](const std::string& what) {
    return base::Error(base::ErrorClass::other,
                       variable + " says that descriptor " + std::to_string(number) +
                           " leads to the launcher, but " + what +
                           ": the variable is a leftover of another job, or a program between the "
                           "launcher and this one has closed it, as one does that calls exec with "
                           "a session open or after MPI_Finalize. Start the job with mpiexec, or "
                           "unset PMI_FD, PMI_RANK and PMI_SIZE to run alone");
  };
  struct stat status {};
  if (::fstat(number, &status) != 0) return wrong("it is not open");
  if (!S_ISSOCK(status.st_mode)) return wrong("it is not a socket");
  Place place;
  place.number = number;
  place.flags = ::fcntl(number, F_GETFD);
  place.real = {status.st_dev, status.st_ino};
  return place;
}

std::optional<int> Place::real_end() const {
  if (aside.get() >= 0) return aside.get();
  if (real_is_at_number()) return number;
  return std::nullopt;
}

}  // namespace shim::bootstrap::pmi1
