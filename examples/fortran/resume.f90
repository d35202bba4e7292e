! resume.f90: a series that is committed in the background, stops in time, and resumes on any number of processes: docs/restart.md.
! examples/c/resume.cpp writes the same bytes.
!
! Compile:  mpif90 -c $(pkg-config --variable=fortran scda)
!           mpif90 resume.f90 scda.o -o resume $(pkg-config --libs scda)
! Run:      mpirun -n 2 ./resume run.scda 4
!           mpirun -n 3 ./resume run.scda 9
program resume
  use, intrinsic :: iso_fortran_env, only: int64, real64
  use mpi_f08
  use scda
  implicit none

  real(real64), parameter :: dt = 0.1_real64
  real(real64), allocatable :: rho(:)           ! the cells of this process
  integer(int64) :: cells(SCDA_PARTITION_WORDS) ! the numbers of all processes
  integer :: rank, ranks, step, last
  logical :: is_new, found
  character(256) :: filename = "run.scda", argument = "4"
  type(scda_fcontext_t) :: f, r
  type(scda_params_t) :: params
  type(scda_pending_t) :: commit

  call scda_stop_watch() ! SIGTERM and SIGUSR1 no longer end the process
  call MPI_Init()
  call MPI_Comm_rank(MPI_COMM_WORLD, rank)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks)
  if (command_argument_count() > 0) call get_command_argument(1, filename)
  if (command_argument_count() > 1) call get_command_argument(2, argument)
  read (argument, *) last
  allocate(rho(100 * (rank + 1) / ranks - 100 * rank / ranks))
  rho = 1

  call scda_params_init(params)
  params%background_bytes = 2**28
  call scda_fopen_append_or_create(f, MPI_COMM_WORLD, filename, "my simulation", is_new, params=params)
  call scda_partition_local(f, size(rho), cells)
  step = 0
  if (.not. is_new) then
    call scda_fopen_read(r, MPI_COMM_WORLD, filename) ! up to the last commit
    call scda_fread_attribute(r, "time", "step", step, found)
    if (found) call scda_fread_field(r, "rho", rho)
    call scda_fclose(r)
  end if
  if (rank == 0) print '("from step ", i0)', step
  do while (step < last)
    if (scda_stop_requested(MPI_COMM_WORLD)) exit
    rho = rho + dt ! the simulation
    step = step + 1
    call scda_wait(commit) ! the step before is on the disk
    call scda_write(f, "time", step * dt, attributes=scda_json("step", step), units="s")
    call scda_write(f, "rho", rho, Nq=cells)
    call scda_fcommit_begin(f, commit) ! rho may change now
  end do
  call scda_wait(commit)
  call scda_fclose(f)
  call MPI_Finalize()
end program resume
