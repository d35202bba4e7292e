/* patches.c: meshes of patches. patches FOLDER: any number of ranks writes the same files, and reads its own with other shares.
 *
 * Two levels of patches of different shapes, in 1 to 3 dimensions, numbered in the order of the ranks or dealt out to them; fields in
 * memory with and without ghost layers, each by itself or interleaved. */
#include "common.h"

#include <scda_meshes.h>

enum { most_patches = 64, variables = 3, ghosts = 2 };

#define CHECK_OK(f, err) REQUIRE ((f) != NULL && (err) == SCDA_SUCCESS)

static MPI_Comm comm;
static int rank, size;

/* The mesh that all know: `P` patches. */
typedef struct {
  int d, P, step;
  int32_t level[most_patches];
  int64_t boxes[6 * most_patches];
  int32_t ratio[6];
  int64_t domain[6];
  double geometry[6];
} whole_t;

/* A domain of 4 patches of 5, 4, 3 cells on each axis, and finer ones in the first of them: in step 1 one more of these. */
static void make (whole_t *w, int d, int step) {
  static const int64_t cells[3] = { 5, 4, 3 };
  const int along_y = d > 1 ? 2 : 1;
  int a, i, k;
  memset (w, 0, sizeof *w);
  w->d = d;
  w->step = step;
  for (a = 0; a < d; ++a) {
    w->ratio[a] = 1;
    w->ratio[d + a] = a == 0 ? 2 : 4;
    w->domain[a] = -3; /* cells may begin anywhere */
    w->domain[d + a] = a == 0 ? 10 : a == 1 ? 8 : 3;
    w->geometry[a] = 0.25 * a;
    w->geometry[d + a] = 0.5;
  }
  for (i = 0; i < 2 * along_y; ++i, ++w->P) {
    const int64_t at[3] = { -3 + 5 * (i % 2), -3 + 4 * (i / 2), -3 };
    for (a = 0; a < d; ++a) {
      w->boxes[2 * d * w->P + a] = at[a];
      w->boxes[2 * d * w->P + d + a] = cells[a];
    }
  }
  for (k = 0; k < 3 + step; ++k, ++w->P) {
    w->level[w->P] = 1;
    for (a = 0; a < d; ++a) {
      w->boxes[2 * d * w->P + a] = -3 * w->ratio[d + a] + (a == 0 ? 2 * k : 0);
      w->boxes[2 * d * w->P + d + a] = a == 0 ? 2 : 2 + k;
    }
  }
}

/* What cell c of level l has: different for each. */
static double value (int v, int step, int level, const int64_t *cell, int d) {
  double x = 1000000. * v + 500000. * step + 100000. * level;
  int a;
  for (a = 0; a < d; ++a) { x += (double) (cell[a] + 20) * (a == 0 ? 1 : a == 1 ? 60 : 3600); }
  return x;
}

/* The memory of a patch: what lies around its cells is -1. */
typedef struct {
  double *all;
  size_t count;
} block_t;

static size_t cell_place (const int64_t *n, const int64_t *at, int d, int g) {
  size_t place = 0;
  int a;
  for (a = d - 1; a >= 0; --a) { place = place * (size_t) (n[a] + 2 * g) + (size_t) (at[a] + g); }
  return place;
}

/* Fills the cells of a patch, or compares them and what is around them. */
static void visit (block_t *b, const whole_t *w, int number, int g, int interleaved, int v0, int vars, int fill) {
  const int64_t *box = w->boxes + 2 * w->d * number, *n = box + w->d;
  int64_t at[3] = { 0, 0, 0 }, cell[3];
  size_t cells = 1, i, inside = 0;
  int a, v, more = 1;
  for (a = 0; a < w->d; ++a) { cells *= (size_t) (n[a] + 2 * g); }
  if (b->all == NULL) {
    b->count = cells * (size_t) vars;
    b->all = (double *) malloc (b->count * sizeof (double) + 1);
    for (i = 0; i < b->count; ++i) { b->all[i] = -1; }
  }
  while (more) {
    const size_t place = cell_place (n, at, w->d, g);
    for (a = 0; a < w->d; ++a) { cell[a] = box[a] + at[a]; }
    for (v = 0; v < vars; ++v) {
      double *x = b->all + (interleaved ? place * (size_t) vars + (size_t) v : (size_t) v * cells + place);
      const double expected = value (v0 + v, w->step, w->level[number], cell, w->d);
      if (fill) { *x = expected; }
      else { CHECK (*x == expected); }
    }
    inside += (size_t) vars;
    for (a = 0, more = 0; a < w->d && !more; ++a) {
      more = ++at[a] < n[a];
      if (!more) { at[a] = 0; }
    }
  }
  if (!fill) {
    size_t outside = 0;
    for (i = 0; i < b->count; ++i) { outside += b->all[i] == -1; }
    CHECK (outside == b->count - inside);
  }
}

