// SPDX-License-Identifier: BSD-3-Clause
// Checks of the arguments that many functions share, and their translation to what the rooms below take.
// What every message passes is inline; what an error needs is not.
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
#include "shim/intercept/objects.hpp"
#include "shim/sessions/process.hpp"

namespace shim::intercept {

/// Counts of both forms of a function, int and MPI_Count.
using Count = std::int64_t;

namespace slow {
base::Error no_comm(MPI_Comm handle);
base::Error bad_count(Count count, const char* what);
base::Status check_address(const void* address, bool has_data);
base::Error bad_rank(const sessions::Communicator& comm, int rank, const char* what);
base::Error bad_tag(int tag);
base::Error no_output(const char* what);
base::Result<const types::Type*> take_type(MPI_Datatype datatype);
/// What take_buffer says where not everything is as it mostly is.
base::Result<const types::Type*> check_buffer(const void* address, Count count, MPI_Datatype datatype);
}  // namespace slow

/// The communicator of this handle, null where there is none; slow::no_comm says why. The shared pointer stays where it is.
inline sessions::CommunicatorPtr* find_comm(MPI_Comm handle) noexcept { return objects.comms.find(handle); }

inline p2p::Engine& engine_of(const sessions::Communicator& comm) noexcept { return comm.engine(); }

/// The type behind a handle, for communication: predefined, ours, or derived by the substrate. It stays while its handle is not
/// freed; operations that outlive the call keep it (types::keep). Errors: type (null, stale, not committed).
[[gnu::always_inline]] inline base::Result<const types::Type*> take_type(MPI_Datatype datatype) {
  if (const types::Type* type = abi::find_type(datatype)) [[likely]] return type;
  return slow::take_type(datatype);
}

/// Return the type behind a handle for what is no communication: it need not be committed (MPI-4.1 §5.1.9). Errors: type (null, stale).
base::Result<const types::Type*> any_type(MPI_Datatype datatype);

/// A buffer that may not be MPI_IN_PLACE, nor null if it has data. Errors: buffer.
inline base::Status check_address(const void* address, bool has_data) {
  if (address != nullptr && address != MPI_IN_PLACE) [[likely]] return {};
  return slow::check_address(address, has_data);
}

/// Of a derived type the data may be anywhere: with MPI_BOTTOM, which is a null pointer, it is where absolute addresses say
/// (MPI-4.1 §5.1.5).
inline bool needs_address(const types::Type& type, bool has_items) { return has_items && type.size > 0 && type.contiguous; }

/// (address, count, datatype) as a buffer of the rooms below; Buffer is types::Buffer or types::ConstBuffer.
/// Nothing at all may be of no type: programs that MPICH has always let pass say so.
/// Errors: count (negative), type (null with a count, not committed), buffer (null with a count, MPI_IN_PLACE).
template <typename Buffer, typename Address>
[[gnu::always_inline]] inline base::Status take_buffer(Buffer& buffer, Address address, Count count, MPI_Datatype datatype) {
  const types::Type* type = abi::find_type(datatype);
  if (type == nullptr || count < 0 || address == nullptr || address == MPI_IN_PLACE) [[unlikely]] {
    SHIM_TRY_ASSIGN(type, slow::check_buffer(address, count, datatype));
  }
  buffer = {address, static_cast<std::uint64_t>(count), type};
  return {};
}

inline bool is_destination(const sessions::Communicator& comm, int dest) { return (dest >= 0 && dest < comm.peers()) || dest == MPI_PROC_NULL; }
inline bool is_source(const sessions::Communicator& comm, int source) { return is_destination(comm, source) || source == MPI_ANY_SOURCE; }
inline bool is_tag(int tag) {
  static_assert(p2p::kTagUpperBound == std::numeric_limits<int>::max());
  return tag >= 0;
}

inline base::Status check_destination(const sessions::Communicator& comm, int dest) {
  if (is_destination(comm, dest)) [[likely]] return {};
  return slow::bad_rank(comm, dest, "destination");
}
inline base::Status check_source(const sessions::Communicator& comm, int source) {
  if (is_source(comm, source)) [[likely]] return {};
  return slow::bad_rank(comm, source, "source");
}
inline base::Status check_send_tag(int tag) {
  if (is_tag(tag)) [[likely]] return {};
  return slow::bad_tag(tag);
}
inline base::Status check_receive_tag(int tag) {
  if (is_tag(tag) || tag == MPI_ANY_TAG) [[likely]] return {};
  return slow::bad_tag(tag);
}
/// @param what "request", "flag", …
inline base::Status check_output(const void* pointer, const char* what) {
  if (pointer != nullptr) [[likely]] return {};
  return slow::no_output(what);
}

/// Stores a number that may be too large for the caller's type: MPI_UNDEFINED then (MPI-4.1 §3.2.5, §5.1.5).
template <typename Number>
void store_or_undefined(std::integral auto value, Number* to) {
  *to = std::in_range<Number>(value) ? static_cast<Number>(value) : Number{MPI_UNDEFINED};
}

/// What an operation with MPI_PROC_NULL brings (MPI-4.1 §3.10).
inline constexpr p2p::Outcome kNothing{.source = p2p::kProcNull};

/// For a request whose communicator may lose its handle unnoticed. Null where there is none.
inline std::unique_ptr<const sessions::CommunicatorPtr> kept_by_request(const sessions::CommunicatorPtr& comm) {
  return comm != nullptr ? std::make_unique<const sessions::CommunicatorPtr>(comm) : nullptr;
}

/// Makes the user's handle for an operation that was started; an operation without a handle is given back. A null operation
/// is one that ended at once; kNothing is what it brought where nothing else is said.
inline base::Status hand_out(RequestObject&& started, MPI_Request* request) {
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
/// The same for an operation on a communicator that begin(RequestObject&) starts, with the object where it will stay. make() answers the
/// object.
template <typename Make, typename Begin>
[[gnu::always_inline]] inline base::Status hand_out_later(const sessions::Communicator& comm, MPI_Request* request, const Make& make, const Begin& begin) {
  RequestTable::Unnamed made(objects.requests, make, part_for(&comm));
  if (!made) [[unlikely]] return objects.requests.no_room();
  auto started = begin(*made);
  if (!started) [[unlikely]] return std::move(started).error();
  (*made).request = *started;
  *request = static_cast<MPI_Request>(made.give_handle());
  return {};
}
inline base::Status hand_out(p2p::Request* started, const sessions::CommunicatorPtr& comm, MPI_Comm handle, MPI_Request* request) {
  return hand_out({.request = started, .comm = comm.get(), .handle = handle}, request);
}
/// The same for requests of the border's own; without a communicator of ours where `on` has none.
base::Status hand_out(OwnRequest* started, const CommReference& on, MPI_Request* request);

}  // namespace shim::intercept
