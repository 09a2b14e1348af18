// SPDX-License-Identifier: BSD-3-Clause
// Converts arguments of Open MPI's Fortran procedures to arguments of C functions, and results
// back. A generated entry (api/emit_fortran.py) has one object for each argument: it converts to
// the argument of the C function, and store(code) writes the results after the call.
#pragma once

#include <mpi.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <exception>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

#include "shim/intercept/abi/handle.hpp"
#include "shim/intercept/dispatch.hpp"
#include "shim/intercept/native/activity.hpp"
#include "shim/intercept/native/arrays.hpp"
#include "shim/intercept/native/fortran.hpp"

namespace shim::intercept::fortran {

static_assert(std::is_same_v<MPI_Fint, int>, "arrays of integers are passed on unconverted");
static_assert(sizeof(MPI_Status) == MPI_F_STATUS_SIZE * sizeof(MPI_Fint));

template <class Handle>
Handle handle_of(MPI_Fint integer) {
  if constexpr (std::is_same_v<Handle, MPI_Comm>) return PMPI_Comm_f2c(integer);
  if constexpr (std::is_same_v<Handle, MPI_Group>) return PMPI_Group_f2c(integer);
  if constexpr (std::is_same_v<Handle, MPI_Request>) return PMPI_Request_f2c(integer);
  if constexpr (std::is_same_v<Handle, MPI_Datatype>) return PMPI_Type_f2c(integer);
  if constexpr (std::is_same_v<Handle, MPI_Info>) return PMPI_Info_f2c(integer);
}
inline MPI_Fint integer_of(MPI_Group group) { return PMPI_Group_c2f(group); }
inline MPI_Fint integer_of(MPI_Request request) { return PMPI_Request_c2f(request); }

/// Return the elements of an array whose length is the program's and may be negative.
template <typename Element>
std::span<Element> elements(Element* array, int length) {
  return {array, static_cast<std::size_t>(std::max(length, 0))};
}

/// True if one of these integers denotes a handle of ours.
inline bool ours_in(const MPI_Fint* integers, int count) {
  return std::ranges::any_of(elements(integers, count), abi::is_ours_as_fint);
}

/// Return the C address of a buffer, which may be MPI_BOTTOM or MPI_IN_PLACE.
void* buffer(void* address);
/// True for MPI_STATUS_IGNORE and MPI_STATUSES_IGNORE.
bool is_ignored(const MPI_Fint* statuses);

/// Return the lengths of the arrays of a call, on a communicator of either library. The send arrays
/// of a call in place are not significant.
Lengths lengths_of_call(MPI_Comm comm, Reach reach, const void* sendbuf);

// NOLINTBEGIN(google-explicit-constructor): the objects are arguments

/// Array of handles that the function only reads.
template <class Handle>
class ReadHandles {
 public:
  ReadHandles(const MPI_Fint* integers, int length) {
    for (MPI_Fint integer : elements(integers, length))
      handles_.push_back(handle_of<Handle>(integer));
  }
  operator const Handle*() const { return handles_.data(); }

 private:
  std::vector<Handle> handles_;
};

/// Array of handles that the function may change, also if it fails.
template <class Handle>
class ChangedHandles {
 public:
  ChangedHandles(MPI_Fint* integers, int length)
      : integers_(integers), handles_(elements(integers, length).size()) {
    std::ranges::transform(elements(integers, length), handles_.begin(), handle_of<Handle>);
  }
  operator Handle*() { return handles_.data(); }
  void store(int /*code*/) const {
    std::ranges::transform(handles_, integers_, [](Handle handle) { return integer_of(handle); });
  }

 private:
  MPI_Fint* integers_;
  std::vector<Handle> handles_;
};

/// Handle that the function may change, also if it fails.
template <class Handle>
class ChangedHandle {
 public:
  explicit ChangedHandle(MPI_Fint* integer)
      : integer_(integer), handle_(handle_of<Handle>(*integer)) {}
  operator Handle*() { return &handle_; }
  void store(int /*code*/) const { *integer_ = integer_of(handle_); }

