// SPDX-License-Identifier: BSD-3-Clause
// Reads and sets attributes of communicators for other files: predefined attributes, and attributes
// as Fortran sees them.
#pragma once

#include <mpi.h>

#include <cstdint>
#include <optional>

#include "shim/base/result.hpp"
#include "shim/intercept/impl/attributes.hpp"
#include "shim/sessions/process.hpp"

namespace shim::intercept {

/// Value of a predefined attribute: nothing if the key is of another attribute; null if the
/// attribute has no value.
using PredefinedValue = std::optional<int*>;
/// Return the value that the substrate gives on MPI_COMM_WORLD or MPI_COMM_SELF.
PredefinedValue predefined_comm_value(MPI_Comm predefined, sessions::Process& process, int number);

/// The value of an attribute in both languages (MPI-4.1 §19.3.7).
class CommAttribute {
 public:
  explicit CommAttribute(int* predefined) : predefined_(predefined) {}
  explicit CommAttribute(sessions::AttributeValue value) : value_(std::move(value)) {}
  /// Return C's value: a predefined attribute is a pointer to a number.
  void* as_pointer() const { return predefined_ != nullptr ? predefined_ : value_.as_pointer(); }
  /// Return Fortran's value: a pointer set in C is its address, a predefined attribute the number.
  std::intptr_t as_number() const {
    return predefined_ != nullptr ? *predefined_ : value_.as_number();
  }

 private:
  int* predefined_ = nullptr;
  sessions::AttributeValue value_;
};
using OptionalCommAttribute = std::optional<CommAttribute>;

/// Return an attribute, nothing if the communicator does not have it. Errors: keyval.
base::Result<OptionalCommAttribute> find_comm_attribute(const PredefinedValue& predefined,
                                                        const AttributeOwner& owner, int keyval);
/// Store the result of MPI_Comm_get_attr. Errors: arg (null pointer).
base::Status store_comm_attribute(const OptionalCommAttribute& found, void* attribute, int* flag);
/// Store the result of MPI_COMM_GET_ATTR.
void store_comm_number(const OptionalCommAttribute& found, std::intptr_t* value, bool* flag);

// Attributes in Fortran, of communicators of Intersession.

int get_comm_number(const char* function, MPI_Comm comm, int keyval, std::intptr_t* value,
                    bool* flag);
int set_comm_number(const char* function, MPI_Comm comm, int keyval, std::intptr_t value);

}  // namespace shim::intercept