/* The patches of this rank: a share that follows the one of the rank before, or dealt out, the last one first. */
static size_t share (const whole_t *w, int dealt, uint64_t *number) {
  size_t n = 0;
  int i;
  for (i = 0; i < w->P; ++i) {
    const int p = dealt ? w->P - 1 - i : i;
    if (dealt ? (p * 7 + 1) % size == rank : p * size / w->P == rank) { number[n++] = (uint64_t) p; }
  }
  return n;
}

/* The three variables, by themselves in memory with ghost layers (0), interleaved with them (1), or packed (2). */
static void describe (scda_patch_field_t *field, int layout, void *data[variables][most_patches], block_t *blocks, size_t n) {
  static const char *const names[variables] = { "rho", "p", "flow/u" };
  int v;
  size_t i;
  for (v = 0; v < variables; ++v) {
    scda_patch_field_init (field + v, names[v], SCDA_TYPE_FLOAT64);
    field[v].ghost = layout == 2 ? 0 : ghosts;
    field[v].cell_bytes = layout == 1 ? variables * (int64_t) sizeof (double) : 0;
    field[v].dataset.attributes = v == 0 ? "{\"units\": \"kg m-3\"}" : NULL;
    for (i = 0; i < n; ++i) {
      data[v][i] = blocks[i].all + (layout == 1 ? (size_t) v : (size_t) v * (blocks[i].count / variables));
    }
    field[v].data = data[v];
  }
}

static void release (block_t *blocks, size_t n) {
  size_t i;
  for (i = 0; i < n; ++i) { free (blocks[i].all); }
}

static void say (scda_patches_t *m, const whole_t *w) {
  scda_patches_init (m, w->d);
  m->levels = 2;
  m->ratio = w->ratio;
  m->domain = w->domain;
  m->geometry = w->geometry;
}

/* One step: time, mesh and fields, and a vector. */
static scda_fcontext_t *write_step (scda_fcontext_t *f, const whole_t *w, int layout, int dealt, int again, int *err) {
  uint64_t number[most_patches];
  int32_t level[most_patches];
  int64_t boxes[6 * most_patches];
  block_t blocks[most_patches], vectors[most_patches];
  void *data[variables][most_patches], *vector[most_patches];
  scda_patch_field_t fields[variables], pair;
  scda_patches_t m;
  size_t i, n = share (w, dealt, number);
  for (i = 0; i < n; ++i) {
    level[i] = w->level[number[i]];
    memcpy (boxes + 2 * (size_t) w->d * i, w->boxes + 2 * (size_t) w->d * number[i], 2 * (size_t) w->d * sizeof *boxes);
    blocks[i].all = vectors[i].all = NULL;
    visit (blocks + i, w, (int) number[i], layout == 2 ? 0 : ghosts, layout == 1, 0, variables, 1);
    visit (vectors + i, w, (int) number[i], 0, 1, 5, 2, 1);
    vector[i] = vectors[i].all;
  }
  say (&m, w);
  m.n = n;
  m.level = level;
  m.boxes = boxes;
  m.number = dealt ? number : NULL;
  describe (fields, layout, data, blocks, n);
  scda_patch_field_init (&pair, "pair", SCDA_TYPE_FLOAT64);
  pair.components = 2;
  pair.data = vector;
  pair.dataset.encode = SCDA_ENCODE_ALWAYS;
  f = scda_forest_write_time (f, "blocks", 0.5 * w->step, "s", NULL, err);
  f = scda_patches_write_mesh (f, "blocks", &m, err);
  f = scda_patches_write_fields (f, "blocks", &m, variables, fields, err);
  f = scda_patches_write_fields (f, "blocks", &m, 1, &pair, err);
  if (again) { /* a step without a mesh of its own */
    f = scda_forest_write_time (f, "blocks", 0.5 * w->step + 0.25, "s", NULL, err);
    f = scda_patches_write_fields (f, "blocks", &m, variables, fields, err);
  }
  scda_patches_free (&m);
  release (blocks, n);
  release (vectors, n);
  return f;
}

