/* particles.c: particles in cells. particles FOLDER: any number of ranks writes the same files, and reads its own with other shares.
 *
 * Cells that follow one another, cells that are dealt out by their numbers, and particles without cells; a column of vectors, one of
 * scalars, and structs; two time steps, of which the second one has other counts. */
#include "common.h"

#include <scda_meshes.h>

#include <stddef.h>

#define CHECK_OK(f, err) REQUIRE ((f) != NULL && (err) == SCDA_SUCCESS)

enum { cells = 23, most = 8 * cells, steps = 2 };

typedef struct {
  float charge;
  int64_t id;
} atom_t;

static const scda_member_t members[] = {
  { "id", SCDA_TYPE_INT64, 1, offsetof (atom_t, id), 0, NULL, NULL },
  { "charge", SCDA_TYPE_FLOAT32, 1, offsetof (atom_t, charge), 0, NULL, NULL },
  { NULL, 0, 0, 0, 0, NULL, NULL },
};

typedef struct {
  double position[most][3];
  int32_t kind[most];
  atom_t atom[most];
} memory_t;

static MPI_Comm comm;
static int rank, size;
static memory_t memory;

static int64_t count_of (int64_t cell, int step) { return cell % 3 == 1 ? 0 : (cell + 2 * step) % 6; }

/* The id of particle i of a cell: of each another one. */
static int64_t id_of (int64_t cell, int64_t i, int step) { return 100000 * step + 100 * cell + i; }

/* Fills the memory with some particles one after the other, or compares it. */
static void visit (int64_t id, size_t at, int fill) {
  memory_t *m = &memory;
  double place[3] = { 0.5 * (double) id, (double) id, -(double) id };
  if (fill) {
    memcpy (m->position[at], place, sizeof place);
    m->kind[at] = (int32_t) (id % 7);
    m->atom[at].charge = (float) (id % 11);
    m->atom[at].id = id;
    return;
  }
  CHECK (memcmp (m->position[at], place, sizeof place) == 0 && m->kind[at] == (int32_t) (id % 7));
  CHECK (m->atom[at].charge == (float) (id % 11) && m->atom[at].id == id);
}

static void fields_of (scda_dataset_t *d) {
  scda_dataset_init (&d[0]);
  strcpy (d[0].name, "position");
  d[0].type = SCDA_TYPE_FLOAT64, d[0].ndims = 2, d[0].shape[1] = 3, d[0].encode = SCDA_ENCODE_ALWAYS;
  scda_dataset_init (&d[1]);
  strcpy (d[1].name, "kind");
  d[1].type = SCDA_TYPE_INT32;
  scda_dataset_init (&d[2]);
  strcpy (d[2].name, "atom");
  d[2].type = SCDA_TYPE_STRUCT, d[2].item_bytes = sizeof (atom_t), d[2].members = members;
}

static void *data_of (int field) { return field == 0 ? (void *) memory.position : field == 1 ? (void *) memory.kind : (void *) memory.atom; }

/* How the cells are dealt out. */
enum { in_order, by_number, without };

static int has (int64_t cell, int how, int shift) {
  return how == by_number ? (cell * 7 + shift) % size == rank : cell * size / cells == rank;
}

