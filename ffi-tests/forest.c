/* Forests of p4est in scda files, in 2D; with -DFOREST_3D in 3D.
 *
 *   forest FOLDER matrix         groups of 1 to 5 ranks write forests of many kinds, which must be the same files, and read each in
 *                                partitions of three kinds
 *   forest FOLDER damage COUNT [COMMAND]
 *                                COUNT numbers of each dataset of a forest are changed, each dataset is left out: an error, the same on
 *                                all ranks; `COMMAND check` says the same
 *   forest FOLDER fuzz COUNT     random bytes of a file are changed, then datasets, with right checksums: an error or a valid forest */
#include "forest.h"

#include <sys/wait.h>

/* ---- Fields: what they are on the local quadrants ---- */

typedef struct {
  size_t n, values;
  double *vectors; /* 3 for each quadrant */
  int64_t *counts;
  float *samples;
} fields_t;

static fields_t fields_of (p4est_t *p, int step) {
  fields_t s;
  size_t i = 0, room = 0;
  s.n = (size_t) p->local_num_quadrants;
  s.values = 0;
  s.vectors = malloc (3 * s.n * sizeof (double) + 1);
  s.counts = malloc (s.n * sizeof (int64_t) + 1);
  room = 8 * s.n;
  s.samples = malloc (room * sizeof (float) + 1);
  for (p4est_topidx_t t = p->first_local_tree; t >= 0 && t <= p->last_local_tree; ++t) {
    sc_array_t *quadrants = &p4est_tree_array_index (p->trees, t)->quadrants;
    for (size_t k = 0; k < quadrants->elem_count; ++k, ++i) {
      const p4est_quadrant_t *q = p4est_quadrant_array_index (quadrants, k);
      const uint32_t h = hash_of (t, q);
      for (int a = 0; a < 3; ++a) { s.vectors[3 * i + (size_t) a] = h + .5 * a + step; }
      s.counts[i] = h % 8;
      for (int64_t v = 0; v < s.counts[i]; ++v) { s.samples[s.values++] = (float) (h % 1000) + (float) v; }
    }
  }
  return s;
}

static void fields_free (fields_t *s) {
  free (s->vectors);
  free (s->counts);
  free (s->samples);
}

static scda_fcontext_t *write_fields (scda_fcontext_t *f, p4est_t *p, int step, int *err) {
  scda_dataset_t vectors, samples;
  fields_t s = fields_of (p, step);
  scda_dataset_init (&vectors);
  strcpy (vectors.name, "velocity");
  vectors.type = SCDA_TYPE_FLOAT64;
  vectors.ndims = 2;
  vectors.shape[1] = 3;
  vectors.attributes = "{\"units\": \"m s-1\"}";
  vectors.encode = step % 2 == 0 ? SCDA_ENCODE_NONE : SCDA_ENCODE_ALWAYS;
  scda_dataset_init (&samples);
  strcpy (samples.name, "co\"efficients");
  samples.type = SCDA_TYPE_FLOAT32;
  f = scda_p4est_write_field (f, "two/parts", p, &vectors, s.vectors, err);
  if (f != NULL) { f = scda_p4est_write_ragged (f, "two/parts", p, &samples, s.counts, s.samples, err); }
  fields_free (&s);
  return f;
}

