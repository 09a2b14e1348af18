// SPDX-License-Identifier: BSD-3-Clause
// Wire over libfabric, as a careful program uses it.
// It uses a reliable datagram endpoint (FI_EP_RDM), fi_inject for short messages, receives posted
// before their messages are sent, and reads completions in batches. Messages are ordered, as MPI
// requires; memory is not registered explicitly. The sessions' transport requests equal
// capabilities.
#include <arpa/inet.h>
#include <netinet/in.h>
#include <rdma/fabric.h>
#include <rdma/fi_cm.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_errno.h>
#include <sched.h>

#include <array>
#include <cstring>

#include "bench/compare/wire.hpp"
#include "bench/lib/fail.hpp"

namespace bench {
namespace {

constexpr std::uint32_t kApiVersion = FI_VERSION(1, 11);
constexpr std::size_t kMaxNameBytes = 256;
constexpr std::size_t kReadBatch = 16;
constexpr std::uint64_t kPollsBetweenClocks = 4096;

template <typename T>
struct Close {
  void operator()(T* object) const { ::fi_close(&object->fid); }
};
template <typename T>
using Fid = std::unique_ptr<T, Close<T>>;
using Info = std::unique_ptr<fi_info, decltype(&::fi_freeinfo)>;

bool is_loopback(const fi_info& info) {
  if (!info.src_addr || info.addr_format != FI_SOCKADDR_IN) return false;
  return ntohl(static_cast<const sockaddr_in*>(info.src_addr)->sin_addr.s_addr) >> 24 == 127;
}

/// Return a rank of a provider, higher is better: a reachable network first, then address formats
/// that every provider accepts.
int worth(const fi_info& info) {
  return (is_loopback(info) ? 0 : 2) + (info.addr_format == FI_SOCKADDR_IN6 ? 0 : 1);
}

class FabricWire final : public Wire {
 public:
  FabricWire(const std::string& provider, AddressExchange& address_exchange)
      : provider_(provider), info_(find()) {
    open();
    peer_ = insert(address_exchange.exchange(name()));
  }

  void expect(std::span<std::byte> buffer) override {
    post("fi_recv", [&](void* context) {
      return ::fi_recv(ep_.get(), buffer.data(), buffer.size(), nullptr, FI_ADDR_UNSPEC, context);
    });
  }

  void send(std::span<const std::byte> message) override {
    if (message.size() > info_->ep_attr->max_msg_size)
      fail(provider_ + " carries " + std::to_string(info_->ep_attr->max_msg_size) +
           " bytes at most");
    if (message.size() <= info_->tx_attr->inject_size)  // without a completion
      until_taken("fi_inject",
                  [&] { return ::fi_inject(ep_.get(), message.data(), message.size(), peer_); });
    else
      post("fi_send", [&](void* context) {
        return ::fi_send(ep_.get(), message.data(), message.size(), nullptr, peer_, context);
      });
  }

  void wait() override {
    Patience patience(*this);
    while (under_way_ > 0)
      if (progress() == 0) patience.take();
    contexts_used_ = 0;
  }

 private:
  /// Called after an unsuccessful poll: yields, and reads the clock now and then.
  class Patience {
   public:
    explicit Patience(const FabricWire& wire) : wire_(wire) {}
    void take() {
      if (++polls_ > kPollsBeforeYield) ::sched_yield();
      if (polls_ % kPollsBetweenClocks != 0) return;
      const auto now = std::chrono::steady_clock::now();
      if (end_ == decltype(end_){}) end_ = now + kWaitTimeout;
      if (now > end_)
        fail(wire_.provider_ + ": nothing moves; " + std::to_string(wire_.under_way_) +
             " operations are under way");
    }

   private:
    const FabricWire& wire_;
    std::uint64_t polls_ = 0;
    std::chrono::steady_clock::time_point end_{};
  };

  [[noreturn]] void fail_at(const char* doing, long code) const {
    fail(provider_ + ", " + doing + ": " +
         ::fi_strerror(static_cast<int>(code < 0 ? -code : code)));
  }
  void check(const char* doing, int code) const {
    if (code != 0) fail_at(doing, code);
  }

  Info find() const;
  void open();
  std::string name() const;
  fi_addr_t insert(const std::string& name);
  std::size_t progress();
  [[noreturn]] void fail_with_entry();

  template <typename Try>
  void until_taken(const char* doing, Try try_once) {
    Patience patience(*this);
    while (const ssize_t code = try_once()) {
      if (code != -FI_EAGAIN) fail_at(doing, code);
      if (progress() == 0) patience.take();
    }
  }
  template <typename Try>
  void post(const char* doing, Try try_once) {
    if (contexts_used_ == kMaxInFlight) fail("more operations under way than a wire has room for");
    fi_context2* context = &contexts_[contexts_used_++];
    until_taken(doing, [&] { return try_once(context); });
    ++under_way_;
  }

