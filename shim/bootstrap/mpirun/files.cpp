// SPDX-License-Identifier: BSD-3-Clause
#include "shim/bootstrap/mpirun/files.hpp"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <utility>

#include "shim/base/descriptor.hpp"
#include "shim/base/files.hpp"

namespace shim::bootstrap::mpirun {
namespace {

using base::Error;
using base::ErrorClass;

Error failed(const std::string& what, int reason) {
  const bool is_full = reason == ENOSPC || reason == EDQUOT;
  return Error(is_full ? ErrorClass::no_space : ErrorClass::other, base::Origin::system, reason,
               what + ": " + std::strerror(reason) +
                   (is_full ? "; mpirun's session folder is full; choose another folder "
                              "(mpirun --tmpdir, or TMPDIR)"
                            : "; the file is in mpirun's session folder of this job"));
}

/// Return a file name for the key; letters, digits and dots stay unchanged.
std::string as_file_name(std::string_view key) {
  static constexpr std::string_view kDigits = "0123456789abcdef";
  std::string name;
  for (const char c : key) {
    const bool is_plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
                          (c >= '0' && c <= '9') || c == '.';
    const auto byte = static_cast<unsigned char>(c);
    if (is_plain)
      name += c;
    else
      (name += '-') += {kDigits[byte >> 4], kDigits[byte & 15]};
  }
  return name;
}

bool read_all(int descriptor, Bytes& bytes) {
  std::array<std::byte, 4096> part;
  while (true) {
    const ssize_t got = ::read(descriptor, part.data(), part.size());
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return got == 0;
    bytes.insert(bytes.end(), part.begin(), part.begin() + got);
  }
}

}  // namespace

Files::Files(std::string folder, const std::string& job)
    : folder_(std::move(folder)), beginning_("intersession-" + as_file_name(job) + ".") {}

std::string Files::path_of(const Name& name) const {
  return folder_ + "/" + beginning_ + std::to_string(name.rank) + "." + as_file_name(name.key);
}

base::Status Files::put(const Name& name, std::span<const std::byte> value) {
  std::string draft = folder_ + "/" + beginning_ + "draft.XXXXXX";
  const base::Descriptor file(base::above_standard_streams(::mkostemp(draft.data(), O_CLOEXEC)));
  if (!file.is_open()) return failed("cannot create a file in " + folder_, errno);
  if (base::write_all(file.get(), value) && ::rename(draft.c_str(), path_of(name).c_str()) == 0)
    return {};
  const int reason = errno;
  ::unlink(draft.c_str());
  return failed("cannot write " + path_of(name), reason);
}

base::Result<std::optional<Bytes>> Files::find(const Name& name) const {
  const std::string path = path_of(name);
  const base::Descriptor file(
      base::above_standard_streams(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW)));
  if (!file.is_open() && errno == ENOENT) return std::optional<Bytes>();
  Bytes bytes;
  if (!file.is_open() || !read_all(file.get(), bytes)) return failed("cannot read " + path, errno);
  return std::optional(std::move(bytes));
}

base::Result<std::vector<std::optional<Bytes>>> Files::find(std::span<const Name> names) {
  std::vector<std::optional<Bytes>> found;
  for (const Name& name : names) {
    SHIM_TRY_ASSIGN(auto value, find(name));
    found.push_back(std::move(value));
  }
  return found;
}

bool Files::has(const Name& name) const { return ::access(path_of(name).c_str(), F_OK) == 0; }

}  // namespace shim::bootstrap::mpirun