static void write_file (const char *path, int how) {
  int err, step, k;
  scda_params_t params;
  scda_fcontext_t *f;
  scda_dataset_t fields[3];
  scda_params_init (&params);
  params.seal = 1;
  fields_of (fields);
  f = scda_fopen_write (comm, path, "particles", NULL, &params, &err);
  for (step = 0; step < steps; ++step) {
    int64_t counts[cells], cell, i;
    uint64_t number[cells], n = 0, own = 0;
    scda_particles_t p;
    for (cell = 0; cell < cells; ++cell) {
      if (!has (cell, how, 0)) { continue; }
      for (i = 0; i < count_of (cell, step); ++i) { visit (id_of (cell, i, step), n++, 1); }
      counts[own] = count_of (cell, step);
      number[own++] = (uint64_t) cell;
    }
    scda_particles_init (&p);
    p.cells = how == without ? 0 : own, p.counts = how == without ? NULL : counts, p.number = how == by_number ? number : NULL, p.n = n;
    f = scda_forest_write_time (f, SCDA_PARTICLES_GROUP, step, NULL, NULL, &err);
    f = scda_particles_write (f, NULL, &p, &err);
    CHECK_OK (f, err);
    CHECK (p.n == n && p.all_cells == (how == without ? 1 : cells));
    for (k = 0; k < 3; ++k) { f = scda_particles_write_field (f, NULL, &p, &fields[k], data_of (k), &err); }
    CHECK_OK (f, err);
    scda_particles_free (&p);
  }
  REQUIRE (scda_fclose (f, &err) == 0);
}

/* Reads with even shares (-1), as many cells as this rank has anyway, or cells by their numbers, in any order. */
static void read_file (const char *path, int without_cells, int how) {
  int err, step, k;
  scda_dataset_t fields[3];
  scda_fcontext_t *f = scda_fopen_read (comm, path, NULL, NULL, NULL, &err);
  fields_of (fields);
  for (step = 0; step < steps; ++step) {
    int64_t cell, i, first = 0;
    uint64_t number[cells], own = 0, n = 0, sum = 0, c;
    scda_particles_t p;
    for (cell = cells - 1; cell >= 0; --cell) {
      if (has (cell, how, 1)) { number[own++] = (uint64_t) cell; }
    }
    scda_particles_init (&p);
    f = scda_particles_read (f, NULL, step == 1 ? -1 : step, how == without ? -1 : (int64_t) own, how == by_number ? number : NULL, &p, &err);
    CHECK_OK (f, err);
    REQUIRE (p.n <= most);
    memset (&memory, -1, sizeof memory);
    for (k = 0; k < 3; ++k) { f = scda_particles_read_field (f, NULL, step, &p, &fields[k], data_of (k), &err); }
    CHECK_OK (f, err);
    if (without_cells) { /* ids by their places in the file */
      for (cell = 0; cell < cells; ++cell) {
        for (i = 0; i < count_of (cell, step); ++i, ++first) {
          if ((uint64_t) first >= p.first && (uint64_t) first < p.first + p.n) { visit (id_of (cell, i, step), n++, 0); }
        }
      }
    }
    for (c = 0; c < p.cells; ++c) {
      cell = (int64_t) (how == by_number ? number[c] : p.first_cell + c);
      CHECK (p.counts[c] == count_of (cell, step));
      for (i = 0; i < p.counts[c]; ++i) { visit (id_of (cell, i, step), n++, 0); }
    }
    CHECK (n == p.n);
    MPI_Allreduce (&n, &sum, 1, MPI_UINT64_T, MPI_SUM, comm);
    CHECK (sum == p.particles);
    if (how == without && !without_cells) { /* as even as cells of up to 5 particles allow */
      CHECK (p.n + p.cells <= (p.particles + cells) / (uint64_t) size + 7);
    }
    scda_particles_free (&p);
  }
  REQUIRE (scda_fclose (f, &err) == 0);
}

