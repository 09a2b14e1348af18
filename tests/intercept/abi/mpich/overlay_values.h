/* SPDX-License-Identifier: BSD-3-Clause */
/* Values of MPICH 4, which programs compiled with MPICH 4 contain. */
typedef char error_session[MPI_ERR_SESSION == 75 ? 1 : -1];
typedef char error_value_too_large[MPI_ERR_VALUE_TOO_LARGE == 77 ? 1 : -1];
typedef char error_proc_aborted[MPI_ERR_PROC_ABORTED == 76 ? 1 : -1];
typedef char pset_name[MPI_MAX_PSET_NAME_LEN == 256 ? 1 : -1];
typedef char string_tag[MPI_MAX_STRINGTAG_LEN == 256 ? 1 : -1];
typedef char
    hardware_guided[MPI_COMM_TYPE_HW_GUIDED == 2 && MPI_COMM_TYPE_HW_UNGUIDED == 3 ? 1 : -1];
