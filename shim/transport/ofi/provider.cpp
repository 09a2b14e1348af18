// SPDX-License-Identifier: BSD-3-Clause
#include "shim/transport/ofi/provider.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_errno.h>
#include <strings.h>

#include <array>
#include <cstring>
#include <utility>

#include "shim/transport/ofi/traits.hpp"

namespace shim::transport {

using base::Error;
using base::ErrorClass;
using base::Result;

namespace {

constexpr std::array<std::string_view, 3> kKnown{"tcp;ofi_rxm", "sockets", "shm"};

/// libfabric interface version: mode bits and mr_mode as in fi_domain(3) since then.
constexpr std::uint32_t kApiVersion = FI_VERSION(1, 11);

/// Requested capabilities; messages always.
struct EndpointRequest {
  bool reads;            ///< of remote memory
  bool order;            ///< of messages within a pair
  bool tags = false;     ///< tagged messages, …
  bool senders = false;  ///< … with source addresses
};

/// All modes without extra cost: each send is in one local buffer with space in front.
constexpr std::uint64_t kModes = FI_CONTEXT | FI_CONTEXT2 | FI_MSG_PREFIX | FI_ASYNC_IOV |
                                 FI_RX_CQ_DATA | FI_NOTIFY_FLAGS_ONLY | FI_RESTRICTED_COMP;
/// Memory modes: registered memory is allocated, bound to the only endpoint, and published by
/// address and any key.
constexpr int kMemoryModes = FI_MR_LOCAL | FI_MR_VIRT_ADDR | FI_MR_ALLOCATED | FI_MR_PROV_KEY |
                             FI_MR_ENDPOINT;

InfoList make_hints(const OfiLibrary& library, std::string_view provider,
                    const EndpointRequest& request) {
  InfoList hints(library.dupinfo(nullptr), library.freeinfo);
  if (!hints) return hints;
  hints->caps = FI_MSG;
  if (request.reads) hints->caps |= FI_SEND | FI_RECV | FI_RMA | FI_READ | FI_REMOTE_READ;
  if (request.tags) hints->caps |= FI_TAGGED;
  if (request.senders) hints->caps |= FI_DIRECTED_RECV | FI_SOURCE;
  hints->mode = kModes;
  hints->ep_attr->type = FI_EP_RDM;
  hints->tx_attr->msg_order = hints->rx_attr->msg_order = request.order ? FI_ORDER_SAS
                                                                        : FI_ORDER_NONE;
  hints->tx_attr->size = kSendDepth;
  hints->rx_attr->size = request.tags ? kMatchedDepth : kReceiveDepth;
  hints->domain_attr->threading = FI_THREAD_DOMAIN;  // the owner's lock orders all calls
  hints->domain_attr->data_progress = FI_PROGRESS_MANUAL;
  hints->domain_attr->control_progress = FI_PROGRESS_MANUAL;
  hints->domain_attr->resource_mgmt = FI_RM_ENABLED;
  hints->domain_attr->mr_mode = kMemoryModes;
  hints->fabric_attr->prov_name = ::strndup(provider.data(), provider.size());
  return hints;
}

/// Return the address as text; empty unless it is an Internet address.
std::string address_text(const fi_info& info) {
  char text[INET6_ADDRSTRLEN] = "";
  if (info.src_addr && info.addr_format == FI_SOCKADDR_IN)
    ::inet_ntop(AF_INET, &static_cast<const sockaddr_in*>(info.src_addr)->sin_addr, text,
                sizeof text);
  if (info.src_addr && info.addr_format == FI_SOCKADDR_IN6)
    ::inet_ntop(AF_INET6, &static_cast<const sockaddr_in6*>(info.src_addr)->sin6_addr, text,
                sizeof text);
  return text;
}

bool is_over(const fi_info& info, const std::string& interface) {
  if (info.domain_attr->name && interface == info.domain_attr->name) return true;
  return address_text(info).starts_with(interface);
}

/// Return a rank, 0 is best: IPv4 that others can reach; then IPv6; then link-local; then loopback.
int rank_of(const fi_info& info) {
  std::string text = address_text(info);
  if (text.empty()) return 0;  // an address format of the provider
  if (text.starts_with("127.") || text == "::1") return 3;
  if (text.starts_with("fe80:") || text.starts_with("169.254.")) return 2;
  return info.addr_format == FI_SOCKADDR_IN ? 0 : 1;
}

std::string offered_interfaces(const fi_info* list) {
  std::string names;
  for (const fi_info* info = list; info; info = info->next) {
    const std::string name = interface_of(*info);
    if (names.find(name) == std::string::npos) names += (names.empty() ? "" : ", ") + name;
  }
  return names;
}

/// Return 0: this provider; 1: with layers above it, as "tcp;ofi_rxm" for "tcp"; 2: another. Case
/// is ignored, as in libfabric's own comparison: libfabric 1.11 has "UDP", 1.17 "udp".
int distance_of(const fi_info& info, std::string_view provider) {
  const std::string_view name = info.fabric_attr->prov_name;
  if (::strncasecmp(name.data(), provider.data(), provider.size()) != 0) return 2;
  if (name.size() == provider.size()) return 0;
  return name[provider.size()] == ';' ? 1 : 2;
}

/// Return the requests in order of preference.
std::vector<EndpointRequest> endpoint_requests(std::string_view provider,
                                               const OfiSettings& settings) {
  const bool reads = should_read(provider, settings.tuning),
             matches = settings.matching && should_match(provider);
  std::vector<EndpointRequest> requests{{true, true, true, true},
                                        {true, true, true},
                                        {false, true, true, true},
                                        {false, true, true},
                                        {true, true},
                                        {false, true},
                                        {false, false}};
  std::erase_if(requests, [&](const EndpointRequest& request) {
    return (request.reads && !reads) || (request.tags && !matches) ||
           (request.senders && !should_name_senders(provider, settings.tuning));
  });
  return requests;
}

/// Return libfabric's result for the first request that it can satisfy.
Result<InfoList> query_provider(const OfiLibrary& library, std::string_view provider,
                                const OfiSettings& settings) {
  for (const EndpointRequest& request : endpoint_requests(provider, settings)) {
    InfoList hints = make_hints(library, provider, request);
    if (!hints) return Error(ErrorClass::no_mem, "no memory for a libfabric query");
    fi_info* found = nullptr;
    const int code = library.getinfo(kApiVersion, nullptr, nullptr, 0, hints.get(), &found);
    if (code == 0) return InfoList(found, library.freeinfo);
    if (code != -FI_ENODATA) return library.error(code, "fi_getinfo");
  }
  return Error(ErrorClass::other, "not available on this node for reliable datagrams (FI_EP_RDM)");
}

}  // namespace

std::vector<std::string> candidates(const std::string& wanted) {
  if (!wanted.empty() && wanted != kAnyProvider) return {wanted};
  return {kKnown.begin(), kKnown.end()};
}

std::string interface_of(const fi_info& info) {
  const std::string name = info.domain_attr->name ? info.domain_attr->name : "?",
                    address = address_text(info);
  return address.empty() ? name : name + " " + address;
}

Result<InfoList> find_provider(const OfiLibrary& library, const OfiSettings& settings,
                               std::string_view provider) {
  const std::string& interface = settings.interface;
  SHIM_TRY_ASSIGN(InfoList list, query_provider(library, provider, settings));
  const fi_info* best = nullptr;
  const auto order_of = [&](const fi_info& info) {
    return std::pair(distance_of(info, provider), rank_of(info));
  };
  for (const fi_info* info = list.get(); info; info = info->next) {
    if (distance_of(*info, provider) > 1) continue;
    if (!interface.empty() && !is_over(*info, interface)) continue;
    if (!best || order_of(*info) < order_of(*best)) best = info;
  }
  if (!best && !interface.empty())
    return Error(ErrorClass::other, "has no interface \"" + interface + "\"; it offers " +
                                        offered_interfaces(list.get()));
  if (!best)
    return Error(ErrorClass::other,
                 "available only as part of provider " + std::string(list->fabric_attr->prov_name));
  InfoList chosen(library.dupinfo(best), library.freeinfo);
  if (!chosen) return Error(ErrorClass::no_mem, "no memory for the result of a libfabric query");
  return chosen;
}

}  // namespace shim::transport
