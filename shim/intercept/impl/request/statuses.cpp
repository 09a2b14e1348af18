// SPDX-License-Identifier: BSD-3-Clause
// Reads and writes statuses, MPI-4.1 §3.2.5, §5.1.11 and §13.3, if the substrate cannot. Used while
// it is inactive, with types of ours, and for functions that it lacks. Both libraries use its
// layout (abi/status.hpp).
#include <cstring>
#include <string>

#include "shim/intercept/generated/impl.hpp"
#include "shim/intercept/impl/arguments.hpp"
#include "shim/types/signature.hpp"

namespace shim::intercept {
namespace {

using base::Error;
using base::ErrorClass;

base::Status check_status(const MPI_Status* status) {
  if (status != MPI_STATUS_IGNORE) return {};
  return Error(ErrorClass::arg, "the status is MPI_STATUS_IGNORE");
}

template <typename Number>
int get_count(const char* function, const MPI_Status* status, MPI_Datatype datatype,
              Number* count) {
  return run_with_handler(Subject(), function, [&]() -> base::Status {
    SHIM_TRY(check_status(status));
    SHIM_TRY(check_output(count, "count"));
    SHIM_TRY_ASSIGN(const types::Type* type, any_type(datatype));
    std::uint64_t size = type->size, bytes = abi::status_bytes(*status);
    if (size == 0)
      *count = 0;
    else if (bytes % size != 0)
      *count = Number{MPI_UNDEFINED};
    else
      store_or_undefined(bytes / size, count);
    return {};
  });
}

template <typename Number>
int get_elements(const char* function, const MPI_Status* status, MPI_Datatype datatype,
                 Number* count) {
  return run_with_handler(Subject(), function, [&]() -> base::Status {
    SHIM_TRY(check_status(status));
    SHIM_TRY(check_output(count, "count"));
    SHIM_TRY_ASSIGN(const types::Type* type, any_type(datatype));
    if (auto elements = types::elements_in(*type, abi::status_bytes(*status)))
      store_or_undefined(*elements, count);
    else
      *count = Number{MPI_UNDEFINED};
    return {};
  });
}

int set_elements(const char* function, MPI_Status* status, MPI_Datatype datatype, Count count) {
  return run_with_handler(Subject(), function, [&]() -> base::Status {
    SHIM_TRY(check_status(status));
    if (count < 0) return slow::bad_count(count, "count");
    SHIM_TRY_ASSIGN(const types::Type* type, any_type(datatype));
    abi::set_status_bytes(*status,
                          types::bytes_of_elements(*type, static_cast<std::uint64_t>(count)));
    return {};
  });
}

/// Implement the MPI-4.1 functions that read or write one field.
int get_field(const char* function, const MPI_Status* status, int MPI_Status::*field, int* value) {
  return run_with_handler(Subject(), function, [&]() -> base::Status {
    SHIM_TRY(check_status(status));
    SHIM_TRY(check_output(value, "value"));
    *value = status->*field;
    return {};
  });
}
int set_field(const char* function, MPI_Status* status, int MPI_Status::*field, int value) {
  return run_with_handler(Subject(), function, [&]() -> base::Status {
    SHIM_TRY(check_status(status));
    status->*field = value;
    return {};
  });
}

/// Copy a status to another language's form; in the native libraries all forms have the layout of
/// C's structure. Errors: arg (MPI_STATUS_IGNORE, MPI-4.1 §19.3.5).
template <typename From, typename To>
int copy_status(const char* function, const From* from, To* to) {
  return run_with_handler(Subject(), function, [&]() -> base::Status {
    SHIM_TRY(check_status(reinterpret_cast<const MPI_Status*>(from)));
    SHIM_TRY(check_status(reinterpret_cast<const MPI_Status*>(to)));
    std::memcpy(to, from, sizeof(MPI_Status));
    return {};
  });
}
static_assert(sizeof(MPI_F08_status) == sizeof(MPI_Status));

}  // namespace

namespace impl {

int Get_count(const MPI_Status* status, MPI_Datatype datatype, int* count) {
  return get_count("MPI_Get_count", status, datatype, count);
}
int Get_elements(const MPI_Status* status, MPI_Datatype datatype, int* count) {
  return get_elements("MPI_Get_elements", status, datatype, count);
}
int Get_elements_x(const MPI_Status* status, MPI_Datatype datatype, MPI_Count* count) {
  return get_elements("MPI_Get_elements_x", status, datatype, count);
}
int Get_count_c(const MPI_Status* status, MPI_Datatype datatype, MPI_Count* count) {
  return get_count("MPI_Get_count_c", status, datatype, count);
}
int Get_elements_c(const MPI_Status* status, MPI_Datatype datatype, MPI_Count* count) {
  return get_elements("MPI_Get_elements_c", status, datatype, count);
}
int Status_get_source(const MPI_Status* status, int* source) {
  return get_field("MPI_Status_get_source", status, &MPI_Status::MPI_SOURCE, source);
}
int Status_get_tag(const MPI_Status* status, int* tag) {
  return get_field("MPI_Status_get_tag", status, &MPI_Status::MPI_TAG, tag);
}
int Status_get_error(const MPI_Status* status, int* error) {
  return get_field("MPI_Status_get_error", status, &MPI_Status::MPI_ERROR, error);
}
int Status_set_source(MPI_Status* status, int source) {
  return set_field("MPI_Status_set_source", status, &MPI_Status::MPI_SOURCE, source);
}
int Status_set_tag(MPI_Status* status, int tag) {
  return set_field("MPI_Status_set_tag", status, &MPI_Status::MPI_TAG, tag);
}
int Status_set_error(MPI_Status* status, int error) {
  return set_field("MPI_Status_set_error", status, &MPI_Status::MPI_ERROR, error);
}
int Status_c2f08(const MPI_Status* c_status, MPI_F08_status* f08_status) {
  return copy_status("MPI_Status_c2f08", c_status, f08_status);
}
int Status_f082c(const MPI_F08_status* f08_status, MPI_Status* c_status) {
  return copy_status("MPI_Status_f082c", f08_status, c_status);
}
int Status_f2f08(const MPI_Fint* f_status, MPI_F08_status* f08_status) {
  return copy_status("MPI_Status_f2f08", f_status, f08_status);
}
int Status_f082f(const MPI_F08_status* f08_status, MPI_Fint* f_status) {
  return copy_status("MPI_Status_f082f", f08_status, f_status);
}

}  // namespace impl

namespace impl_when_inactive {

int Status_set_elements(MPI_Status* status, MPI_Datatype datatype, int count) {
  return set_elements("MPI_Status_set_elements", status, datatype, count);
}
int Status_set_elements_c(MPI_Status* status, MPI_Datatype datatype, MPI_Count count) {
  return set_elements("MPI_Status_set_elements_c", status, datatype, count);
}
int Status_set_elements_x(MPI_Status* status, MPI_Datatype datatype, MPI_Count count) {
  return set_elements("MPI_Status_set_elements_x", status, datatype, count);
}
int Status_set_cancelled(MPI_Status* status, int flag) {
  return run_with_handler(Subject(), "MPI_Status_set_cancelled", [&]() -> base::Status {
    SHIM_TRY(check_status(status));
    abi::set_cancelled(*status, flag != 0);
    return {};
  });
}
int Status_c2f(const MPI_Status* c_status, MPI_Fint* f_status) {
  return copy_status("MPI_Status_c2f", c_status, f_status);
}
int Status_f2c(const MPI_Fint* f_status, MPI_Status* c_status) {
  return copy_status("MPI_Status_f2c", f_status, c_status);
}
int Test_cancelled(const MPI_Status* status, int* flag) {
  return run_with_handler(Subject(), "MPI_Test_cancelled", [&]() -> base::Status {
    SHIM_TRY(check_status(status));
    SHIM_TRY(check_output(flag, "flag"));
    *flag = abi::is_cancelled(*status);
    return {};
  });
}

}  // namespace impl_when_inactive
}  // namespace shim::intercept
