// SPDX-License-Identifier: BSD-3-Clause
// What handles of ours stand for: one table a kind, the process-wide state of the border.
#pragma once

#include <mpi.h>

#include <atomic>
#include <memory>
#include <string>
#include <type_traits>
#include <vector>

#include "shim/bootstrap/node_segment.hpp"
#include "shim/intercept/datatypes/recipe.hpp"
#include "shim/intercept/forked.hpp"
#include "shim/intercept/handle_table.hpp"
#include "shim/intercept/own_request.hpp"
#include "shim/p2p/p2p.hpp"
#include "shim/sessions/communicator.hpp"
#include "shim/sessions/error_handler.hpp"
#include "shim/sessions/group.hpp"
#include "shim/sessions/info.hpp"
#include "shim/sessions/session.hpp"
#include "shim/types/types.hpp"

namespace shim::intercept {

/// A group and where it came from. It keeps no session alive.
struct GroupObject {
  sessions::GroupPtr group;
  base::ProcessId self;                     ///< so that MPI_Group_rank needs no session
  bool of_session = false;                  ///< else of the world model, or empty
  std::weak_ptr<sessions::Session> session;
  MPI_Session session_handle{};             ///< for error handlers; unset where the group came from a communicator
};

/// A communicator as its requests and messages remember it, whose errors go to its error handler.
struct CommReference {
  sessions::CommunicatorPtr comm;
  MPI_Comm handle{};
};

/// It keeps its communicator only where that has no handle any more: to count references takes locked instructions where a program has
/// threads, which every message would pay.
struct RequestObject {
  p2p::Request* request = nullptr;        ///< owned: given back with Engine::release. Null: ended at once, as `outcome` tells
  sessions::Communicator* comm = nullptr; ///< that of `handle`, or `kept`; null only where request is null or own
  MPI_Comm handle{};
  OwnRequest* own = nullptr;              ///< the request, if it is one that the border makes itself
  p2p::Outcome outcome{.source = p2p::kProcNull};  ///< where request is null
  p2p::Departed departed;                 ///< where request is null: a message that may be asked back
  std::unique_ptr<const sessions::CommunicatorPtr> kept;  ///< of own requests, and where the communicator is freed before the request

  /// For error handlers, which may free the communicator.
  CommReference on() const;
};

/// A part for each lane: threads that have one each have one each here, too.
using RequestTable = HandleTable<RequestObject, MPI_Request, bootstrap::kMaxLanes>;
/// Where requests on this communicator are; those on none of ours are in the first part.
inline std::uint32_t part_for(const sessions::Communicator* comm) noexcept { return comm != nullptr ? comm->lane() : 0; }

struct MessageObject {
  p2p::Message* message = nullptr;  ///< owned until received
  CommReference on;
};

/// An object that was made outside MPI_Init … MPI_Finalize, and its stand-in below, made when first needed there.
template <typename Native>
class Twin {
 public:
  Native get() const noexcept { return native_.load(std::memory_order_acquire); }  // pairs with the release in set()
  void set(Native native) noexcept { native_.store(native, std::memory_order_release); }
  Twin() = default;
  Twin(Twin&& other) noexcept : native_(other.native_.exchange(Native{})) {}
  Twin& operator=(Twin&& other) noexcept {
    native_.store(other.native_.exchange(Native{}));
    return *this;
  }

