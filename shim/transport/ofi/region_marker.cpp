// SPDX-License-Identifier: BSD-3-Clause
#include "shim/transport/ofi/region_marker.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <span>
#include <utility>

#include "shim/base/descriptor.hpp"
#include "shim/base/files.hpp"
#include "shim/base/parsing.hpp"

namespace shim::transport {
namespace {

using base::system_error;

std::string marker_prefix() { return ".intersession-fabric-" + std::to_string(::geteuid()) + "-"; }

bool is_ours(int descriptor) {
  struct stat file;
  return ::fstat(descriptor, &file) == 0 && S_ISREG(file.st_mode) && file.st_uid == ::geteuid();
}

bool has_name(int descriptor) {
  struct stat file;
  return ::fstat(descriptor, &file) == 0 && file.st_nlink > 0;
}

/// Return this process's regions; libfabric (1.11 to 1.17) names them "PID:…".
std::string regions_of(int pid, const std::string& directory) {
  const std::string prefix = std::to_string(pid) + ":";
  std::string names;
  for (const std::string& name : base::names_in(directory))
    if (name.starts_with(prefix)) names += name + "\n";
  return names;
}

/// Remove a region; ignore names that are not plain files of this directory.
void remove_region(const std::string& directory, const std::string& name) {
  const bool is_plain = !name.empty() && name.find('/') == std::string::npos &&
                        name.find(':') != std::string::npos;
  struct stat file;
  const std::string path = directory + "/" + name;
  if (is_plain && ::lstat(path.c_str(), &file) == 0 && S_ISREG(file.st_mode) &&
      file.st_uid == ::geteuid())
    ::unlink(path.c_str());
}

}  // namespace

RegionMarker::RegionMarker(std::string path, int descriptor)
    : path_(std::move(path)), descriptor_(descriptor), owner_(::getpid()) {}

RegionMarker::RegionMarker(RegionMarker&& other) noexcept
    : path_(std::move(other.path_)),
      descriptor_(std::exchange(other.descriptor_, -1)),
      owner_(other.owner_) {}

RegionMarker& RegionMarker::operator=(RegionMarker&& other) noexcept {
  std::swap(path_, other.path_);
  std::swap(descriptor_, other.descriptor_);
  std::swap(owner_, other.owner_);
  return *this;
}

RegionMarker::~RegionMarker() {
  if (descriptor_ < 0) return;
  if (owner_ == ::getpid()) ::unlink(path_.c_str());
  ::close(descriptor_);
}

base::Result<RegionMarker> RegionMarker::make(const std::string& directory) {
  for (;;) {
    std::string path = directory + "/" + marker_prefix() + "XXXXXX";
    const int descriptor = base::above_standard_streams(::mkostemp(path.data(), O_CLOEXEC));
    if (descriptor < 0)
      return system_error(
          errno, "cannot create a marker file for libfabric's shared memory in " + directory);
    RegionMarker marker(std::move(path), descriptor);
    if (::flock(descriptor, LOCK_EX) != 0)
      return system_error(errno, "cannot lock " + marker.path_);
    if (!has_name(descriptor)) continue;  // a concurrent cleanup removed the empty marker
    const std::string names = regions_of(::getpid(), directory);
    if (!base::write_all(descriptor, std::as_bytes(std::span(names))))
      return system_error(errno, "cannot write " + marker.path_);
    return marker;
  }
}

int remove_stale_regions(const std::string& directory) {
  const std::string prefix = marker_prefix();
  int removed = 0;
  for (const std::string& marker : base::names_in(directory)) {
    if (!marker.starts_with(prefix)) continue;
    const std::string path = directory + "/" + marker;
    const int descriptor = base::above_standard_streams(
        ::open(path.c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC));
    if (descriptor < 0) continue;
    if (is_ours(descriptor) && ::flock(descriptor, LOCK_EX | LOCK_NB) == 0) {
      const std::string names = base::read_file(path).value_or(std::string());
      for (std::string_view rest = names; !rest.empty();)
        remove_region(directory, std::string(base::take_until(rest, '\n')));
      ::unlink(path.c_str());
      ++removed;
    }
    ::close(descriptor);
  }
  return removed;
}

}  // namespace shim::transport
