// SPDX-License-Identifier: BSD-3-Clause
// Objects holds the objects behind Intersession's handles: one table for each kind. The tables are
// the process-wide state of the interposition layer.
#pragma once

#include <mpi.h>

#include <atomic>
#include <memory>
#include <string>
#include <type_traits>
#include <vector>

#include "shim/intercept/datatypes/type_contents.hpp"
#include "shim/intercept/handles/forked.hpp"
#include "shim/intercept/handles/handle_table.hpp"
#include "shim/intercept/handles/polled_request.hpp"
#include "shim/node/node_segment.hpp"
#include "shim/p2p/p2p.hpp"
#include "shim/sessions/communicator.hpp"
#include "shim/sessions/error_handler.hpp"
#include "shim/sessions/group.hpp"
#include "shim/sessions/info.hpp"
#include "shim/sessions/session.hpp"
#include "shim/types/types.hpp"

namespace shim::intercept {

/// Native handle of an object of Intersession; made at the first need. A copy of the object has
/// none.
template <typename Native>
class NativeHandle {
 public:
  Native get() const noexcept {
    return native_.load(std::memory_order_acquire);
  }  // pairs with the release in set_first()
  /// Store the handle unless another thread has stored one; return the stored handle.
  Native set_first(Native made) noexcept {
    Native present{};
    const bool is_first = native_.compare_exchange_strong(present, made, std::memory_order_acq_rel,
                                                          std::memory_order_acquire);
    return is_first ? made : present;
  }
  NativeHandle() = default;
  NativeHandle(const NativeHandle&) noexcept {}
  NativeHandle& operator=(const NativeHandle&) = delete;
  NativeHandle(NativeHandle&& other) noexcept : native_(other.native_.exchange(Native{})) {}
  NativeHandle& operator=(NativeHandle&& other) noexcept {
    native_.store(other.native_.exchange(Native{}));
    return *this;
  }

 private:
  std::atomic<Native> native_{};
};

/// A group and its origin. Refers to the session weakly, so that a group keeps no session alive.
struct GroupObject {
  sessions::GroupPtr group;
  base::ProcessId self;     ///< for MPI_Group_rank without session
  bool of_session = false;  ///< false: of the world model, or empty
  std::weak_ptr<sessions::Session> session;
  /// For error handlers; unset if the group was made from a communicator.
  MPI_Session session_handle{};
  NativeHandle<MPI_Group> native_handle{};
};

/// A communicator as its requests and messages reference it, for its error handler.
struct CommReference {
  sessions::CommunicatorPtr comm;
  MPI_Comm handle{};
};

/// A request. Holds a reference to its communicator only once the communicator's handle is freed:
/// reference counts are locked instructions in threaded programs, which every message would pay.
struct RequestObject {
  /// Owned: released with Engine::release. Null: completed at once with `outcome`.
  p2p::Request* request = nullptr;
  /// Communicator of `handle`, or `kept`; null only if `request` is null or polled.
  sessions::Communicator* comm = nullptr;
  MPI_Comm handle{};
  /// The request, if the interposition layer implements it.
  PolledRequest* polled = nullptr;
  p2p::MessageStatus outcome{.source = p2p::kProcNull};  ///< valid if request is null
  p2p::InlineSent inline_sent;  ///< valid if request is null: a message that may be cancelled
  /// Set for polled requests, and if the communicator is freed before the request.
  std::unique_ptr<const sessions::CommunicatorPtr> kept;

