/* Fields know their mesh: what a program forgets is an error when it writes, and a series of steps is what was meant. In 2D; with
 * -DFOREST_3D in 3D.
 *
 *   forest_steps FOLDER */
#include "forest.h"

static int which; /* the quadrant to be refined */

static int refine_one (p4est_t *p, p4est_topidx_t tree, p4est_quadrant_t *q) {
  (void) tree;
  return q->level == 2 && p4est_quadrant_linear_id (q, 2) == (uint64_t) which && p != NULL;
}

/* The square or cube of level 2, of which one quadrant is refined. Whichever that is, there are as many. */
static p4est_t *refined (MPI_Comm comm, p4est_connectivity_t *c, int one) {
  p4est_t *p = p4est_new_ext (comm, c, 0, 2, 1, sizeof (data_t), initialize, NULL);
  which = one;
  p4est_refine (p, 0, refine_one, initialize);
  p4est_partition (p, 0, NULL);
  return p;
}

/* A value that belongs to the quadrant and the step. */
static double *values_of (const p4est_t *p, int step) {
  double *values = malloc ((size_t) p->local_num_quadrants * sizeof *values + 1);
  size_t i = 0;
  for (p4est_topidx_t t = p->first_local_tree; t >= 0 && t <= p->last_local_tree; ++t) {
    sc_array_t *quadrants = &p4est_tree_array_index (p->trees, t)->quadrants;
    for (size_t k = 0; k < quadrants->elem_count; ++k) { values[i++] = hash_of (t, p4est_quadrant_array_index (quadrants, k)) + 1e-3 * step; }
  }
  return values;
}

static scda_dataset_t field_of (const char *name) {
  scda_dataset_t d;
  scda_dataset_init (&d);
  strcpy (d.name, name);
  d.type = SCDA_TYPE_FLOAT64;
  return d;
}

static scda_fcontext_t *write_value (scda_fcontext_t *f, p4est_t *p, int step, int *err) {
  double *values = values_of (p, step);
  scda_dataset_t d = field_of ("value");
  d.attributes = "{\"units\": \"m\", \"note\": {\"scda_mesh\": \"of others\", \"text\": \"} \\\" {\"}}";
  f = scda_p4est_write_field (f, NULL, p, &d, values, err);
  free (values);
  return f;
}

static void same_values (scda_fcontext_t **f, p4est_t *p, int step) {
  double *values = values_of (p, step), *found = malloc ((size_t) p->local_num_quadrants * sizeof *found + 1);
  int err;
  *f = scda_p4est_read_field (*f, NULL, step, p, "value", SCDA_TYPE_FLOAT64, 1, found, &err);
  REQUIRE (*f != NULL && memcmp (found, values, (size_t) p->local_num_quadrants * sizeof *values) == 0);
  free (values), free (found);
}

static scda_fcontext_t *create (const char *path) {
  int err;
  scda_params_t params;
  scda_params_init (&params);
  params.seal = 1;
  scda_fcontext_t *f = scda_fopen_write (MPI_COMM_WORLD, path, "steps", NULL, &params, &err);
  REQUIRE (f != NULL);
  return f;
}

