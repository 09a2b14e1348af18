/* SPDX-License-Identifier: BSD-3-Clause */
/* LAMMPS as a library: a Lennard-Jones crystal melts at constant energy. The energy at the start is
 * a sum over the lattice, which this program computes, too. */
#include "communicator.h"
#define LAMMPS_LIB_MPI
#include <lammps/library.h>

enum { CELLS = 8, ATOMS = 4 * CELLS * CELLS * CELLS };
static const double density = 0.8442, cutoff = 2.5, temperature = 3;

/* Energy of an atom in a face-centered cubic lattice, whose cell has four atoms. */
static double lattice_energy(void) {
  const double half = cbrt(4 / density) / 2;
  double sum = 0;
  for (int i = -4; i <= 4; i++) {
    for (int j = -4; j <= 4; j++) {
      for (int k = -4; k <= 4; k++) {
        const double square = half * half * (i * i + j * j + k * k);
        const int is_atom = (i + j + k) % 2 == 0 && square > 0;
        if (is_atom && square < cutoff * cutoff) sum += 2 * (pow(square, -6) - pow(square, -3));
      }
    }
  }
  return sum;
}

int main(void) {
  const MPI_Comm comm = stack_begin();
  char* arguments[] = {"lammps", "-log", "none", "-screen", "none"};
  void* lammps = lammps_open(5, arguments, comm, NULL);
  char box[100];
  snprintf(box, sizeof box, "region box block 0 %d 0 %d 0 %d", CELLS, CELLS, CELLS);
  const char* commands[] = {"units lj",
                            "atom_style atomic",
                            "lattice fcc 0.8442",
                            box,
                            "create_box 1 box",
                            "create_atoms 1 box",
                            "mass 1 1.0",
                            "velocity all create 3.0 87287 loop geom",
                            "pair_style lj/cut 2.5",
                            "pair_coeff 1 1 1.0 1.0 2.5",
                            "neighbor 0.3 bin",
                            "fix conserve all nve",
                            "thermo_style custom step temp pe etotal",
                            "run 0"};
  lammps_commands_list(lammps, sizeof commands / sizeof commands[0], commands);
  stack_check("error of the number of atoms", fabs(lammps_get_natoms(lammps) - ATOMS), 0);
  stack_check("error of the energy of the lattice",
              fabs(lammps_get_thermo(lammps, "pe") - lattice_energy()), 1e-10);
  stack_check("error of the temperature", fabs(lammps_get_thermo(lammps, "temp") - temperature),
              1e-12);
  const double energy = lammps_get_thermo(lammps, "etotal");
  lammps_command(lammps, "run 100");
  /* The potential is cut off, so the energy of the start is not conserved exactly. */
  stack_check("drift of the total energy", fabs(lammps_get_thermo(lammps, "etotal") - energy),
              1e-2);
  stack_check("temperature of the melt", lammps_get_thermo(lammps, "temp"), 0.7 * temperature);
  lammps_close(lammps);
  return stack_end();
}
