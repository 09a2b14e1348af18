// SPDX-License-Identifier: BSD-3-Clause
#include "shim/sessions/creation_protocol.hpp"

#include <utility>

#include "shim/sessions/process.hpp"

namespace shim::sessions {

CreationKey key_of(const CreationCall& call) {
  const auto ranges = call.group->ranges();
  return {call.scope, call.tag, {ranges.begin(), ranges.end()}, call.topology};
}

base::Error called_twice(const CreationCall& call) {
  return {base::ErrorClass::arg,
          "another thread of this process is creating a communicator with the same group and the "
          "same tag \"" +
              call.tag + "\"; use another tag (MPI-4.1 §7.4.2)"};
}

OfferedBase::~OfferedBase() {
  if (!is_used_) process_.vcis().skip_base(base_);
}

base::Result<Agreement> OfferedBase::used_by(base::Result<Agreement> agreed) {
  if (agreed) {
    if (auto opened = process_.vcis().open(agreed->vci); !opened)
      agreed = std::move(opened).error();
  }
  is_used_ = agreed.has_value();
  return agreed;
}

}  // namespace shim::sessions
