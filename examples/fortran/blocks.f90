! blocks.f90: an array that is distributed in blocks, as a dataset, and a slice of it on every rank.
!
! Compile:  mpif90 -c $(pkg-config --variable=fortran scda)
!           mpif90 blocks.f90 scda.o -o blocks $(pkg-config --libs scda)
! Run:      mpirun -n 4 ./blocks blocks.scda
!
! Expected output:
!
!   blocks: 4 ranks wrote density(60, 40, 20) in kg m-3
!   blocks: every rank read a slice, all as written
!
! The file is the same for any number of ranks.
program blocks
  use, intrinsic :: iso_fortran_env, only: error_unit, real64
  use mpi_f08
  use scda
  implicit none

  integer, parameter :: n(3) = [60, 40, 20]
  integer :: rank, ranks, across(2) = 0, at(2), first(2), last(2), i, j, k
  real(real64), allocatable :: density(:, :, :), slice(:, :)
  character(256) :: filename = "blocks.scda"
  logical :: found
  type(scda_dataset_t) :: d
  type(scda_fcontext_t) :: f

  call MPI_Init()
  call MPI_Comm_rank(MPI_COMM_WORLD, rank)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks)
  if (command_argument_count() > 0) call get_command_argument(1, filename)

  ! The second and the third dimension are cut, and each rank has one of the blocks.
  call MPI_Dims_create(ranks, 2, across)
  at = [mod(rank, across(1)), rank / across(1)]
  first = (n(2:) * at) / across + 1
  last = (n(2:) * (at + 1)) / across
  allocate(density(n(1), first(1):last(1), first(2):last(2)))
  density = reshape([(((value(i, j, k), i = 1, n(1)), j = first(1), last(1)), k = first(2), last(2))], shape(density))

  call scda_fopen_write(f, MPI_COMM_WORLD, filename, "blocks.f90")
  call scda_fwrite_group(f, "/", scda_json("title", "blocks") // ", " // scda_json("time", 0.25d0))
  call scda_write(f, "density", density, shape=n, start=[1, first], chunk=[16, 16, 16], units="kg m-3")
  call scda_fclose(f)
  if (rank == 0) print '("blocks: ", i0, " ranks wrote density(", i0, ", ", i0, ", ", i0, ") in kg m-3")', ranks, n

  ! Any rank reads any part: here a slice with one index of the first dimension.
  call scda_fopen_read(f, MPI_COMM_WORLD, filename)
  call scda_ffind_dataset(f, "density", found, d)
  if (.not. found) call fail("no dataset has this name")
  i = 1 + mod(7 * rank, int(d%shape(1)))
  allocate(slice(d%shape(2), d%shape(3)))
  call scda_read(f, d, slice, start=[i, 1, 1], count=[1, n(2:)])
  call scda_fclose(f)
  if (any(abs(slice - reshape([((value(i, j, k), j = 1, n(2)), k = 1, n(3))], n(2:))) > 0)) then
    call fail("values differ from those written")
  end if
  call MPI_Barrier(MPI_COMM_WORLD)
  if (rank == 0) print '("blocks: every rank read a slice, all as written")'
  call MPI_Finalize()

contains

  pure function value(i, j, k)
    integer, intent(in) :: i, j, k
    real(real64) :: value
    value = i + 100 * j + k / 8.0_real64
  end function value

  subroutine fail(message)
    character(*), intent(in) :: message
    write (error_unit, '("blocks: ", a)') message
    call MPI_Abort(MPI_COMM_WORLD, 1)
  end subroutine fail

end program blocks
