/* SPDX-License-Identifier: BSD-3-Clause */
/* world_only FOLDER: an MPI program without sessions. At four points it records its threads,
 * descriptors by kind, and mapped files; at the end it writes the record to its own file in the
 * folder. The test compares a run with the preload to one without. */
#include <dirent.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int rank, size;
static FILE* notes; /* in memory, so that it uses no descriptor */

static void print_threads(const char* when) {
  int threads = 0;
  DIR* folder = opendir("/proc/self/task");
  for (struct dirent* entry; (entry = readdir(folder));) threads += entry->d_name[0] != '.';
  closedir(folder);
  fprintf(notes, "%s threads %d\n", when, threads);
}

/* Print kinds, not names: "socket:[123]" is a socket. */
static void print_descriptors(const char* when) {
  DIR* folder = opendir("/proc/self/fd");
  for (struct dirent* entry; (entry = readdir(folder));) {
    char link[4096], target[4096];
    snprintf(link, sizeof link, "/proc/self/fd/%s", entry->d_name);
    ssize_t length = readlink(link, target, sizeof target - 1);
    if (length < 0) continue;
    target[length] = 0;
    target[strcspn(target, ":[0123456789")] = 0;
    fprintf(notes, "%s descriptor %s\n", when, target);
  }
  closedir(folder);
}

static void print_mappings(const char* when) {
  char line[4608];
  FILE* maps = fopen("/proc/self/maps", "r");
  while (fgets(line, sizeof line, maps)) {
    char path[4096] = "";
    if (sscanf(line, "%*s %*s %*s %*s %*s %4095s", path) == 1 && path[0] == '/')
      fprintf(notes, "%s mapping %s\n", when, path);
  }
  fclose(maps);
}

static void print_state(const char* when) {
  print_threads(when);
  print_descriptors(when);
  print_mappings(when);
}

static int communicate(void) {
  int sum = 0, wrong = 0, got = -1, value = rank;
  MPI_Comm copy;
  MPI_Datatype pair;
  MPI_Request request;
  MPI_Type_contiguous(2, MPI_INT, &pair);
  MPI_Type_commit(&pair);
  MPI_Type_free(&pair);
  MPI_Comm_dup(MPI_COMM_WORLD, &copy);
  MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, copy);
  wrong += sum != size * (size - 1) / 2;
  MPI_Irecv(&got, 1, MPI_INT, (rank + size - 1) % size, 7, copy, &request);
  MPI_Send(&value, 1, MPI_INT, (rank + 1) % size, 7, copy);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  wrong += got != (rank + size - 1) % size;
  MPI_Comm_free(&copy);
  return wrong;
}

static int write_notes(const char* folder, const char* text) {
  char path[4096];
  snprintf(path, sizeof path, "%s/%d", folder, rank);
  FILE* out = fopen(path, "w");
  return !out || fputs(text, out) < 0 || fclose(out) != 0;
}

int main(int argc, char** argv) {
  char* text = NULL;
  size_t length = 0;
  notes = open_memstream(&text, &length);
  print_state("before-init");
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  print_state("after-init");
  int wrong = communicate();
  MPI_Barrier(MPI_COMM_WORLD);
  print_state("after-traffic");
  MPI_Finalize();
  print_state("after-finalize");
  fprintf(notes, "wrong %d\n", wrong);
  fclose(notes);
  return write_notes(argv[1], text) || wrong;
}
