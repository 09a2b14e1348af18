/* SPDX-License-Identifier: BSD-3-Clause */
/* FFTW-MPI: transform a plane wave, whose spectrum has one element that is not zero, and back. */
#include <complex.h>
#include <fftw3-mpi.h>

#include "communicator.h"

enum { ROWS = 48, COLUMNS = 36, ROW_WAVES = 5, COLUMN_WAVES = 7 };

static double complex wave(ptrdiff_t row, ptrdiff_t column) {
  const double pi = acos(-1.0);
  return cexp(2 * pi * I *
              (ROW_WAVES * (double)row / ROWS + COLUMN_WAVES * (double)column / COLUMNS));
}

int main(void) {
  const MPI_Comm comm = stack_begin();
  fftw_mpi_init();
  ptrdiff_t rows, first;
  const ptrdiff_t length = fftw_mpi_local_size_2d(ROWS, COLUMNS, comm, &rows, &first);
  double complex* data = fftw_alloc_complex(length);
  const fftw_plan forward = fftw_mpi_plan_dft_2d(ROWS, COLUMNS, data, data, comm, FFTW_FORWARD,
                                                 FFTW_ESTIMATE);
  const fftw_plan backward = fftw_mpi_plan_dft_2d(ROWS, COLUMNS, data, data, comm, FFTW_BACKWARD,
                                                  FFTW_ESTIMATE);
  for (ptrdiff_t i = 0; i < rows; i++) {
    for (ptrdiff_t j = 0; j < COLUMNS; j++) data[i * COLUMNS + j] = wave(first + i, j);
  }

  double error = 0;
  fftw_execute(forward);
  for (ptrdiff_t i = 0; i < rows; i++) {
    for (ptrdiff_t j = 0; j < COLUMNS; j++) {
      const int is_peak = first + i == ROW_WAVES && j == COLUMN_WAVES;
      error = fmax(error, cabs(data[i * COLUMNS + j] - (is_peak ? ROWS * COLUMNS : 0)));
    }
  }
  stack_check("error of the spectrum", error, 1e-10);

  error = 0;
  fftw_execute(backward);
  for (ptrdiff_t i = 0; i < rows; i++) {
    for (ptrdiff_t j = 0; j < COLUMNS; j++) {
      const double complex value = data[i * COLUMNS + j] / (ROWS * COLUMNS);
      error = fmax(error, cabs(value - wave(first + i, j)));
    }
  }
  stack_check("error of the backward transform", error, 1e-13);

  fftw_destroy_plan(forward);
  fftw_destroy_plan(backward);
  fftw_free(data);
  fftw_mpi_cleanup();
  return stack_end();
}
