// SPDX-License-Identifier: BSD-3-Clause
// A further lane of a process: an engine with ways of its own to the processes of the node, for communicators that do not leave it. What
// goes on in one lane does not disturb another (docs/architecture.md, "Lanes").
#pragma once

#include <memory>

#include "shim/base/shared_area.hpp"
#include "shim/p2p/p2p.hpp"
#include "shim/transport/shm/shm.hpp"
#include "shim/transport/transport.hpp"

namespace shim::sessions {

class Lane final : private p2p::Router {
 public:
  /// What its process gives it, and what must outlive it.
  struct Parts {
    p2p::EngineSpec engine;    ///< but for router and transports
    p2p::Router& of_process;   ///< knows the node's processes
    std::unique_ptr<base::SharedArea> area;  ///< null where no other process of the job is on the node
    transport::ShmSettings shm;
  };
  /// Errors: those of make_shm.
  static base::Result<std::unique_ptr<Lane>> make(Parts parts);

  p2p::Engine& engine() { return *engine_; }
  /// Null where no other process of the job is on the node.
  base::SharedArea* area() { return area_.get(); }

 private:
  explicit Lane(Parts& parts) : own_(parts.engine.self), of_process_(parts.of_process), area_(std::move(parts.area)) {}
  base::Result<p2p::Route> route_to(base::ProcessId process) override;
  bool is_alive(base::ProcessId process) override { return of_process_.is_alive(process); }
  bool has_died(base::ProcessId process) override { return of_process_.has_died(process); }
  bool takes_packets(base::ProcessId process) override { return of_process_.takes_packets(process); }

  const base::ProcessId own_;  ///< the engine asks its router for ways before whoever makes it has it
  // destroyed in reverse
  p2p::Router& of_process_;
  std::unique_ptr<base::SharedArea> area_;
  std::unique_ptr<transport::Transport> self_, shm_;
  std::unique_ptr<p2p::Engine> engine_;
};

}  // namespace shim::sessions
