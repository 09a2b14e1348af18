/* SPDX-License-Identifier: BSD-3-Clause */
/* HDF5: write a dataset in parts by all processes, and read the part of another process. */
#include <hdf5.h>

#include "communicator.h"

enum { LOCAL = 1000 };

static void transfer(hid_t data, int part, double* values, int is_write) {
  const hsize_t first = (hsize_t)part * LOCAL, count = LOCAL;
  const hid_t memory = H5Screate_simple(1, &count, NULL), space = H5Dget_space(data);
  const hid_t collective = H5Pcreate(H5P_DATASET_XFER);
  H5Pset_dxpl_mpio(collective, H5FD_MPIO_COLLECTIVE);
  H5Sselect_hyperslab(space, H5S_SELECT_SET, &first, NULL, &count, NULL);
  const herr_t code = is_write
                          ? H5Dwrite(data, H5T_NATIVE_DOUBLE, memory, space, collective, values)
                          : H5Dread(data, H5T_NATIVE_DOUBLE, memory, space, collective, values);
  stack_check(is_write ? "H5Dwrite's return code" : "H5Dread's return code", abs(code), 0);
  H5Pclose(collective);
  H5Sclose(space);
  H5Sclose(memory);
}

int main(void) {
  const MPI_Comm comm = stack_begin();
  /* The program runs in a folder of its own; a failed call exits before the checks. */
  const hid_t access = H5Pcreate(H5P_FILE_ACCESS);
  H5Pset_fapl_mpio(access, comm, MPI_INFO_NULL);
  const hid_t file = H5Fcreate("stack.h5", H5F_ACC_TRUNC, H5P_DEFAULT, access);
  if (file < 0) return 1;
  const hsize_t size = (hsize_t)LOCAL * stack.size;
  const hid_t space = H5Screate_simple(1, &size, NULL);
  const hid_t data = H5Dcreate2(file, "data", H5T_NATIVE_DOUBLE, space, H5P_DEFAULT, H5P_DEFAULT,
                                H5P_DEFAULT);
  double values[LOCAL];
  for (int i = 0; i < LOCAL; i++) values[i] = stack.rank * LOCAL + i;
  transfer(data, stack.rank, values, 1);
  const int other = (stack.rank + 1) % stack.size;
  transfer(data, other, values, 0);
  double error = 0;
  for (int i = 0; i < LOCAL; i++) error = fmax(error, fabs(values[i] - (other * LOCAL + i)));
  stack_check("error of the part of another process", error, 0);
  H5Dclose(data);
  H5Sclose(space);
  H5Fclose(file);
  H5Pclose(access);
  return stack_end();
}
