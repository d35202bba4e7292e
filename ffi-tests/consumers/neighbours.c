/* A program with a zlib and a Rust library of its own beside libscda: each keeps to its own code. */
#include <scda.h>
#include <zlib.h>

#include <stdio.h>
#include <string.h>

int other_catches (void); /* other.rs: panics, catches the panic, and returns 1 */

static int zlib_works (void) {
  static const char text[] = "the program's own zlib, the program's own zlib";
  Bytef packed[256], unpacked[sizeof text];
  uLongf packed_bytes = sizeof packed, unpacked_bytes = sizeof unpacked;
  return strcmp (zlibVersion (), ZLIB_VERSION) == 0
      && compress2 (packed, &packed_bytes, (const Bytef *) text, sizeof text, 9) == Z_OK
      && uncompress (unpacked, &unpacked_bytes, packed, packed_bytes) == Z_OK && memcmp (unpacked, text, sizeof text) == 0;
}

static int scda_works (const char *filename) {
  static const char text[] = "libscda's zlib, libscda's zlib";
  char found[sizeof text] = "";
  scda_params_t params;
  uint64_t E;
  int err, decode = 1;
  scda_params_init (&params);
  params.encoder = SCDA_ENCODER_ZLIB;
  scda_fcontext_t *f = scda_fopen_write (SCDA_COMM_SELF, filename, "neighbours", NULL, &params, &err);
  f = scda_fwrite_block (f, text, sizeof text, "text", NULL, 0, SCDA_ENCODE_ALWAYS, &err);
  if (f == NULL || scda_fclose (f, &err) != 0) { return 0; }
  f = scda_fopen_read (SCDA_COMM_SELF, filename, NULL, NULL, NULL, &err);
  f = scda_fread_section_header (f, NULL, NULL, &E, NULL, NULL, &decode, &err);
  f = scda_fread_block_data (f, found, E, 0, &err);
  return f != NULL && scda_fclose (f, &err) == 0 && memcmp (found, text, sizeof text) == 0;
}

int main (int argc, char **argv) {
#ifndef SCDA_SERIAL
  MPI_Init (&argc, &argv);
#endif
  const int zlib = zlib_works (), scda = argc == 2 && scda_works (argv[1]), other = other_catches () == 1;
  if (!zlib || !scda || !other) { fprintf (stderr, "zlib %d, scda %d, other %d\n", zlib, scda, other); }
#ifndef SCDA_SERIAL
  MPI_Finalize ();
#endif
  return !(zlib && scda && other);
}
