/* Writing and reading a block with ghost cells and interleaved variables as it lies, beside the same data without: docs/performance.md,
 * "Beside its peers".
 *
 *   mpirun -n 2 ghosts FOLDER [REPETITIONS [CELLS]]
 *
 * Four variables in each of CELLS^3 cells (default: 160), in blocks with two layers of ghost cells: one block a rank, the blocks beside each
 * other in the first dimension (rows) or in the last one. For each, a row: ranks, how they lie, writing or reading, the medians of the times in ms of what
 * is packed, of the block as it lies, of a copy that the program makes, and of HDF5 with hyperslabs of the memory (collective), and the medians of the ratios to the second in
 * the same repetition: above 1, the block as it lies was faster. A file is written where none is. What is read is compared. */
#define _GNU_SOURCE
#include <scda.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#ifdef BENCH_HDF5
#include <hdf5.h>
#endif

enum { variables = 4, ghosts = 2, contenders = 4, most = 200 };
enum { packed, as_it_lies, copied, by_hdf5 };

static const char *const names[variables] = {"density", "momentum", "energy", "pressure"};
static int rank, ranks, axis;
static uint64_t all[3], start[3], count[3], room[3]; /* of the array, of this rank's part, of its block */
static double *block, *plain[variables];

static void die (const char *what) {
  fprintf (stderr, "ghosts: %s: %s\n", what, scda_last_error_message ());
  MPI_Abort (MPI_COMM_WORLD, 1);
}

static double *cell (uint64_t z, uint64_t y, uint64_t x) {
  return block + ((((z + ghosts) * room[1] + y + ghosts) * room[2]) + x + ghosts) * variables;
}

static void copy (int to_plain) {
  uint64_t at = 0;
  for (uint64_t z = 0; z < count[0]; ++z) {
    for (uint64_t y = 0; y < count[1]; ++y) {
      for (uint64_t x = 0; x < count[2]; ++x, ++at) {
        double *u = cell (z, y, x);
        for (int i = 0; i < variables; ++i) {
          if (to_plain) { plain[i][at] = u[i]; }
          else { u[i] = plain[i][at]; }
        }
      }
    }
  }
}

static void describe (scda_dataset_t *d, scda_box_t *box, int strided, int64_t *stride) {
  stride[2] = variables * (int64_t) sizeof (double), stride[1] = stride[2] * (int64_t) room[2], stride[0] = stride[1] * (int64_t) room[1];
  for (int i = 0; i < variables; ++i) {
    scda_dataset_init (&d[i]);
    scda_box_init (&box[i]);
    strcpy (d[i].name, names[i]), d[i].type = SCDA_TYPE_FLOAT64, d[i].ndims = 3;
    memcpy (d[i].shape, all, sizeof all);
    box[i].start = start, box[i].count = count;
    box[i].data = strided ? cell (0, 0, 0) + i : plain[i];
    box[i].stride = strided ? stride : NULL;
  }
}

static void by_scda (const char *path, int writing, int strided) {
  int err;
  int64_t stride[3];
  scda_dataset_t d[variables];
  scda_box_t box[variables];
  describe (d, box, strided, stride);
  scda_params_t bare;
  scda_params_init (&bare);
  bare.seal = 0; /* as its peers */
  scda_fcontext_t *f = writing ? scda_fopen_write (MPI_COMM_WORLD, path, "ghosts", NULL, &bare, &err)
                               : scda_fopen_read (MPI_COMM_WORLD, path, NULL, NULL, NULL, &err);
  if (f != NULL && writing) { f = scda_fwrite_datasets (f, variables, d, NULL, box, &err); }
  if (f != NULL && !writing) { f = scda_fread_datasets (f, variables, d, NULL, NULL, box, &err); }
  if (f == NULL || scda_fclose (f, &err) != 0) { die (path); }
}

#ifdef BENCH_HDF5
static hid_t valid (hid_t id) {
  if (id < 0) { die ("HDF5"); }
  return id;
}

