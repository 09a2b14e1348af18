// SPDX-License-Identifier: BSD-3-Clause
// Vci is an additional engine with its own node-local transports. It serves communicators within
// the node, and traffic in one VCI does not disturb another (docs/developer/architecture.md,
// "VCIs").
#pragma once

#include <memory>

#include "shim/node/shared_area.hpp"
#include "shim/p2p/p2p.hpp"
#include "shim/transport/shm/shm.hpp"
#include "shim/transport/transport.hpp"

namespace shim::sessions {

class Vci final : private p2p::Router {
 public:
  /// Inputs from the process; references outlive this object.
  struct Parts {
    p2p::EngineSpec engine;                  ///< without router and transports
    p2p::Router& of_process;                 ///< knows the node's processes
    std::unique_ptr<node::SharedArea> area;  ///< null if no other process of the job is on the node
    transport::ShmSettings shm;
  };
  /// Errors: those of make_shm.
  static base::Result<std::unique_ptr<Vci>> make(Parts parts);

  p2p::Engine& engine() { return *engine_; }
  /// Null if no other process of the job is on the node.
  node::SharedArea* area() { return area_.get(); }

 private:
  explicit Vci(Parts& parts)
      : own_(parts.engine.self), of_process_(parts.of_process), area_(std::move(parts.area)) {}
  base::Result<p2p::Route> route_to(base::ProcessId process) override;
  bool is_alive(base::ProcessId process) override { return of_process_.is_alive(process); }
  bool has_died(base::ProcessId process) override { return of_process_.has_died(process); }
  bool receives_packets(base::ProcessId process) override {
    return of_process_.receives_packets(process);
  }
  std::string describe(base::ProcessId process) override { return of_process_.describe(process); }

  const base::ProcessId own_;  ///< the engine calls route_to before make() returns
  // destroyed in reverse
  p2p::Router& of_process_;
  std::unique_ptr<node::SharedArea> area_;
  std::unique_ptr<transport::Transport> self_, shm_;
  std::unique_ptr<p2p::Engine> engine_;
};

}  // namespace shim::sessions
