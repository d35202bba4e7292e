! write_field.f90: a distributed field, its parameters and elements of different sizes into one file.
!
! Compile:  mpif90 -c $(pkg-config --variable=fortran scda)
!           mpif90 write_field.f90 scda.o -o write_field $(pkg-config --libs scda)
! Run:      mpirun -n 4 ./write_field field.scda
!           mpirun -n 3 ./read_field field.scda
!
! Expected output:
!
!   write_field: 4 ranks wrote 1000 cells
!   read_field: 3 ranks read 1000 cells of time 0.25, all as written
!
! The file is the same for any number of ranks. An error on any rank stops the program with a message, because ierr, the
! optional last argument of every call, is left out here.
program write_field
  use, intrinsic :: iso_fortran_env, only: real64
  use mpi_f08
  use scda
  implicit none

  integer, parameter :: cells = 1000
  integer :: rank, ranks, first, n, i, k
  integer, allocatable :: counts(:) ! cells of each rank: the same list on all ranks (scda_proc_counts gathers it)
  real(real64), allocatable :: state(:, :), coefficients(:)
  integer, allocatable :: bytes(:)
  character(64) :: parameters
  character(256) :: filename = "field.scda"
  type(scda_fcontext_t) :: f

  call MPI_Init()
  call MPI_Comm_rank(MPI_COMM_WORLD, rank)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks)
  if (command_argument_count() > 0) call get_command_argument(1, filename)

  ! Each rank has a part of the cells: 5 values of each, and 0 to 3 coefficients.
  allocate(counts(ranks))
  counts = [((cells * i) / ranks - (cells * (i - 1)) / ranks, i = 1, ranks)]
  first = sum(counts(:rank))
  n = counts(rank + 1)
  allocate(state(5, n), bytes(n))
  do i = 1, n
    state(:, i) = [(real(first + i, real64) + k / 8.0_real64, k = 1, 5)]
    bytes(i) = 8 * mod(first + i, 4)
  end do
  allocate(coefficients(sum(bytes) / 8))
  coefficients = [((1 / real(first + i + k, real64), k = 1, mod(first + i, 4)), i = 1, n)]

  ! What all ranks know is written by one of them: 0, unless another one is passed.
  write (parameters, '(a, f6.3, a, i0)') "time", 0.25, " step ", 42

  call scda_fopen_write(f, MPI_COMM_WORLD, filename, "write_field.f90")
  call scda_fwrite_block(f, "parameters", parameters)
  call scda_fwrite_array(f, "state: 5 doubles a cell", state, counts)
  call scda_fwrite_varray(f, "coefficients: doubles", coefficients, counts, bytes, SCDA_ENCODE_AUTO)
  call scda_fclose(f) ! until here data may still be in a buffer

  if (rank == 0) print '("write_field: ", i0, " ranks wrote ", i0, " cells")', ranks, cells
  call MPI_Finalize()
end program write_field