static void hdf5 (const char *path, int writing) {
  const hid_t access = valid (H5Pcreate (H5P_FILE_ACCESS)), transfer = valid (H5Pcreate (H5P_DATASET_XFER));
  const hid_t creation = valid (H5Pcreate (H5P_DATASET_CREATE));
  const hsize_t shape[3] = {all[0], all[1], all[2]}, first[3] = {start[0], start[1], start[2]}, number[3] = {count[0], count[1], count[2]};
  const hsize_t memory[3] = {room[0], room[1], room[2] * variables}, step[3] = {1, 1, variables};
  if (ranks > 1) { valid (H5Pset_fapl_mpio (access, MPI_COMM_WORLD, MPI_INFO_NULL)); }
  if (ranks > 1) { valid (H5Pset_dxpl_mpio (transfer, H5FD_MPIO_COLLECTIVE)); }
  valid (H5Pset_fill_time (creation, H5D_FILL_TIME_NEVER));
  const hid_t file = valid (writing ? H5Fcreate (path, H5F_ACC_TRUNC, H5P_DEFAULT, access) : H5Fopen (path, H5F_ACC_RDONLY, access));
  for (int i = 0; i < variables; ++i) {
    const hsize_t inner[3] = {ghosts, ghosts, (hsize_t) (ghosts * variables + i)};
    const hid_t space = valid (H5Screate_simple (3, shape, NULL)), in_memory = valid (H5Screate_simple (3, memory, NULL));
    const hid_t set = valid (writing ? H5Dcreate2 (file, names[i], H5T_NATIVE_DOUBLE, space, H5P_DEFAULT, creation, H5P_DEFAULT)
                                     : H5Dopen2 (file, names[i], H5P_DEFAULT));
    valid (H5Sselect_hyperslab (space, H5S_SELECT_SET, first, NULL, number, NULL));
    valid (H5Sselect_hyperslab (in_memory, H5S_SELECT_SET, inner, step, number, NULL));
    valid (writing ? H5Dwrite (set, H5T_NATIVE_DOUBLE, in_memory, space, transfer, block)
                   : H5Dread (set, H5T_NATIVE_DOUBLE, in_memory, space, transfer, block));
    H5Dclose (set), H5Sclose (space), H5Sclose (in_memory);
  }
  H5Pclose (access), H5Pclose (transfer), H5Pclose (creation);
  valid (H5Fclose (file));
}
#endif

