! A stranger's program in Fortran: it knows the installed module and library only. SERIAL: without MPI.
program consumer
  use, intrinsic :: iso_fortran_env, only: int64, real64
#ifndef SERIAL
  use mpi_f08
#endif
  use scda
  implicit none
  integer, parameter :: n = 1000
  integer :: rank = 0, ranks = 1, i, ierr
  integer, allocatable :: Nq(:)
  real(real64) :: mine(n), found(n)
  integer(int64) :: elements, bytes
  character :: type
  character(SCDA_USER_STRING_BYTES) :: name
  character(1024) :: argument, path
  character(16) :: version
  logical :: decode = .true.
  type(scda_params_t) :: params
  type(scda_fcontext_t) :: f
#ifdef SERIAL
  integer :: comm = SCDA_COMM_SELF
#else
  type(MPI_Comm) :: comm
  call MPI_Init()
  comm = MPI_COMM_WORLD
  call MPI_Comm_rank(comm, rank)
  call MPI_Comm_size(comm, ranks)
#endif
  call get_command_argument(1, argument)
  call get_command_argument(2, path)
  read (argument, *) i
  if (i /= ranks) error stop "another number of ranks: not the mpiexec of this MPI"
  write (version, '(i0, ".", i0, ".", i0)') SCDA_VERSION_MAJOR, SCDA_VERSION_MINOR, SCDA_VERSION_PATCH
  if (version /= scda_version()) error stop "scda_version is not that of the module"

  allocate(Nq(ranks))
  Nq = n
  mine = [(0.5_real64 * (i + rank * n), i = 1, n)]
  call scda_params_init(params)
  params%encoder = SCDA_ENCODER_ZLIB
  call scda_fopen_write(f, comm, path, "consumer", params=params)
  call scda_fwrite_array(f, "mine", mine, Nq, 8, SCDA_ENCODE_ALWAYS)
  call scda_fclose(f)

  call scda_fopen_read(f, comm, path, name)
  if (name /= "consumer") error stop "user string"
  call scda_fread_section_header(f, type, elements, bytes, name, decode)
  if (type /= "A" .or. elements /= n * ranks .or. bytes /= 8 .or. .not. decode) error stop "header"
  call scda_fread_array_data(f, found, Nq, bytes)
  if (any(abs(found - mine) > 0)) error stop "data"
  call scda_fclose(f)
  call scda_fopen_read(f, comm, "no/such/file", ierr=ierr)
  if (ierr /= SCDA_ERR_NO_SUCH_FILE) error stop "missing file"

  if (rank == 0) print '(a, " on ", i0)', scda_version(), ranks
#ifndef SERIAL
  call MPI_Finalize()
#endif
end program consumer