static void read_fields (scda_fcontext_t *f, p4est_t *p, int step) {
  int err;
  fields_t s = fields_of (p, step);
  double *vectors = malloc (3 * s.n * sizeof (double) + 1);
  int64_t *counts = malloc (s.n * sizeof (int64_t) + 1);
  float *samples = malloc (s.values * sizeof (float) + 1);
  f = scda_p4est_read_field (f, "two/parts", step, p, "velocity", SCDA_TYPE_FLOAT64, 3, vectors, &err);
  REQUIRE (f != NULL);
  REQUIRE (memcmp (vectors, s.vectors, 3 * s.n * sizeof (double)) == 0);
  f = scda_p4est_read_counts (f, "two/parts", step, p, "co\"efficients", counts, &err);
  REQUIRE (f != NULL);
  REQUIRE (memcmp (counts, s.counts, s.n * sizeof (int64_t)) == 0);
  f = scda_p4est_read_ragged (f, "two/parts", step, p, "co\"efficients", SCDA_TYPE_FLOAT32, 1, counts, samples, &err);
  REQUIRE (f != NULL);
  REQUIRE (memcmp (samples, s.samples, s.values * sizeof (float)) == 0);
  fields_free (&s);
  free (vectors), free (counts), free (samples);
}

/* ---- Files ---- */

static char *contents (const char *path, size_t *bytes) {
  FILE *f = fopen (path, "rb");
  char *all = NULL;
  *bytes = 0;
  if (f == NULL) { return NULL; }
  fseek (f, 0, SEEK_END);
  *bytes = (size_t) ftell (f);
  rewind (f);
  all = malloc (*bytes + 1);
  REQUIRE (fread (all, 1, *bytes, f) == *bytes);
  fclose (f);
  return all;
}

/* The first group of ranks to write a file leaves it as the one to compare with. */
static void same_file (MPI_Comm comm, const char *path, const char *expected) {
  int rank;
  MPI_Comm_rank (comm, &rank);
  if (rank == 0) {
    size_t n = 0, m = 0;
    char *a = contents (path, &n), *b = contents (expected, &m);
    REQUIRE (a != NULL);
    if (b == NULL) { REQUIRE (rename (path, expected) == 0); }
    else {
      REQUIRE (n == m && memcmp (a, b, n) == 0);
      REQUIRE (remove (path) == 0);
    }
    free (a), free (b);
  }
  MPI_Barrier (comm);
}

/* ---- Matrix ---- */

static void same_forest (p4est_t *p, p4est_t *expected, unsigned checksum) {
  REQUIRE (p4est_is_valid (p));
  REQUIRE (checksum_of (p) == checksum);
  REQUIRE (p4est_connectivity_is_equal (p->connectivity, expected->connectivity));
  REQUIRE (p->connectivity->tree_attr_bytes == expected->connectivity->tree_attr_bytes);
}

