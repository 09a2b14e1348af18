// SPDX-License-Identifier: BSD-3-Clause
#include "tests/transport/fault_injection.hpp"

#include <rdma/fi_cm.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_eq.h>
#include <rdma/fi_errno.h>
#include <rdma/fi_rma.h>
#include <rdma/fi_tagged.h>

#include <algorithm>
#include <mutex>
#include <random>
#include <unordered_map>
#include <vector>

#include "shim/transport/ofi/ofi_transport.hpp"

namespace shim::transport::testing {
struct FaultInjector::State {
  /// A send that the transport considers accepted by the provider.
  struct Deferred {
    std::vector<std::byte>
        injected;  ///< copy of injected bytes; others remain in the caller's buffer
    const void* bytes;
    std::size_t length;
    void* description;
    fi_addr_t to;
    void* context;  ///< null for injected sends
  };
  static constexpr std::size_t kMaxDeferred = 4;

  Refusal refusal;
  bool shuffles = false;
  std::vector<Deferred> deferred = {};
  std::mt19937 random{5};
  fid_ep* ep = nullptr;
  // the provider's table, and the injector's copy
  fi_ops_msg *real_msg = nullptr, msg = {};
  fi_ops_tagged *real_tagged = nullptr, tagged = {};
  fi_ops_ep *real_operations = nullptr, operations = {};
  fi_ops_rma *real_rma = nullptr, rma = {};
  fi_ops_cq *real_cq = nullptr, cq = {};
  fi_ops_av *real_av = nullptr, av = {};
  fi_ops_mr *real_mr = nullptr, mr = {};
  fi_ops *real_domain = nullptr, domain = {};
  int domain_closed = kNotClosed;

  ssize_t send_on(const Deferred& send) {
    if (send.context == nullptr) return real_msg->inject(ep, send.bytes, send.length, send.to);
    return real_msg->send(ep, send.bytes, send.length, send.description, send.to, send.context);
  }
  /// Send the deferred packets in random order; keep those that the provider refuses.
  void send_on() {
    std::shuffle(deferred.begin(), deferred.end(), random);
    std::erase_if(deferred, [&](const Deferred& send) { return send_on(send) == 0; });
  }
  ssize_t send_or_defer(Deferred send) {
    if (!shuffles) return send_on(send);
    if (deferred.size() == kMaxDeferred) send_on();
    if (deferred.size() == kMaxDeferred) return -FI_EAGAIN;
    deferred.push_back(std::move(send));
    Deferred& last = deferred.back();
    if (last.context == nullptr) {
      const auto* begin = static_cast<const std::byte*>(last.bytes);
      last.injected.assign(begin, begin + last.length);
      last.bytes = last.injected.data();
    }
    return 0;
  }
};

namespace {

std::mutex states_mutex;
std::unordered_map<const void*, FaultInjector::State*>& states() {
  static std::unordered_map<const void*, FaultInjector::State*> all;
  return all;
}
FaultInjector::State& state_of(const void* object) {
  std::lock_guard guard(states_mutex);
  return *states().at(object);
}

constexpr ssize_t kLost = FaultInjector::kLost;

/// Damage the first bytes of a frame, its token, so that its receiver drops it as unauthenticated.
void damage(const void* bytes) {
  *static_cast<std::byte*>(const_cast<void*>(bytes)) ^= std::byte{0xff};
}

/// Functions that replace the provider's functions.
struct Replacements {
  static ssize_t send(fid_ep* ep, const void* bytes, std::size_t length, void* description,
                      fi_addr_t to, void* context) {
    FaultInjector::State& state = state_of(ep);
    auto code = state.refusal(Call::send);
    if (code == kLost) {
      damage(bytes);
      code = 0;
    }
    if (code != 0) return code;
    return state.send_or_defer({{}, bytes, length, description, to, context});
  }

  static ssize_t inject(fid_ep* ep, const void* bytes, std::size_t length, fi_addr_t to) {
    FaultInjector::State& state = state_of(ep);
    if (auto code = state.refusal(Call::inject)) return code == kLost ? 0 : code;
    return state.send_or_defer({{}, bytes, length, nullptr, to, nullptr});
  }

  static ssize_t receive(fid_ep* ep, void* bytes, std::size_t length, void* description,
                         fi_addr_t from, void* context) {
    FaultInjector::State& state = state_of(ep);
    if (auto code = state.refusal(Call::receive)) return code;
    return state.real_msg->recv(ep, bytes, length, description, from, context);
  }

  static ssize_t send_matched(fid_ep* ep, const void* bytes, std::size_t length, void* description,
                              fi_addr_t to, std::uint64_t bits, void* context) {
    FaultInjector::State& state = state_of(ep);
    if (auto code = state.refusal(Call::send_matched)) return code;
    return state.real_tagged->send(ep, bytes, length, description, to, bits, context);
  }

