! read_field.f90: reads what write_field.f90 wrote, on any number of ranks, and verifies every value.
!
! Compile and run: see write_field.f90.
program read_field
  use, intrinsic :: iso_fortran_env, only: error_unit, int64, real64
  use mpi_f08
  use scda
  implicit none

  integer :: rank, ranks
  integer(int64) :: first, cells, i, k, N, E
  integer(int64), allocatable :: counts(:), bytes(:)
  real(real64), allocatable :: state(:, :), coefficients(:)
  real(real64) :: time
  character(:), allocatable :: parameters
  character(256) :: filename = "field.scda"
  character(4) :: word
  logical :: same
  type(scda_fcontext_t) :: f

  call MPI_Init()
  call MPI_Comm_rank(MPI_COMM_WORLD, rank)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks)
  if (command_argument_count() > 0) call get_command_argument(1, filename)
  call scda_fopen_read(f, MPI_COMM_WORLD, filename)

  ! The block goes to one rank, 0 unless another one is passed. MPI gives it to the others.
  call next_section('B', "parameters")
  allocate(character(E) :: parameters)
  call scda_fread_block_data(f, parameters)
  call MPI_Bcast(parameters, len(parameters), MPI_CHARACTER, 0, MPI_COMM_WORLD)
  read (parameters, *) word, time

  ! The header tells how many cells there are: distribute them anew.
  call next_section('A', "state: 5 doubles a cell")
  cells = N
  allocate(counts(ranks))
  counts = [((cells * i) / ranks - (cells * (i - 1)) / ranks, i = 1, ranks)]
  first = sum(counts(:rank))
  allocate(state(5, counts(rank + 1)))
  call scda_fread_array_data(f, state, counts)

  ! The sizes come first, so that the program can make room for the data.
  call next_section('V', "coefficients: doubles")
  allocate(bytes(counts(rank + 1)))
  call scda_fread_varray_sizes(f, bytes, counts)
  allocate(coefficients(sum(bytes) / 8))
  call scda_fread_varray_data(f, coefficients, counts, bytes)
  call scda_fclose(f)

  same = all(bytes == [(8 * mod(first + i, 4_int64), i = 1, counts(rank + 1))])
  if (same) same = exactly(coefficients, &
    & [((1 / real(first + i + k, real64), k = 1, mod(first + i, 4_int64)), i = 1, counts(rank + 1))])
  do i = 1, counts(rank + 1)
    same = same .and. exactly(state(:, i), [(real(first + i, real64) + k / 8.0_real64, k = 1, 5)])
  end do
  if (.not. same) call fail("values differ from those written")
  call MPI_Barrier(MPI_COMM_WORLD)
  if (rank == 0) then
    print '("read_field: ", i0, " ranks read ", i0, " cells of time ", f4.2, ", all as written")', ranks, cells, time
  end if
  call MPI_Finalize()

contains

  ! Reads a section header into N and E, and insists on what it says.
  subroutine next_section(type, user)
    character, intent(in) :: type
    character(*), intent(in) :: user
    character :: found_type
    character(SCDA_USER_STRING_BYTES) :: found_user
    call scda_fread_section_header(f, found_type, N, E, found_user)
    if (found_type /= type .or. found_user /= user) call fail("found another section: " // found_user)
  end subroutine next_section

  function exactly(found, expected)
    real(real64), intent(in) :: found(:), expected(:)
    logical :: exactly
    exactly = .not. any(abs(found - expected) > 0)
  end function exactly

  subroutine fail(message)
    character(*), intent(in) :: message
    write (error_unit, '("read_field: ", a)') message
    call MPI_Abort(MPI_COMM_WORLD, 1)
  end subroutine fail

end program read_field
