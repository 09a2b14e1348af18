// SPDX-License-Identifier: BSD-3-Clause
#include "shim/bootstrap/pmi1/process_lifetime.hpp"

namespace shim::bootstrap::pmi1 {

PersistentConnection::~PersistentConnection() {
  during_init_.reset();
  during_finalize_.reset();
  connection->finish();
}

void PersistentConnection::before_mpi_init(const WorldModel& model) {
  model_ = model;
  connection->before_world_init(model);
  // On failure there is no launcher to share, and MPI_Init runs without a proxy.
  if (auto use = connection->proxy_during_init(model.seconds)) during_init_ = std::move(*use);
}

void PersistentConnection::after_mpi_init() {
  connection->after_world_init();
  during_init_.reset();
}

void PersistentConnection::before_mpi_finalize(double seconds) {
  if (!model_.speaks_pmi1) return;
  // On failure there is no connection to keep, and MPI_Finalize runs without a proxy.
  if (auto use = connection->use(seconds)) during_finalize_ = std::move(*use);
}

void PersistentConnection::after_mpi_finalize() {
  during_finalize_.reset();
  connection->world_ended();
}

}  // namespace shim::bootstrap::pmi1