static void save_and_load (MPI_Comm comm, const char *folder, int kind, int level, int finest) {
  char path[512], expected[512];
  int err, size;
  size_t n;
  p4est_connectivity_t *c;
  p4est_t *p = forest_of (comm, connectivity_of (kind), level, finest, sizeof (data_t)), *q;
  const unsigned checksum = checksum_of (p);
  MPI_Comm_size (comm, &size);
  snprintf (path, sizeof path, "%s/%dd-%d-%d-%d.scda", folder, dimension, kind, level, size);
  snprintf (expected, sizeof expected, "%s/%dd-%d-%d.scda", folder, dimension, kind, level);
  REQUIRE (scda_p4est_save (path, p, 1) == 0);
  same_file (comm, path, expected);

  for (int load_data = 0; load_data < 2; ++load_data) {
    q = scda_p4est_load (expected, comm, sizeof (data_t), load_data, 1, &n, &c);
    REQUIRE (q != NULL && q->connectivity == c && q->user_pointer == &n && q->data_size == sizeof (data_t));
    same_forest (q, p, checksum);
    REQUIRE (!memcmp (q->global_first_quadrant, p->global_first_quadrant, ((size_t) size + 1) * sizeof (p4est_gloidx_t)));
    if (load_data) { same_data (q); }
    destroy (q);
  }
  REQUIRE (scda_p4est_load (expected, comm, 3, 1, 1, NULL, &c) == NULL && c == NULL); /* another size */
  REQUIRE (strstr (scda_last_error_message (), "forest/data") != NULL);
  q = scda_p4est_load (expected, comm, 0, 0, 0, NULL, &c); /* without a partition: all quadrants are on one rank */
  REQUIRE ((q == NULL) == (size > 1) && (c == NULL) == (size > 1));
  if (q != NULL) { destroy (q); }
  else { REQUIRE (strstr (scda_last_error_message (), "ranks, because autopartition is 0") != NULL); }
  REQUIRE (scda_p4est_load ("/nowhere/forest.scda", comm, 0, 0, 1, NULL, &c) == NULL && c == NULL);
  REQUIRE (scda_p4est_save ("/nowhere/forest.scda", p, 1) == SCDA_ERR_NO_SUCH_FILE);

  /* Other partitions: all on the last rank, and by weight. */
  for (int given = 0; given < 2; ++given) {
    p4est_gloidx_t *first = calloc ((size_t) size + 1, sizeof *first);
    scda_fcontext_t *f = scda_fopen_read (comm, expected, NULL, NULL, NULL, &err);
    first[size] = p->global_num_quadrants;
    f = scda_p4est_read_forest (f, NULL, 0, comm, sizeof (data_t), 1, given ? first : NULL, given ? NULL : weight, NULL, &c, &q, &err);
    REQUIRE (f != NULL && scda_fclose (f, &err) == 0);
    same_forest (q, p, checksum);
    same_data (q);
    REQUIRE (!given || q->local_num_quadrants == (q->mpirank == size - 1 ? p->global_num_quadrants : 0));
    if (!given) {
      p4est_t *w = p4est_copy (p, 0);
      p4est_partition (w, 0, weight);
      REQUIRE (!memcmp (q->global_first_quadrant, w->global_first_quadrant, ((size_t) size + 1) * sizeof (p4est_gloidx_t)));
      p4est_destroy (w);
    }
    destroy (q);
    /* A partition that does not fit. */
    first[size] += 1;
    f = scda_fopen_read (comm, expected, NULL, NULL, NULL, &err);
    f = scda_p4est_read_forest (f, NULL, 0, comm, 0, 0, first, NULL, NULL, &c, &q, &err);
    REQUIRE (f == NULL && err == SCDA_ERR_ARG && q == NULL && c == NULL);
    free (first);
  }
  if (p->mpirank == 0) {
    size_t bytes = 0;
    REQUIRE (scda_p4est_connectivity_save (path, p->connectivity) == 0);
    c = scda_p4est_connectivity_load (path, &bytes);
    REQUIRE (c != NULL && p4est_connectivity_is_equal (c, p->connectivity) && bytes == p4est_connectivity_memory_used (c));
    p4est_connectivity_destroy (c);
    c = scda_p4est_connectivity_load (expected, NULL); /* that of a forest which is refined */
    REQUIRE (c != NULL && p4est_connectivity_is_equal (c, p->connectivity));
    p4est_connectivity_destroy (c);
    REQUIRE (remove (path) == 0);
    REQUIRE (scda_p4est_connectivity_load (path, &bytes) == NULL && bytes == 0);
    REQUIRE (scda_p4est_connectivity_save ("/nowhere/trees.scda", p->connectivity) == SCDA_ERR_NO_SUCH_FILE);
  }
  destroy (p);
}

