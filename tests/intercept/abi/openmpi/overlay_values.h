/* SPDX-License-Identifier: BSD-3-Clause */
/* Values of Open MPI 5, which programs compiled with Open MPI 5 contain. */
typedef char error_session[MPI_ERR_SESSION == 78 ? 1 : -1];
typedef char error_value_too_large[MPI_ERR_VALUE_TOO_LARGE == 79 ? 1 : -1];
typedef char error_proc_aborted[MPI_ERR_PROC_ABORTED == 74 ? 1 : -1];
typedef char pset_name[MPI_MAX_PSET_NAME_LEN == 512 ? 1 : -1];
typedef char string_tag[MPI_MAX_STRINGTAG_LEN == 1024 ? 1 : -1];
typedef char
    hardware_guided[MPI_COMM_TYPE_HW_GUIDED == 13 && MPI_COMM_TYPE_HW_UNGUIDED == 12 ? 1 : -1];