  /// Return the communicator as an owning reference, because an error handler may free its handle.
  CommReference on() const;
};

/// Has one part, with one lock, for each VCI, so that threads in different VCIs do not contend.
using RequestTable = HandleTable<RequestObject, MPI_Request, node::kMaxVcis>;
/// Return the part for requests on this communicator; the first part for null.
inline std::uint32_t part_for(const sessions::Communicator* comm) noexcept {
  return comm != nullptr ? comm->vci() : 0;
}

struct MessageObject {
  p2p::StoredMessage* message = nullptr;  ///< owned until received
  CommReference on;
};

struct InfoObject {
  sessions::InfoPtr info;
  NativeHandle<MPI_Info> native_handle;
};

struct ErrhandlerObject {
  sessions::ErrorHandlerPtr handler;
  NativeHandle<MPI_Errhandler> native_handle;
};

/// Handle of a derived type that was made while the substrate was inactive, or from another type of
/// this kind.
struct DatatypeObject {
  DerivedPtr derived;
  bool committed = false;
  bool is_permanent = false;  ///< a parametrised Fortran type: made once, never freed
  std::string name;
  std::shared_ptr<sessions::Attributes> attributes;  ///< null if there never were any
};

/// A user's operation (MPI_Op_create or MPI_Op_create_c). Shared by its handle and the calls that
/// use it.
struct UserOperation {
  UserOperation(MPI_User_function* f, bool does_commute) : function(f), commutes(does_commute) {}
  UserOperation(MPI_User_function_c* f, bool does_commute)
      : large_function(f), commutes(does_commute) {}
  // exactly one is set
  MPI_User_function* function = nullptr;
  MPI_User_function_c* large_function = nullptr;
  bool commutes;
  bool is_fortran = false;  ///< a Fortran procedure: gets the datatype's number
  /// Calls `function`, which is a C++ function of the native library's C++ bindings; null: it is
  /// not.
  void (*cxx_call)(const UserOperation& operation, void* in, void* inout, int* length,
                   MPI_Datatype* datatype) = nullptr;
  void (*cxx_callback)() = nullptr;  ///< what the C++ bindings pass beside `function`
};
using UserOperationPtr = std::shared_ptr<const UserOperation>;

struct OpObject {
  UserOperationPtr operation;
  NativeHandle<MPI_Op> native_handle;
};

struct Objects {
  HandleTable<sessions::CommunicatorPtr, MPI_Comm> comms{abi::HandleKind::comm};
  HandleTable<GroupObject, MPI_Group> groups{abi::HandleKind::group};
  RequestTable requests{abi::HandleKind::request};
  HandleTable<MessageObject, MPI_Message> messages{abi::HandleKind::message};
  HandleTable<sessions::SessionPtr, MPI_Session> sessions{abi::HandleKind::session};
  HandleTable<InfoObject, MPI_Info> infos{abi::HandleKind::info};
  HandleTable<ErrhandlerObject, MPI_Errhandler> errhandlers{abi::HandleKind::errhandler};
  HandleTable<DatatypeObject, MPI_Datatype> datatypes{abi::HandleKind::datatype};
  HandleTable<OpObject, MPI_Op> ops{abi::HandleKind::op};
};
/// Give each request on the communicator an owning reference to it. Call before its handle is
/// freed.
void keep_for_requests(const sessions::CommunicatorPtr& comm);

// No constructor runs at load and no destructor at exit.
extern constinit Objects objects;
static_assert(std::is_trivially_destructible_v<Objects>);

/// In a child of fork(), set a handle of the parent's object to the null handle and return true.
/// Return false in any other process, and for any other handle.
template <typename T, typename H, std::uint32_t kParts>
bool reset_handle_of_parent(HandleTable<T, H, kParts>& table, H* handle,
                            std::type_identity_t<H> null) {
  if (!is_forked_child() || handle == nullptr || table.find_hidden(*handle) == nullptr)
    return false;
  *handle = null;
  return true;
}

/// True once this program has made an object of Intersession.
inline bool any_object_made() noexcept { return abi::any_handle_made(); }

/// Return "communicator", "group", …
std::string_view name_of(abi::HandleKind kind) noexcept;

/// Return the error of a handle that is in no table: null, stale, of another kind, or the native
/// library's.
/// @param null predefined null handle of the wanted kind.
base::Error bad_handle_bits(base::ErrorClass error_class, abi::HandleKind wanted, abi::Bits handle,
                            abi::Bits null);
template <typename H>
base::Error bad_handle(base::ErrorClass error_class, abi::HandleKind wanted, H handle,
                       std::type_identity_t<H> null) {
  return bad_handle_bits(error_class, wanted, abi::bits(handle), abi::bits(null));
}

// Return the object of a handle, or the standard's error for a handle without object.
base::Result<sessions::CommunicatorPtr*> comm_of(MPI_Comm handle);
base::Result<GroupObject*> group_of(MPI_Group handle);
base::Result<RequestObject*> request_of(MPI_Request handle);
base::Result<MessageObject*> message_of(MPI_Message handle);
base::Result<sessions::SessionPtr> session_of(MPI_Session handle);
base::Result<InfoObject*> info_of(MPI_Info handle);
base::Result<ErrhandlerObject*> errhandler_of(MPI_Errhandler handle);
base::Result<DatatypeObject*> datatype_of(MPI_Datatype handle);
base::Result<OpObject*> op_of(MPI_Op handle);

/// Return a type of either library, in any state, for constructors. Errors: type (null, stale, or
/// the world model's while that is not initialised).
base::Result<OldType> old_type_of(MPI_Datatype handle);

}  // namespace shim::intercept
