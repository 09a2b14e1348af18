// SPDX-License-Identifier: BSD-3-Clause
// One libfabric endpoint with all that hangs on it, opened and closed together.
#pragma once

#include <rdma/fabric.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>

#include <memory>
#include <vector>

#include "shim/transport/ofi/library.hpp"
#include "shim/transport/ofi/traits.hpp"

namespace shim::transport {

/// Closes a libfabric object.
template <typename T>
struct FidClose {
  void operator()(T* object) const { ::fi_close(&object->fid); }
};
template <typename T>
using Fid = std::unique_ptr<T, FidClose<T>>;
/// Memory that the provider knows.
using Registration = Fid<fid_mr>;

/// Fabric, domain, address table, completion queue, endpoint; enabled.
class Endpoint {
 public:
  static base::Result<Endpoint> open(const Library& library, InfoList info, const OfiTuning& tuning);

  fid_domain* domain() const { return domain_.get(); }
  fid_av* av() const { return av_.get(); }
  fid_cq* cq() const { return cq_.get(); }
  fid_ep* ep() const { return ep_.get(); }
  const Traits& traits() const { return traits_; }
  std::string provider() const { return info_->fabric_attr->prov_name; }
  std::uint32_t address_format() const { return info_->addr_format; }
  /// What fi_getname says.
  const Bytes& name() const { return name_; }
  /// Enters a peer's name into the address table; no network traffic.
  base::Result<fi_addr_t> insert(const Library& library, ConstSpan name);
  /// For operations of this kind (FI_SEND and so on, fi_mr(3)). To be given up before the endpoint is closed.
  base::Result<Registration> register_memory(const Library& library, ConstSpan memory, std::uint64_t access);
  /// Likewise, until the endpoint is closed; answers what operations on it have to be told. Null where the provider needs none.
  base::Result<void*> register_buffers(const Library& library, ConstSpan memory, std::uint64_t access);
  void close();
  /// Lets go of everything without closing it: for a forked child, to which none of it belongs.
  void abandon();

 private:
  /// Keys below 100 are a scarce kind of their own with cxi (fi_cxi(7)).
  static constexpr std::uint64_t kFirstKey = 100;

  Endpoint(InfoList info, const Traits& traits) : info_(std::move(info)), traits_(traits) {}
  base::Status open_all(const Library& library);

  InfoList info_;
  Traits traits_;
  std::uint64_t next_key_ = kFirstKey;
  // destroyed from the last to the first, as fi_close asks
  Fid<fid_fabric> fabric_;
  Fid<fid_domain> domain_;
  Fid<fid_av> av_;
  Fid<fid_cq> cq_;
  std::vector<Registration> buffers_;  // after the endpoint, in which receives into them are posted
  Fid<fid_ep> ep_;
  Bytes name_;
};

}  // namespace shim::transport
