// SPDX-License-Identifier: BSD-3-Clause
// SharedDescriptor tracks the launcher's socket and its number in this process.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>

#include "shim/base/descriptor.hpp"
#include "shim/base/result.hpp"

namespace shim::bootstrap::pmi1 {

/// Identity of the open file of a descriptor; a number that was closed and reused has another.
struct FileIdentity {
  dev_t device = 0;
  ino_t inode = 0;
  bool operator==(const FileIdentity&) const = default;
};
std::optional<FileIdentity> identity_of(int descriptor);

using base::Descriptor;

/// Return a close-on-exec copy with a high number, or any number if the limit is lower; -1 if none
/// is free.
Descriptor duplicate_high(int descriptor);

/// The launcher's socket, and the number by which the native library knows it (PMI_FD).
struct SharedDescriptor {
  int number = -1;
  int flags = 0;          ///< flags of the number (FD_CLOEXEC), as set by the launcher
  FileIdentity launcher;  ///< identity of the launcher's socket
  Descriptor saved;       ///< copy of the socket while the number refers to another file
  FileIdentity pair;      ///< identity of our last socket pair at the number

  /// Find the socket at a number. Errors: other (not an open socket).
  static base::Result<SharedDescriptor> at(int number, const std::string& variable);
  bool has_server_at_number() const { return identity_of(number) == launcher; }
  bool has_pair_at_number() const { return identity_of(number) == pair; }
  /// Return a number that refers to the launcher's socket now; nothing if it was closed, also by
  /// the program.
  std::optional<int> current_fd() const;
};

}  // namespace shim::bootstrap::pmi1