  static ssize_t inject_matched(fid_ep* ep, const void* bytes, std::size_t length, fi_addr_t to,
                                std::uint64_t bits) {
    FaultInjector::State& state = state_of(ep);
    if (auto code = state.refusal(Call::inject_matched)) return code == kLost ? 0 : code;
    return state.real_tagged->inject(ep, bytes, length, to, bits);
  }

  static ssize_t receive_matched(fid_ep* ep, void* bytes, std::size_t length, void* description,
                                 fi_addr_t from, std::uint64_t bits, std::uint64_t ignored,
                                 void* context) {
    FaultInjector::State& state = state_of(ep);
    if (auto code = state.refusal(Call::receive_matched)) return code;
    return state.real_tagged->recv(ep, bytes, length, description, from, bits, ignored, context);
  }

  static ssize_t cancel(fid* ep, void* context) {
    FaultInjector::State& state = state_of(ep);
    if (auto code = state.refusal(Call::cancel)) return code;
    return state.real_operations->cancel(ep, context);
  }

  static ssize_t read(fid_ep* ep, void* bytes, std::size_t length, void* description,
                      fi_addr_t from, std::uint64_t address, std::uint64_t key, void* context) {
    FaultInjector::State& state = state_of(ep);
    if (auto code = state.refusal(Call::read)) return code == kLost ? 0 : code;
    return state.real_rma->read(ep, bytes, length, description, from, address, key, context);
  }

  static ssize_t completions(fid_cq* cq, void* entries, std::size_t count) {
    FaultInjector::State& state = state_of(cq);
    if (auto code = state.refusal(Call::completions)) return code;
    if (!state.deferred.empty()) state.send_on();
    return state.real_cq->read(cq, entries, count);
  }

  static int insert(fid_av* av, const void* names, std::size_t count, fi_addr_t* addresses,
                    std::uint64_t flags, void* context) {
    FaultInjector::State& state = state_of(av);
    if (auto code = state.refusal(Call::insert)) return static_cast<int>(code);
    return state.real_av->insert(av, names, count, addresses, flags, context);
  }

  static int register_memory(fid* domain, const void* bytes, std::size_t length,
                             std::uint64_t access, std::uint64_t offset, std::uint64_t key,
                             std::uint64_t flags, fid_mr** region, void* context) {
    FaultInjector::State& state = state_of(domain);
    if (auto code = state.refusal(Call::register_memory)) return static_cast<int>(code);
    return state.real_mr->reg(domain, bytes, length, access, offset, key, flags, region, context);
  }

  static int close_domain(fid* domain) {
    FaultInjector::State& state = state_of(domain);
    return state.domain_closed = state.real_domain->close(domain);
  }
};

/// Replace the provider's function table by a copy, which the caller then changes.
template <typename Table>
void replace(Table*& used, Table*& real, Table& copy, const void* object,
             FaultInjector::State& state) {
  if (used == nullptr) return;
  real = used;
  copy = *used;
  used = &copy;
  states()[object] = &state;
}

}  // namespace

FaultInjector::FaultInjector(Transport& ofi, Refusal refusal, bool shuffles)
    : state_(std::make_unique<State>(State{.refusal = std::move(refusal), .shuffles = shuffles})) {
  const Endpoint& endpoint = static_cast<Ofi&>(ofi).endpoint();
  State& state = *state_;
  state.ep = endpoint.ep();
  std::lock_guard guard(states_mutex);
  replace(endpoint.ep()->msg, state.real_msg, state.msg, endpoint.ep(), state);
  replace(endpoint.ep()->tagged, state.real_tagged, state.tagged, endpoint.ep(), state);
  replace(endpoint.ep()->ops, state.real_operations, state.operations, endpoint.ep(), state);
  replace(endpoint.ep()->rma, state.real_rma, state.rma, endpoint.ep(), state);
  replace(endpoint.cq()->ops, state.real_cq, state.cq, endpoint.cq(), state);
  replace(endpoint.av()->ops, state.real_av, state.av, endpoint.av(), state);
  replace(endpoint.domain()->mr, state.real_mr, state.mr, endpoint.domain(), state);
  replace(endpoint.domain()->fid.ops, state.real_domain, state.domain, &endpoint.domain()->fid,
          state);
  state.msg.send = Replacements::send;
  state.msg.inject = Replacements::inject;
  state.msg.recv = Replacements::receive;
  state.tagged.send = Replacements::send_matched;
  state.tagged.inject = Replacements::inject_matched;
  state.tagged.recv = Replacements::receive_matched;
  state.operations.cancel = Replacements::cancel;
  state.rma.read = Replacements::read;
  state.cq.read = Replacements::completions;
  state.av.insert = Replacements::insert;
  state.mr.reg = Replacements::register_memory;
  state.domain.close = Replacements::close_domain;
}

int FaultInjector::domain_closed() const { return state_->domain_closed; }

FaultInjector::~FaultInjector() {
  std::lock_guard guard(states_mutex);
  std::erase_if(states(), [&](const auto& entry) { return entry.second == state_.get(); });
}

}  // namespace shim::transport::testing
