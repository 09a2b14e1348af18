/* SPDX-License-Identifier: BSD-3-Clause */
/* Zoltan: divide the points of a square grid by recursive bisection, and move them. */
#include <zoltan.h>

#include "communicator.h"

enum { SIDE = 32, POINTS = SIDE * SIDE };
static int points[POINTS], count;

static int number(void* data, int* error) {
  (void)data;
  *error = ZOLTAN_OK;
  return count;
}

static void list(void* data, int global_size, int local_size, ZOLTAN_ID_PTR global,
                 ZOLTAN_ID_PTR local, int weights, float* weight, int* error) {
  (void)data, (void)global_size, (void)local_size, (void)weights, (void)weight;
  for (int i = 0; i < count; i++) global[i] = points[i], local[i] = i;
  *error = ZOLTAN_OK;
}

static int dimensions(void* data, int* error) {
  (void)data;
  *error = ZOLTAN_OK;
  return 2;
}

static void coordinates(void* data, int global_size, int local_size, ZOLTAN_ID_PTR global,
                        ZOLTAN_ID_PTR local, double* place, int* error) {
  (void)data, (void)global_size, (void)local_size, (void)local;
  place[0] = *global % SIDE;
  place[1] = *global / SIDE;
  *error = ZOLTAN_OK;
}

int main(void) {
  const MPI_Comm comm = stack_begin();
  float version;
  stack_check("Zoltan_Initialize's return code", abs(Zoltan_Initialize(0, NULL, &version)), 0);
  /* At first each process has every fourth point. */
  for (int point = stack.rank; point < POINTS; point += stack.size) points[count++] = point;
  struct Zoltan_Struct* zoltan = Zoltan_Create(comm);
  Zoltan_Set_Param(zoltan, "LB_METHOD", "RCB");
  Zoltan_Set_Param(zoltan, "DEBUG_LEVEL", "0");
  Zoltan_Set_Num_Obj_Fn(zoltan, number, NULL);
  Zoltan_Set_Obj_List_Fn(zoltan, list, NULL);
  Zoltan_Set_Num_Geom_Fn(zoltan, dimensions, NULL);
  Zoltan_Set_Geom_Fn(zoltan, coordinates, NULL);
  int changes, global_size, local_size, imports, exports;
  ZOLTAN_ID_PTR import_global, import_local, export_global, export_local;
  int *import_from, *import_part, *export_to, *export_part;
  const int code = Zoltan_LB_Partition(zoltan, &changes, &global_size, &local_size, &imports,
                                       &import_global, &import_local, &import_from, &import_part,
                                       &exports, &export_global, &export_local, &export_to,
                                       &export_part);
  stack_check("Zoltan_LB_Partition's return code", abs(code), 0);

  /* Every point belongs to one process, each process has a quarter, and its points are a box. */
  int owners[POINTS] = {0};
  for (int i = 0; i < count; i++) owners[points[i]] = 1;
  for (int i = 0; i < exports; i++) owners[export_global[i]] = 0;
  for (int i = 0; i < imports; i++) owners[import_global[i]] = 1;
  int mine = 0, low[2] = {SIDE, SIDE}, high[2] = {0, 0};
  for (int point = 0; point < POINTS; point++) {
    if (!owners[point]) continue;
    const int place[] = {point % SIDE, point / SIDE};
    mine++;
    for (int i = 0; i < 2; i++) {
      if (place[i] < low[i]) low[i] = place[i];
      if (place[i] > high[i]) high[i] = place[i];
    }
  }
  stack_check("points above or below a quarter", abs(mine - POINTS / stack.size), 0);
  stack_check("points of other processes in this one's box",
              (high[0] - low[0] + 1) * (high[1] - low[1] + 1) - mine, 0);
  MPI_Allreduce(MPI_IN_PLACE, owners, POINTS, MPI_INT, MPI_SUM, comm);
  int wrong = 0;
  for (int point = 0; point < POINTS; point++) wrong += owners[point] != 1;
  stack_check("points without exactly one owner", wrong, 0);

  Zoltan_LB_Free_Part(&import_global, &import_local, &import_from, &import_part);
  Zoltan_LB_Free_Part(&export_global, &export_local, &export_to, &export_part);
  Zoltan_Destroy(&zoltan);
  return stack_end();
}
