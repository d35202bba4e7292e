/* codes_errors.c: patches and particles that cannot be written or read: codes_errors FOLDER. An error of one rank, of its arguments or of its
 * accesses to the file, is the same error on all ranks and leaves the file that was there; what a file claims is compared before it is
 * used. */
#include "common.h"
#include "inject.h"

#include <scda_meshes.h>

static MPI_Comm comm;
static int rank, size;

/* Requires this error on all ranks, with these words in its message; -1: any, but the same everywhere. Returns it. */
static int expect_error (scda_fcontext_t *f, int err, int code, const char *words, const char *what) {
  int least = 0, most = 0, ignored;
  MPI_Allreduce (&err, &least, 1, MPI_INT, MPI_MIN, comm);
  MPI_Allreduce (&err, &most, 1, MPI_INT, MPI_MAX, comm);
  if (least != most || (code >= 0 && err != code) || (f != NULL && err != 0) || (err != 0 && strstr (scda_last_error_message (), words) == NULL)) {
    fprintf (stderr, "%s, rank %d: error %d (%d to %d), expected %d with \"%s\": %s\n", what, rank, err, least, most, code, words,
             err != 0 ? scda_last_error_message () : "");
    ++failures;
  }
  scda_fclose (f, &ignored);
  MPI_Barrier (comm); /* the next file may take its place */
  return most;
}

/* ---- What is right: in 1D, two patches of each rank of level 0, and cells of 0 to 3 particles ---- */

enum { mine = 2, width = 4, most_particles = 16 };

typedef struct {
  int32_t ratio[2], level[mine];
  int64_t domain[2], boxes[2 * mine], counts[mine];
  uint64_t number[mine], cell_number[mine];
  double geometry[2], values[mine][width], position[most_particles];
  void *data[mine];
  scda_patches_t mesh;
  scda_particles_t p;
} state_t;

static void make (state_t *s) {
  int i;
  memset (s, 0, sizeof *s);
  scda_patches_init (&s->mesh, 1);
  scda_particles_init (&s->p);
  s->ratio[0] = 1, s->ratio[1] = 2, s->geometry[1] = 1, s->domain[1] = mine * width * size;
  for (i = 0; i < mine; ++i) {
    s->number[i] = s->cell_number[i] = (uint64_t) (mine * rank + i);
    s->boxes[2 * i] = width * (mine * rank + i), s->boxes[2 * i + 1] = width;
    s->counts[i] = (rank + i) % 4;
    s->data[i] = s->values[i];
  }
  s->mesh.levels = 2, s->mesh.ratio = s->ratio, s->mesh.domain = s->domain, s->mesh.geometry = s->geometry;
  s->mesh.n = mine, s->mesh.level = s->level, s->mesh.boxes = s->boxes, s->mesh.number = s->number;
  s->p.cells = mine, s->p.counts = s->counts, s->p.number = s->cell_number, s->p.mesh = SCDA_PATCHES_GROUP;
}

static scda_fcontext_t *write_state (const char *path, state_t *s, int *err) {
  scda_patch_field_t rho;
  scda_dataset_t position;
  scda_params_t params;
  scda_fcontext_t *f;
  scda_params_init (&params);
  params.atomic = 1, params.sync = 0;
  scda_patch_field_init (&rho, "rho", SCDA_TYPE_FLOAT64);
  rho.data = s->data;
  scda_dataset_init (&position);
  strcpy (position.name, "position");
  position.type = SCDA_TYPE_FLOAT64, position.ndims = 2, position.shape[1] = 1;
  f = scda_fopen_write (comm, path, "codes", NULL, &params, err);
  f = scda_patches_write_mesh (f, NULL, &s->mesh, err);
  f = scda_patches_write_fields (f, NULL, &s->mesh, 1, &rho, err);
  f = scda_particles_write (f, NULL, &s->p, err);
  f = scda_particles_write_field (f, NULL, &s->p, &position, s->position, err);
  if (f != NULL) { scda_fclose (f, err); }
  scda_patches_free (&s->mesh);
  scda_particles_free (&s->p);
  return NULL;
}

