// SPDX-License-Identifier: BSD-3-Clause
// CommunicatorLabel is what the user knows of a communicator: name, creation tag, size, and the
// place in the program that created it.
#pragma once

#include <memory>
#include <mutex>
#include <string>

#include "shim/base/call_site.hpp"
#include "shim/p2p/p2p.hpp"

namespace shim::sessions {

/// Tag with which a communicator was created, shared by those derived from it; null: none.
using CreationTag = std::shared_ptr<const std::string>;

/// Thread-safe. Shared by a communicator and its context, for reports about waiting calls.
class CommunicatorLabel final : public p2p::ContextLabel {
 public:
  struct Facts {
    CreationTag tag;          ///< of the communicator, or of the one that it is derived from
    bool is_derived = false;  ///< by MPI_Comm_dup and the like
    int rank = 0, size = 0;
    int remote_size = -1;    ///< of an intercommunicator; -1: none
    base::CallSite made_at;  ///< empty unless INTERSESSION_LOG=debug
  };
  CommunicatorLabel(std::string name, Facts facts)
      : facts_(std::move(facts)), name_(std::move(name)) {}

  std::string name() const;
  void set_name(std::string name);
  /// Return kind, name, size and tag: communicator "halo" of 2 processes (creation tag "x").
  std::string description() const;
  /// Return the description and where the communicator was created, if known.
  std::string description_with_origin() const;
  /// Return the description and this process's rank.
  std::string text() const override;

 private:
  const Facts facts_;
  mutable std::mutex mutex_;  ///< guards the name
  std::string name_;
};

}  // namespace shim::sessions