/* Members of the user data as fields. */
static void members (MPI_Comm comm, const char *folder) {
  static const struct {
    int type, ndims;
    uint64_t columns;
    size_t offset;
  } members[] = {{SCDA_TYPE_FLOAT64, 1, 0, offsetof (data_t, value)}, {SCDA_TYPE_UINT16, 2, 4, 0}, {SCDA_TYPE_RAW, 2, 2, 1},
                 /* beyond the data, of no bytes, of no type */
                 {SCDA_TYPE_FLOAT64, 1, 0, 9}, {SCDA_TYPE_UINT8, 2, 17, 0}, {SCDA_TYPE_INT32, 2, (uint64_t) 1 << 62, 0},
                 {SCDA_TYPE_INT64, 2, 0, 0}, {16, 1, 0, 0}, {-1, 1, 0, 0}, {SCDA_TYPE_INT8, 1, 0, (size_t) -1}};
  char path[512];
  int err, size;
  p4est_t *p = forest_of (comm, connectivity_of (0), 0, 2, sizeof (data_t));
  MPI_Comm_size (comm, &size);
  snprintf (path, sizeof path, "%s/%dd-members-%d.scda", folder, dimension, size);
  for (size_t m = 0; m < sizeof members / sizeof *members; ++m) {
    const size_t bytes = m == 2 ? 6 : 8; /* of a member */
    char *found = malloc (bytes * (size_t) p->local_num_quadrants + 1), *next = found;
    uint64_t start[2] = {0, 0}, count[2] = {0, members[m].columns};
    int there;
    scda_dataset_t d;
    scda_fcontext_t *f = scda_fopen_write (comm, path, "members", NULL, NULL, &err);
    scda_dataset_init (&d);
    strcpy (d.name, "member");
    d.type = members[m].type;
    d.item_bytes = m == 2 ? 3 : 0;
    d.ndims = members[m].ndims;
    d.shape[1] = members[m].columns;
    f = scda_p4est_write_mesh (f, NULL, p, &err);
    REQUIRE (f != NULL);
    f = scda_p4est_write_member (f, NULL, p, &d, members[m].offset, &err);
    if (m > 2) { REQUIRE (f == NULL && err == SCDA_ERR_ARG && strstr (scda_last_error_message (), "expected a member of the user data") != NULL); }
    else {
      REQUIRE (f != NULL && scda_fclose (f, &err) == 0);
      f = scda_fopen_read (comm, path, NULL, NULL, NULL, &err);
      f = scda_p4est_find_field (f, NULL, -1, "member", &there, &d, &err);
      REQUIRE (f != NULL && there && d.type == members[m].type && d.shape[0] == (uint64_t) p->global_num_quadrants);
      start[0] = (uint64_t) p->global_first_quadrant[p->mpirank];
      count[0] = (uint64_t) p->local_num_quadrants;
      f = scda_fread_dataset (f, &d, found, count[0] > 0, start, count, &err);
      REQUIRE (f != NULL && scda_fclose (f, &err) == 0);
      for (p4est_topidx_t t = p->first_local_tree; t >= 0 && t <= p->last_local_tree; ++t) {
        sc_array_t *quadrants = &p4est_tree_array_index (p->trees, t)->quadrants;
        for (size_t k = 0; k < quadrants->elem_count; ++k, next += bytes) {
          const char *data = (const char *) p4est_quadrant_array_index (quadrants, k)->p.user_data;
          REQUIRE (memcmp (next, data + members[m].offset, bytes) == 0);
        }
      }
    }
    free (found);
  }
  destroy (p);
}