static void read_state (const char *path, int *err) {
  static double values[1024];
  void *data[256];
  scda_patches_t mesh;
  scda_particles_t p;
  scda_patch_field_t rho;
  scda_dataset_t position;
  size_t i;
  scda_fcontext_t *f = scda_fopen_read (comm, path, NULL, NULL, NULL, err);
  scda_patches_init (&mesh, 1);
  scda_particles_init (&p);
  scda_patch_field_init (&rho, "rho", SCDA_TYPE_FLOAT64);
  scda_dataset_init (&position);
  strcpy (position.name, "position");
  position.type = SCDA_TYPE_FLOAT64, position.ndims = 2, position.shape[1] = 1;
  f = scda_patches_read_mesh (f, NULL, -1, &mesh, err);
  for (i = 0; f != NULL && i < mesh.n && i < 256; ++i) { data[i] = values + width * i; }
  rho.data = data;
  f = scda_patches_read_fields (f, NULL, -1, &mesh, 1, &rho, err);
  f = scda_particles_read (f, NULL, -1, -1, NULL, &p, err);
  REQUIRE (p.n <= 1024);
  f = scda_particles_read_field (f, NULL, -1, &p, &position, values, err);
  if (f != NULL) { scda_fclose (f, err); }
  scda_patches_free (&mesh);
  scda_particles_free (&p);
}

/* ---- Accesses that fail on one rank ---- */

static void faults (const char *path, const char *folder) {
  static const int every[] = { 1, 2, 3, 5, 8, 13 };
  int who, k, reading, failed = 0, err;
  state_t s;
  make (&s);
  write_state (path, &s, &err);
  REQUIRE (err == 0);
  for (who = 0; who < size; ++who) {
    for (k = 0; k < 2 * (int) (sizeof every / sizeof *every); ++k) {
      const int files = entries (folder);
      reading = k % 2;
      MPI_Barrier (comm);
      if (rank == who) { inject_random ((uint64_t) every[k / 2], (uint64_t) k); }
      make (&s);
      s.position[0] = 1; /* another file than that which is there */
      err = 0;
      if (reading) { read_state (path, &err); }
      else { write_state (path, &s, &err); }
      inject_disarm ();
      failed += expect_error (NULL, err, err == 0 ? 0 : -1, "", reading ? "faults while reading" : "faults while writing") != 0;
      CHECK (entries (folder) == files);
      read_state (path, &err);
      CHECK (err == 0);
      MPI_Barrier (comm);
    }
  }
  CHECK (failed > 0);
}

/* ---- Arguments of one rank that are wrong ---- */

static void arguments (const char *path) {
  int k, err;
  for (k = 0;; ++k) {
    const int last = rank == size - 1;
    int code = SCDA_ERR_ARG;
    const char *words = "";
    state_t s;
    make (&s);
    switch (k) {
    case 0: words = "expected cells inside the domain"; if (last) { s.boxes[2] += 1; } break;
    case 1: words = "found 0 cells"; if (last) { s.boxes[1] = 0; } break;
    case 2: words = "found level 2, expected"; if (last) { s.level[0] = 2; } break;
    case 3: words = "expected each number below"; if (last) { s.number[1] = s.number[0]; } break;
    case 4: words = "expected each number below"; if (last) { s.number[1] = 99999; } break;
    case 5: words = "particles"; if (last) { s.counts[1] = -1; } break;
    case 6: words = "particles"; if (last) { s.counts[1] = INT64_MAX; } break;
    case 7: words = "expected each number below"; if (last) { s.cell_number[1] = s.cell_number[0]; } break;
    case 8: words = "expected each number below"; if (last) { s.cell_number[0] = UINT64_MAX; } break;
    case 9: words = "counts is NULL"; if (last) { s.p.counts = NULL; } break;
    case 10: words = ", as in the last mesh patches of the file"; code = SCDA_ERR_USAGE; if (last) { s.p.cells = 1; s.cell_number[0] = (uint64_t) (mine * rank); } break;
    case 11: words = "found numbers on some ranks only"; if (last) { s.p.number = NULL; } if (size == 1) { continue; } break;
    case 12: words = "found numbers on some ranks only"; if (last) { s.mesh.number = NULL; } if (size == 1) { continue; } break;
    case 13: words = "bytes, expected at most 58"; s.p.mesh = "a/name/of/a/mesh/that/has/no/room/for/that/of/its/own/datasets"; break;
    default: return;
    }
    write_state (path, &s, &err);
    {
      char what[40];
      snprintf (what, sizeof what, "wrong argument %d", k);
      expect_error (NULL, err, code, words, what);
    }
    read_state (path, &err); /* the file that was there */
    CHECK (err == 0);
    MPI_Barrier (comm);
  }
}

