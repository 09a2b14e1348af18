// SPDX-License-Identifier: BSD-3-Clause
#include "shim/intercept/impl/world/predefined_comms.hpp"

#include <cstring>
#include <optional>
#include <string>

#include "shim/intercept/generated/impl.hpp"
#include "shim/intercept/generated/table.hpp"
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

struct KnownComm {
  sessions::SessionPtr session;
  sessions::Process& process;
  sessions::GroupPtr group;
};

/// True for a predefined communicator between the first session and MPI_Init.
bool is_known(MPI_Comm comm) {
  if (!is_world(comm) && !is_self(comm)) return false;
  int was_finalized = 0;
  active_table.Finalized(&was_finalized);
  return was_finalized == 0 && any_open_session() != nullptr;
}

base::Result<KnownComm> known_comm(MPI_Comm comm) {
  sessions::SessionPtr session = any_open_session();
  if (!session) return Error(ErrorClass::comm, "the last session was finalized meanwhile");
  SHIM_TRY_ASSIGN(sessions::Process* const process, session->process());
  SHIM_TRY_ASSIGN(sessions::GroupPtr group,
                  session->group_of_pset(is_self(comm) ? "mpi://SELF" : "mpi://WORLD"));
  return KnownComm{std::move(session), *process, std::move(group)};
}

/// Serve a call on a predefined communicator; refuse or forward a call on any other.
template <typename Serve, typename Forward>
int serve(const char* function, MPI_Comm comm, Serve serve_known, Forward forward) {
  if (!is_known(comm)) {
    const auto refused = refuse_when_inactive(Subject::comm(comm), function);
    return refused ? *refused : forward();
  }
  return run_with_handler(Subject(), function, [&]() -> base::Status {
    SHIM_TRY_ASSIGN(const KnownComm known, known_comm(comm));
    return serve_known(known);
  });
}

base::Status get_value(const KnownComm& known, MPI_Comm comm, int keyval, void* attribute,
                       int* flag) {
  SHIM_TRY(check_output(attribute, "attribute"));
  SHIM_TRY(check_output(flag, "flag"));
  std::optional<AttributeValue> value;
  if (const auto predefined = predefined_comm_value(comm, known.process, keyval)) {
    if (*predefined != nullptr) value = AttributeValue(*predefined);
  } else {
    sessions::Attributes none;  // MPI_COMM_WORLD has attributes of the program from MPI_Init on
    AttributeOwner owner = self_owner();
    SHIM_TRY_ASSIGN(
        value,
        get_attribute(is_self(comm) ? owner : AttributeOwner{owner.kind, abi::bits(comm), none},
                      keyval));
  }
  *flag = value.has_value();
  if (value) *static_cast<void**>(attribute) = value->as_pointer();
  return {};
}

base::Status check_self(MPI_Comm comm) {
  if (is_self(comm)) return {};
  return Error(ErrorClass::comm,
               "attributes of MPI_COMM_WORLD cannot be changed before MPI_Init; those of "
               "MPI_COMM_SELF can");
}

int set_value(const char* function, MPI_Comm comm, int keyval, void* value,
              int (*forward)(MPI_Comm, int, void*)) {
  return serve(
      function, comm,
      [&](const KnownComm&) -> base::Status {
        SHIM_TRY(check_self(comm));
        return set_attribute(self_owner(), keyval, AttributeValue(value));
      },
      [&] { return forward(comm, keyval, value); });
}

int delete_value(const char* function, MPI_Comm comm, int keyval, int (*forward)(MPI_Comm, int)) {
  return serve(
      function, comm,
      [&](const KnownComm&) -> base::Status {
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

namespace impl_when_inactive {

int Comm_rank(MPI_Comm comm, int* rank) {
  return serve(
      "MPI_Comm_rank", comm,
      [&](const KnownComm& known) -> base::Status {
        SHIM_TRY(check_output(rank, "rank"));
        *rank = is_self(comm) ? 0 : known.group->rank_of(known.process.self());
        return {};
      },
      [&]() -> int { return active_table.Comm_rank(comm, rank); });
}

int Comm_size(MPI_Comm comm, int* size) {
  return serve(
      "MPI_Comm_size", comm,
      [&](const KnownComm& known) -> base::Status {
        SHIM_TRY(check_output(size, "size"));
        *size = static_cast<int>(known.group->size());
        return {};
      },
      [&]() -> int { return active_table.Comm_size(comm, size); });
}

int Comm_group(MPI_Comm comm, MPI_Group* group) {
  return serve(
      "MPI_Comm_group", comm,
      [&](const KnownComm& known) -> base::Status {
        SHIM_TRY(check_output(group, "group"));
        SHIM_TRY_ASSIGN(
            *group, make_group_handle({known.group, known.process.self(), true, known.session}));
        return {};
      },
      [&]() -> int { return active_table.Comm_group(comm, group); });
}

/// Also of the null communicator, which has a name (MPI-4.1 §7.8).
int Comm_get_name(MPI_Comm comm, char* name, int* length) {
  if (comm != MPI_Comm(abi::predefined.comm_null))
    return serve(
        "MPI_Comm_get_name", comm,
        [&](const KnownComm&) { return store_name(name_of(comm), name, length); },
        [&]() -> int { return active_table.Comm_get_name(comm, name, length); });
  return run_with_handler(Subject(), "MPI_Comm_get_name",
                          [&] { return store_name("MPI_COMM_NULL", name, length); });
}

int Comm_get_attr(MPI_Comm comm, int keyval, void* value, int* flag) {
  return serve(
      "MPI_Comm_get_attr", comm,
      [&](const KnownComm& known) { return get_value(known, comm, keyval, value, flag); },
      [&]() -> int { return active_table.Comm_get_attr(comm, keyval, value, flag); });
}
int Attr_get(MPI_Comm comm, int keyval, void* value, int* flag) {
  return serve(
      "MPI_Attr_get", comm,
      [&](const KnownComm& known) { return get_value(known, comm, keyval, value, flag); },
      [&]() -> int { return active_table.Attr_get(comm, keyval, value, flag); });
}

int Comm_set_attr(MPI_Comm comm, int keyval, void* value) {
  return set_value("MPI_Comm_set_attr", comm, keyval, value, [](MPI_Comm of, int key, void* set) {
    return active_table.Comm_set_attr(of, key, set);
  });
}
int Attr_put(MPI_Comm comm, int keyval, void* value) {
  return set_value("MPI_Attr_put", comm, keyval, value, [](MPI_Comm of, int key, void* set) {
    return active_table.Attr_put(of, key, set);
  });
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
