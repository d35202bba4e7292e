/* The files that others wrote: read to exactly what their manifests say, and written anew.
 *
 *   vectors VECTORS DIR NAME...     DIR has NAME.txt, made of VECTORS/NAME.json by scda_parse.py */
#include "sections.h"

static void read_and_write (group_t g, const char *vectors, const char *dir, const char *name, uint64_t seed) {
  static const char *const styles[] = {"unix", "mime", "wild"}; /* as SCDA_LINEBREAK_*; the last is only read */
  char path[1024], anew[1024];
  snprintf (path, sizeof path, "%s/%s.txt", dir, name);
  content_t *c = content_load (path);
  int encoded = 0;
  for (int k = 0; k < c->count; ++k) { encoded |= c->section[k].encode; }
  for (int style = 0; style < 3; ++style) {
    scda_params_t params = default_params ();
    snprintf (path, sizeof path, "%s/%s.%s.scda", vectors, name, styles[style]);
    for (uint64_t i = 0; i < 3; ++i) { content_read (g, path, c, mix (seed, i), i == 0 ? NULL : &params); }
    if (style == 2) { break; }

    params.linebreak = style;
    snprintf (anew, sizeof anew, "%s/%s.%s.%d.scda", dir, name, styles[style], g.size);
    content_write (g, anew, c, mix (seed, 3), &params);
    content_read (g, anew, c, mix (seed, 4), &params);
    /* All but the vendor string; compressed sections depend on the compressor: scda_parse.py looks at those. */
    if (g.rank == 0 && !encoded) { CHECK (files_equal (path, anew, 32)); }
  }
  content_free (c);
}

/* What the authors of the format wrote with their own libsc. */
static void reference (group_t g, const char *vectors, const char *dir) {
  static const char line[] = "Test inline data               \n", abc[] = "abcabcabcabcabcabcabcabcabcabcabcabc",
                    cba[] = "cbacbacbacbacbacbacbacbacbacbacbacba";
  char original[1024], anew[1024];
  uint64_t rng = (uint64_t) g.size, *Nq = (uint64_t *) get_memory ((uint64_t) g.size * sizeof *Nq);
  int err = -1;
  snprintf (original, sizeof original, "%s/libsc-2.8.7-reference.scda", vectors);
  snprintf (anew, sizeof anew, "%s/libsc.%d.scda", dir, g.size);

  scda_fcontext_t *f = scda_fopen_write (g.comm, anew, "This is a test file", NULL, bare (), &err);
  f = scda_fwrite_block (f, "Test block data", 15, "Block section test", NULL, 0, SCDA_ENCODE_NONE, &err);
  f = scda_fwrite_inline (f, line, "Inline section test without user-defined padding", NULL, g.size - 1, &err);
  f = scda_fwrite_inline (f, line, "", NULL, 0, &err);
  f = scda_fwrite_block (f, line, 32, "A block section with the inline data", NULL, 0, SCDA_ENCODE_NONE, &err);
  partition (&rng, 12, g.size, Nq);
  f = scda_fwrite_array (f, abc + 3 * first_of (Nq, g.rank), Nq, 3, 0, "A fixed-length array section", NULL, SCDA_ENCODE_NONE,
                         &err);
  memset (Nq, 0, (size_t) g.size * sizeof *Nq);
  f = scda_fwrite_array (f, NULL, Nq, 3, 0, "An empty array", NULL, SCDA_ENCODE_NONE, &err);
  partition (&rng, 12, g.size, Nq);
  f = scda_fwrite_array (f, cba + 3 * first_of (Nq, g.rank), Nq, 3, 0, "Another fixed-length array section", NULL,
                         SCDA_ENCODE_NONE, &err);
  REQUIRE (f != NULL && err == 0 && scda_fclose (f, &err) == 0 && err == 0);

  if (g.rank == 0) { CHECK (files_equal (original, anew, 32)); }
  free (Nq);
}

int main (int argc, char **argv) {
  start (&argc, &argv);
  REQUIRE (argc > 3);
  const group_t all = world ();
  /* As in matrix.c: groups of every size, two at a time. */
  for (int a = (all.size + 1) / 2; a <= all.size; ++a) {
    const int color = all.rank < a;
    group_t g = group_split (all, color, color ? -all.rank : all.rank);
    if (color || 2 * a != all.size) { /* two groups of one size would write the same files */
      for (int i = 3; i < argc; ++i) { read_and_write (g, argv[1], argv[2], argv[i], (uint64_t) (10 * a + i)); }
      reference (g, argv[1], argv[2]);
    }
    group_free (&g);
  }
  return finish ();
}
