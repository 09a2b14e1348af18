// SPDX-License-Identifier: BSD-3-Clause
#include "shim/transport/ofi/provider.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_errno.h>

#include <array>
#include <cstring>

namespace shim::transport {

using base::Error;
using base::ErrorClass;
using base::Result;

namespace {

constexpr std::array<std::string_view, 3> kKnown{"tcp;ofi_rxm", "sockets", "shm"};

/// The interface version whose rules we follow: mode bits and mr_mode as fi_domain(3) describes them since then.
constexpr std::uint32_t kApiVersion = FI_VERSION(1, 11);

InfoList make_hints(const Library& library, std::string_view provider) {
  InfoList hints(library.dupinfo(nullptr), library.freeinfo);
  if (!hints) return hints;
  hints->caps = FI_MSG;
  hints->mode = FI_CONTEXT | FI_CONTEXT2;
  hints->ep_attr->type = FI_EP_RDM;
  // The seam promises order within a pair; a provider that cannot keep it is not usable.
  hints->tx_attr->msg_order = FI_ORDER_SAS;
  hints->rx_attr->msg_order = FI_ORDER_SAS;
  hints->tx_attr->size = kSendDepth;
  hints->rx_attr->size = kReceiveDepth;
  hints->domain_attr->av_type = FI_AV_TABLE;
  hints->domain_attr->threading = FI_THREAD_DOMAIN;  // the owner's lock orders all calls
  hints->domain_attr->data_progress = FI_PROGRESS_MANUAL;
  hints->domain_attr->control_progress = FI_PROGRESS_MANUAL;
  hints->domain_attr->resource_mgmt = FI_RM_ENABLED;
  hints->domain_attr->mr_mode = 0;  // no registered memory
  hints->fabric_attr->prov_name = ::strndup(provider.data(), provider.size());
  return hints;
}

/// The address as text, where it is one of the Internet's; else empty.
std::string address_text(const fi_info& info) {
  char text[INET6_ADDRSTRLEN] = "";
  if (info.src_addr && info.addr_format == FI_SOCKADDR_IN)
    ::inet_ntop(AF_INET, &static_cast<const sockaddr_in*>(info.src_addr)->sin_addr, text, sizeof text);
  if (info.src_addr && info.addr_format == FI_SOCKADDR_IN6)
    ::inet_ntop(AF_INET6, &static_cast<const sockaddr_in6*>(info.src_addr)->sin6_addr, text, sizeof text);
  return text;
}

bool is_over(const fi_info& info, const std::string& interface) {
  if (info.domain_attr->name && interface == info.domain_attr->name) return true;
  return address_text(info).starts_with(interface);
}

/// 0 is best: an IPv4 address that others can reach; then IPv6; then those that only this machine or this cable reaches.
int rank_of(const fi_info& info) {
  std::string text = address_text(info);
  if (text.empty()) return 0;  // no Internet address at all: the provider's own kind
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

}  // namespace

std::vector<std::string> candidates(const std::string& wanted) {
  if (!wanted.empty() && wanted != kAnyProvider) return {wanted};
  return {kKnown.begin(), kKnown.end()};
}

std::string interface_of(const fi_info& info) {
  const std::string name = info.domain_attr->name ? info.domain_attr->name : "?", address = address_text(info);
  return address.empty() ? name : name + " " + address;
}

Result<InfoList> find_provider(const Library& library, std::string_view provider, const std::string& interface) {
  InfoList hints = make_hints(library, provider);
  if (!hints) return Error(ErrorClass::no_mem, "no memory for asking libfabric");
  fi_info* found = nullptr;
  if (int code = library.getinfo(kApiVersion, nullptr, nullptr, 0, hints.get(), &found); code != 0)
    return code == -FI_ENODATA ? Error(ErrorClass::other, "not offered on this machine for ordered datagrams (FI_EP_RDM, FI_ORDER_SAS)")
                               : library.error(code, "fi_getinfo");
  InfoList list(found, library.freeinfo);
  const fi_info* best = nullptr;
  for (const fi_info* info = found; info; info = info->next) {
    // "tcp" also finds "tcp;ofi_rxm", which is another protocol on the wire
    if (provider != info->fabric_attr->prov_name) continue;
    if (!interface.empty() && !is_over(*info, interface)) continue;
    if (!best || rank_of(*info) < rank_of(*best)) best = info;
  }
  if (!best && !interface.empty())
    return Error(ErrorClass::other, "has no interface \"" + interface + "\"; it offers " + offered_interfaces(found));
  if (!best) return Error(ErrorClass::other, "offered only as part of another provider, " + std::string(found->fabric_attr->prov_name));
  InfoList chosen(library.dupinfo(best), library.freeinfo);
  if (!chosen) return Error(ErrorClass::no_mem, "no memory for libfabric's answer");
  return chosen;
}

}  // namespace shim::transport
