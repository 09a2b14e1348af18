// SPDX-License-Identifier: BSD-3-Clause
#include "shim/sessions/communicator_label.hpp"

namespace shim::sessions {

std::string CommunicatorLabel::name() const {
  std::lock_guard guard(mutex_);
  return name_;
}

void CommunicatorLabel::set_name(std::string name) {
  std::lock_guard guard(mutex_);
  name_ = std::move(name);
}

std::string CommunicatorLabel::description() const {
  const std::string given = name();
  std::string text = facts_.remote_size < 0 ? "communicator " : "intercommunicator ";
  text += (given.empty() ? "without a name" : "\"" + given + "\"") + " of " +
          std::to_string(facts_.size);
  if (facts_.remote_size >= 0) text += " and " + std::to_string(facts_.remote_size);
  text += facts_.size == 1 && facts_.remote_size < 0 ? " process" : " processes";
  if (facts_.tag == nullptr || facts_.tag->empty()) return text;
  return text + (facts_.is_derived ? " (derived from one with" : " (with") + " creation tag \"" +
         *facts_.tag + "\")";
}

std::string CommunicatorLabel::description_with_origin() const {
  const std::string origin = base::text_of(facts_.made_at);
  return description() + (origin.empty() ? "" : ", created at " + origin);
}

std::string CommunicatorLabel::text() const {
  return description() + ", rank " + std::to_string(facts_.rank) + " is this process";
}

}  // namespace shim::sessions