/* The partition of the ranks that wrote, restored by as many. */
static void partition (MPI_Comm comm, const char *folder) {
  char path[512], damaged[512];
  int size;
  p4est_connectivity_t *c;
  p4est_t *p = forest_of (comm, connectivity_of (0), 1, 3, sizeof (data_t)), *q;
  const unsigned checksum = checksum_of (p);
  MPI_Comm_size (comm, &size);
  snprintf (path, sizeof path, "%s/%dd-partition-%d.scda", folder, dimension, size);
  snprintf (damaged, sizeof damaged, "%s/%dd-partition-damaged.scda", folder, dimension);
  if (size > 1) { /* one quadrant on the first rank, all others on the last one */
    p4est_locidx_t *counts = calloc ((size_t) size, sizeof *counts);
    counts[0] = 1;
    counts[size - 1] = (p4est_locidx_t) p->global_num_quadrants - 1;
    p4est_partition_given (p, counts);
    free (counts);
  }
  REQUIRE (scda_p4est_save_ext (path, p, 1, 1) == 0);
  for (int autopartition = 0; autopartition < 2; ++autopartition) {
    int same;
    q = scda_p4est_load_ext (path, comm, sizeof (data_t), 1, autopartition, autopartition, &size, &c);
    REQUIRE (q != NULL && q->connectivity == c && q->user_pointer == &size);
    same_forest (q, p, checksum);
    same_data (q);
    same = !memcmp (q->global_first_quadrant, p->global_first_quadrant, ((size_t) size + 1) * sizeof (p4est_gloidx_t));
    REQUIRE (same == (autopartition == 0 || size == 1));
    destroy (q);
  }
  if (size > 1) {
    MPI_Comm fewer;
    MPI_Comm_split (comm, p->mpirank == 0, p->mpirank, &fewer); /* rank 0, and all others */
    q = scda_p4est_load_ext (path, fewer, 0, 0, 0, 0, NULL, &c);
    MPI_Comm_size (fewer, &size);
    REQUIRE ((q == NULL) == (size > 1));
    if (q != NULL) { destroy (q); }
    else { REQUIRE (strstr (scda_last_error_message (), "ranks, because autopartition is 0") != NULL); }
    MPI_Comm_free (&fewer);
    MPI_Comm_size (comm, &size);
    for (int kind = 0; kind < 4; ++kind) {
      MPI_Barrier (comm);
      if (p->mpirank == 0) {
        file_t all = datasets_of (path, 1);
        part_t *part = &all.parts[all.count - 1];
        REQUIRE (strcmp (part->name, "forest/partition") == 0);
        put (part, kind < 2 ? (uint64_t) kind : (uint64_t) size, kind == 0 ? 1 : kind == 1 ? -1 : p->global_num_quadrants + 2 * kind - 5);
        write_datasets (damaged, &all, -1, -1, 0, -1);
        for (int k = 0; k < all.count; ++k) { free (all.parts[k].data); }
      }
      MPI_Barrier (comm);
      q = scda_p4est_load_ext (damaged, comm, 0, 0, 0, 0, NULL, &c);
      REQUIRE (q == NULL && c == NULL && strstr (scda_last_error_message (), "forest/partition: number") != NULL);
    }
  }
  destroy (p);
}

