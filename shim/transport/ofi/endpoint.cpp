// SPDX-License-Identifier: BSD-3-Clause
#include "shim/transport/ofi/endpoint.hpp"

#include <rdma/fi_cm.h>
#include <rdma/fi_errno.h>

namespace shim::transport {

using base::Result;
using base::Status;

Result<Endpoint> Endpoint::open(const OfiLibrary& library, InfoList info, const OfiTuning& tuning) {
  const Traits traits = traits_of(*info, tuning);
  Endpoint endpoint(std::move(info), traits);
  SHIM_TRY(endpoint.open_all(library));
  return endpoint;
}

Status Endpoint::open_all(const OfiLibrary& library) {
  // Each object is stored in its owner at once, so that a later failure closes it.
  fid_fabric* fabric = nullptr;
  if (int code = library.fabric(info_->fabric_attr, &fabric, nullptr))
    return library.error(code, "fi_fabric");
  fabric_.reset(fabric);

  fid_domain* domain = nullptr;
  if (int code = ::fi_domain(fabric, info_.get(), &domain, nullptr))
    return library.error(code, "fi_domain");
  domain_.reset(domain);

  fi_av_attr av_attributes{};
  av_attributes.type = info_->domain_attr->av_type;
  fid_av* av = nullptr;
  if (int code = ::fi_av_open(domain, &av_attributes, &av, nullptr))
    return library.error(code, "fi_av_open");
  av_.reset(av);

  fi_cq_attr cq_attributes{};
  cq_attributes.format = FI_CQ_FORMAT_MSG;
  cq_attributes.wait_obj = FI_WAIT_NONE;
  cq_attributes.size = traits_.sends + traits_.receives +
                       (traits_.match_bits ? traits_.receives + 1 : 0) +
                       (traits_.read_bytes != 0 ? kReadDepth : 0);
  fid_cq* cq = nullptr;
  if (int code = ::fi_cq_open(domain, &cq_attributes, &cq, nullptr))
    return library.error(code, "fi_cq_open");
  cq_.reset(cq);

  fid_ep* ep = nullptr;
  if (int code = ::fi_endpoint(domain, info_.get(), &ep, nullptr))
    return library.error(code, "fi_endpoint");
  ep_.reset(ep);
  if (int code = ::fi_ep_bind(ep, &av->fid, 0))
    return library.error(code, "fi_ep_bind to the address table");
  if (int code = ::fi_ep_bind(ep, &cq->fid, FI_TRANSMIT | FI_RECV))
    return library.error(code, "fi_ep_bind to the queue");
  if (int code = ::fi_enable(ep)) return library.error(code, "fi_enable");

  std::size_t bytes = 256;
  name_.resize(bytes);
  if (int code = ::fi_getname(&ep->fid, name_.data(), &bytes))
    return library.error(code, "fi_getname");
  name_.resize(bytes);
  return {};
}

Result<fi_addr_t> Endpoint::insert(const OfiLibrary& library, ConstSpan name) {
  fi_addr_t address = FI_ADDR_UNSPEC;
  int inserted = ::fi_av_insert(av_.get(), name.data(), 1, &address, 0, nullptr);
  if (inserted == 1 && address != FI_ADDR_NOTAVAIL) return address;
  return library.error(inserted < 0 ? inserted : FI_EADDRNOTAVAIL,
                       "fi_av_insert of a peer's address");
}

Result<Registration> Endpoint::register_memory(const OfiLibrary& library, ConstSpan memory,
                                               std::uint64_t access) {
  const std::uint64_t key = traits_.picks_keys ? 0 : next_key_++;
  fid_mr* region = nullptr;
  if (int code = ::fi_mr_reg(domain_.get(), memory.data(), memory.size(), access, 0, key, 0,
                             &region, nullptr))
    return library.error(code, "fi_mr_reg");
  Registration registration(region);
  if (traits_.binds_memory) {
    if (int code = ::fi_mr_bind(region, &ep_->fid, 0)) return library.error(code, "fi_mr_bind");
    if (int code = ::fi_mr_enable(region)) return library.error(code, "fi_mr_enable");
  }
  return registration;
}

Result<void*> Endpoint::register_buffers(const OfiLibrary& library, ConstSpan memory,
                                         std::uint64_t access) {
  if (!traits_.registers_buffers) return nullptr;
  SHIM_TRY_ASSIGN(Registration registration, register_memory(library, memory, access));
  buffers_.push_back(std::move(registration));
  return ::fi_mr_desc(buffers_.back().get());
}

void Endpoint::close() {
  ep_.reset();
  buffers_.clear();
  cq_.reset();
  av_.reset();
  domain_.reset();
  fabric_.reset();
}

void Endpoint::abandon() {
  (void)ep_.release();
  for (Registration& buffers : buffers_) (void)buffers.release();
  (void)cq_.release();
  (void)av_.release();
  (void)domain_.release();
  (void)fabric_.release();
}

}  // namespace shim::transport