/* Patches and particles of one time step: the particles have no time of their own, and the second step has none that are new. */
static void one_step (const char *path) {
  static const int32_t ratio[] = { 1 };
  static const int64_t domain[] = { 0, cells };
  static const double geometry[] = { 0., 1. };
  int err;
  int64_t step, count = 0;
  double time = -1, values[2] = { 0, 0 };
  void *data = values;
  const int64_t box[] = { cells * rank / size, cells * (rank + 1) / size - cells * rank / size };
  const int32_t level = 0;
  double *rho = calloc (cells, sizeof *rho);
  void *own = rho;
  scda_params_t params;
  scda_patches_t mesh;
  scda_patch_field_t field;
  scda_particles_t p;
  scda_dataset_t d;
  scda_fcontext_t *f;
  scda_params_init (&params);
  params.seal = 1;
  scda_patches_init (&mesh, 1);
  mesh.levels = 1, mesh.ratio = ratio, mesh.domain = domain, mesh.geometry = geometry, mesh.n = box[1] > 0, mesh.level = &level, mesh.boxes = box;
  scda_patch_field_init (&field, "rho", SCDA_TYPE_FLOAT64);
  field.data = &own, field.patch_bytes = 8;
  scda_dataset_init (&d);
  strcpy (d.name, "id");
  d.type = SCDA_TYPE_FLOAT64;
  f = scda_fopen_write (comm, path, "particles", NULL, &params, &err);
  for (step = 0; step < 3; ++step) {
    f = scda_forest_write_time (f, SCDA_PATCHES_GROUP, 10. * (double) step, "s", NULL, &err);
    if (step == 0) { f = scda_patches_write_mesh (f, NULL, &mesh, &err); }
    f = scda_patches_write_fields (f, NULL, &mesh, 1, &field, &err);
    if (step == 1) { continue; }
    const int64_t counts[] = { 1 + step / 2 };
    values[0] = values[1] = (double) (100 * step + rank);
    scda_particles_init (&p);
    p.cells = mesh.n, p.counts = counts, p.mesh = SCDA_PATCHES_GROUP;
    f = scda_particles_write (f, NULL, &p, &err);
    f = scda_particles_write_field (f, NULL, &p, &d, values, &err);
    CHECK_OK (f, err);
    scda_particles_free (&p);
  }
  REQUIRE (scda_fclose (f, &err) == 0);

  f = scda_fopen_read (comm, path, NULL, NULL, NULL, &err);
  f = scda_forest_steps (f, SCDA_PARTICLES_GROUP, &count, &err);
  CHECK_OK (f, err);
  CHECK (count == 3);
  for (step = -3; step < 3; ++step) {
    const int64_t n = (step + 3) % 3;
    f = scda_forest_read_time (f, SCDA_PARTICLES_GROUP, step, &time, &err);
    CHECK (time >= 10. * (double) n && time <= 10. * (double) n);
    scda_particles_init (&p);
    f = scda_particles_read (f, NULL, step, (int64_t) mesh.n, NULL, &p, &err);
    CHECK_OK (f, err);
    CHECK (p.n == (uint64_t) (n == 2 ? 2 : 1) * mesh.n);
    if (n != 1) {
      values[0] = -1;
      f = scda_particles_read_field (f, NULL, step, &p, &d, data, &err);
      CHECK_OK (f, err);
      CHECK (mesh.n == 0 || (int) values[0] == 100 * (int) n + rank);
    }
    scda_particles_free (&p);
  }
  scda_particles_init (&p);
  f = scda_particles_read (f, NULL, 1, (int64_t) mesh.n, NULL, &p, &err);
  f = scda_particles_read_field (f, NULL, 1, &p, &d, data, &err);
  CHECK (f == NULL && err == SCDA_ERR_NOT_FOUND);
  scda_particles_free (&p);
  scda_patches_free (&mesh);
  free (rho);
}

int main (int argc, char **argv) {
  char path[1200];
  int how;
  start (&argc, &argv);
  REQUIRE (argc == 2);
  comm = world ().comm;
  MPI_Comm_rank (comm, &rank);
  MPI_Comm_size (comm, &size);
  for (how = in_order; how <= without; ++how) {
    snprintf (path, sizeof path, "%s/particles-%d-%d.scda", argv[1], how, size);
    write_file (path, how);
    read_file (path, how == without, without);
    if (how == without) { continue; }
    read_file (path, 0, in_order);
    read_file (path, 0, by_number);
  }
  snprintf (path, sizeof path, "%s/particles-shared-%d.scda", argv[1], size);
  one_step (path);
  return finish ();
}
