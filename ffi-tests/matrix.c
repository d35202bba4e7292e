/* The same content gives the same bytes, whoever writes it; anyone reads it back.
 *
 *   matrix DIR [SEED]     on 1 rank first: it leaves the reference files and their manifests in DIR
 *
 * On more ranks, the world is split in two in every way and both halves work at the same
 * time: 7 ranks give every number of writers and readers from 1 to 7 in one launch. Of many more ranks, some splits. */
#include "sections.h"

/* One way to write and read a file. Files of one line break, encoder and level are equal. */
typedef struct {
  const char *name; /* of the reference file */
  int linebreak, encoder, level, driver;
  long aggregation; /* bytes; -1: as it comes */
  int atomic, sync, check, threads;
} variant_t;

static const variant_t variants[] = {
  {"unix-fast", SCDA_LINEBREAK_UNIX, SCDA_ENCODER_FAST, 6, SCDA_DRIVER_AUTO, -1, 0, 0, 0, 1},
  {"mime-zlib", SCDA_LINEBREAK_MIME, SCDA_ENCODER_ZLIB, 6, SCDA_DRIVER_POSIX, -1, 0, 1, 0, 1},
  {"unix-fast", SCDA_LINEBREAK_UNIX, SCDA_ENCODER_FAST, 6, driver_mpiio, -1, 1, 0, 0, 3},
  {"mime-fast", SCDA_LINEBREAK_MIME, SCDA_ENCODER_FAST, 6, SCDA_DRIVER_POSIX, 0, 0, 0, 0, 1},
  {"unix-zlib", SCDA_LINEBREAK_UNIX, SCDA_ENCODER_ZLIB, 6, driver_mpiio, 0, 0, 0, 1, 1},
  {"mime-fast", SCDA_LINEBREAK_MIME, SCDA_ENCODER_FAST, 6, driver_mpiio, 1000, 0, 0, 0, 1},
  {"unix-zlib", SCDA_LINEBREAK_UNIX, SCDA_ENCODER_ZLIB, 6, SCDA_DRIVER_POSIX, 100, 1, 1, 1, 2},
  {"unix-zlib0", SCDA_LINEBREAK_UNIX, SCDA_ENCODER_ZLIB, 0, driver_mpiio, -1, 0, 0, 0, 1},
  {"unix-zlib9", SCDA_LINEBREAK_UNIX, SCDA_ENCODER_ZLIB, 9, SCDA_DRIVER_POSIX, 5000, 0, 0, 0, 2},
  {"mime-fast0", SCDA_LINEBREAK_MIME, SCDA_ENCODER_FAST, 0, SCDA_DRIVER_POSIX, -1, 0, 0, 0, 1},
  {"mime-fast9", SCDA_LINEBREAK_MIME, SCDA_ENCODER_FAST, 9, driver_mpiio, -1, 1, 1, 1, 2},
};
static const int num_variants = (int) (sizeof variants / sizeof variants[0]);

static scda_params_t params_of (const variant_t *v) {
  scda_params_t params = default_params ();
  params.linebreak = v->linebreak;
  params.encoder = v->encoder;
  params.driver = v->driver;
  params.level = v->level;
  params.threads = v->threads;
  params.atomic = v->atomic;
  params.sync = v->sync;
  params.check = v->check;
  if (v->aggregation >= 0) {
    params.aggregation_bytes = (uint64_t) v->aggregation;
    params.writers_per_node = 2, params.stripe_bytes = 5000; /* large sections through some ranks of each node */
  }
  return params;
}

/* Write once, compare with the reference, read twice. */
static void round_trip (group_t g, const char *dir, const content_t *c, int which, int variant, uint64_t seed) {
  const variant_t *v = &variants[variant];
  char mine[1024], reference[1024];
  scda_params_t params = params_of (v), other = params;
  snprintf (reference, sizeof reference, "%s/%d-%s.scda", dir, which, v->name);
  snprintf (mine, sizeof mine, "%s/%d-%d-%016llx.scda", dir, which, variant, (unsigned long long) seed);
  content_write (g, mine, c, seed, &params);
  if (g.rank == 0) {
    if (access (reference, F_OK) != 0) { REQUIRE (world ().size == 1 && rename (mine, reference) == 0); }
    else if (files_equal (mine, reference, 0)) { REQUIRE (unlink (mine) == 0); }
    else { fprintf (stderr, "%s and %s differ\n", mine, reference), ++failures; }
  }
  barrier (g);
  content_read (g, reference, c, seed + 1, &params);
  other.driver = v->driver == SCDA_DRIVER_POSIX ? driver_mpiio : SCDA_DRIVER_POSIX;
  other.aggregation_bytes = 2 * params.aggregation_bytes + 50;
  content_read (g, reference, c, seed + 2, &other);
}

int main (int argc, char **argv) {
  enum { contents = 3 }; /* the last one is big */
  start (&argc, &argv);
  REQUIRE (argc == 2 || argc == 3);
  const char *dir = argv[1];
  const uint64_t seed = argc == 3 ? strtoull (argv[2], NULL, 10) : 0;
  const group_t all = world ();
  content_t *content[contents];
  for (int k = 0; k < contents; ++k) {
    content[k] = content_random (seed + (uint64_t) k, k == contents - 1);
    char manifest[1024];
    snprintf (manifest, sizeof manifest, "%s/%d.txt", dir, k);
    if (all.size == 1) { content_save (content[k], manifest); }
  }

  /* The first a ranks, backwards, are one group; the others are another. */
  const int step = all.size <= 8 ? 1 : all.size / 4;
  for (int a = (all.size + 1) / 2; a <= all.size; a += step) {
    const int color = all.rank < a;
    group_t g = group_split (all, color, color ? -all.rank : all.rank);
    for (int v = 0; v < num_variants; ++v) {
      for (int k = 0; k < contents; ++k) {
        /* More ranks need not do everything: the large content seldom, the others in turn. */
        const int turn = k == contents - 1 ? (v + a) % 3 : (v + a + k) % 2;
        if (all.size > 1 && turn != 0) { continue; }
        round_trip (g, dir, content[k], k, v, mix (seed + (uint64_t) (10 * a + color), (uint64_t) (10 * v + k)));
      }
    }
    group_free (&g);
  }

  /* The plainest call, by everybody, with what the library takes for default. */
  char plain[1024], user[] = "plain";
  int err = -1;
  snprintf (plain, sizeof plain, "%s/plain.scda", dir);
  scda_fcontext_t *f = scda_fopen (all.comm, plain, "w", user, NULL, &err);
  REQUIRE (f != NULL && err == 0 && scda_fclose (f, &err) == 0 && err == 0);
  content_write (all, plain, content[0], 4711, NULL);
  content_read (all, plain, content[0], 4712, NULL);

  for (int k = 0; k < contents; ++k) { content_free (content[k]); }
  return finish ();
}