/* ---- Files that claim what is not so ---- */

static scda_fcontext_t *put (scda_fcontext_t *f, const char *name, int type, int ndims, const uint64_t *shape, const void *data, int *err) {
  scda_dataset_t d;
  int i;
  scda_dataset_init (&d);
  strcpy (d.name, name);
  d.type = type, d.ndims = ndims;
  for (i = 0; i < ndims; ++i) { d.shape[i] = shape[i]; }
  return scda_fwrite_dataset (f, &d, data, rank == 0, NULL, NULL, err);
}

typedef struct {
  const char *words;
  int array, index; /* which number is another one: of boxes, level, ratio, domain, offsets */
  int64_t number;
} hostile_t;

static void hostile (const char *path) {
  static const hostile_t all[] = {
    { "expected cells inside the domain", 0, 0, -3 },
    { "found 0 cells from 0 on axis 0", 0, 1, 0 },
    { "expected cells inside the domain", 0, 3, INT64_MAX },
    { "found level 0, expected 1 to 1", 1, 0, 1 },
    { "found level 7, expected 0 to 1", 1, 1, 7 },
    { "found level -1, expected 0 to 1", 1, 1, -1 },
    { "level 1: found 0, expected", 2, 1, 0 },
    { "axis 0: found 0 cells, expected at least 1", 3, 1, 0 },
    { "and 0 as begin", 4, 0, 1 },
    { "cell 0: found particles 0 to -1", 4, 1, -1 },
    { "cell 1: found particles 4 to 3", 4, 1, 4 },
    { "expected 0 to 2^60 particles", 4, 3, INT64_MAX },
    { "expected 0 to 2^60 particles", 4, 3, -5 },
    { "found the shape [5, 1], expected [6, 1]", 4, 3, 6 },
    { "cell 2: found particles 3 to 2, expected an end not before the beginning, up to 2", 4, 3, 2 },
  };
  size_t k;
  for (k = 0; k < sizeof all / sizeof *all; ++k) {
    int64_t boxes[] = { 0, 4, 4, 4, 0, 2 }, domain[] = { 0, 8 }, offsets[] = { 0, 2, 3, 5 };
    int32_t level[] = { 0, 0, 1 }, ratio[] = { 1, 2 };
    const double geometry[] = { 0, 1 }, values[16] = { 0 };
    const uint64_t three[] = { 3, 2, 1 }, two[] = { 2, 1 }, cells[] = { 10 }, four[] = { 4 }, five[] = { 5, 1 };
    const int is_particles = all[k].array == 4;
    scda_patches_t mesh;
    scda_particles_t p;
    scda_dataset_t position;
    scda_fcontext_t *f;
    double *room;
    int err;
    if (all[k].array == 0) { boxes[all[k].index] = all[k].number; }
    if (all[k].array == 1) { level[all[k].index] = (int32_t) all[k].number; }
    if (all[k].array == 2) { ratio[all[k].index] = (int32_t) all[k].number; }
    if (all[k].array == 3) { domain[all[k].index] = all[k].number; }
    if (all[k].array == 4) { offsets[all[k].index] = all[k].number; }
    f = scda_fopen_write (comm, path, "hostile", NULL, NULL, &err);
    f = scda_fwrite_group (f, "patches", "{\"scda_patches\": 1, \"dimension\": 1}", &err);
    f = put (f, "patches/boxes", SCDA_TYPE_INT64, 3, three, boxes, &err);
    f = put (f, "patches/level", SCDA_TYPE_INT32, 1, three, level, &err);
    f = put (f, "patches/ratio", SCDA_TYPE_INT32, 2, two, ratio, &err);
    f = put (f, "patches/domain", SCDA_TYPE_INT64, 2, two, domain, &err);
    f = put (f, "patches/geometry", SCDA_TYPE_FLOAT64, 2, two, geometry, &err);
    f = put (f, "patches/fields/rho", SCDA_TYPE_FLOAT64, 1, cells, values, &err);
    f = scda_fwrite_group (f, "particles", "{\"scda_particles\": 1}", &err);
    f = put (f, "particles/offsets", SCDA_TYPE_INT64, 1, four, offsets, &err);
    f = put (f, "particles/fields/position", SCDA_TYPE_FLOAT64, 2, five, values, &err);
    REQUIRE (scda_fclose (f, &err) == 0);
    f = scda_fopen_read (comm, path, NULL, NULL, NULL, &err);
    if (!is_particles) {
      scda_patches_init (&mesh, 1);
      f = scda_patches_read_mesh (f, NULL, -1, &mesh, &err);
      expect_error (f, err, SCDA_ERR_FORMAT, all[k].words, "hostile patches");
      scda_patches_free (&mesh);
      continue;
    }
    scda_particles_init (&p);
    scda_dataset_init (&position);
    strcpy (position.name, "position");
    position.type = SCDA_TYPE_FLOAT64, position.ndims = 2, position.shape[1] = 1;
    f = scda_particles_read (f, NULL, -1, -1, NULL, &p, &err);
    REQUIRE (f == NULL || p.n < 100);
    room = (double *) calloc (p.n + 1, sizeof *room);
    f = scda_particles_read_field (f, NULL, -1, &p, &position, room, &err);
    expect_error (f, err, SCDA_ERR_FORMAT, all[k].words, "hostile particles");
    free (room);
    scda_particles_free (&p);
  }
}

