// SPDX-License-Identifier: BSD-3-Clause
// Endpoint is a libfabric endpoint with its dependent objects, opened and closed together.
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
/// Memory registered with the provider.
using Registration = Fid<fid_mr>;

/// Fabric, domain, address vector, completion queue and endpoint; enabled.
class Endpoint {
 public:
  static base::Result<Endpoint> open(const OfiLibrary& library, InfoList info,
                                     const OfiTuning& tuning);

  fid_domain* domain() const { return domain_.get(); }
  fid_av* av() const { return av_.get(); }
  fid_cq* cq() const { return cq_.get(); }
  fid_ep* ep() const { return ep_.get(); }
  const Traits& traits() const { return traits_; }
  std::string provider() const { return info_->fabric_attr->prov_name; }
  std::uint32_t address_format() const { return info_->addr_format; }
  /// Return the result of fi_getname.
  const Bytes& name() const { return name_; }
  /// Insert a peer's name into the address vector; no network traffic.
  base::Result<fi_addr_t> insert(const OfiLibrary& library, ConstSpan name);
  /// Register memory for operations of this kind (FI_SEND and so on, fi_mr(3)). The caller releases
  /// the registration before close().
  base::Result<Registration> register_memory(const OfiLibrary& library, ConstSpan memory,
                                             std::uint64_t access);
  /// Register memory until the endpoint is closed; return its descriptor for operations. Null if
  /// the provider needs none.
  base::Result<void*> register_buffers(const OfiLibrary& library, ConstSpan memory,
                                       std::uint64_t access);
  /// Close the libfabric endpoint alone: afterwards no operation accesses memory. Registrations
  /// stay, and with them the domain, which the provider refuses to close before them.
  void stop() { ep_.reset(); }
  void close();
  /// Drop all objects without closing them: in a forked child they belong to the parent.
  void abandon();

 private:
  /// Keys below 100 are a scarce resource of cxi (fi_cxi(7)).
  static constexpr std::uint64_t kFirstKey = 100;

  Endpoint(InfoList info, const Traits& traits) : info_(std::move(info)), traits_(traits) {}
  base::Status open_all(const OfiLibrary& library);

  InfoList info_;
  Traits traits_;
  std::uint64_t next_key_ = kFirstKey;
  // destroyed from last to first, as fi_close requires
  Fid<fid_fabric> fabric_;
  Fid<fid_domain> domain_;
  Fid<fid_av> av_;
  Fid<fid_cq> cq_;
  std::vector<Registration>
      buffers_;  // destroyed after the endpoint, which has receives posted into them
  Fid<fid_ep> ep_;
  Bytes name_;
};

}  // namespace shim::transport
