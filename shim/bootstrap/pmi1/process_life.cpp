// SPDX-License-Identifier: BSD-3-Clause
#include "shim/bootstrap/pmi1/process_life.hpp"

namespace shim::bootstrap::pmi1 {

KeptConnection::~KeptConnection() {
  for_the_start_.reset();
  for_the_end_.reset();
  connection->finish();
}

void KeptConnection::before_world_starts(const WorldModel& model) {
  model_ = model;
  connection->world_starts(model);
  // If it fails there is no launcher to share, and the world starts as it would without us.
  if (auto use = connection->watch_start(model.seconds)) for_the_start_ = std::move(*use);
}

void KeptConnection::after_world_started() {
  connection->world_started();
  for_the_start_.reset();
}

void KeptConnection::before_world_ends(double seconds) {
  if (!model_.speaks_pmi1) return;
  // If it fails there is no launcher to be kept, and the world ends as it would without us.
  if (auto use = connection->use(seconds)) for_the_end_ = std::move(*use);
}

void KeptConnection::after_world_ended() {
  for_the_end_.reset();
  connection->world_ended();
}

}  // namespace shim::bootstrap::pmi1