/* ---- Files that cannot be written ---- */

static void open_for_reading (const char *path) {
  int k, err;
  for (k = 0; k < 2; ++k) {
    state_t s;
    scda_fcontext_t *f = scda_fopen_read (comm, path, NULL, NULL, NULL, &err);
    make (&s);
    if (k == 0) { f = scda_patches_write_mesh (f, NULL, &s.mesh, &err); }
    else { f = scda_particles_write (f, NULL, &s.p, &err); }
    expect_error (f, err, SCDA_ERR_USAGE, "open for reading", k == 0 ? "patches of a file that is read" : "particles of one");
    scda_patches_free (&s.mesh);
    scda_particles_free (&s.p);
  }
}

/* ---- Without an error code ---- */

static void without_err (const char *path) {
  int err;
  state_t s;
  make (&s);
  write_state (path, &s, NULL);
  read_state (path, NULL);
  make (&s);
  if (rank == size - 1) { s.boxes[2] += 1; }
  write_state (path, &s, NULL);
  CHECK (strstr (scda_last_error_message (), "expected cells inside the domain") != NULL);
  MPI_Barrier (comm);
  read_state (path, &err); /* the file that was there */
  CHECK (err == 0);
}

/* ---- Files that are continued ---- */

/* As it is, a copy, a name with a prefix that MPICH's MPI-IO knows. */
#ifdef MPICH_NAME
enum { hows = 3 };
#else
enum { hows = 2 };
#endif