/* The error is this one on all ranks, with this text. */
static void refused (scda_fcontext_t *f, int err, int expected, const char *text) {
  int least, most;
  MPI_Allreduce (&err, &least, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
  MPI_Allreduce (&err, &most, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
  REQUIRE (f == NULL && least == expected && most == expected && strstr (scda_last_error_message (), text) != NULL);
}

/* Writes something that belongs to quadrants, in one of four ways. */
static scda_fcontext_t *write_some (scda_fcontext_t *f, p4est_t *p, int way, int *err) {
  int64_t *counts = calloc ((size_t) p->local_num_quadrants + 1, sizeof *counts);
  scda_dataset_t d = field_of ("other");
  if (way == 0) { f = write_value (f, p, 0, err); }
  if (way == 1) { f = scda_p4est_write_data (f, NULL, p, err); }
  if (way == 2) { f = scda_p4est_write_member (f, NULL, p, &d, offsetof (data_t, value), err); }
  if (way == 3) { f = scda_p4est_write_ragged (f, NULL, p, &d, counts, NULL, err); }
  free (counts);
  return f;
}

/* A program that adapts its forest, or takes another one, and forgets the mesh. */
static void forgotten (const char *path) {
  p4est_connectivity_t *c = connectivity_of (1);
  int err;
  for (int way = 0; way < 4; ++way) {
    for (int kind = 0; kind < 4; ++kind) {
      p4est_t *p = refined (MPI_COMM_WORLD, c, 0);
      const p4est_gloidx_t was = p->global_num_quadrants;
      scda_fcontext_t *f = create (path);
      if (kind > 0) { f = scda_p4est_write_forest (f, NULL, p, 1, &err); }
      f = scda_forest_write_time (f, NULL, 1., NULL, NULL, &err);
      if (kind > 0) { f = write_some (f, p, way, &err); } /* it is known now */
      REQUIRE (f != NULL);
      if (kind == 1) { /* more quadrants */
        which = 5;
        p4est_refine (p, 0, refine_one, initialize);
        REQUIRE (p->global_num_quadrants > was);
      }
      if (kind >= 2) { /* as many: another forest beside it, or where it was in memory */
        p4est_t *q = kind == 2 ? refined (MPI_COMM_WORLD, c, 7) : NULL;
        p4est_destroy (p);
        p = kind == 2 ? q : refined (MPI_COMM_WORLD, c, 7);
        REQUIRE (p->global_num_quadrants == was);
      }
      f = write_some (f, p, way, &err);
      refused (f, err, SCDA_ERR_USAGE, kind == 0 ? "_write_forest first" : "_write_mesh when the mesh has changed");
      p4est_destroy (p);
    }
  }
  p4est_connectivity_destroy (c);
}

/* Attributes as they were read of a field of another mesh: the field names its own. */
static void rewritten (const char *path, p4est_t *p, const char *attributes) {
  double *values = values_of (p, 0);
  int err, found;
  scda_dataset_t d = field_of ("value");
  scda_fcontext_t *f = create (path);
  d.attributes = attributes;
  f = scda_p4est_write_mesh (f, NULL, p, &err);
  f = scda_p4est_write_field (f, NULL, p, &d, values, &err);
  REQUIRE (f != NULL && scda_fclose (f, &err) == 0);
  f = scda_fopen_read (MPI_COMM_WORLD, path, NULL, NULL, NULL, &err);
  f = scda_p4est_find_field (f, NULL, 0, "value", &found, &d, &err);
  REQUIRE (f != NULL && found);
  const char *own = strstr (d.attributes, "\"scda_mesh\":"), *others = strstr (own + 1, "\"scda_mesh\":");
  REQUIRE (strstr (others, "of others") != NULL && strstr (others + 1, "\"scda_mesh\":") == NULL);
  f = scda_p4est_read_field (f, NULL, 0, p, "value", SCDA_TYPE_FLOAT64, 1, values, &err);
  /* Numbers are converted to the type in memory; items that are no numbers, and other components, are errors. */
  float *converted = malloc ((size_t) p->local_num_quadrants * sizeof *converted + 1);
  f = scda_p4est_read_field (f, NULL, 0, p, "value", SCDA_TYPE_FLOAT32, 1, converted, &err);
  REQUIRE (f != NULL);
  for (p4est_locidx_t i = 0; i < p->local_num_quadrants; ++i) { REQUIRE (converted[i] == (float) values[i]); }
  free (converted);
  REQUIRE (scda_fclose (f, &err) == 0);
  f = scda_fopen_read (MPI_COMM_WORLD, path, NULL, NULL, NULL, &err);
  f = scda_p4est_read_field (f, NULL, 0, p, "value", SCDA_TYPE_COMPLEX64, 1, values, &err);
  REQUIRE (f == NULL && err == SCDA_ERR_FORMAT && strstr (scda_last_error_message (), "has the type float64; expected") != NULL);
  f = scda_fopen_read (MPI_COMM_WORLD, path, NULL, NULL, NULL, &err);
  f = scda_p4est_read_field (f, NULL, 0, p, "value", SCDA_TYPE_FLOAT64, 2, values, &err);
  REQUIRE (f == NULL && err == SCDA_ERR_FORMAT && strstr (scda_last_error_message (), "has 1 items in each row; expected 2") != NULL);
  free (values);
}

/* A partition is not another mesh; a step has one mesh; a field is read for its own one. */
static void one_mesh (const char *path, const char *other) {
  p4est_connectivity_t *c = connectivity_of (1), *d;
  p4est_t *p = refined (MPI_COMM_WORLD, c, 0), *q = refined (MPI_COMM_WORLD, c, 9), *r;
  double *values = malloc ((size_t) q->local_num_quadrants * sizeof *values + 1);
  int err, found;
  scda_dataset_t field;
  scda_fcontext_t *f = create (path);
  f = scda_p4est_write_step (f, NULL, p, 0., "s", &err);
  f = write_value (f, p, 0, &err);
  p4est_partition (p, 0, weight);
  f = write_value (f, p, 0, &err);
  REQUIRE (f != NULL);
  f = scda_p4est_write_mesh (f, NULL, q, &err);
  refused (f, err, SCDA_ERR_USAGE, "the time step has fields of the one before");

  f = create (path);
  f = scda_p4est_write_step (f, NULL, p, 0., "s", &err);
  f = write_value (f, p, 0, &err);
  f = scda_p4est_write_mesh (f, NULL, p, &err); /* the same one again */
  f = scda_p4est_write_step (f, NULL, q, 1., "s", &err);
  f = write_value (f, q, 1, &err);
  REQUIRE (f != NULL && scda_fclose (f, &err) == 0);

  /* The group was never written by the program. The attributes are those given, and one more. */
  f = scda_fopen_read (MPI_COMM_WORLD, path, NULL, NULL, NULL, &err);
  scda_dataset_init (&field);
  f = scda_p4est_find_field (f, NULL, 1, "value", &found, &field, &err);
  REQUIRE (f != NULL && found && strstr (field.attributes, "\"units\":\"m\"") != NULL && strstr (field.attributes, "of others") != NULL);
  rewritten (other, p, field.attributes);
  f = scda_p4est_read_forest (f, NULL, 0, MPI_COMM_WORLD, 0, 0, NULL, NULL, NULL, &d, &r, &err);
  REQUIRE (f != NULL && r->global_num_quadrants == q->global_num_quadrants);
  same_values (&f, r, 0);
  f = scda_p4est_read_field (f, NULL, 1, r, "value", SCDA_TYPE_FLOAT64, 1, values, &err);
  refused (f, err, SCDA_ERR_FORMAT, "read that of the same step");
  f = scda_fopen_read (MPI_COMM_WORLD, path, NULL, NULL, NULL, &err);
  f = scda_p4est_find_field (f, NULL, 5, "value", &found, &field, &err);
  refused (f, err, SCDA_ERR_NOT_FOUND, "has no step 5: it has 2, counted from 0");
  free (values);
  destroy (r);
  p4est_destroy (p);
  p4est_destroy (q);
  p4est_connectivity_destroy (c);
}

/* The bytes of a file, on rank 0. */
static char *contents (const char *path, size_t *bytes) {
  FILE *f = fopen (path, "rb");
  REQUIRE (f != NULL && fseek (f, 0, SEEK_END) == 0);
  *bytes = (size_t) ftell (f);
  rewind (f);
  char *all = malloc (*bytes + 1);
  REQUIRE (fread (all, 1, *bytes, f) == *bytes);
  fclose (f);
  return all;
}

enum { steps = 7 };

/* Each step is written by a job of its own, of other ranks than the one before: which ones depends on `turn`. The mesh changes with every third step. */
static void series (const char *path, int turn) {
  int size, err;
  MPI_Comm_size (MPI_COMM_WORLD, &size);
  for (int step = 0; step < steps; ++step) {
    MPI_Comm comm;
    MPI_Comm_split (MPI_COMM_WORLD, world_rank < 1 + (step + turn) % size ? 0 : MPI_UNDEFINED, 0, &comm);
    if (comm != MPI_COMM_NULL) {
      p4est_connectivity_t *c = NULL;
      p4est_t *p = NULL;
      scda_params_t params;
      scda_fcontext_t *f;
      scda_params_init (&params);
      params.seal = 1;
      if (step == 0) {
        p = refined (comm, connectivity_of (1), 0);
        f = scda_fopen_write (comm, path, "series", NULL, &params, &err);
      }
      else {
        f = scda_fopen_read (comm, path, NULL, NULL, NULL, &err);
        f = scda_p4est_read_forest (f, NULL, -1, comm, 0, 0, NULL, NULL, NULL, &c, &p, &err);
        REQUIRE (f != NULL);
        same_values (&f, p, step - 1);
        REQUIRE (scda_fclose (f, &err) == 0);
        f = scda_fopen_append (comm, path, NULL, NULL, NULL, &err);
      }
      REQUIRE (f != NULL);
      if (step % 3 == 2) {
        if (step == 2) { /* what was there is not all: a restarted program that forgets the mesh */
          p4est_t *q = p4est_copy (p, 0);
          which = step;
          p4est_refine (q, 0, refine_one, NULL);
          f = scda_forest_write_time (f, NULL, .1 * step, "s", NULL, &err);
          f = write_value (f, q, step, &err);
          REQUIRE (f == NULL && err == SCDA_ERR_USAGE && strstr (scda_last_error_message (), "_write_mesh when the mesh has changed") != NULL);
          p4est_destroy (q);
          f = scda_fopen_append (comm, path, NULL, NULL, NULL, &err);
        }
        which = step;
        p4est_refine (p, 0, refine_one, NULL);
        p4est_partition (p, 0, NULL);
      }
      if (step == 1) { /* the mesh of the job before, without writing it */
        f = scda_forest_write_time (f, NULL, .1 * step, "s", NULL, &err);
      }
      else { f = scda_p4est_write_step (f, NULL, p, .1 * step, "s", &err); }
      f = write_value (f, p, step, &err);
      REQUIRE (f != NULL && scda_fclose (f, &err) == 0);
      destroy (p);
      MPI_Comm_free (&comm);
    }
    MPI_Barrier (MPI_COMM_WORLD);
  }
  /* All steps, on all ranks: three meshes. */
  scda_fcontext_t *f = scda_fopen_read (MPI_COMM_WORLD, path, NULL, NULL, NULL, &err);
  for (int step = steps - 1; step >= 0; --step) {
    p4est_connectivity_t *c = NULL;
    p4est_t *p = NULL;
    f = scda_p4est_read_forest (f, NULL, step, MPI_COMM_WORLD, 0, 0, NULL, NULL, NULL, &c, &p, &err);
    REQUIRE (f != NULL);
    same_values (&f, p, step);
    destroy (p);
  }
  for (int record = 0; record < 4; ++record) {
    int found = 0;
    f = scda_ffind (f, "forest/coordinates", NULL, record, &found, NULL, &err);
    REQUIRE (f != NULL && found == (record < 3));
  }
  REQUIRE (scda_fclose (f, &err) == 0);
}

/* In one job, the connectivity is written once, and again when it has changed. */
static void connectivities (const char *path) {
  p4est_connectivity_t *c = connectivity_of (1);
  p4est_t *p = refined (MPI_COMM_WORLD, c, 0);
  int err, found;
  scda_fcontext_t *f = create (path);
  for (int step = 0; step < 4; ++step) {
    if (step == 2) { c->vertices[0] = -1.; } /* a mesh that moves */
    f = scda_p4est_write_step (f, NULL, p, step, NULL, &err);
    REQUIRE (f != NULL);
  }
  REQUIRE (scda_fclose (f, &err) == 0);
  f = scda_fopen_read (MPI_COMM_WORLD, path, NULL, NULL, NULL, &err);
  for (int record = 0; record < 3; ++record) {
    f = scda_ffind (f, "forest/tree_to_tree", NULL, record, &found, NULL, &err);
    REQUIRE (f != NULL && found == (record < 2));
    f = scda_ffind (f, "forest/coordinates", NULL, record, &found, NULL, &err);
    REQUIRE (f != NULL && found == (record < 1));
  }
  REQUIRE (scda_fclose (f, &err) == 0);
  destroy (p);
}

/* The checksum of docs/forest.md, and that of a program with a forest of its own. */
static void checksums (void) {
  const int64_t offsets[] = {0, 4, 5};
  const uint8_t levels[] = {1, 1, 1, 1, 0};
  char text[17];
  snprintf (text, sizeof text, "%016" PRIx64, scda_forest_checksum (offsets, 0, 5, levels));
  REQUIRE (scda_forest_checksum (offsets, 0, 3, levels) + scda_forest_checksum (offsets, 3, 2, levels + 3) == scda_forest_checksum (offsets, 0, 5, levels));
  if (world_rank == 0) { printf ("checksum of the example: %s\n", text); }
}

/* A file is saved where params say so: also over another one, with sync and without. */
static void saved (const char *path) {
  p4est_t *p = refined (MPI_COMM_WORLD, connectivity_of (1), 0);
  for (int sync = -1; sync <= 1; ++sync) {
    for (int atomic = 0; atomic < 2; ++atomic) {
      p4est_connectivity_t *c = NULL;
      p4est_t *q = NULL;
      scda_params_t params;
      scda_params_init (&params);
      params.seal = 1;
      params.atomic = atomic;
      params.sync = sync;
      REQUIRE (scda_p4est_save_params (path, p, 1, 0, &params) == 0);
      q = scda_p4est_load (path, MPI_COMM_WORLD, sizeof (data_t), 1, 1, NULL, &c);
      REQUIRE (q != NULL && checksum_of (p) == checksum_of (q));
      destroy (q);
    }
  }
  destroy (p);
}

/* In two halves: what the forest becomes meanwhile is not in the file; until the wait, the old one stays. */
static void saved_in_two_halves (const char *path) {
  for (int how = 0; how < 2; ++how) {
    p4est_t *p = refined (MPI_COMM_WORLD, connectivity_of (1), 0), *q = NULL;
    p4est_connectivity_t *c = NULL;
    scda_request_t request;
    scda_params_t params;
    const unsigned sum = checksum_of (p);
    int err = -1;
    scda_params_init (&params);
    params.atomic = 1; /* and without memory, the calls write */
    REQUIRE (scda_p4est_save_begin (path, p, 1, how, how == 0 ? NULL : &params, &request) == 0);
    destroy (p);
    while (scda_test (&request) == 0) {}
    REQUIRE (scda_wait (&request, &err) == 0 && err == SCDA_SUCCESS);
    q = scda_p4est_load (path, MPI_COMM_WORLD, sizeof (data_t), 1, 1, NULL, &c);
    REQUIRE (q != NULL && checksum_of (q) == sum);
    destroy (q);
  }
  scda_request_t request;
  p4est_t *p = refined (MPI_COMM_WORLD, connectivity_of (1), 0);
  int err = SCDA_SUCCESS;
  REQUIRE (scda_p4est_save_begin ("/no/such/folder/f.scda", p, 1, 0, NULL, &request) == SCDA_ERR_NO_SUCH_FILE);
  REQUIRE (scda_test (&request) == 1 && scda_wait (&request, &err) != 0 && err == SCDA_ERR_ARG);
  destroy (p);
}

/* With params.lend: what is written from memory of the headers is copied, since that is freed when the call returns. */
static void lent (const char *path) {
  const int level = dimension == 2 ? 8 : 5;
  p4est_connectivity_t *c = NULL;
  p4est_t *p = p4est_new_ext (MPI_COMM_WORLD, connectivity_of (0), 0, level, 1, sizeof (data_t), initialize, NULL), *q = NULL;
  const uint64_t n = (uint64_t) p->local_num_quadrants;
  scda_statistics_t before, after;
  scda_dataset_t field;
  scda_params_t params;
  int err = -1;
  before.size = after.size = sizeof before;
  scda_params_init (&params);
  params.background_bytes = 64 << 20;
  params.lend = 1;
  scda_fcontext_t *f = scda_fopen_write (MPI_COMM_WORLD, path, "lent", NULL, &params, &err);
  f = scda_p4est_write_forest (f, NULL, p, 1, &err);
  REQUIRE (f != NULL && scda_get_statistics (f, &before, &err) == 0);
  REQUIRE (before.copied_bytes >= n * sizeof (data_t));
  scda_dataset_init (&field);
  strcpy (field.name, "value");
  field.type = SCDA_TYPE_FLOAT64;
  f = scda_p4est_write_member (f, NULL, p, &field, offsetof (data_t, value), &err);
  REQUIRE (f != NULL && scda_get_statistics (f, &after, &err) == 0);
  REQUIRE (after.copied_bytes >= before.copied_bytes + n * sizeof (double));
  REQUIRE (scda_fclose (f, &err) == 0);
  q = scda_p4est_load (path, MPI_COMM_WORLD, sizeof (data_t), 1, 1, NULL, &c);
  REQUIRE (q != NULL && checksum_of (p) == checksum_of (q));
  destroy (q);
  destroy (p);
}

int main (int argc, char **argv) {
  char path[2][512];
  int size;
  MPI_Init (&argc, &argv);
  MPI_Comm_rank (MPI_COMM_WORLD, &world_rank);
  MPI_Comm_size (MPI_COMM_WORLD, &size);
  sc_init (MPI_COMM_WORLD, 1, 1, NULL, SC_LP_ERROR);
  p4est_init (NULL, SC_LP_ERROR);
  if (argc != 2) { MPI_Abort (MPI_COMM_WORLD, 2); }
  snprintf (path[0], sizeof path[0], "%s/%dd-known-%d.scda", argv[1], dimension, size);
  snprintf (path[1], sizeof path[1], "%s/%dd-known-%d-turned.scda", argv[1], dimension, size);
  checksums ();
  forgotten (path[0]);
  one_mesh (path[0], path[1]);
  connectivities (path[0]);
  saved (path[0]);
  saved_in_two_halves (path[0]);
  lent (path[0]);
  series (path[0], 0);
  series (path[1], 1);
  if (world_rank == 0) {
    size_t n, m;
    char *a = contents (path[0], &n), *b = contents (path[1], &m);
    REQUIRE (n == m && memcmp (a, b, n) == 0);
    free (a), free (b);
  }
  sc_finalize ();
  MPI_Finalize ();
  return 0;
}
