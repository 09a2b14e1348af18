// SPDX-License-Identifier: BSD-3-Clause
// SegmentFile is the file behind a node segment: creation, locking and removal.
// - Creation: the file is created unnamed (O_TMPFILE), locked, sized and initialized, then linked
// to its name, which succeeds in one process only. A file with a name is therefore complete, and a
// killed creator leaves none behind.
// - Every user holds LOCK_SH on its own open file description. A process that gets LOCK_EX knows
// that there is no user.
// - The last user may remove a file between another process's open and lock; after locking, the
// name must still refer to the locked file.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "shim/base/clock.hpp"
#include "shim/base/result.hpp"

namespace shim::node {

struct SegmentLocation {
  std::string directory;
  std::string name;
  std::string path() const { return directory + "/" + name; }
};

/// "intersession-<user id>-<16 hexadecimal digits of job and node>".
SegmentLocation segment_location(const std::string& directory, std::string_view job,
                                 std::uint32_t node);

/// An open segment file with LOCK_SH held.
class SegmentFile {
 public:
  /// Open the file of this name if it is in use; otherwise create a file of `total_bytes` that
  /// begins with `header` and has memory for its first `backed_bytes`. Local. Errors: access,
  /// no_space, no_mem, other (no lock before the deadline).
  static base::Result<SegmentFile> open(const SegmentLocation& location,
                                        std::span<const std::byte> header, std::size_t backed_bytes,
                                        std::size_t total_bytes, base::Deadline deadline);

  SegmentFile(SegmentFile&& other) noexcept;
  SegmentFile& operator=(SegmentFile&&) = delete;
  /// Release the lock, and remove the file if no other process holds it. In a child of fork(),
  /// which shares the parent's lock, only close the descriptor.
  ~SegmentFile();

  /// Do the destructor's work for a process that ends without destructors; the memory stays mapped.
  void release() const;

  const SegmentLocation& location() const { return location_; }
  int descriptor() const { return descriptor_; }
  /// Allocate memory for this range of the file. Errors: no_space, other.
  base::Status reserve(std::size_t offset, std::size_t bytes) const;
  /// Check that the file could have this many bytes of memory in total, including bytes already
  /// allocated. A later allocation may fail nevertheless. Errors: no_space, other.
  base::Status check_capacity(std::size_t bytes) const;
  /// Check that this many further bytes of memory are free. Errors: no_space, other.
  base::Status check_free(std::size_t bytes) const;
  /// Read from the start of the file. Errors: other (file too short, or unreadable).
  base::Status read(std::span<std::byte> into) const;
  /// Check the file's size. Errors: other (size differs).
  base::Status check_size(std::size_t bytes) const;
  /// Lock byte `offset` for this open file description until it is closed. Return false if another
  /// process holds the lock.
  bool claim(std::size_t offset) const;

 private:
  SegmentFile(SegmentLocation location, int descriptor);
  struct Attempts;

  SegmentLocation location_;
  int descriptor_;
  int owner_;  ///< process that opened it
};

}  // namespace shim::node
