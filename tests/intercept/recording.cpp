// SPDX-License-Identifier: BSD-3-Clause
// Defines the shared functions of the programs that use forwarding.hpp.
#include <memory>

#include "tests/intercept/forwarding.hpp"

namespace shim::intercept::testing {

std::vector<Recorded>& recorded() {
  static std::vector<Recorded> calls;
  return calls;
}

std::byte* area(std::size_t parameter) {
  static const auto areas = std::make_unique<std::byte[]>((kMaxParameters + 1) * kAreaBytes);
  return areas.get() + parameter * kAreaBytes;
}

void PrintTo(const Recorded& call, std::ostream* stream) {
  *stream << call.function << std::hex << "(";
  for (std::uint64_t argument : call.arguments) *stream << " " << argument;
  *stream << " )";
}

void PrintTo(const EntryPoint& entry, std::ostream* stream) { *stream << "MPI_" << entry.function; }

}  // namespace shim::intercept::testing
