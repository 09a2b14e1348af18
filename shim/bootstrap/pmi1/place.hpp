// SPDX-License-Identifier: BSD-3-Clause
// Where the launcher's descriptor is.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>

#include "shim/base/descriptor.hpp"
#include "shim/base/result.hpp"

namespace shim::bootstrap::pmi1 {

/// Which open file a descriptor means; a number that was closed and given out anew means another.
struct FileIdentity {
  dev_t device = 0;
  ino_t inode = 0;
  bool operator==(const FileIdentity&) const = default;
};
std::optional<FileIdentity> identity_of(int descriptor);

using base::Descriptor;

/// A copy with a high number, that programs do not inherit; where the limit is lower, any number. -1 where there is none left.
Descriptor copy_aside(int descriptor);

/// The launcher's descriptor and the number under which the MPI library below knows it (PMI_FD).
struct Place {
  int number = -1;
  int flags = 0;         ///< of the number (FD_CLOEXEC), as the launcher left them
  FileIdentity real;     ///< the launcher's end
  Descriptor aside;      ///< where it is while something else, or nothing of ours, is at the number
  FileIdentity pair;     ///< the last one of ours that was at the number

  /// Errors: other (not an open socket).
  static base::Result<Place> at(int number, const std::string& variable);
  bool real_is_at_number() const { return identity_of(number) == real; }
  bool pair_is_at_number() const { return identity_of(number) == pair; }
  /// A number that means the launcher's end now; nothing where somebody has closed it.
  std::optional<int> real_end() const;
};

}  // namespace shim::bootstrap::pmi1