/* Three steps: a mesh, the same one, another one; fields in each. */
static void steps (MPI_Comm comm, const char *folder) {
  char path[512], expected[512];
  int err, size;
  int64_t number = 0;
  double time = 0;
  unsigned checksums[3];
  p4est_connectivity_t *c;
  p4est_t *p = forest_of (comm, connectivity_of (0), 1, 2, 0), *q;
  scda_params_t params;
  MPI_Comm_size (comm, &size);
  snprintf (path, sizeof path, "%s/%dd-steps-%d.scda", folder, dimension, size);
  snprintf (expected, sizeof expected, "%s/%dd-steps.scda", folder, dimension);
  scda_params_init (&params);
  params.seal = 1;
  scda_fcontext_t *f = scda_fopen_write (comm, path, "steps", NULL, &params, &err);
  f = scda_forest_write_about (f, &err);
  f = scda_forest_write_group (f, "two/parts", dimension, " { \"title\": \"three steps, {}\" }", &err);
  for (int step = 0; step < 3; ++step) {
    REQUIRE (f != NULL);
    f = scda_forest_write_time (f, "two/parts", .5 * step, "s", NULL, &err);
    if (step == 0) { f = scda_p4est_write_forest (f, "two/parts", p, 1, &err); }
    if (step == 2) {
      deepest = 3;
      p4est_refine (p, 0, refine, NULL);
      p4est_partition (p, 0, NULL);
      f = scda_p4est_write_mesh (f, "two/parts", p, &err);
    }
    REQUIRE (f != NULL);
    checksums[step] = checksum_of (p);
    f = write_fields (f, p, step, &err);
  }
  REQUIRE (f != NULL && scda_fclose (f, &err) == 0);
  same_file (comm, path, expected);
  REQUIRE (checksums[1] == checksums[0] && checksums[2] != checksums[0]);

  f = scda_fopen_read (comm, expected, NULL, NULL, NULL, &err);
  f = scda_forest_steps (f, "two/parts", &number, &err);
  REQUIRE (f != NULL && number == 3);
  for (int step = 2; step >= 0; --step) {
    f = scda_forest_read_time (f, "two/parts", step, &time, &err);
    REQUIRE (f != NULL && time == .5 * step);
    f = scda_p4est_read_forest (f, "two/parts", step == 2 ? -1 : step, comm, 0, 0, NULL, step == 1 ? weight : NULL, NULL, &c, &q, &err);
    REQUIRE (f != NULL && p4est_is_valid (q) && checksum_of (q) == checksums[step]);
    read_fields (f, q, step);
    destroy (q);
  }
  f = scda_p4est_read_forest (f, "two/parts", 3, comm, 0, 0, NULL, NULL, NULL, &c, &q, &err);
  REQUIRE (f == NULL && err == SCDA_ERR_NOT_FOUND && strstr (scda_last_error_message (), "no step 3") != NULL);
  f = scda_fopen_read (comm, expected, NULL, NULL, NULL, &err);
  f = scda_p4est_read_forest (f, NULL, 0, comm, 0, 0, NULL, NULL, NULL, &c, &q, &err);
  REQUIRE (f == NULL && err == SCDA_ERR_NOT_FOUND && strstr (scda_last_error_message (), "no forest \"forest\"") != NULL);
  /* A field that is not there, of a type that is not converted, with other components. */
  for (int wrong = 0; wrong < 3; ++wrong) {
    double *none = malloc (sizeof (double) * 3 * (size_t) p->local_num_quadrants + 1);
    f = scda_fopen_read (comm, expected, NULL, NULL, NULL, &err);
    f = scda_p4est_read_field (f, "two/parts", 2, p, wrong == 0 ? "speed" : "velocity", wrong == 1 ? SCDA_TYPE_COMPLEX128 : SCDA_TYPE_FLOAT64,
                           wrong == 2 ? 2 : 3, none, &err);
    REQUIRE (f == NULL && err == (wrong == 0 ? SCDA_ERR_NOT_FOUND : SCDA_ERR_FORMAT));
    free (none);
  }
  destroy (p);
}

static void run_matrix (const char *folder) {
  int world;
  MPI_Comm_size (MPI_COMM_WORLD, &world);
  for (int size = 1; size <= world; ++size) {
    MPI_Comm comm;
    MPI_Comm_split (MPI_COMM_WORLD, world_rank < size ? 0 : MPI_UNDEFINED, 0, &comm);
    if (comm != MPI_COMM_NULL) {
      for (int kind = 0; kind < 8; ++kind) { save_and_load (comm, folder, kind, 1, 3); }
      save_and_load (comm, folder, 1, 0, 0); /* one quadrant, the tree itself */
      members (comm, folder);
      partition (comm, folder);
      steps (comm, folder);
      MPI_Comm_free (&comm);
    }
    MPI_Barrier (MPI_COMM_WORLD);
  }
}

/* ---- Damage ---- */

/* The numbers of these may change without the forest being wrong. */
static int is_free (const char *name) {
  static const char *const names[] = {"vertices", "tree_to_vertex", "tree_attributes", "data", "edge_to_edge"};
  for (size_t i = 0; i < sizeof names / sizeof *names; ++i) {
    if (strcmp (strrchr (name, '/') + 1, names[i]) == 0) { return 1; }
  }
  return 0;
}

static const char *command; /* scda, or NULL */

/* Whether a forest that may be damaged is loaded; scda check must say the same. */
static int loads (const char *path) {
  const int loaded = try_to_load (path, 0, 0);
  if (command != NULL && world_rank == 0) {
    char line[1200];
    snprintf (line, sizeof line, "'%s' check --quiet '%s' >/dev/null", command, path);
    const int status = system (line);
    REQUIRE (WIFEXITED (status) && WEXITSTATUS (status) == !loaded);
  }
  return loaded;
}

