// SPDX-License-Identifier: BSD-3-Clause
// RegionMarker identifies shared memory that libfabric's provider "shm" leaves behind.
//
// The provider's named regions survive a killed process; the marker names their owner.
#pragma once

#include <string>

#include "shim/base/result.hpp"

namespace shim::transport {

/// A file that names this process's regions and is locked (flock(2)) exactly as long as the process
/// lives.
class RegionMarker {
 public:
  RegionMarker() = default;
  RegionMarker(RegionMarker&& other) noexcept;
  RegionMarker& operator=(RegionMarker&& other) noexcept;
  /// Remove the marker; the endpoint removes the regions. In a forked child only close it.
  ~RegionMarker();

  /// Mark the regions that this process has in the directory now: call it when the endpoint is
  /// open, which makes them. Errors: other, no_space (the marker cannot be written).
  static base::Result<RegionMarker> make(const std::string& directory);

 private:
  RegionMarker(std::string path, int descriptor);
  std::string path_;
  int descriptor_ = -1;
  int owner_ = 0;
};

/// Remove regions and markers of this user's processes that are gone; return the number of markers.
int remove_stale_regions(const std::string& directory);

}  // namespace shim::transport
