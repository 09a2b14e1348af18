// SPDX-License-Identifier: BSD-3-Clause
// One libfabric endpoint with all that hangs on it, opened and closed together.
#pragma once

#include <rdma/fabric.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>

#include <memory>

#include "shim/transport/ofi/library.hpp"
#include "shim/transport/transport.hpp"

namespace shim::transport {

/// Closes a libfabric object.
template <typename T>
struct FidClose {
  void operator()(T* object) const { ::fi_close(&object->fid); }
};
template <typename T>
using Fid = std::unique_ptr<T, FidClose<T>>;

/// Fabric, domain, address table, completion queue, endpoint; enabled.
class Endpoint {
 public:
  static base::Result<Endpoint> open(const Library& library, InfoList info);

  fid_ep* ep() const { return ep_.get(); }
  fid_cq* cq() const { return cq_.get(); }
  std::string provider() const { return info_->fabric_attr->prov_name; }
  std::uint32_t address_format() const { return info_->addr_format; }
  /// What fi_getname says.
  const Bytes& name() const { return name_; }
  /// Enters a peer's name into the address table; no network traffic.
  base::Result<fi_addr_t> insert(const Library& library, ConstSpan name);
  void close();
  /// Lets go of everything without closing it: for a forked child, to which none of it belongs.
  void abandon();

 private:
  explicit Endpoint(InfoList info) : info_(std::move(info)) {}
  base::Status open_all(const Library& library);

  InfoList info_;
  // destroyed from the last to the first, as fi_close asks
  Fid<fid_fabric> fabric_;
  Fid<fid_domain> domain_;
  Fid<fid_av> av_;
  Fid<fid_cq> cq_;
  Fid<fid_ep> ep_;
  Bytes name_;
};

}  // namespace shim::transport
