// The header serves C++ as well: one round trip, as C++11.
#include "common.h"

#include <string>
#include <vector>

int main (int argc, char **argv) {
  start (&argc, &argv);
  REQUIRE (argc == 2);
  const group_t g = world ();
  const std::vector<uint64_t> Nq (static_cast<size_t> (g.size), 3);
  const std::vector<double> values = {1. + g.rank, 2. + g.rank, 3. + g.rank};
  std::vector<double> found (3);
  const std::string filename = std::string (argv[1]) + "/cxx.scda", user ("with\0NUL", 8);
  const size_t len = user.size ();
  int err = -1, decode = 1;

  scda_fcontext_t *f = scda_fopen_write (g.comm, filename.c_str (), user.data (), &len, nullptr, &err);
  f = scda_fwrite_array (f, values.data (), Nq.data (), sizeof (double), 0, "values", nullptr, SCDA_ENCODE_ALWAYS, &err);
  REQUIRE (f != nullptr && scda_fclose (f, &err) == 0);

  char type, buffer[SCDA_USER_STRING_BYTES + 1];
  uint64_t N, E;
  size_t length;
  f = scda_fopen_read (g.comm, filename.c_str (), buffer, &length, nullptr, &err);
  REQUIRE (f != nullptr && std::string (buffer, length) == user);
  f = scda_fread_section_header (f, &type, &N, &E, buffer, nullptr, &decode, &err);
  REQUIRE (f != nullptr && type == 'A' && N == 3 * Nq.size () && E == sizeof (double) && decode == 1);
  f = scda_fread_array_data (f, found.data (), Nq.data (), E, 0, &err);
  REQUIRE (f != nullptr && found == values && scda_fclose (f, &err) == 0);
  return finish ();
}
