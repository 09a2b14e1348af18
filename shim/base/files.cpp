// SPDX-License-Identifier: BSD-3-Clause
#include "shim/base/files.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <memory>
#include <string_view>

#include "shim/base/descriptor.hpp"

namespace shim::base {

Result<std::string> read_file(const std::string& path) {
  const Descriptor file(
      above_standard_streams(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY)));
  struct stat kind;
  if (!file.is_open() || ::fstat(file.get(), &kind) != 0) return system_error(errno, path);
  if (!S_ISREG(kind.st_mode)) return Error(ErrorClass::file, path + ": not a regular file");
  std::string text;
  std::array<char, 4096> part;
  for (;;) {
    const ssize_t bytes = ::read(file.get(), part.data(), part.size());
    if (bytes < 0 && errno == EINTR) continue;
    if (bytes < 0) return system_error(errno, path);
    if (bytes == 0) return text;
    text.append(part.data(), static_cast<std::size_t>(bytes));
  }
}

bool write_all(int descriptor, std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(descriptor, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return false;
    bytes = bytes.subspan(static_cast<std::size_t>(written));
  }
  return true;
}

std::vector<std::string> names_in(const std::string& folder) {
  Descriptor opened(
      above_standard_streams(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)));
  std::vector<std::string> names;
  const std::unique_ptr<DIR, int (*)(DIR*)> entries(
      opened.is_open() ? ::fdopendir(opened.get()) : nullptr, ::closedir);
  if (!entries) return names;
  (void)opened.release();  // closedir(3) closes it
  while (const dirent* entry = ::readdir(entries.get()))
    if (const std::string_view name = entry->d_name; name != "." && name != "..")
      names.emplace_back(name);
  return names;
}

}  // namespace shim::base
