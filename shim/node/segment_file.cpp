// SPDX-License-Identifier: BSD-3-Clause
#include "shim/node/segment_file.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <optional>
#include <thread>

#include "shim/base/descriptor.hpp"
#include "shim/base/files.hpp"
#include "shim/node/node_segment.hpp"

namespace shim::node {
namespace {

using base::Descriptor;
using base::Error;
using base::ErrorClass;
using base::Status;
using base::system_error;

std::string name_prefix() { return "intersession-" + std::to_string(::geteuid()) + "-"; }

/// FNV-1a. Only distribution matters, because the full name is compared inside the file.
std::uint64_t hash_of(std::string_view job, std::uint32_t node) {
  std::uint64_t hash = 0xcbf29ce484222325ull;
  auto add = [&hash](unsigned char byte) { hash = (hash ^ byte) * 0x100000001b3ull; };
  for (char c : job) add(static_cast<unsigned char>(c));
  for (int shift = 0; shift < 32; shift += 8) add(static_cast<unsigned char>(node >> shift));
  return hash;
}

/// Open an existing file. O_NONBLOCK and O_NOFOLLOW because another user may have put a FIFO or a
/// link there.
Descriptor open_existing(const std::string& path) {
  return Descriptor(base::above_standard_streams(
      ::open(path.c_str(), O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK)));
}

bool try_lock(int descriptor, int kind) {
  while (::flock(descriptor, kind | LOCK_NB) != 0)
    if (errno != EINTR) return false;
  return true;
}

/// True if the name still refers to the open file.
bool has_its_name(int descriptor, const std::string& path) {
  struct stat open_file, named;
  return ::fstat(descriptor, &open_file) == 0 && ::lstat(path.c_str(), &named) == 0 &&
         open_file.st_ino == named.st_ino && open_file.st_dev == named.st_dev;
}

/// Remove the file if no process uses it, which an exclusive lock shows. Return true if so.
base::Result<bool> remove_if_unused(int descriptor, const std::string& path) {
  if (!try_lock(descriptor, LOCK_EX)) return false;
  if (has_its_name(descriptor, path) && ::unlink(path.c_str()) != 0)
    return system_error(errno, "cannot remove " + path + ", which an earlier job left behind");
  return true;
}

Status check_owner(int descriptor, const std::string& path) {
  struct stat file;
  if (::fstat(descriptor, &file) != 0) return system_error(errno, "cannot stat " + path);
  if (!S_ISREG(file.st_mode))
    return Error(ErrorClass::access, path + " is not a regular file; remove it");
  if (file.st_uid != ::geteuid())
    return Error(ErrorClass::access, path + " belongs to user " + std::to_string(file.st_uid) +
                                         ", not to you (" + std::to_string(::geteuid()) +
                                         "): that user could read your messages; have it removed");
  if ((file.st_mode & 07777) != 0600)
    return Error(
        ErrorClass::access,
        path +
            " is accessible to other users (its mode is not 0600): Intersession did not create it, "
            "or it was changed later; end your jobs on this node and remove it");
  return {};
}

Error no_space_error(const std::string& directory, std::size_t bytes, int reason) {
  std::string text = "no space in " + directory + " for " + std::to_string(bytes) +
                     " bytes; set INTERSESSION_TRANSPORT=fabric, lower INTERSESSION_RING_BYTES or "
                     "INTERSESSION_VCIS, or enlarge it (mount -o remount,size=…)";
  return Error(ErrorClass::no_space, base::Origin::system, reason, std::move(text));
}

Status reserve_range(int descriptor, const std::string& directory, std::size_t offset,
                     std::size_t bytes) {
  int result = 0;
  do result = ::fallocate(descriptor, 0, static_cast<off_t>(offset), static_cast<off_t>(bytes));
  while (result != 0 && errno == EINTR);
  if (result == 0) return {};
  if (errno == ENOSPC || errno == EDQUOT) return no_space_error(directory, bytes, errno);
  if (errno == EOPNOTSUPP)
    return system_error(
        errno, "the file system of " + directory + " cannot reserve memory; mount a tmpfs there");
  return system_error(errno, "cannot reserve " + std::to_string(bytes) + " bytes in " + directory);
}

/// Check RLIMIT_FSIZE: a larger file would not only fail but raise SIGXFSZ.
Status check_file_limit(const std::string& directory, std::size_t bytes) {
  rlimit limit;
  if (::getrlimit(RLIMIT_FSIZE, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY ||
      bytes <= limit.rlim_cur)
    return {};
  return Error(ErrorClass::no_space,
               "shared memory in " + directory + " needs a file of " + std::to_string(bytes) +
                   " bytes (mostly not backed by memory), but the file size limit is " +
                   std::to_string(limit.rlim_cur) + "; raise it (ulimit -f unlimited)");
}

}  // namespace

/// Each function makes one attempt. join() returns nothing if it finds no file in use, and make()
/// returns nothing if another process has linked its file first; the caller then tries the other.
struct SegmentFile::Attempts {
  static base::Result<std::optional<SegmentFile>> join(const SegmentLocation& location);
  static base::Result<std::optional<SegmentFile>> make(const SegmentLocation& location,
                                                       std::span<const std::byte> header,
                                                       std::size_t backed_bytes,
                                                       std::size_t total_bytes);
  static Status fill(const SegmentFile& file, std::span<const std::byte> header,
                     std::size_t backed_bytes, std::size_t total_bytes);
};

SegmentLocation segment_location(const std::string& directory, std::string_view job,
                                 std::uint32_t node) {
  std::array<char, 16> digits;
  digits.fill('0');
  std::array<char, 16> shortest;
  auto end = std::to_chars(shortest.begin(), shortest.end(), hash_of(job, node), 16).ptr;
  std::copy(shortest.begin(), end, digits.end() - (end - shortest.begin()));
  return {directory, name_prefix() + std::string(digits.begin(), digits.end())};
}

base::Result<std::optional<SegmentFile>> SegmentFile::Attempts::join(
    const SegmentLocation& location) {
  const std::string path = location.path();
  Descriptor file = open_existing(path);
  if (!file.is_open()) {
    if (errno == ENOENT) return std::optional<SegmentFile>();
    if (errno == ELOOP) return Error(ErrorClass::access, path + " is a symbolic link; remove it");
    return system_error(errno, "cannot open the shared memory file " + path);
  }
  SHIM_TRY(check_owner(file.get(), path));
  // A file without a lock is left by a killed job of this name: its contents are not reliable.
  SHIM_TRY_ASSIGN(const bool was_unused, remove_if_unused(file.get(), path));
  if (was_unused || !try_lock(file.get(), LOCK_SH) || !has_its_name(file.get(), path))
    return std::optional<SegmentFile>();
  return std::optional(SegmentFile(location, file.release()));
}

Status SegmentFile::Attempts::fill(const SegmentFile& file, std::span<const std::byte> header,
                                   std::size_t backed_bytes, std::size_t total_bytes) {
  const auto& directory = file.location_.directory;
  if (::fchmod(file.descriptor_, 0600) != 0)  // independent of the umask
    return system_error(errno, "cannot set the mode of a file in " + directory);
  SHIM_TRY(check_file_limit(directory, total_bytes));
  if (::ftruncate(file.descriptor_, static_cast<off_t>(total_bytes)) != 0)
    return system_error(
        errno, "cannot create a file of " + std::to_string(total_bytes) + " bytes in " + directory);
  SHIM_TRY(file.reserve(0, backed_bytes));
  ssize_t written = ::pwrite(file.descriptor_, header.data(), header.size(), 0);
  if (written != static_cast<ssize_t>(header.size()))
    return system_error(written < 0 ? errno : ENOSPC, "cannot write shared memory in " + directory);
  return {};
}

base::Result<std::optional<SegmentFile>> SegmentFile::Attempts::make(
    const SegmentLocation& location, std::span<const std::byte> header, std::size_t backed_bytes,
    std::size_t total_bytes) {
  Descriptor made(base::above_standard_streams(
      ::open(location.directory.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600)));
  if (!made.is_open())
    return system_error(
        errno, "cannot create shared memory in " + location.directory +
                   " (it must be a writable tmpfs; INTERSESSION_TRANSPORT=fabric needs none)");
  if (!try_lock(made.get(), LOCK_SH))
    return system_error(errno, "cannot lock a file in " + location.directory);
  SegmentFile file(location, made.release());
  SHIM_TRY(fill(file, header, backed_bytes, total_bytes));
  // Link the unnamed file (open(2), O_TMPFILE); EEXIST if another process was faster.
  const std::string source = "/proc/self/fd/" + std::to_string(file.descriptor_);
  if (::linkat(AT_FDCWD, source.c_str(), AT_FDCWD, location.path().c_str(), AT_SYMLINK_FOLLOW) == 0)
    return std::optional<SegmentFile>(std::move(file));
  if (errno == EEXIST) return std::optional<SegmentFile>();
  return system_error(errno, "cannot create the shared memory file " + location.path());
}

base::Result<SegmentFile> SegmentFile::open(const SegmentLocation& location,
                                            std::span<const std::byte> header,
                                            std::size_t backed_bytes, std::size_t total_bytes,
                                            base::Deadline deadline) {
  while (true) {
    SHIM_TRY_ASSIGN(auto joined, Attempts::join(location));
    if (joined) return std::move(*joined);
    SHIM_TRY_ASSIGN(auto made, Attempts::make(location, header, backed_bytes, total_bytes));
    if (made) return std::move(*made);
    if (deadline.passed())
      return Error(ErrorClass::other,
                   "the shared memory file " + location.path() +
                       " stayed locked: a process of yours may have been stopped while it removed "
                       "the file; continue or end that process");
    // Another process is creating or removing the file, which takes microseconds.
    std::this_thread::sleep_for(std::chrono::microseconds(50));
  }
}

SegmentFile::SegmentFile(SegmentLocation location, int descriptor)
    : location_(std::move(location)), descriptor_(descriptor), owner_(::getpid()) {}

SegmentFile::SegmentFile(SegmentFile&& other) noexcept
    : location_(std::move(other.location_)),
      descriptor_(std::exchange(other.descriptor_, -1)),
      owner_(other.owner_) {}

void SegmentFile::release() const {
  // A request for LOCK_EX first releases LOCK_SH (flock(2)), so of several leaving processes the
  // last one to ask gets it. The next job removes a file that remains.
  if (owner_ == ::getpid()) (void)remove_if_unused(descriptor_, location_.path());
}

SegmentFile::~SegmentFile() {
  if (descriptor_ < 0) return;
  release();
  ::close(descriptor_);
}

Status SegmentFile::reserve(std::size_t offset, std::size_t bytes) const {
  return reserve_range(descriptor_, location_.directory, offset, bytes);
}

Status SegmentFile::check_capacity(std::size_t bytes) const {
  struct stat file;
  if (::fstat(descriptor_, &file) != 0)
    return system_error(errno, "cannot stat " + location_.path());
  constexpr std::size_t kBlock = 512;  // stat(2): independent of the file system's block size
  const std::size_t backed = static_cast<std::size_t>(file.st_blocks) * kBlock;
  return bytes <= backed ? Status() : check_free(bytes - backed);
}

Status SegmentFile::check_free(std::size_t bytes) const {
  struct statvfs system;
  if (::fstatvfs(descriptor_, &system) != 0)
    return system_error(errno, "cannot stat " + location_.path());
  const bool is_unlimited = system.f_blocks == 0;  // possible for tmpfs
  if (is_unlimited || bytes <= system.f_bavail * system.f_frsize) return {};
  return no_space_error(location_.directory, bytes, ENOSPC);
}

Status SegmentFile::read(std::span<std::byte> into) const {
  ssize_t length = ::pread(descriptor_, into.data(), into.size(), 0);
  if (length == static_cast<ssize_t>(into.size())) return {};
  if (length < 0) return system_error(errno, "cannot read " + location_.path());
  return Error(ErrorClass::other, location_.path() + " is too short for a node segment; remove it");
}

Status SegmentFile::check_size(std::size_t bytes) const {
  struct stat file;
  if (::fstat(descriptor_, &file) != 0)
    return system_error(errno, "cannot stat " + location_.path());
  if (static_cast<std::size_t>(file.st_size) == bytes) return {};
  return Error(ErrorClass::other, location_.path() + " has " + std::to_string(file.st_size) +
                                      " bytes instead of " + std::to_string(bytes) +
                                      ": it was changed after its creation; remove it");
}

bool SegmentFile::claim(std::size_t offset) const {
  struct flock range {};
  range.l_type = F_WRLCK;
  range.l_whence = SEEK_SET;
  range.l_start = static_cast<off_t>(offset);
  range.l_len = 1;
  return ::fcntl(descriptor_, F_OFD_SETLK, &range) == 0;
}

int remove_unused_segments(const std::string& directory) {
  const std::string prefix = name_prefix();
  int removed = 0;
  for (const std::string& name : base::names_in(directory)) {
    if (!name.starts_with(prefix)) continue;
    const std::string path = directory + "/" + name;
    Descriptor file = open_existing(path);
    if (!file.is_open() || !check_owner(file.get(), path)) continue;
    if (remove_if_unused(file.get(), path).value_or(false)) ++removed;
  }
  return removed;
}

}  // namespace shim::node