static void read_step (scda_fcontext_t **f, const whole_t *w, int64_t step, int layout, int dealt) {
  uint64_t number[most_patches], cells = 0;
  block_t blocks[most_patches], vectors[most_patches];
  void *data[variables][most_patches], *vector[most_patches];
  scda_patch_field_t fields[variables], pair;
  scda_patches_t m;
  size_t i, n;
  int err, p;
  scda_patches_init (&m, 1);
  *f = scda_patches_read_mesh (*f, "blocks", step, &m, &err);
  CHECK_OK (*f, err);
  CHECK (m.dimension == w->d && m.levels == 2 && m.patches == (uint64_t) w->P);
  CHECK (memcmp (m.all_boxes, w->boxes, 2 * (size_t) w->d * (size_t) w->P * sizeof *w->boxes) == 0);
  CHECK (memcmp (m.all_level, w->level, (size_t) w->P * sizeof *w->level) == 0);
  CHECK (memcmp (m.geometry, w->geometry, 2 * (size_t) w->d * sizeof *w->geometry) == 0);
  CHECK (memcmp (m.domain, w->domain, 2 * (size_t) w->d * sizeof *w->domain) == 0);
  for (p = 0; p < w->P; ++p) {
    const int64_t *n = w->boxes + 2 * w->d * p + w->d;
    cells += (uint64_t) (n[0] * (w->d > 1 ? n[1] : 1) * (w->d > 2 ? n[2] : 1));
  }
  CHECK (m.cells == cells);
  if (dealt) {
    m.n = share (w, 1, number);
    m.number = number;
  }
  else {
    uint64_t all = m.n;
    MPI_Allreduce (MPI_IN_PLACE, &all, 1, MPI_UINT64_T, MPI_SUM, comm);
    CHECK (all == m.patches);
    for (i = 0; i < m.n; ++i) { number[i] = m.first + i; }
  }
  n = m.n;
  for (i = 0; i < n; ++i) {
    whole_t other = *w; /* memory with other values */
    other.step = 7;
    blocks[i].all = vectors[i].all = NULL;
    visit (blocks + i, &other, (int) number[i], layout == 2 ? 0 : ghosts, layout == 1, 0, variables, 1);
    visit (vectors + i, &other, (int) number[i], 0, 1, 5, 2, 1);
    vector[i] = vectors[i].all;
  }
  describe (fields, layout, data, blocks, n);
  scda_patch_field_init (&pair, "pair", SCDA_TYPE_FLOAT64);
  pair.components = 2;
  pair.data = vector;
  *f = scda_patches_read_fields (*f, "blocks", step, &m, variables, fields, &err);
  CHECK_OK (*f, err);
  for (i = 0; i < n; ++i) { visit (blocks + i, w, (int) number[i], layout == 2 ? 0 : ghosts, layout == 1, 0, variables, 0); }
  if (step % 2 == 0) {
    *f = scda_patches_read_fields (*f, "blocks", step, &m, 1, &pair, &err);
    CHECK_OK (*f, err);
    for (i = 0; i < n; ++i) { visit (vectors + i, w, (int) number[i], 0, 1, 5, 2, 0); }
  }
  scda_patches_free (&m);
  release (blocks, n);
  release (vectors, n);
}

