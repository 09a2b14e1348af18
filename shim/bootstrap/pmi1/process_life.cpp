// SPDX-License-Identifier: BSD-3-Clause
#include "shim/bootstrap/pmi1/process_life.hpp"

namespace shim::bootstrap::pmi1 {
namespace {
constexpr double kSeconds = 30;
}

KeptConnection::~KeptConnection() {
  for_the_end_.reset();
  connection->finish();
}

void KeptConnection::before_world_starts() { connection->world_starts(); }

void KeptConnection::after_world_started() { connection->world_started(); }

void KeptConnection::before_world_ends() {
  // Where it fails there is no launcher to be kept, and the world ends as it would without us.
  if (auto use = connection->use(kSeconds)) for_the_end_ = std::move(*use);
}

void KeptConnection::after_world_ended() {
  for_the_end_.reset();
  connection->world_ended();
}

}  // namespace shim::bootstrap::pmi1