 private:
  MPI_Fint* integer_;
  Handle handle_;
};

/// Handle that the function creates.
template <class Handle>
class MadeHandle {
 public:
  explicit MadeHandle(MPI_Fint* integer) : integer_(integer) {}
  operator Handle*() { return &handle_; }
  void store(int code) const {
    if (code == MPI_SUCCESS) *integer_ = integer_of(handle_);
  }

 private:
  MPI_Fint* integer_;
  Handle handle_{};
};

/// Statuses, which the function fills in part. A Fortran status is a C status as integers, of less
/// alignment.
template <class Storage>
class BasicStatuses {
 public:
  BasicStatuses(MPI_Fint* integers, int count) : integers_(integers) {
    if (is_ignored(integers)) return;
    if constexpr (std::is_same_v<Storage, std::vector<MPI_Status>>)
      statuses_.resize(elements(integers, count).size());
    std::memcpy(std::data(statuses_), integers_, std::size(statuses_) * sizeof(MPI_Status));
  }
  operator MPI_Status*() {
    return is_ignored(integers_) ? MPI_STATUS_IGNORE : std::data(statuses_);
  }
  void store(int /*code*/) const {
    if (is_ignored(integers_)) return;
    std::memcpy(integers_, std::data(statuses_), std::size(statuses_) * sizeof(MPI_Status));
  }

 private:
  MPI_Fint* integers_;
  Storage statuses_{};
};
static_assert(MPI_STATUS_IGNORE == MPI_STATUSES_IGNORE);

/// Status, or array of statuses.
struct FilledStatus : BasicStatuses<std::array<MPI_Status, 1>> {
  explicit FilledStatus(MPI_Fint* integers) : BasicStatuses(integers, 1) {}
};
using FilledStatuses = BasicStatuses<std::vector<MPI_Status>>;

/// LOGICAL result.
class SetLogical {
 public:
  explicit SetLogical(MPI_Fint* logical) : logical_(logical) {}
  operator int*() { return &flag_; }
  void store(int code) const {
    if (code == MPI_SUCCESS) *logical_ = flag_ != 0 ? 1 : 0;
  }

 private:
  MPI_Fint* logical_;
  int flag_ = 0;
};

/// Return Fortran's index of an element.
inline MPI_Fint index_from_1(int index) { return index == MPI_UNDEFINED ? index : index + 1; }

/// Index that the function returns; Fortran counts from 1.
class SetIndex {
 public:
  explicit SetIndex(MPI_Fint* index) : index_(index) {}
  operator int*() { return &from_0_; }
  void store(int code) const {
    if (code == MPI_SUCCESS) *index_ = index_from_1(from_0_);
  }

 private:
  MPI_Fint* index_;
  int from_0_ = MPI_UNDEFINED;
};

/// Indices that the function returns, and their number, which it returns, too.
class SetIndices {
 public:
  SetIndices(MPI_Fint* indices, const MPI_Fint* count) : indices_(indices), count_(count) {}
  operator int*() { return indices_; }
  void store(int code) const {
    if (code != MPI_SUCCESS && code != MPI_ERR_IN_STATUS) return;
    std::ranges::transform(elements(indices_, *count_), indices_, index_from_1);
  }

 private:
  MPI_Fint* indices_;
  const MPI_Fint* count_;
};

// NOLINTEND(google-explicit-constructor)

/// Run a call, and convert exceptions to errors of MPI_X, as C's entries do.
template <typename Call>
void run(const char* function, MPI_Fint* ierror, Call&& call) {
  try {
    set_error(ierror, std::forward<Call>(call)());
  } catch (const std::exception&) {
    set_error(ierror, fail_with_exception(Subject(), function));
  }
}

}  // namespace shim::intercept::fortran