static int32_t coarse_level[1];
static int64_t coarse_box[2];

/* Another mesh: a patch for each rank. */
static void make_coarse (state_t *s) {
  make (s);
  coarse_box[0] = mine * width * rank, coarse_box[1] = mine * width;
  s->mesh.n = 1, s->mesh.level = coarse_level, s->mesh.boxes = coarse_box, s->mesh.number = NULL;
}

/* After this job a file has an inline section, the one mesh and the other one, and a seal after each. Tells how many sections are before each seal. */
static void write_meshes (const char *path, state_t *first, state_t *second, uint64_t sections[3], int *err) {
  static const char section[] = "an inline section has 32 bytes..";
  scda_fcontext_t *f = scda_fopen_write (comm, path, "continued", NULL, NULL, err);
  f = scda_fwrite_inline (f, section, "first", NULL, 0, err);
  f = scda_fcommit (f, err);
  f = scda_patches_write_mesh (f, NULL, &first->mesh, err);
  f = scda_fcommit (f, err);
  f = scda_patches_write_mesh (f, NULL, &second->mesh, err);
  REQUIRE (scda_fclose (f, err) == 0);
  f = scda_fopen_read (comm, path, NULL, NULL, NULL, err);
  f = scda_fsections (f, &sections[2], err);
  REQUIRE (scda_fclose (f, err) == 0);
  sections[0] = 1, sections[1] = (sections[2] + 3) / 2; /* the first mesh has two more: the attributes of the group */
}

/* The mesh that counts is the last one of what is appended to: after the mesh that `append_after` chooses, 0 for none, 1 for the first, 2 for the
 * second. */
static void continued (const char *path) {
#ifdef OPEN_MPI
  static const char prefix[] = ""; /* its own MPI-IO takes every name literally */
#else
  static const char prefix[] = "ufs:";
#endif
  int how, after, wants, err;
  for (how = 0; how < hows; ++how) {
    for (after = 0; after < 3; ++after) {
      for (wants = 0; wants < 3; ++wants) { /* fields of these meshes; 0: the first one is written anew */
        char name[1300], what[80];
        uint64_t sections[3];
        state_t one, other;
        scda_params_t params;
        scda_patch_field_t rho;
        scda_patches_t *mesh = wants == 2 ? &other.mesh : &one.mesh;
        scda_fcontext_t *f;
        make (&one);
        make_coarse (&other);
        write_meshes (path, &one, &other, sections, &err);
        scda_params_init (&params);
        params.atomic = how == 1, params.append_after = sections[after];
        if (how == 2) { params.driver = SCDA_DRIVER_MPIIO; }
        scda_patch_field_init (&rho, "rho", SCDA_TYPE_FLOAT64);
        rho.data = one.data;
        snprintf (name, sizeof name, "%s%s", how == 2 ? prefix : "", path);
        snprintf (what, sizeof what, "continued: how %d, after %d, wants %d", how, after, wants);
        f = scda_fopen_append (comm, name, NULL, NULL, &params, &err);
        if (wants == 0) { f = scda_patches_write_mesh (f, NULL, mesh, &err); }
        f = scda_patches_write_fields (f, NULL, mesh, 1, &rho, &err);
        if (wants != 0 && wants != after) { expect_error (f, err, SCDA_ERR_USAGE, "their mesh is not the one written last", what); }
        else {
          uint64_t patches = mesh->patches;
          void *data[mine * 64];
          size_t i;
          scda_patches_free (mesh);
          if (f == NULL || scda_fclose (f, &err) != 0) { expect_error (f, err, 0, "", what); }
          f = scda_fopen_read (comm, path, NULL, NULL, NULL, &err);
          f = scda_patches_read_mesh (f, NULL, -1, mesh, &err);
          REQUIRE (mesh->n <= sizeof data / sizeof *data);
          for (i = 0; i < mesh->n; ++i) { data[i] = one.values; }
          rho.data = data;
          f = scda_patches_read_fields (f, NULL, -1, mesh, 1, &rho, &err);
          expect_error (f, err, 0, "", what);
          CHECK (mesh->patches == patches);
        }
        scda_patches_free (&one.mesh);
        scda_patches_free (&other.mesh);
      }
    }
  }
}

