// SPDX-License-Identifier: BSD-3-Clause
// libfabric's provider "shm" keeps its shared memory under names of its own, which stay when a process is killed. A marker says
// whose they were.
#pragma once

#include <string>

#include "shim/base/result.hpp"

namespace shim::transport {

/// A file that names the regions of this process and is locked (flock(2)) as long as the process lives, whatever becomes of it.
class RegionMarker {
 public:
  RegionMarker() = default;
  RegionMarker(RegionMarker&& other) noexcept;
  RegionMarker& operator=(RegionMarker&& other) noexcept;
  /// Removes the marker; the regions go with their endpoint. In a child made by fork() it only closes.
  ~RegionMarker();

  /// For the regions that this process has in the directory now. Errors: other, no_space (the marker cannot be written).
  static base::Result<RegionMarker> make(const std::string& directory);

 private:
  RegionMarker(std::string path, int descriptor);
  std::string path_;
  int descriptor_ = -1;
  int owner_ = 0;
};

/// Removes the regions, and the markers, of all processes of this user that are gone. Answers how many markers.
int sweep_regions(const std::string& directory);

}  // namespace shim::transport
