// SPDX-License-Identifier: BSD-3-Clause
// Checks arguments that many functions share, and converts them for the modules below. The path of
// every message is inline; error paths are not.
#pragma once

#include <mpi.h>

#include <concepts>
#include <cstdint>
#include <limits>
#include <utility>

#include "shim/base/result.hpp"
#include "shim/intercept/abi/predefined.hpp"
#include "shim/intercept/abi/status.hpp"
#include "shim/intercept/errors.hpp"
#include "shim/intercept/handles/objects.hpp"
#include "shim/sessions/process.hpp"

namespace shim::intercept {

/// Counts of both forms of a function: int and MPI_Count.
using Count = std::int64_t;

namespace slow {
base::Error no_comm(MPI_Comm handle);
base::Error bad_count(Count count, const char* what);
base::Status check_address(const void* address, bool has_data);
base::Error bad_rank(const sessions::Communicator& comm, int rank, const char* what);
base::Error bad_tag(int tag);
base::Error no_output(const char* what);
base::Result<const types::Type*> get_type(MPI_Datatype datatype);
/// Implement the uncommon cases of get_buffer.
base::Result<const types::Type*> check_buffer(const void* address, Count count,
                                              MPI_Datatype datatype);
}  // namespace slow

/// Return the communicator of a handle; null if there is none (slow::no_comm has the error). The
/// shared pointer stays in the handle table.
inline sessions::CommunicatorPtr* find_comm(MPI_Comm handle) noexcept {
  return objects.comms.find(handle);
}

inline p2p::Engine& engine_of(const sessions::Communicator& comm) noexcept { return comm.engine(); }

/// Return the type of a handle for communication: predefined, ours, or derived by the substrate.
/// Valid until the handle is freed; operations that outlive the call keep the type (types::keep).
/// Errors: type (null, stale, not committed).
[[gnu::always_inline]] inline base::Result<const types::Type*> get_type(MPI_Datatype datatype) {
  if (const types::Type* type = abi::find_type(datatype)) [[likely]]
    return type;
  return slow::get_type(datatype);
}

/// Return the type of a handle for other uses than communication: it may be uncommitted (MPI-4.1
/// §5.1.9). Errors: type (null, stale).
base::Result<const types::Type*> any_type(MPI_Datatype datatype);

/// Refuse MPI_IN_PLACE, and null if the buffer has data. Errors: buffer.
inline base::Status check_address(const void* address, bool has_data) {
  if (address != nullptr && address != MPI_IN_PLACE) [[likely]]
    return {};
  return slow::check_address(address, has_data);
}

/// True if a null address is an error. Data of a derived type on MPI_BOTTOM, a null pointer, is at
/// the type's absolute addresses (MPI-4.1 §5.1.5).
inline bool needs_address(const types::Type& type, bool has_items) {
  return has_items && type.size > 0 && type.contiguous;
}

/// Convert (address, count, datatype) to a types::Buffer or types::ConstBuffer. Count 0 is accepted
/// with MPI_DATATYPE_NULL, as in MPICH. Errors: count (negative), type (null with a count, not
/// committed), buffer (null with a count, MPI_IN_PLACE).
template <typename Buffer, typename Address>
[[gnu::always_inline]] inline base::Status get_buffer(Buffer& buffer, Address address, Count count,
                                                      MPI_Datatype datatype) {
  const types::Type* type = abi::find_type(datatype);
  if (type == nullptr || count < 0 || address == nullptr || address == MPI_IN_PLACE) [[unlikely]] {
    SHIM_TRY_ASSIGN(type, slow::check_buffer(address, count, datatype));
  }
  buffer = {address, static_cast<std::uint64_t>(count), type};
  return {};
}

inline bool is_destination(const sessions::Communicator& comm, int dest) {
  return (dest >= 0 && dest < comm.peers()) || dest == MPI_PROC_NULL;
}
inline bool is_source(const sessions::Communicator& comm, int source) {
  return is_destination(comm, source) || source == MPI_ANY_SOURCE;
}
inline bool is_tag(int tag) {
  static_assert(p2p::kTagUpperBound == std::numeric_limits<int>::max());
  return tag >= 0;
}

inline base::Status check_destination(const sessions::Communicator& comm, int dest) {
  if (is_destination(comm, dest)) [[likely]]
    return {};
  return slow::bad_rank(comm, dest, "destination");
}
inline base::Status check_source(const sessions::Communicator& comm, int source) {
  if (is_source(comm, source)) [[likely]]
    return {};
  return slow::bad_rank(comm, source, "source");
}
inline base::Status check_send_tag(int tag) {
  if (is_tag(tag)) [[likely]]
    return {};
  return slow::bad_tag(tag);
}
inline base::Status check_receive_tag(int tag) {
  if (is_tag(tag) || tag == MPI_ANY_TAG) [[likely]]
    return {};
  return slow::bad_tag(tag);
}
/// @param what "request", "flag", …
inline base::Status check_output(const void* pointer, const char* what) {
  if (pointer != nullptr) [[likely]]
    return {};
  return slow::no_output(what);
}

/// Store a number, or MPI_UNDEFINED if the caller's type cannot hold it (MPI-4.1 §3.2.5, §5.1.5).
template <typename Number>
void store_or_undefined(std::integral auto value, Number* to) {
  *to = std::in_range<Number>(value) ? static_cast<Number>(value) : Number{MPI_UNDEFINED};
}

/// Status of an operation with MPI_PROC_NULL (MPI-4.1 §3.10).
inline constexpr p2p::MessageStatus kNothing{.source = p2p::kProcNull};

/// Return the reference that a request keeps whose communicator may lose its handle unnoticed; null
/// without communicator.
inline std::unique_ptr<const sessions::CommunicatorPtr> kept_by_request(
    const sessions::CommunicatorPtr& comm) {
  return comm != nullptr ? std::make_unique<const sessions::CommunicatorPtr>(comm) : nullptr;
}

/// Make the user's handle for a started operation; release the operation if that fails. A null
/// operation has completed at once, with outcome kNothing unless set otherwise.
inline base::Status make_request_handle(RequestObject&& started, MPI_Request* request) {
  p2p::Request* const operation = started.request;
  const std::uint32_t part = part_for(started.comm);
  auto made = objects.requests.insert(std::move(started), part);
  if (!made) [[unlikely]] {
    if (operation != nullptr) p2p::Engine::release(operation);
    return std::move(made).error();
  }
  *request = static_cast<MPI_Request>(*made);
  return {};
}
/// Make a handle for an operation that begin(RequestObject&) starts on the object in the handle
/// table. make() returns the object.
template <typename Make, typename Begin>
[[gnu::always_inline]] inline base::Status make_request_handle_for(
    const sessions::Communicator& comm, MPI_Request* request, const Make& make,
    const Begin& begin) {
  RequestTable::PendingEntry made(objects.requests, make, part_for(&comm));
  if (!made) [[unlikely]]
    return objects.requests.table_full_error();
  auto started = begin(*made);
  if (!started) [[unlikely]]
    return std::move(started).error();
  (*made).request = *started;
  *request = static_cast<MPI_Request>(made.publish_handle());
  return {};
}
inline base::Status make_request_handle(p2p::Request* started,
                                        const sessions::CommunicatorPtr& comm, MPI_Comm handle,
                                        MPI_Request* request) {
  return make_request_handle({.request = started, .comm = comm.get(), .handle = handle}, request);
}
/// Make a handle for a request of the interposition layer; `on` may have no communicator of ours.
base::Status make_request_handle(PolledRequest* started, const CommReference& on,
                                 MPI_Request* request);

}  // namespace shim::intercept