/* ---- A mesh that was read is written by who has other patches of it ---- */

static void chosen (const char *path) {
  char copy[1300];
  uint64_t number[mine * 64];
  int k, err;
  size_t i;
  state_t s;
  scda_patches_t mesh;
  scda_fcontext_t *f;
  REQUIRE (size <= 64);
  snprintf (copy, sizeof copy, "%s.copy", path);
  make (&s);
  f = scda_fopen_write (comm, path, "chosen", NULL, NULL, &err);
  f = scda_patches_write_mesh (f, NULL, &s.mesh, &err);
  REQUIRE (scda_fclose (f, &err) == 0);
  scda_patches_free (&s.mesh);
  scda_patches_init (&mesh, 1);
  f = scda_fopen_read (comm, path, NULL, NULL, NULL, &err);
  f = scda_patches_read_mesh (f, NULL, -1, &mesh, &err);
  REQUIRE (scda_fclose (f, &err) == 0);
  for (k = 0; k < 4; ++k) { /* the share by its numbers, all on the first rank, dealt out; then without numbers, and a number again */
    if (k == 0) {
      for (i = 0; i < mesh.n; ++i) { number[i] = mesh.first + i; }
    }
    else if (k == 1) {
      mesh.n = rank == 0 ? (size_t) mesh.patches : 0;
      for (i = 0; i < mesh.n; ++i) { number[i] = mesh.patches - 1 - i; }
    }
    else {
      mesh.n = mine;
      for (i = 0; i < mesh.n; ++i) { number[i] = i * (uint64_t) size + (uint64_t) rank; }
    }
    mesh.number = number;
    if (k == 3 && rank == size - 1) { number[0] = mesh.patches; }
    f = scda_fopen_write (comm, copy, "chosen", NULL, NULL, &err);
    f = scda_patches_write_mesh (f, NULL, &mesh, &err);
    if (k == 3) { expect_error (f, err, SCDA_ERR_ARG, "expected a number below", "chosen"); }
    else {
      expect_error (f, err, 0, "", "chosen");
      CHECK (same_files (path, copy));
    }
    MPI_Barrier (comm);
  }
  scda_patches_free (&mesh);
  f = scda_fopen_read (comm, path, NULL, NULL, NULL, &err);
  f = scda_patches_read_mesh (f, NULL, -1, &mesh, &err);
  REQUIRE (scda_fclose (f, &err) == 0);
  f = scda_fopen_write (comm, copy, "chosen", NULL, NULL, &err);
  f = scda_patches_write_mesh (f, NULL, &mesh, &err);
  expect_error (f, err, 0, "", "as it was read");
  CHECK (same_files (path, copy));
  mesh.number = number;
  MPI_Barrier (comm);
  f = scda_fopen_write (comm, copy, "chosen", NULL, NULL, &err);
  f = scda_patches_write_mesh (f, NULL, &mesh, &err);
  expect_error (f, err, SCDA_ERR_ARG, "but the mesh has been written without numbers since it was read", "chosen after that");
  scda_patches_free (&mesh);
}

int main (int argc, char **argv) {
  char path[1200];
  start (&argc, &argv);
  REQUIRE (argc == 2);
  comm = world ().comm;
  MPI_Comm_rank (comm, &rank);
  MPI_Comm_size (comm, &size);
  snprintf (path, sizeof path, "%s/codes.scda", argv[1]);
  faults (path, argv[1]);
  arguments (path);
  without_err (path);
  open_for_reading (path);
  continued (path);
  chosen (path);
  hostile (path);
  return finish ();
}