static void run_damage (const char *folder, int count) {
  char path[512];
  int changed = 0, accepted = 0;
  p4est_t *p = forest_of (MPI_COMM_WORLD, connectivity_of (0), 0, 2, sizeof (data_t));
  snprintf (path, sizeof path, "%s/%dd-damaged.scda", folder, dimension);
  p4est_connectivity_set_attr (p->connectivity, 3);
  memset (p->connectivity->tree_to_attr, 'x', 3 * (size_t) p->connectivity->num_trees);
  REQUIRE (scda_p4est_save (path, p, 1) == 0);
  destroy (p);
  file_t all = datasets_of (path, 1);
  REQUIRE (all.count >= 12);
  damaged_file (path, &all, -1, -1, 0, -1);
  REQUIRE (loads (path));

  for (int k = 0; k < all.count; ++k) {
    part_t *part = &all.parts[k];
    const char *const last = strrchr (part->name, '/') + 1;
    const uint64_t numbers = part->rows * part->columns;
    /* Without these there is no geometry, there are no edges or corners: a forest all the same, if p4est finds so. */
    const int optional = strcmp (last, "tree_attributes") == 0 || strcmp (last, "vertices") == 0 ||
                         strcmp (last, "tree_to_edge") == 0 || strcmp (last, "tree_to_corner") == 0;
    damaged_file (path, &all, k, -1, 0, -1);
    /* Without data a forest is valid; who asks for them gets an error. */
    if ((strcmp (last, "data") == 0 ? try_to_load (path, 0, 0) : loads (path)) && !optional) {
      fprintf (stderr, "loaded without %s\n", part->name);
      MPI_Abort (MPI_COMM_WORLD, 1);
    }
    for (int s = 0; s < 4; ++s) { /* other numbers of rows */
      const uint64_t rows = s == 0 ? part->rows - 1 : s == 1 ? 0 : s == 2 ? part->rows + 1 : (uint64_t) 1 << 30;
      damaged_file (path, &all, -1, k, rows, -1);
      if (loads (path) && strcmp (last, "vertices") != 0) {
        fprintf (stderr, "loaded with %" PRIu64 " rows of %s\n", rows, part->name);
        MPI_Abort (MPI_COMM_WORLD, 1);
      }
    }
    if (part->type != SCDA_TYPE_RAW) {
      damaged_file (path, &all, -1, -1, 0, k);
      REQUIRE (!loads (path));
    }
    for (uint64_t i = 0; i < numbers; i += 1 + numbers / (uint64_t) count) {
      const int64_t was = get (part, i);
      const int64_t values[] = {was + 1, was - 1, was ^ 16, INT32_MAX, INT32_MIN, 0};
      for (size_t v = 0; v < sizeof values / sizeof *values; ++v) {
        put (part, i, values[v]);
        if (get (part, i) == was) { continue; }
        damaged_file (path, &all, -1, -1, 0, -1);
        ++changed;
        if (loads (path)) {
          ++accepted;
          if (!is_free (part->name)) {
            fprintf (stderr, "loaded with %" PRId64 " in place of %" PRId64 " in %s, number %" PRIu64 "\n", values[v], was, part->name, i);
            MPI_Abort (MPI_COMM_WORLD, 1);
          }
        }
      }
      put (part, i, was);
    }
  }
  for (int k = 0; k < all.count; ++k) { free (all.parts[k].data); }
  if (world_rank == 0) { printf ("%d changed numbers, %d of them a forest all the same\n", changed, accepted); }
  REQUIRE (changed > 10 * count && accepted < changed / 2);
}

/* ---- Fuzzing ---- */