static double run (const char *path, int contender, int writing) {
  MPI_Barrier (MPI_COMM_WORLD);
  const double begin = MPI_Wtime ();
  if (contender == copied && writing) { copy (1); }
  if (contender != by_hdf5) { by_scda (path, writing, contender == as_it_lies); }
#ifdef BENCH_HDF5
  else { hdf5 (path, writing); }
#endif
  if (contender == copied && !writing) { copy (0); }
  double time = MPI_Wtime () - begin;
  MPI_Allreduce (MPI_IN_PLACE, &time, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  return time;
}

static int by_size (const void *a, const void *b) {
  const double d = *(const double *) a - *(const double *) b;
  return d < 0 ? -1 : d > 0;
}

static double median (double *times, int n) {
  double sorted[most];
  memcpy (sorted, times, (size_t) n * sizeof *times);
  qsort (sorted, (size_t) n, sizeof *sorted, by_size);
  return n % 2 ? sorted[n / 2] : (sorted[n / 2 - 1] + sorted[n / 2]) / 2;
}

static double value (uint64_t z, uint64_t y, uint64_t x, int i) {
  return (double) ((start[0] + z) * all[1] + start[1] + y) + 1e-3 * (double) (start[2] + x) + i;
}

static void fill (double ghost) {
  const uint64_t cells = room[0] * room[1] * room[2];
  for (uint64_t i = 0; i < cells * variables; ++i) { block[i] = ghost; }
  for (uint64_t z = 0; z < count[0]; ++z) {
    for (uint64_t y = 0; y < count[1]; ++y) {
      for (uint64_t x = 0; x < count[2]; ++x) {
        for (int i = 0; i < variables; ++i) {
          cell (z, y, x)[i] = value (z, y, x, i);
        }
      }
    }
  }
}

static void clear (uint64_t cells) {
  memset (block, 0, room[0] * room[1] * room[2] * variables * sizeof *block);
  for (int i = 0; i < variables; ++i) { memset (plain[i], 0, cells * sizeof **plain); }
}

static void compare (void) {
  for (uint64_t z = 0; z < count[0]; ++z) {
    for (uint64_t y = 0; y < count[1]; ++y) {
      for (uint64_t x = 0; x < count[2]; ++x) {
        for (int i = 0; i < variables; ++i) {
          const double expected = value (z, y, x, i), found = cell (z, y, x)[i];
          if (found < expected || found > expected) { die ("other numbers were read"); }
        }
      }
    }
  }
}

static void measure (const char *folder, int repetitions, uint64_t cells) {
  static double times[2][contenders][most], ratios[2][contenders][most];
  char path[4096];
  uint64_t n = 1, before = cells * (uint64_t) rank / (uint64_t) ranks;
#ifdef BENCH_HDF5
  const int with = contenders;
#else
  const int with = contenders - 1;
#endif
  for (int k = 0; k < 3; ++k) { all[k] = count[k] = cells, start[k] = 0; }
  start[axis] = before, count[axis] = cells * (uint64_t) (rank + 1) / (uint64_t) ranks - before;
  for (int k = 0; k < 3; ++k) { room[k] = count[k] + 2 * ghosts, n *= count[k]; }
  block = malloc (room[0] * room[1] * room[2] * variables * sizeof *block);
  for (int i = 0; i < variables; ++i) { plain[i] = malloc (n * sizeof **plain); }
  for (int i = 0; i < variables; ++i) {
    if (block == NULL || plain[i] == NULL) { die ("memory"); }
  }
  fill (-1), copy (1);
  for (int i = -1; i < repetitions; ++i) { /* the first one does not count */
    for (int k = 0; k < with; ++k) {
      const int contender = (k + i + with) % with;
      snprintf (path, sizeof path, "%s/ghosts-%d", folder, contender);
      const double writing = run (path, contender, 1);
      if (i < 0) { clear (n); }
      const double reading = run (path, contender, 0);
      if (i < 0) {
        if (contender == packed) { copy (0); }
        compare ();
        fill (-1), copy (1);
      }
      else { times[0][contender][i] = writing, times[1][contender][i] = reading; }
      MPI_Barrier (MPI_COMM_WORLD);
      if (rank == 0) { unlink (path); }
    }
    for (int k = 0; k < 2 * with && i >= 0; ++k) {
      ratios[k % 2][k / 2][i] = times[k % 2][k / 2][i] / times[k % 2][as_it_lies][i];
    }
  }
  for (int w = 0; w < 2 && rank == 0; ++w) {
    printf ("| %d | %s | %s |", ranks, axis == 0 ? "rows" : "beside each other", w == 0 ? "writing" : "reading");
    for (int k = 0; k < contenders; ++k) {
      if (k < with) { printf (" %.0f |", 1e3 * median (times[w][k], repetitions)); }
      else { printf (" |"); }
    }
    for (int k = 0; k < contenders; ++k) {
      if (k == as_it_lies) { continue; }
      if (k < with) { printf (" %.2f |", median (ratios[w][k], repetitions)); }
      else { printf (" |"); }
    }
    printf ("\n");
    fflush (stdout);
  }
  free (block);
  for (int i = 0; i < variables; ++i) { free (plain[i]); }
}

int main (int argc, char **argv) {
  MPI_Init (&argc, &argv);
  MPI_Comm_rank (MPI_COMM_WORLD, &rank);
  MPI_Comm_size (MPI_COMM_WORLD, &ranks);
  const int repetitions = argc > 2 ? atoi (argv[2]) : 7;
  const uint64_t cells = argc > 3 ? strtoull (argv[3], NULL, 10) : 160;
  if (argc < 2 || repetitions < 1 || repetitions > most || cells < (uint64_t) ranks) {
    if (rank == 0) { fprintf (stderr, "usage: ghosts FOLDER [REPETITIONS [CELLS]]\n"); }
    MPI_Abort (MPI_COMM_WORLD, 2);
  }
  for (axis = 0; axis < 3; axis += 2) { measure (argv[1], repetitions, cells); }
  MPI_Finalize ();
  return 0;
}
