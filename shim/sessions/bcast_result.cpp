// SPDX-License-Identifier: BSD-3-Clause
#include "shim/sessions/bcast_result.hpp"

#include <cstdint>
#include <cstring>

namespace shim::sessions {
namespace {

/// Precedes the bytes: of the value, or of the error's text.
struct Header {
  std::uint64_t bytes = 0;
  std::int32_t error_class = 0;
  std::int32_t zero = 0;
};
static_assert(sizeof(Header) == 16);

base::Status broadcast(Communicator& comm, void* data, std::size_t bytes, int root) {
  const types::Type* byte = &types::byte_type();
  return coll::run(comm.coll(), coll::bcast(comm.coll(), {data, bytes, byte}, root));
}

std::vector<std::byte> bytes_of(const std::string& text) {
  std::vector<std::byte> bytes(text.size());
  std::memcpy(bytes.data(), text.data(), text.size());
  return bytes;
}

}  // namespace

base::Result<std::vector<std::byte>> bcast_result(Communicator& comm, int root,
                                                  base::Result<std::vector<std::byte>> result) {
  Header header;
  std::vector<std::byte> bytes;
  if (comm.rank() == root) {
    const auto error_class = result ? 0 : static_cast<std::int32_t>(result.error().error_class());
    bytes = result ? *std::move(result) : bytes_of(result.error().text());
    header = {bytes.size(), error_class, 0};
  }
  SHIM_TRY(broadcast(comm, &header, sizeof header, root));
  bytes.resize(header.bytes);
  if (header.bytes > 0) SHIM_TRY(broadcast(comm, bytes.data(), bytes.size(), root));
  if (header.error_class == 0) return bytes;
  return base::Error(static_cast<base::ErrorClass>(header.error_class),
                     std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size()));
}

}  // namespace shim::sessions
