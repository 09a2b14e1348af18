/* SPDX-License-Identifier: BSD-3-Clause */
/* Measures the launcher's client alone, in memory and time: PMIx_Init in all processes at once.
 * No MPI is used. */
#include <dlfcn.h>

#include "bench/startup/startup.h"

typedef int (*Init)(void* process, void* infos, size_t count);
typedef int (*Finalize)(const void* infos, size_t count);

static void* find(void* library, const char* name) {
  void* found = dlsym(library, name);
  if (!found) fprintf(stderr, "startup: %s\n", dlerror()), exit(1);
  return found;
}

/* Print sums at rank 0 from files of the other processes in the common folder. */
static void report_by_files(const Phases* phases) {
  char file[512];
  double largest[kMostPhases] = {0}, sum[kMostPhases] = {0}, shared[kMostPhases] = {0},
         longest[kMostPhases] = {0}, times[kMostPhases] = {0};
  snprintf(file, sizeof file, "%s/found.%d", phases->words->memory, phases->rank);
  FILE* mine = fopen(file, "w");
  for (int i = 0; i < phases->count; ++i)
    fprintf(mine, "%f %f %f\n", phases->pss_kib[i], phases->shared_kib[i], phases->took_ms[i]);
  fclose(mine);
  meet(phases, "reported");
  for (int rank = 0; phases->rank == 0 && rank < phases->size; ++rank) {
    snprintf(file, sizeof file, "%s/found.%d", phases->words->memory, rank);
    FILE* others = fopen(file, "r");
    for (int i = 0; i < phases->count; ++i) {
      double pss, shmem, took;
      if (fscanf(others, "%lf %lf %lf", &pss, &shmem, &took) != 3)
        fprintf(stderr, "startup: %s is cut\n", file), exit(1);
      largest[i] = pss > largest[i] ? pss : largest[i];
      sum[i] += pss;
      shared[i] += shmem;
      longest[i] = took > longest[i] ? took : longest[i];
      times[i] += took;
    }
    fclose(others);
  }
  for (int i = 0; phases->rank == 0 && i < phases->count; ++i) {
    printf("%s max_kib %.0f mean_kib %.2f shared_kib %.0f\n", phases->names[i], largest[i],
           sum[i] / phases->size, shared[i]);
    printf("%s max_ms %.5f mean_ms %.5f\n", phases->names[i], longest[i], times[i] / phases->size);
  }
}

int main(int argc, char** argv) {
  const Words words = words_of(argc, argv);
  if (!words.memory) return fprintf(stderr, "startup: only with memory=DIR\n"), 1;
  Phases phases = start_phases(&words);
  void* library = dlopen("libpmix.so.2", RTLD_NOW);
  if (!library) return fprintf(stderr, "startup: %s\n", dlerror()), 1;
  Init init = (Init)find(library, "PMIx_Init");
  Finalize finalize = (Finalize)find(library, "PMIx_Finalize");
  int code = init(NULL, NULL, 0);
  if (code != 0) return fprintf(stderr, "startup: PMIx_Init answers %d\n", code), 1;
  end_phase(&phases, "launcher_init");
  report_by_files(&phases);
  return finalize(NULL, 0);
}