static uint64_t random_state = 0x9e3779b97f4a7c15u;
static uint64_t random_number (void) {
  random_state ^= random_state << 13;
  random_state ^= random_state >> 7;
  return random_state ^= random_state << 17;
}

static void run_fuzz (const char *folder, int count) {
  char path[512];
  size_t bytes;
  int loaded = 0, unnoticed = 0;
  p4est_t *p = forest_of (MPI_COMM_WORLD, connectivity_of (0), 0, 2, sizeof (data_t));
  snprintf (path, sizeof path, "%s/%dd-fuzzed.scda", folder, dimension);
  REQUIRE (scda_p4est_save (path, p, 1) == 0);
  const unsigned checksum = checksum_of (p);
  destroy (p);
  char *good = contents (path, &bytes);
  REQUIRE (try_to_load (path, 1, checksum));
  for (int i = 0; i < count; ++i) {
    char *bad = malloc (bytes);
    memcpy (bad, good, bytes);
    for (uint64_t k = random_number () % 3 + 1; k > 0; --k) { bad[random_number () % bytes] ^= (char) (1 << random_number () % 8); }
    const size_t length = random_number () % 8 == 0 ? random_number () % bytes : bytes;
    if (world_rank == 0) {
      FILE *f = fopen (path, "wb");
      REQUIRE (f != NULL && fwrite (bad, 1, length, f) == length && fclose (f) == 0);
    }
    MPI_Barrier (MPI_COMM_WORLD);
    loaded += try_to_load (path, 0, 0);
    unnoticed += try_to_load (path, 1, checksum); /* in what is not read: the text about the file */
    MPI_Barrier (MPI_COMM_WORLD);
    free (bad);
  }
  if (world_rank == 0) { printf ("%d files, %d of them a forest all the same, %d by checksums, too\n", count, loaded, unnoticed); }
  REQUIRE (loaded < count && unnoticed < count / 2);
  /* Changes of datasets, with right checksums. */
  int written = 0;
  if (world_rank == 0) {
    FILE *f = fopen (path, "wb");
    REQUIRE (f != NULL && fwrite (good, 1, bytes, f) == bytes && fclose (f) == 0);
  }
  MPI_Barrier (MPI_COMM_WORLD);
  file_t all = datasets_of (path, 0);
  loaded = 0;
  for (uint64_t seed = 1; seed <= (uint64_t) count; ++seed) {
    int err = 0;
    MPI_Barrier (MPI_COMM_WORLD);
    if (world_rank == 0) { err = write_changed (path, &all, seed); }
    MPI_Bcast (&err, 1, MPI_INT, 0, MPI_COMM_WORLD);
    if (err != 0) { continue; }
    ++written;
    loaded += try_to_load (path, 0, 0);
  }
  free_datasets (&all);
  free (good);
  if (world_rank == 0) { printf ("seeds 1 to %d: %d of %d changed files are a forest\n", count, loaded, written); }
  REQUIRE (written > count / 2 && loaded < written);
}

int main (int argc, char **argv) {
  MPI_Init (&argc, &argv);
  MPI_Comm_rank (MPI_COMM_WORLD, &world_rank);
  sc_init (MPI_COMM_WORLD, 1, 1, NULL, SC_LP_ERROR);
  p4est_init (NULL, SC_LP_ERROR);
  if (argc == 3 && strcmp (argv[2], "matrix") == 0) { run_matrix (argv[1]); }
  else if (argc >= 4 && argc <= 5 && strcmp (argv[2], "damage") == 0 && atoi (argv[3]) > 0) {
    command = argv[4];
    run_damage (argv[1], atoi (argv[3]));
  }
  else if (argc == 4 && strcmp (argv[2], "fuzz") == 0) { run_fuzz (argv[1], atoi (argv[3])); }
  else { MPI_Abort (MPI_COMM_WORLD, 2); }
  sc_finalize (); /* aborts if p4est's memory is left */
  MPI_Finalize ();
  return 0;
}
