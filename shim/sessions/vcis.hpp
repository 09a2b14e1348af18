// SPDX-License-Identifier: BSD-3-Clause
// Vcis holds the VCIs of a process: VCI 0, which serves creations and all communicators that span
// nodes, and further ones for communicators within the node.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "shim/base/log.hpp"
#include "shim/base/result.hpp"
#include "shim/base/settings.hpp"
#include "shim/node/shared_area.hpp"
#include "shim/p2p/engines.hpp"
#include "shim/p2p/p2p.hpp"
#include "shim/sessions/context_ids.hpp"
#include "shim/sessions/node_memory.hpp"
#include "shim/sessions/vci.hpp"
#include "shim/transport/transport.hpp"

namespace shim::sessions {

/// Thread-safe after open_first().
class Vcis {
 public:
  /// References outlive this object.
  struct Spec {
    const base::Settings& settings;
    const base::Log& log;
    base::ProcessId self;
    NodeMemory& node;
    p2p::Router& router;
    p2p::WaitReports reports;
  };
  explicit Vcis(const Spec& spec);
  ~Vcis();
  Vcis(const Vcis&) = delete;
  Vcis& operator=(const Vcis&) = delete;

  /// Make the engine of VCI 0.
  void open_first();
  /// Set the first context base, and open the VCIs that earlier incarnations opened. Errors: those
  /// of open().
  base::Status begin(const ContextIds& ids);
  /// Transfer all engines to other threads, which may use them.
  void release_ownership();
  /// Destroy all engines.
  void close();

  /// Return the number of VCIs, open or not.
  std::uint32_t count() const { return spec_.node.vci_count(); }
  /// Return the VCI for communicators made from a session that this thread opens. Threads get VCIs
  /// round-robin.
  std::uint32_t of_thread(std::thread::id thread);
  /// Make a VCI usable for a communicator, and update what its engine knows of the cores. Local.
  /// Cannot fail for lack of shared memory once another process of the node has opened the VCI.
  /// Errors: no_space.
  base::Status open(std::uint32_t vci);
  /// Open the wanted VCI for a communicator and return it; return VCI 0 if shared memory lacks
  /// space for messages. For the process that chooses the VCI; the other members call open().
  std::uint32_t open_or_default(std::uint32_t wanted);

  /// True between open_first() and close().
  bool are_open() const { return engine_ != nullptr; }
  /// Return the engine of an open VCI.
  p2p::Engine& engine(std::uint32_t vci) { return vci == 0 ? *engine_ : extra(vci)->engine(); }
  /// Return the area on which local processes blocked in this open VCI sleep.
  node::SharedArea& area(std::uint32_t vci) {
    return vci == 0 ? spec_.node.area() : *extra(vci)->area();
  }
  /// Return the engines of all open VCIs.
  std::vector<p2p::Engine*> engines();
  const std::shared_ptr<p2p::Engines>& all_engines() const { return all_engines_; }
  /// Return the route of VCI 0 to this process, or to another process of this node.
  p2p::Route route_to_self() const;
  p2p::Route route_to_local(base::ProcessId process) const;

  /// Poll each VCI once, except VCIs that other threads poll. Errors: those of Engine::progress.
  base::Status progress() { return all_engines_->progress(); }
  /// Wait until no VCI has pending messages. False if that takes longer.
  bool flush(double seconds);
  /// Declare that no context of this base will be made, in any VCI.
  void skip_base(std::uint32_t base);

 private:
  // acquire: pairs with the release in open, so that the whole Vci is visible
  Vci* extra(std::uint32_t vci) const { return extra_[vci - 1].load(std::memory_order_acquire); }
  base::Status open_extra(std::uint32_t vci);
  base::Status open_if_space(std::uint32_t vci);
  void update_oversubscription();

  static constexpr std::uint32_t kMost = node::kMaxVcis;
  static_assert(kMost <= p2p::Engines::kMost);

  const Spec spec_;
  // destroyed in reverse
  std::shared_ptr<p2p::Engines> all_engines_ = std::make_shared<p2p::Engines>();
  std::unique_ptr<transport::Transport> self_transport_;
  std::unique_ptr<p2p::Engine> engine_;
  std::uint32_t reserved_base_ = 0;             ///< see ContextIds
  std::mutex mutex_;                            ///< guards the creation of VCIs and the next three
  std::array<std::thread::id, kMost> threads_;  ///< last thread that got each VCI
  std::uint32_t next_ = 0;
  std::vector<std::unique_ptr<Vci>> made_;  ///< in order of creation
  std::array<std::atomic<Vci*>, kMost - 1> extra_{};
  std::atomic<bool> oversubscription_is_known_{false};  ///< no recount needed; pairs with nothing
};

}  // namespace shim::sessions