 private:
  std::atomic<Native> native_{};
};

struct InfoObject {
  sessions::InfoPtr info;
  Twin<MPI_Info> twin;
};

struct ErrhandlerObject {
  sessions::ErrorHandlerPtr handler;
  Twin<MPI_Errhandler> twin;
};

/// A handle of a derived type that was made while the substrate was idle, or of another such type.
struct DatatypeObject {
  DerivedPtr derived;
  bool committed = false;
  bool is_permanent = false;  ///< a parametrised Fortran type, which is made once and never freed
  std::string name;
  std::shared_ptr<sessions::Attributes> attributes;  ///< null where there never were any
};

/// An operation of the user's (MPI_Op_create or MPI_Op_create_c). Shared by its handle and the calls that use it.
struct UserOperation {
  UserOperation(MPI_User_function* f, bool does_commute) : function(f), commutes(does_commute) {}
  UserOperation(MPI_User_function_c* f, bool does_commute) : large_function(f), commutes(does_commute) {}
  // one of the two
  MPI_User_function* function = nullptr;
  MPI_User_function_c* large_function = nullptr;
  bool commutes;
};
using UserOperationPtr = std::shared_ptr<const UserOperation>;

struct OpObject {
  UserOperationPtr operation;
  Twin<MPI_Op> twin;
};

struct Objects {
  HandleTable<sessions::CommunicatorPtr, MPI_Comm> comms{abi::Kind::comm};
  HandleTable<GroupObject, MPI_Group> groups{abi::Kind::group};
  RequestTable requests{abi::Kind::request};
  HandleTable<MessageObject, MPI_Message> messages{abi::Kind::message};
  HandleTable<sessions::SessionPtr, MPI_Session> sessions{abi::Kind::session};
  HandleTable<InfoObject, MPI_Info> infos{abi::Kind::info};
  HandleTable<ErrhandlerObject, MPI_Errhandler> errhandlers{abi::Kind::errhandler};
  HandleTable<DatatypeObject, MPI_Datatype> datatypes{abi::Kind::datatype};
  HandleTable<OpObject, MPI_Op> ops{abi::Kind::op};
};
/// Its handle is about to go: requests on it keep the communicator from here on.
void keep_for_requests(const sessions::CommunicatorPtr& comm);

// Neither a constructor when this library is loaded nor a destructor when the program ends.
extern constinit Objects objects;
static_assert(std::is_trivially_destructible_v<Objects>);

/// In a child made by fork(): replace the handle of an object of the parent with the null handle. False if it is none.
template <typename T, typename H, std::uint32_t kParts>
bool forget_of_parent(HandleTable<T, H, kParts>& table, H* handle, std::type_identity_t<H> null) {
  if (!is_forked_child() || handle == nullptr || table.find_hidden(*handle) == nullptr) return false;
  *handle = null;
  return true;
}

/// Has any object of ours ever been made in this program?
inline bool any_object_made() noexcept { return abi::any_handle_made(); }

/// "communicator", "group", …
std::string_view name_of(abi::Kind kind) noexcept;

/// What is wrong with a handle that no table knows: null, stale, of another kind, or the library's below.
/// @param null the predefined null handle of the wanted kind.
base::Error bad_handle_bits(base::ErrorClass error_class, abi::Kind wanted, abi::Bits handle, abi::Bits null);
template <typename H>
base::Error bad_handle(base::ErrorClass error_class, abi::Kind wanted, H handle, std::type_identity_t<H> null) {
  return bad_handle_bits(error_class, wanted, abi::bits(handle), abi::bits(null));
}

// Objects behind handles, or the error that the standard has for handles without one.
base::Result<sessions::CommunicatorPtr*> comm_of(MPI_Comm handle);
base::Result<GroupObject*> group_of(MPI_Group handle);
base::Result<RequestObject*> request_of(MPI_Request handle);
base::Result<MessageObject*> message_of(MPI_Message handle);
base::Result<sessions::SessionPtr> session_of(MPI_Session handle);
base::Result<InfoObject*> info_of(MPI_Info handle);
base::Result<ErrhandlerObject*> errhandler_of(MPI_Errhandler handle);
base::Result<DatatypeObject*> datatype_of(MPI_Datatype handle);
base::Result<OpObject*> op_of(MPI_Op handle);

/// A type of any library and in any state, for constructors. Errors: type (null, stale, or the world model's while that is not
/// initialised).
base::Result<Ingredient> ingredient_of(MPI_Datatype handle);

}  // namespace shim::intercept
