! datasets.f90: lists the datasets of a file; then reads those that are named, in any order, as numbers, and prints their sums.
!
! Compile:  mpif90 -c $(pkg-config --variable=fortran scda)
!           mpif90 datasets.f90 scda.o -o datasets $(pkg-config --libs scda)
! Run:      ./datasets state.scda flow/p time flow/rho
!
! An error stops the program with a message, because ierr, the optional last argument of every call, is left out here.
program datasets
  use, intrinsic :: iso_fortran_env, only: int64, real64
  use mpi_f08
  use scda
  implicit none

  character(256) :: filename, name
  integer :: i
  type(scda_fcontext_t) :: f

  call MPI_Init()
  if (command_argument_count() < 1) error stop "usage: datasets FILE [NAME ...]"
  call get_command_argument(1, filename)
  call scda_fopen_read(f, MPI_COMM_SELF, filename) ! one process reads alone
  call list()
  do i = 2, command_argument_count()
    call get_command_argument(i, name)
    call sum_of(trim(name))
  end do
  call scda_fclose(f)
  call MPI_Finalize()

contains

  ! A dataset with wrong metadata, or of a type that this library does not have, is an entry as well. The dimensions have the order of Fortran.
  subroutine list()
    type(scda_entry_t) :: e
    logical :: found
    do
      call scda_fnext_entry(f, e, found)
      if (.not. found) exit
      if (e%kind == SCDA_ENTRY_UNKNOWN) print '(a)', e%name // ": cannot be read"
      if (e%kind == SCDA_ENTRY_DATASET) then
        print '(a, ", record ", i0, " of ", i0, ":", *(1x, i0))', e%name, e%record, e%records, e%shape
      end if
    end do
  end subroutine list

  ! All of the last dataset of this name; other numbers than real64 are converted.
  subroutine sum_of(name)
    character(*), intent(in) :: name
    type(scda_dataset_t) :: d
    real(real64), allocatable :: data(:)
    integer(int64), allocatable :: start(:)
    logical :: found
    call scda_ffind_dataset(f, name, found, d)
    if (.not. found) error stop "no such dataset"
    allocate(data(product(d%shape)), start(size(d%shape)))
    start = 1
    call scda_read(f, d, data, start=start, count=d%shape)
    print '(a, ": sum ", f0.1)', name, sum(data)
  end subroutine sum_of
end program datasets