  std::string provider_;
  Info info_;
  Fid<fid_fabric> fabric_;  // closed in reverse order
  Fid<fid_domain> domain_;
  Fid<fid_av> av_;
  Fid<fid_cq> cq_;
  Fid<fid_ep> ep_;
  fi_addr_t peer_ = FI_ADDR_UNSPEC;
  std::array<fi_context2, kMaxInFlight> contexts_{};
  std::size_t contexts_used_ = 0;  ///< since the last wait; operations may complete out of order
  std::size_t under_way_ = 0;
};

Info FabricWire::find() const {
  Info hints(::fi_allocinfo(), ::fi_freeinfo);
  if (!hints) fail("no memory");
  hints->caps = FI_MSG;
  hints->mode = FI_CONTEXT | FI_CONTEXT2;
  hints->ep_attr->type = FI_EP_RDM;
  hints->tx_attr->msg_order = FI_ORDER_SAS;
  hints->rx_attr->msg_order = FI_ORDER_SAS;
  hints->domain_attr->threading = FI_THREAD_DOMAIN;
  hints->domain_attr->data_progress = FI_PROGRESS_MANUAL;
  hints->domain_attr->control_progress = FI_PROGRESS_MANUAL;
  hints->fabric_attr->prov_name = ::strdup(provider_.c_str());
  fi_info* found = nullptr;
  const int code = ::fi_getinfo(kApiVersion, nullptr, nullptr, 0, hints.get(), &found);
  if (code == -FI_ENODATA)
    fail(provider_ +
         " is not offered on this machine for ordered datagrams (FI_EP_RDM, FI_ORDER_SAS)");
  check("fi_getinfo", code);
  const Info all(found, ::fi_freeinfo);
  const fi_info* best = nullptr;
  for (const fi_info* each = found; each; each = each->next)
    if (provider_ == each->fabric_attr->prov_name && (!best || worth(*each) > worth(*best)))
      best = each;
  if (!best)
    fail(provider_ + " is offered as a part of " + found->fabric_attr->prov_name + " only");
  return {::fi_dupinfo(best), ::fi_freeinfo};
}

void FabricWire::open() {
  fid_fabric* fabric = nullptr;
  check("fi_fabric", ::fi_fabric(info_->fabric_attr, &fabric, nullptr));
  fabric_.reset(fabric);
  fid_domain* domain = nullptr;
  check("fi_domain", ::fi_domain(fabric, info_.get(), &domain, nullptr));
  domain_.reset(domain);
  fi_av_attr of_addresses{.type = FI_AV_TABLE};
  fid_av* av = nullptr;
  check("fi_av_open", ::fi_av_open(domain, &of_addresses, &av, nullptr));
  av_.reset(av);
  fi_cq_attr of_completions{
      .size = 2 * kMaxInFlight, .format = FI_CQ_FORMAT_CONTEXT, .wait_obj = FI_WAIT_NONE};
  fid_cq* cq = nullptr;
  check("fi_cq_open", ::fi_cq_open(domain, &of_completions, &cq, nullptr));
  cq_.reset(cq);
  fid_ep* ep = nullptr;
  check("fi_endpoint", ::fi_endpoint(domain, info_.get(), &ep, nullptr));
  ep_.reset(ep);
  check("fi_ep_bind to the addresses", ::fi_ep_bind(ep, &av->fid, 0));
  check("fi_ep_bind to the completions", ::fi_ep_bind(ep, &cq->fid, FI_TRANSMIT | FI_RECV));
  check("fi_enable", ::fi_enable(ep));
}

std::string FabricWire::name() const {
  std::string bytes(kMaxNameBytes, '\0');
  std::size_t size = bytes.size();
  check("fi_getname", ::fi_getname(&ep_->fid, bytes.data(), &size));
  bytes.resize(size);
  return bytes;
}

fi_addr_t FabricWire::insert(const std::string& name) {
  fi_addr_t address = FI_ADDR_UNSPEC;
  if (const int inserted = ::fi_av_insert(av_.get(), name.data(), 1, &address, 0, nullptr);
      inserted != 1)
    fail_at("fi_av_insert", inserted < 0 ? inserted : -FI_EADDRNOTAVAIL);
  return address;
}

/// Return the number of completed operations.
std::size_t FabricWire::progress() {
  fi_cq_entry entries[kReadBatch];
  const ssize_t ended = ::fi_cq_read(cq_.get(), entries, kReadBatch);
  if (ended == -FI_EAGAIN) return 0;
  if (ended == -FI_EAVAIL) fail_with_entry();
  if (ended < 0) fail_at("fi_cq_read", ended);
  under_way_ -= static_cast<std::size_t>(ended);
  return static_cast<std::size_t>(ended);
}

void FabricWire::fail_with_entry() {
  fi_cq_err_entry entry{};
  if (const ssize_t code = ::fi_cq_readerr(cq_.get(), &entry, 0); code < 0)
    fail_at("fi_cq_readerr", code);
  fail_at("an operation", entry.err);
}

}  // namespace

std::unique_ptr<Wire> make_fabric_wire(const std::string& provider,
                                       AddressExchange& address_exchange) {
  return std::make_unique<FabricWire>(provider, address_exchange);
}

}  // namespace bench
