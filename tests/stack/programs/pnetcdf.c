/* SPDX-License-Identifier: BSD-3-Clause */
/* PnetCDF: write a variable in parts by all processes, and read the part of another process. */
#include <pnetcdf.h>

#include "communicator.h"

enum { LOCAL = 1000 };

int main(void) {
  const MPI_Comm comm = stack_begin();
  int file, dimension, variable;
  const int code = ncmpi_create(comm, "stack.nc", NC_CLOBBER, MPI_INFO_NULL, &file);
  if (code != NC_NOERR) {
    fprintf(stderr, "ncmpi_create: %s\n", ncmpi_strerror(code));
    return 1;
  }
  ncmpi_def_dim(file, "points", LOCAL * stack.size, &dimension);
  ncmpi_def_var(file, "data", NC_DOUBLE, 1, &dimension, &variable);
  ncmpi_enddef(file);
  double values[LOCAL];
  const MPI_Offset count = LOCAL, first = (MPI_Offset)LOCAL * stack.rank;
  for (int i = 0; i < LOCAL; i++) values[i] = (double)first + i;
  int failed = ncmpi_put_vara_double_all(file, variable, &first, &count, values);
  stack_check("ncmpi_put_vara_double_all's return code", abs(failed), 0);
  const MPI_Offset other = (MPI_Offset)LOCAL * ((stack.rank + 1) % stack.size);
  failed = ncmpi_get_vara_double_all(file, variable, &other, &count, values);
  stack_check("ncmpi_get_vara_double_all's return code", abs(failed), 0);
  double error = 0;
  for (int i = 0; i < LOCAL; i++) error = fmax(error, fabs(values[i] - (double)(other + i)));
  stack_check("error of the part of another process", error, 0);
  ncmpi_close(file);
  return stack_end();
}