/* Each kind of mistake is an error of all ranks, in words. More are in codes_errors.c. */
static void refuse (const char *path, const whole_t *w, int kind, int expected, const char *words) {
  uint64_t number[most_patches];
  int32_t level[most_patches];
  int64_t boxes[6 * most_patches];
  scda_patch_field_t field;
  void *data[most_patches];
  double nothing[4096] = { 0 };
  scda_patches_t m;
  size_t i, n = share (w, 1, number);
  int err, is_last = size == 1 || rank == size - 1;
  scda_fcontext_t *f = scda_fopen_write (comm, path, "patches", NULL, NULL, &err);
  CHECK_OK (f, err);
  for (i = 0; i < n; ++i) {
    level[i] = w->level[number[i]];
    memcpy (boxes + 2 * (size_t) w->d * i, w->boxes + 2 * (size_t) w->d * number[i], 2 * (size_t) w->d * sizeof *boxes);
    data[i] = nothing;
  }
  say (&m, w);
  m.n = n;
  m.level = level;
  m.boxes = boxes;
  m.number = number;
  scda_patch_field_init (&field, "rho", SCDA_TYPE_FLOAT64);
  field.data = data;
  if (kind == 0) { m.levels = 0; }
  if (kind == 5) {
    static int32_t ratio[1001 * 3];
    for (i = 0; i < sizeof ratio / sizeof *ratio; ++i) { ratio[i] = 1; }
    m.ratio = ratio;
    m.levels = 1001;
  }
  if (kind != 1) { f = scda_patches_write_mesh (f, NULL, &m, &err); }
  if (kind == 1) { f = scda_patches_write_fields (f, NULL, &m, 1, &field, &err); }
  if (kind == 2) { /* the mesh of another step */
    whole_t other;
    scda_patches_t second;
    make (&other, w->d, 1);
    say (&second, &other);
    second.n = rank == 0 ? (size_t) other.P : 0;
    second.level = other.level;
    second.boxes = other.boxes;
    f = scda_patches_write_mesh (f, NULL, &second, &err);
    CHECK_OK (f, err);
    f = scda_patches_write_fields (f, NULL, &m, 1, &field, &err);
    scda_patches_free (&second);
  }
  if (kind == 3) {
    if (is_last) { field.ghost = -1; }
    f = scda_patches_write_fields (f, NULL, &m, 1, &field, &err);
  }
  if (kind == 4) {
    if (is_last) { field.dataset.extends = 1; }
    f = scda_patches_write_fields (f, NULL, &m, 1, &field, &err);
  }
  if (kind == 6) { /* other components in memory */
    scda_patches_t found;
    f = scda_patches_write_fields (f, NULL, &m, 1, &field, &err);
    REQUIRE (f != NULL && scda_fclose (f, &err) == 0);
    f = scda_fopen_read (comm, path, NULL, NULL, NULL, &err);
    scda_patches_init (&found, w->d);
    f = scda_patches_read_mesh (f, NULL, 0, &found, &err);
    for (i = 0; i < most_patches; ++i) { data[i] = nothing; }
    field.components = 3;
    f = scda_patches_read_fields (f, NULL, 0, &found, 1, &field, &err);
    scda_patches_free (&found);
  }
  CHECK (f == NULL && err == expected);
  if (strstr (scda_last_error_message (), words) == NULL) {
    fprintf (stderr, "kind %d: found \"%s\", expected \"%s\"\n", kind, scda_last_error_message (), words);
    CHECK (0);
  }
  scda_patches_free (&m);
}

int main (int argc, char **argv) {
  char path[4096];
  int d, layout, dealt, err;
  start (&argc, &argv);
  comm = world ().comm;
  rank = world ().rank;
  size = world ().size;
  REQUIRE (argc == 2);
  for (d = 1; d <= 3; ++d) {
    for (layout = 0; layout < 3; ++layout) {
      for (dealt = 0; dealt < 2; ++dealt) {
        whole_t first, second;
        scda_params_t params;
        scda_fcontext_t *f;
        make (&first, d, 0);
        make (&second, d, 1);
        scda_params_init (&params);
        params.seal = 1;
        snprintf (path, sizeof path, "%s/patches-%dd-%d-%d-%d.scda", argv[1], d, layout, dealt, size);
        f = scda_fopen_write (comm, path, "patches", NULL, &params, &err);
        CHECK_OK (f, err);
        f = write_step (f, &first, layout, dealt, 1, &err);
        CHECK_OK (f, err);
        CHECK (scda_fclose (f, &err) == 0);
        f = scda_fopen_append (comm, path, NULL, NULL, NULL, &err);
        CHECK_OK (f, err);
        f = write_step (f, &second, (layout + 1) % 3, dealt, 0, &err);
        CHECK_OK (f, err);
        CHECK (scda_fclose (f, &err) == 0);
        f = scda_fopen_read (comm, path, NULL, NULL, NULL, &err);
        CHECK_OK (f, err);
        read_step (&f, &first, 0, layout, !dealt);
        read_step (&f, &first, 1, (layout + 1) % 3, dealt);
        read_step (&f, &second, -1, (layout + 2) % 3, 0);
        CHECK (scda_fclose (f, &err) == 0);
      }
    }
  }
  {
    whole_t w;
    make (&w, 2, 0);
    snprintf (path, sizeof path, "%s/patches-refused-%d.scda", argv[1], size);
    refuse (path, &w, 0, SCDA_ERR_ARG, "found 2 axes and 0 levels");
    refuse (path, &w, 1, SCDA_ERR_USAGE, "call scda_patches_write_mesh first");
    refuse (path, &w, 2, SCDA_ERR_USAGE, "not the one written last");
    refuse (path, &w, 3, SCDA_ERR_ARG, "-1 ghost layers");
    refuse (path, &w, 4, SCDA_ERR_ARG, "found extends = 1, expected 0");
    refuse (path, &w, 5, SCDA_ERR_ARG, "found 1001 levels, expected at most 1000");
    refuse (path, &w, 6, SCDA_ERR_FORMAT, ", 3], a row for each cell");
  }
  return finish ();
}
