// SPDX-License-Identifier: BSD-3-Clause
#include "shim/intercept/impl/world/predefined_comms.hpp"

#include <cstring>
#include <optional>
#include <string>

#include "shim/intercept/generated/impl.hpp"
#include "shim/intercept/generated/table.hpp"
#include "shim/intercept/handles/world_comms.hpp"
#include "shim/intercept/impl/attributes.hpp"
#include "shim/intercept/impl/comm/comm_attributes.hpp"
#include "shim/intercept/impl/comm_arguments.hpp"
#include "shim/intercept/impl/group/group_arguments.hpp"
#include "shim/intercept/lifetime.hpp"
#include "shim/intercept/native/activity.hpp"

namespace shim::intercept {
namespace {

using base::Error;
using base::ErrorClass;
using sessions::AttributeValue;

bool is_self(MPI_Comm comm) { return comm == MPI_Comm(abi::predefined.comm_self); }
bool is_world(MPI_Comm comm) { return comm == MPI_Comm(abi::predefined.comm_world); }
const char* name_of(MPI_Comm comm) { return is_self(comm) ? "MPI_COMM_SELF" : "MPI_COMM_WORLD"; }

/// The attributes that the program has set on MPI_COMM_SELF. Never destroyed: sessions may end
/// during exit.
sessions::Attributes& attributes_of_self() {
  static sessions::Attributes& made = *new sessions::Attributes;
  return made;
}
AttributeOwner self_owner() {
  return {sessions::KeyFor::communicator, abi::bits(MPI_Comm(abi::predefined.comm_self)),
          attributes_of_self()};
}

/// Session, Process and group for a query on a predefined communicator.
struct Queried {
  sessions::SessionPtr session;
  sessions::Process& process;
  sessions::GroupPtr group;
};

/// True if Intersession answers queries on this communicator: it is predefined, a session is open,
/// and the world model has not ended.
bool is_queryable(MPI_Comm comm) {
  if (!is_world(comm) && !is_self(comm)) return false;
  if (world_comms.state.load(std::memory_order_acquire) == ServedWorldState::ended) return false;
  int was_finalized = 0;
  active_table.Finalized(&was_finalized);
  return was_finalized == 0 && any_open_session() != nullptr;
}

base::Result<Queried> queried_comm(MPI_Comm comm) {
  sessions::SessionPtr session = any_open_session();
  if (!session) return Error(ErrorClass::comm, "the last session was finalized meanwhile");
  SHIM_TRY_ASSIGN(sessions::Process* const process, session->process());
  SHIM_TRY_ASSIGN(sessions::GroupPtr group,
                  session->group_of_pset(is_self(comm) ? "mpi://SELF" : "mpi://WORLD"));
  return Queried{std::move(session), *process, std::move(group)};
}

/// Serve a call on a predefined communicator; refuse or forward a call on any other.
template <typename Query, typename Forward>
int serve(const char* function, MPI_Comm comm, Query query, Forward forward) {
  if (!is_queryable(comm)) {
    const auto refused = refuse_when_inactive(Subject::comm(comm), function);
    return refused ? *refused : forward();
  }
  return run_with_handler(Subject(), function, [&]() -> base::Status {
    SHIM_TRY_ASSIGN(const Queried queried, queried_comm(comm));
    return query(queried);
  });
}

base::Result<OptionalCommAttribute> attribute_of(const Queried& queried, MPI_Comm comm,
                                                 int keyval) {
  sessions::Attributes none;  // MPI_COMM_WORLD has attributes of the program from MPI_Init on
  const AttributeOwner self = self_owner();
  return find_comm_attribute(
      predefined_comm_value(comm, queried.process, keyval),
      is_self(comm) ? self : AttributeOwner{self.kind, abi::bits(comm), none}, keyval);
}

base::Status get_value(const Queried& queried, MPI_Comm comm, int keyval, void* attribute,
                       int* flag) {
  SHIM_TRY_ASSIGN(const OptionalCommAttribute found, attribute_of(queried, comm, keyval));
  return store_comm_attribute(found, attribute, flag);
}

base::Status check_self(MPI_Comm comm) {
  if (is_self(comm)) return {};
  return Error(ErrorClass::comm,
               "attributes of MPI_COMM_WORLD cannot be changed before MPI_Init; those of "
               "MPI_COMM_SELF can");
}

template <typename Forward>
int set_value(const char* function, MPI_Comm comm, int keyval, const AttributeValue& value,
              Forward forward) {
  return serve(
      function, comm,
      [&](const Queried&) -> base::Status {
        SHIM_TRY(check_self(comm));
        return set_attribute(self_owner(), keyval, value);
      },
      forward);
}

/// The native library became active between the caller's check and this one.
int fail_started_meanwhile(const char* function) {
  return fail(Subject(), function,
              Error(ErrorClass::other, "another thread has called MPI_Init during the call"));
}

int delete_value(const char* function, MPI_Comm comm, int keyval, int (*forward)(MPI_Comm, int)) {
  return serve(
      function, comm,
      [&](const Queried&) -> base::Status {
        SHIM_TRY(check_self(comm));
        return delete_attribute(self_owner(), keyval);
      },
      [&] { return forward(comm, keyval); });
}

}  // namespace

base::Status delete_attributes_of_self() {
  // a program without sessions has set none
  return any_object_made() ? delete_attributes(self_owner()) : base::Status();
}

base::Status delete_attributes_without_session() {
  return any_open_session() ? base::Status() : delete_attributes_of_self();
}

int get_predefined_comm_number(const char* function, MPI_Comm comm, int keyval,
                               std::intptr_t* value, bool* flag) {
  return serve(
      function, comm,
      [&](const Queried& queried) -> base::Status {
        SHIM_TRY_ASSIGN(const OptionalCommAttribute found, attribute_of(queried, comm, keyval));
        store_comm_number(found, value, flag);
        return {};
      },
      [&] { return fail_started_meanwhile(function); });
}

int set_predefined_comm_number(const char* function, MPI_Comm comm, int keyval,
                               std::intptr_t value) {
  return set_value(function, comm, keyval, AttributeValue::of_number(value),
                   [&] { return fail_started_meanwhile(function); });
}

namespace impl_when_inactive {

int Comm_rank(MPI_Comm comm, int* rank) {
  return serve(
      "MPI_Comm_rank", comm,
      [&](const Queried& queried) -> base::Status {
        SHIM_TRY(check_output(rank, "rank"));
        *rank = is_self(comm) ? 0 : queried.group->rank_of(queried.process.self());
        return {};
      },
      [&]() -> int { return active_table.Comm_rank(comm, rank); });
}

int Comm_size(MPI_Comm comm, int* size) {
  return serve(
      "MPI_Comm_size", comm,
      [&](const Queried& queried) -> base::Status {
        SHIM_TRY(check_output(size, "size"));
        *size = static_cast<int>(queried.group->size());
        return {};
      },
      [&]() -> int { return active_table.Comm_size(comm, size); });
}

int Comm_group(MPI_Comm comm, MPI_Group* group) {
  return serve(
      "MPI_Comm_group", comm,
      [&](const Queried& queried) -> base::Status {
        SHIM_TRY(check_output(group, "group"));
        SHIM_TRY_ASSIGN(*group, make_group_handle({queried.group, queried.process.self(), true,
                                                   queried.session}));
        return {};
      },
      [&]() -> int { return active_table.Comm_group(comm, group); });
}

/// Also of the null communicator, which has a name (MPI-4.1 §7.8).
int Comm_get_name(MPI_Comm comm, char* name, int* length) {
  if (comm != MPI_Comm(abi::predefined.comm_null))
    return serve(
        "MPI_Comm_get_name", comm,
        [&](const Queried&) { return store_name(name_of(comm), name, length); },
        [&]() -> int { return active_table.Comm_get_name(comm, name, length); });
  return run_with_handler(Subject(), "MPI_Comm_get_name",
                          [&] { return store_name("MPI_COMM_NULL", name, length); });
}

int Comm_get_attr(MPI_Comm comm, int keyval, void* value, int* flag) {
  return serve(
      "MPI_Comm_get_attr", comm,
      [&](const Queried& queried) { return get_value(queried, comm, keyval, value, flag); },
      [&]() -> int { return active_table.Comm_get_attr(comm, keyval, value, flag); });
}
int Attr_get(MPI_Comm comm, int keyval, void* value, int* flag) {
  return serve(
      "MPI_Attr_get", comm,
      [&](const Queried& queried) { return get_value(queried, comm, keyval, value, flag); },
      [&]() -> int { return active_table.Attr_get(comm, keyval, value, flag); });
}

int Comm_set_attr(MPI_Comm comm, int keyval, void* value) {
  return set_value("MPI_Comm_set_attr", comm, keyval, value,
                   [&]() -> int { return active_table.Comm_set_attr(comm, keyval, value); });
}
int Attr_put(MPI_Comm comm, int keyval, void* value) {
  return set_value("MPI_Attr_put", comm, keyval, value,
                   [&]() -> int { return active_table.Attr_put(comm, keyval, value); });
}
int Comm_delete_attr(MPI_Comm comm, int keyval) {
  return delete_value("MPI_Comm_delete_attr", comm, keyval,
                      [](MPI_Comm of, int key) { return active_table.Comm_delete_attr(of, key); });
}
int Attr_delete(MPI_Comm comm, int keyval) {
  return delete_value("MPI_Attr_delete", comm, keyval,
                      [](MPI_Comm of, int key) { return active_table.Attr_delete(of, key); });
}

/// Without world model no process was spawned that could know its parent. A program without
/// sessions gets the native library's error.
int Comm_get_parent(MPI_Comm* parent) {
  if (!any_object_made()) return active_table.Comm_get_parent(parent);
  return run_with_handler(Subject(), "MPI_Comm_get_parent", [&]() -> base::Status {
    SHIM_TRY(check_output(parent, "communicator"));
    *parent = abi::predefined.comm_null;
    return {};
  });
}

}  // namespace impl_when_inactive
}  // namespace shim::intercept
