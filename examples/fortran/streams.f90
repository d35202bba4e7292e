! streams.f90: each rank writes numbers to a stream of its own, all into one file; any number of ranks reads them.
!
! Compile:  mpif90 -c $(pkg-config --variable=fortran scda)
!           mpif90 streams.f90 scda.o -o streams $(pkg-config --libs scda)
! Run:      mpirun -n 4 ./streams write streams.scda
!           mpirun -n 3 ./streams read streams.scda
!
! Expected output:
!
!   streams: 4 ranks wrote 10 particles
!   streams: 3 ranks read 10 particles of 4 streams
!
! Nobody knows how many particles the others have. An error on any rank stops the program with a message, because ierr, the optional last
! argument of every call, is left out here.
program streams
  use, intrinsic :: iso_fortran_env, only: int64, real64
  use mpi_f08
  use scda
  implicit none

  integer :: rank, ranks, i, n, total
  character(256) :: mode = "write", filename = "streams.scda"
  type(scda_fcontext_t) :: f

  call MPI_Init()
  call MPI_Comm_rank(MPI_COMM_WORLD, rank)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks)
  if (command_argument_count() > 0) call get_command_argument(1, mode)
  if (command_argument_count() > 1) call get_command_argument(2, filename)
  if (mode == "read") then
    call read_all()
  else
    call write_all()
  end if
  call MPI_Finalize()

contains

  subroutine write_all()
    real(real64) :: particle(3)
    call scda_fopen_write(f, MPI_COMM_WORLD, filename, "streams.f90")
    call scda_fwrite_streams_begin(f, "particles")
    n = rank + 1
    do i = 1, n
      particle = [real(rank, real64), real(i, real64), 0.5_real64]
      call scda_stream_write(f, particle) ! this rank alone
    end do
    call scda_fwrite_streams_end(f)
    call scda_fclose(f)
    call MPI_Reduce(n, total, 1, MPI_INTEGER, MPI_SUM, 0, MPI_COMM_WORLD)
    if (rank == 0) print '("streams: ", i0, " ranks wrote ", i0, " particles")', ranks, total
  end subroutine write_all

  subroutine read_all()
    integer(int64) :: set, tasks
    integer(int64), allocatable :: counts(:), bytes(:)
    real(real64), allocatable :: particles(:, :)
    call scda_fopen_read(f, MPI_COMM_WORLD, filename)
    call scda_ffind_streams(f, "particles", set, tasks)
    if (set == 0) error stop "no streams of particles"
    ! Each rank reads some whole streams, one after the other.
    allocate(counts(ranks))
    counts = [((tasks * i) / ranks - (tasks * (i - 1)) / ranks, i = 1, ranks)]
    allocate(bytes(counts(rank + 1)))
    call scda_fread_streams_sizes(f, set, bytes, counts)
    allocate(particles(3, sum(bytes) / 24))
    call scda_fread_streams_data(f, set, particles, counts, bytes)
    call scda_fclose(f)
    if (any(abs(particles(3, :) - 0.5_real64) > 0)) error stop "other particles than were written"
    n = size(particles, 2)
    call MPI_Reduce(n, total, 1, MPI_INTEGER, MPI_SUM, 0, MPI_COMM_WORLD)
    if (rank == 0) print '("streams: ", i0, " ranks read ", i0, " particles of ", i0, " streams")', ranks, total, tasks
  end subroutine read_all
end program streams
