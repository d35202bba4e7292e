! The Fortran module: every procedure, every form of data, every way to go wrong. With MPI unless SCDA_TEST_SERIAL is defined.
!
!   fortran hello FILE     the sections of examples/c/hello.c: the files must be equal
!   fortran api FOLDER     everything else
!   fortran stop FOLDER    an error without ierr: ends the program with a message
!   fortran eof FILE       so does the end of a file
program test_fortran
  use, intrinsic :: iso_c_binding
  use, intrinsic :: iso_fortran_env, only: error_unit, int32, int64, real64
#ifndef SCDA_TEST_SERIAL
  use mpi_f08
#endif
  use scda
  implicit none

  type :: sequenced ! by sequence
    sequence
    integer :: a, b
  end type sequenced
  type, bind(C) :: interoperable
    real(c_double) :: x
    integer(c_int) :: i, j
  end type interoperable
  type, bind(C) :: cell ! of which components are passed
    real(c_double) :: x, y
    integer(c_int64_t) :: bytes
  end type cell

  integer :: rank = 0, ranks = 1, failures = 0
  character(1024) :: mode, path
#ifdef SCDA_TEST_SERIAL
  integer :: comm = SCDA_COMM_SELF
#else
  type(MPI_Comm) :: comm
  call MPI_Init()
  comm = MPI_COMM_WORLD
  call MPI_Comm_rank(comm, rank)
  call MPI_Comm_size(comm, ranks)
#endif
  call get_command_argument(1, mode)
  call get_command_argument(2, path)
  select case (mode)
  case ("hello")
    call hello(trim(path))
  case ("api")
    call data_of_every_form(trim(path) // "/forms.scda")
    call what_may_be_left_out(trim(path) // "/shorter.scda")
    call lengths(trim(path) // "/lengths.scda")
    call copies_of_components(trim(path) // "/components.scda")
    call kinds_of_counts(trim(path) // "/kinds.scda")
    call user_strings(trim(path) // "/strings.scda")
    call sealed(trim(path) // "/sealed.scda")
    call ranges(trim(path) // "/ranges.scda")
    call parameters(trim(path) // "/params.scda")
    call communicators(trim(path) // "/comm.scda")
    call what_goes_wrong(trim(path) // "/wrong.scda")
    call streams(trim(path) // "/streams.scda")
  case ("stop")
    call stop_without_ierr(trim(path))
  case ("eof")
    call stop_at_the_end(trim(path))
  case default
    error stop "fortran hello|api|stop|eof PATH"
  end select
  if (failures > 0) error stop "failed"
#ifndef SCDA_TEST_SERIAL
  call MPI_Finalize()
#endif

contains

  subroutine require(holds, what)
    logical, intent(in) :: holds
    character(*), intent(in) :: what
    if (holds) return
    write (error_unit, '("rank ", i0, ": ", a, " (", a, ")")') rank, what, scda_last_error_message()
    failures = failures + 1
  end subroutine require

  ! Every rank has n elements.
  function each(n) result(Nq)
    integer, intent(in) :: n
    integer :: Nq(ranks)
    Nq = n
  end function each

  subroutine next(f, type, N, E, userstr)
    type(scda_fcontext_t), intent(inout) :: f
    character, intent(in) :: type
    integer, intent(in) :: N, E
    character(*), intent(in) :: userstr
    character :: found_type
    character(SCDA_USER_STRING_BYTES) :: found_userstr
    integer(int64) :: found_N, found_E
    integer :: ierr
    logical :: decode
    decode = .true.
    call scda_fread_section_header(f, found_type, found_N, found_E, found_userstr, decode, ierr)
    call require(ierr == 0 .and. found_type == type .and. found_N == N .and. found_E == E .and. found_userstr == userstr, &
      & "header of " // userstr)
  end subroutine next

  ! ---- The file of hello.c -----------------------------------------------------------------------------------------------

  subroutine hello(filename)
    character(*), intent(in) :: filename
    character(32), parameter :: planets(3) = [character(32) :: &
      & "Venus       0.723 au   0.615 yr" // new_line("a"), &
      & "Earth       1.000 au   1.000 yr" // new_line("a"), &
      & "Mars        1.524 au   1.881 yr" // new_line("a")]
    character(*), parameter :: moons = "Moon" // new_line("a") // "Phobos, Deimos" // new_line("a")
    character(*), parameter :: echo = repeat("hello ", 9) // "hello" // new_line("a")
    integer, parameter :: bytes(3) = [0, 5, 15]
    integer :: Nq(ranks), first, last, from, q
    type(scda_params_t) :: params
    type(scda_fcontext_t) :: f
    Nq = [((3 * q) / ranks - (3 * (q - 1)) / ranks, q = 1, ranks)]
    first = sum(Nq(:rank)) + 1
    last = first + Nq(rank + 1) - 1
    from = sum(bytes(:first - 1)) + 1
    call scda_params_init(params)
    params%seal = 1
    call scda_fopen_write(f, comm, filename, "hello.c: planets", params=params)
    call scda_fwrite_inline(f, "greeting", "libscda says hello to the world" // new_line("a"), 0)
    call scda_fwrite_block(f, "echo", echo, len(echo), 0, SCDA_ENCODE_ALWAYS)
    call scda_fwrite_array(f, "semi-major axis, period", planets(first:last), Nq, 32, SCDA_ENCODE_NONE)
    call scda_fwrite_varray(f, "moons", moons(from:), Nq, bytes(first:last), SCDA_ENCODE_NONE)
    call scda_fclose(f)
  end subroutine hello

  ! ---- Data ----------------------------------------------------------------------------------------------------------------

  subroutine data_of_every_form(filename)
    character(*), intent(in) :: filename
    integer, parameter :: n = 4
    real(real64) :: matrix(n, n), found(n, n), scalar
    real(real64), allocatable :: unallocated(:), allocated(:)
    real(real64), pointer :: pointed(:, :)
    real(real64), allocatable, target :: parts(:)
    complex(real64) :: z(2), found_z(2)
    logical :: flags(3), found_flags(3)
    character(5) :: words(2), found_words(2)
    character(7) :: word
    type(sequenced) :: pair(2), found_pair(2)
    type(interoperable) :: whole, found_whole
    type(c_ptr) :: pointers(n)
    integer(int64) :: sizes(n), Sq(ranks)
    integer :: i, ierr
    type(scda_fcontext_t) :: f

    matrix = reshape([(real(100 * rank + i, real64), i = 1, n * n)], [n, n])
    z = [(1d0, 2d0), (3d0, 4d0)]
    flags = [.true., .false., .true.]
    words = ["alpha", "omega"]
    pair = [sequenced(1, 2), sequenced(3, 4)]
    whole = interoperable(2.5d0, 7, 8)
    allocate(parts(n), source=[(real(i, real64), i = 1, n)])
    do i = 1, n
      pointers(i) = c_loc(parts(n + 1 - i)) ! backwards
    end do
    allocate(pointed(n, n), source=matrix)
    allocate(unallocated(1)) ! or gfortran warns
    deallocate(unallocated)

    call scda_fopen_write(f, comm, filename, "forms", ierr)
    call require(ierr == 0, "open")
    call scda_fwrite_array(f, "matrix", matrix, each(n), 8 * n, SCDA_ENCODE_NONE, ierr)
    call scda_fwrite_array(f, "row", matrix(2, :), each(n), 8, SCDA_ENCODE_NONE, ierr)
    call scda_fwrite_array(f, "backwards", pointed(n:1:-1, 3), each(n), 8, SCDA_ENCODE_NONE, ierr)
    call scda_fwrite_array(f, "expression", 2 * matrix(:, 1), each(n), 8, SCDA_ENCODE_NONE, ierr)
    call scda_fwrite_array(f, "complex", z, each(2), 16, SCDA_ENCODE_ALWAYS, ierr)
    call scda_fwrite_array(f, "logical", flags, each(3), storage_size(flags) / 8, SCDA_ENCODE_NONE, ierr)
    call scda_fwrite_array(f, "words", words, each(2), len(words), SCDA_ENCODE_NONE, ierr)
    call scda_fwrite_array(f, "sequence", pair, each(2), storage_size(pair) / 8, SCDA_ENCODE_NONE, ierr)
    call scda_fwrite_array(f, "bind(C)", whole, each(1), c_sizeof(whole), SCDA_ENCODE_NONE, ierr)
    call scda_fwrite_array(f, "none", unallocated, each(0), 8, SCDA_ENCODE_NONE, ierr)
    call scda_fwrite_array(f, "none", matrix(:, 1:0), each(0), 8, SCDA_ENCODE_NONE, ierr)
    call scda_fwrite_array(f, "indirect", pointers, each(n), 8, SCDA_ENCODE_NONE, ierr, indirect=.true.)
    call assumed_size(f, matrix, n)
    sizes = [(8 * i, i = 0, n - 1)]
    call scda_proc_sizes(f, sizes, each(n), Sq, ierr)
    call require(ierr == 0 .and. all(Sq == sum(sizes)), "proc_sizes")
    call scda_fwrite_varray(f, "varray", matrix, each(n), sizes, SCDA_ENCODE_NONE, ierr, Sq=Sq)
    call scda_fwrite_varray(f, "every second", matrix, each(n / 2), sizes(1:n:2), SCDA_ENCODE_NONE, ierr)
    call scda_fwrite_varray(f, "indirect", pointers, each(n), [(8, i = 1, n)], SCDA_ENCODE_ALWAYS, ierr, indirect=.true.)
    if (rank == 0) then
      call scda_fwrite_block(f, "scalar", 42d0, 8, 0, SCDA_ENCODE_NONE, ierr)
    else ! of no interest there
      call scda_fwrite_block(f, "scalar", E=8, root=0, encode=SCDA_ENCODE_NONE, ierr=ierr)
    end if
    call scda_fwrite_block(f, "word", "a  word", 7, ranks - 1, SCDA_ENCODE_AUTO, ierr)
    call scda_fwrite_inline(f, "inline", [1d0, 2d0, 3d0, 4d0], ranks - 1, ierr)
    call require(ierr == 0, "write")
    call scda_fflush(f, ierr)
    call require(ierr == 0, "flush")
    call scda_fclose(f, ierr)
    call require(ierr == 0, "close")

    call scda_fopen_read(f, comm, filename, ierr=ierr)
    call next(f, 'A', n * ranks, 8 * n, "matrix")
    found = 0
    call scda_fread_array_data(f, found(n:1:-1, :), each(n), 8 * n, ierr) ! not contiguous: copied in and out
    call require(ierr == 0 .and. equal(found(n:1:-1, :), matrix), "matrix")
    call next(f, 'A', n * ranks, 8, "row")
    found = -1
    call scda_fread_array_data(f, found(3, :), each(n), 8, ierr)
    call require(ierr == 0 .and. equal(found(3:3, :), matrix(2:2, :)), "row")
    call require(count(found < 0) == n * n - n, "nothing but the row")
    call next(f, 'A', n * ranks, 8, "backwards")
    allocate(allocated(n))
    call scda_fread_array_data(f, allocated, each(n), 8, ierr)
    call require(ierr == 0 .and. equal(reshape(allocated, [n, 1]), matrix(n:1:-1, 3:3)), "backwards")
    call next(f, 'A', n * ranks, 8, "expression")
    pointed = 0
    call scda_fread_array_data(f, pointed(1, :), each(n), 8, ierr)
    call require(ierr == 0 .and. equal(pointed(1:1, :), transpose(2 * matrix(:, 1:1))), "expression")
    call next(f, 'A', 2 * ranks, 16, "complex")
    call scda_fread_array_data(f, found_z, each(2), 16, ierr)
    call require(ierr == 0 .and. .not. any(abs(found_z - z) > 0), "complex")
    call next(f, 'A', 3 * ranks, storage_size(flags) / 8, "logical")
    call scda_fread_array_data(f, found_flags, each(3), storage_size(flags) / 8, ierr)
    call require(ierr == 0 .and. all(found_flags .eqv. flags), "logical")
    call next(f, 'A', 2 * ranks, len(words), "words")
    call scda_fread_array_data(f, found_words, each(2), len(words), ierr)
    call require(ierr == 0 .and. all(found_words == words), "words")
    call next(f, 'A', 2 * ranks, storage_size(pair) / 8, "sequence")
    call scda_fread_array_data(f, found_pair, each(2), storage_size(pair) / 8, ierr)
    call require(ierr == 0 .and. all(found_pair%a == pair%a) .and. all(found_pair%b == pair%b), "sequence")
    call next(f, 'A', ranks, int(c_sizeof(whole)), "bind(C)")
    call scda_fread_array_data(f, found_whole, each(1), c_sizeof(whole), ierr)
    call require(ierr == 0 .and. found_whole%i == 7 .and. found_whole%j == 8 .and. .not. abs(found_whole%x - 2.5d0) > 0, &
      & "bind(C)")
    do i = 1, 2
      call next(f, 'A', 0, 8, "none")
      call scda_fread_array_data(f, unallocated, each(0), 8, ierr)
      call require(ierr == 0, "none")
    end do
    call next(f, 'A', n * ranks, 8, "indirect")
    parts = 0
    pointers(2) = c_null_ptr ! skips this element
    call scda_fread_array_data(f, pointers, each(n), 8, ierr, indirect=.true.)
    call require(ierr == 0 .and. all(nint(parts) == [(merge(0, i, i == n - 1), i = 1, n)]), "indirect")
    pointers(2) = c_loc(parts(n - 1))
    call next(f, 'A', n * n * ranks, 8, "assumed size")
    call scda_fread_array_data(f, Nq=each(n * n), E=8, ierr=ierr) ! absent: skipped
    call require(ierr == 0, "skipped")
    call next(f, 'V', n * ranks, 0, "varray")
    sizes = -1
    call scda_fread_varray_sizes(f, sizes, each(n), ierr)
    call require(ierr == 0 .and. all(sizes == [(8 * i, i = 0, n - 1)]), "sizes")
    found = -1
    call scda_fread_varray_data(f, found, each(n), sizes, ierr, Sq=Sq)
    call require(ierr == 0 .and. count(found < 0) == n * n - 6, "varray: nothing more")
    call require(equal(reshape(found, [6, 1], [0d0]), reshape(matrix, [6, 1], [0d0])), "varray")
    call next(f, 'V', n / 2 * ranks, 0, "every second")
    sizes = -1
    call scda_fread_varray_sizes(f, sizes(1:n:2), each(n / 2), ierr)
    call require(ierr == 0 .and. all(sizes == [0, -1, 16, -1]), "sizes, not contiguous")
    call scda_fread_varray_data(f, unallocated, each(n / 2), sizes(1:n:2), ierr)
    call require(ierr == 0, "every second")
    call next(f, 'V', n * ranks, 0, "indirect")
    call scda_fread_varray_sizes(f, Nq=each(n), ierr=ierr) ! skipped: they are known
    sizes = 8
    parts = 0
    call scda_fread_varray_data(f, pointers, each(n), sizes, ierr, indirect=.true.)
    call require(ierr == 0 .and. all(nint(parts) == [(i, i = 1, n)]), "varray, indirect")
    call next(f, 'B', 0, 8, "scalar")
    scalar = 0
    call scda_fread_block_data(f, scalar, 8, 0, ierr)
    call require(ierr == 0 .and. (rank > 0 .or. .not. abs(scalar - 42) > 0), "scalar")
    call next(f, 'B', 0, 7, "word")
    word = ""
    call scda_fread_block_data(f, word, 7, ranks - 1, ierr)
    call require(ierr == 0 .and. (rank < ranks - 1 .or. word == "a  word"), "word")
    call next(f, 'I', 0, 0, "inline")
    call require(.not. at_end(f), "feof")
    call scda_fread_inline_data(f, allocated, ranks - 1, ierr)
    call require(ierr == 0 .and. (rank < ranks - 1 .or. all(nint(allocated) == [1, 2, 3, 4])), "inline")
    call require(at_end(f), "feof at the end")
    call scda_fclose(f, ierr)
    call require(ierr == 0, "close")
    deallocate(pointed)
  end subroutine data_of_every_form

  ! Data whose extent the compiler does not know.
  subroutine assumed_size(f, x, n)
    type(scda_fcontext_t), intent(inout) :: f
    integer, intent(in) :: n
    real(real64), intent(in) :: x(n, *)
    integer :: ierr
    call scda_fwrite_array(f, "assumed size", x, each(n * n), 8, SCDA_ENCODE_NONE, ierr)
    call require(ierr == 0, "assumed size")
  end subroutine assumed_size

  function equal(a, b)
    real(real64), intent(in) :: a(:, :), b(:, :)
    logical :: equal
    equal = all(shape(a) == shape(b))
    if (equal) equal = .not. any(abs(a - b) > 0)
  end function equal

  ! ---- Arguments that may be left out ------------------------------------------------------------------------------------

  subroutine what_may_be_left_out(filename)
    character(*), intent(in) :: filename
    integer, parameter :: n = 3
    real(real64) :: state(5, n), found(5, n), list(n), scalar, none(5, 0)
    integer(int64) :: Nq8(ranks), elements, bytes
    integer(int32) :: Nq4(ranks), step
    character(:), allocatable :: parameters
    character(SCDA_USER_STRING_BYTES) :: userstr
    character :: type
    integer :: i, ierr
    type(scda_fcontext_t) :: f
    state = reshape([(real(i + rank, real64), i = 1, 5 * n)], [5, n])
    list = state(1, :)
    parameters = repeat("p", merge(17, 0, rank == ranks - 1))

    call scda_fopen_write(f, comm, filename, "shorter", ierr)
    call scda_proc_counts(f, n, Nq4, ierr)
    call require(ierr == 0 .and. all(Nq4 == n), "proc_counts of int32")
    call scda_proc_counts(f, int(rank, int64), Nq8, ierr)
    call require(ierr == 0 .and. all(Nq8 == [(i, i = 0, ranks - 1)]), "proc_counts of int64")
    call scda_fwrite_inline(f, "time", repeat("t", 32))
    call scda_fwrite_block(f, "step", 42)
    call scda_fwrite_block(f, "parameters", parameters, root=ranks - 1, encode=SCDA_ENCODE_ALWAYS, ierr=ierr)
    call require(ierr == 0, "a block of root")
    call scda_fwrite_block(f, "empty", "", ierr=ierr)
    call scda_fwrite_array(f, "state", state, Nq4)
    call scda_fwrite_array(f, "list", list, Nq4, encode=SCDA_ENCODE_AUTO, ierr=ierr)
    if (rank == 0) then
      call scda_fwrite_array(f, "not on all", none, Nq8, ierr=ierr)
    else
      call scda_fwrite_array(f, "not on all", reshape([(real(rank, real64), i = 1, 5 * rank)], [5, rank]), Nq8, ierr=ierr)
    end if
    call scda_fwrite_array(f, "none", E=8, Nq=each(0), ierr=ierr)
    call scda_fwrite_varray(f, "varray", list, Nq4, [8, 0, 16])
    call scda_fclose(f, ierr)
    call require(ierr == 0, "close")

    call scda_fopen_read(f, comm, filename)
    call scda_fread_section_header(f, type, elements, bytes, userstr)
    call scda_fread_inline_data(f)
    call next(f, 'B', 0, 4, "step")
    step = 0
    call scda_fread_block_data(f, step)
    call require(step == merge(42, 0, rank == 0), "step")
    call scda_fread_section_header(f, type, elements, bytes, userstr) ! decodes
    call require(bytes == 17, "size of parameters")
    parameters = repeat(" ", 17)
    call scda_fread_block_data(f, parameters, root=ranks - 1)
    call require(rank < ranks - 1 .or. parameters == repeat("p", 17), "parameters")
    call next(f, 'B', 0, 0, "empty")
    call scda_fread_block_data(f, parameters(1:0))
    call next(f, 'A', n * ranks, 40, "state")
    call scda_fread_array_data(f, found, Nq4)
    call require(equal(found, state), "state")
    call next(f, 'A', n * ranks, 8, "list")
    scalar = 0
    call scda_fread_array_data(f, found(2, :), Nq4)
    call require(equal(found(2:2, :), state(1:1, :)), "list")
    call next(f, 'A', ranks * (ranks - 1) / 2, 40, "not on all")
    call scda_fread_array_data(f, Nq=Nq8) ! skipped
    call next(f, 'A', 0, 8, "none")
    call scda_fread_array_data(f, none, each(0), 8)
    call scda_fclose(f, ierr)
    call require(ierr == 0, "read")
  end subroutine what_may_be_left_out

  ! ---- Lengths -----------------------------------------------------------------------------------------------------------

  ! No byte is written that is not of the data, and none is read into what does not belong to them. The error is the same on
  ! all ranks, and says what was found on the one that is wrong.
  subroutine lengths(filename)
    character(*), intent(in) :: filename
    character(*), parameter :: named = "named constant"
    character(40) :: text
    character(:), allocatable :: deferred
    real(real64) :: x(10), matrix(5, 2), long(20)
    integer, parameter :: eights(10) = 8
    integer :: i, k, ierr, mine, Nq(ranks)
    logical :: is_open
    type(scda_fcontext_t) :: f
    type(c_ptr) :: pointers(2)
    type(cell) :: cells(10)
    complex(real64) :: z(4)
    character(3) :: words(3)
    character(*), parameter :: pieces = "an argument is not contiguous"
    x = 1
    cells = cell(1, 2, 8)
    z = (1, 2)
    words = "abc"
    matrix = 1
    text = "step 42"
    deferred = "of no fixed length"
    Nq = 0
    Nq(ranks) = 10
    mine = Nq(rank + 1)
    long = 0
    pointers = c_null_ptr
    do i = 1, 34
      call start(f, filename, "w")
      select case (i)
      case (1)
        call scda_fwrite_inline(f, "step", "step 42", ranks - 1, ierr=ierr)
        call refused(ierr, "data: found 7 bytes, expected 32")
      case (2)
        call scda_fwrite_inline(f, "named", named, ranks - 1, ierr=ierr)
        call refused(ierr, "data: found 14 bytes, expected 32")
      case (3)
        call scda_fwrite_inline(f, "part", text(3:33), ranks - 1, ierr=ierr)
        call refused(ierr, "data: found 31 bytes, expected 32")
      case (4)
        call scda_fwrite_inline(f, "expression", trim(text) // "!", ranks - 1, ierr=ierr)
        call refused(ierr, "data: found 8 bytes, expected 32")
      case (5)
        call scda_fwrite_inline(f, "deferred", deferred, ranks - 1, ierr=ierr)
        call refused(ierr, "data: found 18 bytes, expected 32")
      case (6)
        call scda_fwrite_inline(f, "reals", x(1:3), ranks - 1, ierr=ierr)
        call refused(ierr, "data: found 24 bytes, expected 32")
      case (7)
        call scda_fwrite_inline(f, "absent", root=ranks - 1, ierr=ierr)
        call refused(ierr, "data: found 0 bytes, expected 32")
      case (8)
        call scda_fwrite_block(f, "block", x, 81, ranks - 1, ierr=ierr)
        call refused(ierr, "data: found 80 bytes, expected 81")
      case (9)
        call scda_fwrite_block(f, "block", x, 0, ranks - 1, ierr=ierr)
        call refused(ierr, "E: found 0, expected the size of an element, because there are data")
      case (10)
        call scda_fwrite_block(f, "block", root=ranks - 1, ierr=ierr)
        call refused(ierr, "data are missing on root")
      case (11)
        call scda_fwrite_array(f, "array", x, 100 * Nq, 8, ierr=ierr)
        call refused(ierr, "data: found 80 bytes, expected 1000 elements of 8 bytes")
      case (12)
        call scda_fwrite_array(f, "array", x(1:mine - 1), Nq, ierr=ierr)
        call refused(ierr, "data: found 9 elements of 8 bytes, expected 10, as Nq says for this rank; or pass E")
      case (13)
        call scda_fwrite_array(f, "array", matrix(:, 1:mine / 5), Nq, ierr=ierr)
        call refused(ierr, "data: found 2 elements of 40 bytes, expected 10, as Nq says for this rank; or pass E")
      case (14)
        call scda_fwrite_array(f, "array", x, Nq, SCDA_ENCODE_AUTO, ierr=ierr) ! in the place of E
        call refused(ierr, "E: found 2, expected a multiple of 8, the bytes of an element of data", .true.)
      case (15)
        call scda_fwrite_array(f, "array", Nq=Nq, ierr=ierr)
        call refused(ierr, "E is missing, and this rank has no data that give it", .true.)
      case (16)
        call scda_fwrite_array(f, "array", x, Nq(:ranks - 1), 8, ierr=ierr)
        call refused(ierr, "Nq: found " // decimal(ranks - 1) // " entries, expected " // decimal(ranks) // ", one per rank", &
          & .true.)
      case (17)
        call scda_fwrite_array(f, "array", x, Nq, [8, 8], ierr=ierr)
        call refused(ierr, "E: expected one integer", .true.)
      case (18)
        call scda_fwrite_array(f, "array", pointers, Nq, 8, ierr=ierr, indirect=.true.)
        call refused(ierr, "data: found 2 pointers, expected 10, one per element of this rank")
      case (19)
        call scda_fwrite_varray(f, "varray", x(1:2), Nq, eights, ierr=ierr)
        call refused(ierr, "data: found 0 of 16 bytes left for element 2 of this rank, expected 8")
      case (20)
        call scda_fwrite_varray(f, "varray", x, Nq, [8], ierr=ierr)
        call refused(ierr, "Ei: found 1 entries, expected 10, one per element of this rank")
      case (21)
        call scda_fwrite_inline(f, "four", x(1:4), 0, ierr=ierr, len=5)
        call refused(ierr, "len: found 5, expected at most 4, the length of userstr", .true.)
      case (22)
        call scda_proc_counts(f, 1, Nq(:ranks - 1), ierr)
        call refused(ierr, "Nq: found " // decimal(ranks - 1) // " entries", .true.)
      case (23)
        call scda_fwrite_array(f, "array", cells%x, each(10), ierr=ierr)
        call refused(ierr, pieces, .true.)
      case (24)
        call scda_fwrite_array(f, "array", cells(1:mine:10)%y, Nq / 10, ierr=ierr)
        call require(ierr == 0, "a component of a copy")
      case (25)
        call scda_fwrite_array(f, "array", matrix(2:3, 2:2), each(1), ierr=ierr)
        call require(ierr == 0, "a part of one column")
      case (26)
        call scda_fwrite_inline(f, "inline", z%re, ierr=ierr)
        call refused(ierr, pieces, .true.)
      case (27)
        call scda_fwrite_block(f, "block", words(:)(2:3), ierr=ierr)
        call refused(ierr, pieces, .true.)
      case (28)
        call scda_fwrite_varray(f, "varray", x, each(10), cells%bytes, ierr=ierr)
        call refused(ierr, pieces, .true.)
      case (29)
        call scda_fwrite_varray(f, "varray", x, Nq, eights, ierr=ierr, Sq=cells%bytes)
        call refused(ierr, pieces, .true.)
      case (30)
        call scda_fwrite_array(f, "array", x, Nq, 8, ierr=ierr, indirect=1)
        call refused(ierr, "indirect: expected a logical", .true.)
      case (31)
        call scda_fwrite_array(f, "array", x, Nq, 8, ierr=ierr, indirect=[.false., .true.])
        call refused(ierr, "indirect: expected a logical", .true.)
      case (32)
        call scda_fwrite_streams_begin(f, "log")
        call scda_stream_write(f, cells%x, ierr)
        call require(ierr == SCDA_ERR_ARG, "a component for a stream")
        call scda_fwrite_streams_end(f, ierr)
        call refused(ierr, pieces, .true.)
      case (33)
        call scda_fwrite_array(f, "array", transpose(reshape(x, [2, 5])), each(10), 8, ierr=ierr)
        call refused(ierr, pieces, .true.)
      case (34)
        call write_any_rank(f, matrix(1:4, :), .false., ierr)
        if (ierr /= 0) call refused(ierr, pieces, .true.) ! gfortran 16 copies it
        is_open = ierr == 0
      end select
      if (i == 24 .or. i == 25 .or. (i == 34 .and. is_open)) call scda_fclose(f)
    end do

    call scda_fopen_write(f, comm, filename, "to be read")
    call scda_fwrite_block(f, "block", x, root=ranks - 1)
    call scda_fwrite_array(f, "array", x, Nq, 8)
    call scda_fclose(f)
    do i = 1, 11
      call start(f, filename, "r")
      call next(f, 'B', 0, 80, "block")
      x = 0
      select case (i)
      case (1)
        call scda_fread_block_data(f, x(1:9), 80, ranks - 1, ierr)
        call refused(ierr, "data: found 72 bytes, expected 80")
      case (2)
        call scda_fread_block_data(f, text, root=ranks - 1, ierr=ierr)
        call refused(ierr, "data: found 40 bytes, expected 80")
      end select
      if (i < 3) cycle
      call scda_fread_block_data(f)
      call next(f, 'A', 10, 8, "array")
      select case (i)
      case (3)
        call scda_fread_array_data(f, x(1:10:2), Nq, 8, ierr)
        call refused(ierr, "data: found 40 bytes, expected 10 elements of 8 bytes")
      case (4)
        call scda_fread_array_data(f, matrix(1:mine / 2, 1), Nq, ierr=ierr)
        call refused(ierr, "data: found 40 bytes, expected 10 elements of 8 bytes")
      case (5)
        call scda_fread_array_data(f, long(1:2 * mine), Nq, ierr=ierr)
        call refused(ierr, "data: found 160 bytes, expected 10 elements of 8 bytes; or pass E")
      case (6)
        call scda_fread_array_data(f, pointers(1:0), Nq, 8, ierr, indirect=.true.)
        call refused(ierr, "data: found 0 pointers, expected 10, one per element of this rank")
      case (7)
        call scda_fread_array_data(f, cells%x, Nq, 8, ierr)
        call refused(ierr, pieces, .true.)
      case (8)
        call scda_fread_array_range(f, cells%x, 0, mine, ierr=ierr)
        call refused(ierr, pieces, .true.)
      case (9)
        call scda_fread_array_range(f, x(:mine), cells%bytes, mine, ierr=ierr)
        call refused(ierr, pieces, .true.)
      case (10)
        call read_any_rank(f, x(1:10:2), ierr)
        if (ierr /= 0) call refused(ierr, pieces, .true.) ! gfortran 16 copies them
        if (ierr == 0) call require(all(nint(x) == [(1, 0, k = 1, 5)]), "part of an array of any rank")
        if (ierr == 0) x = 0
      case (11)
        call scda_fread_array_range(f, x(:1), i - 10, 1, 8, ierr)
        if (ierr /= 0) call refused(ierr, "an argument is a scalar expression", .true.) ! gfortran 16
        if (ierr == 0) call require(nint(x(1)) == 1, "an expression as the first element")
        x = 0
      end select
      call require(all(nint(cells%x) == 1) .and. all(nint(cells%y) == 2) .and. all(cells%bytes == 8), "no component is read")
      call require(.not. any(abs(x) > 0), "nothing is read")
    end do
  end subroutine lengths

  ! 8 numbers of each rank, in a dummy argument of any rank.
  subroutine write_any_rank(f, x, as_expression, ierr)
    type(scda_fcontext_t), intent(inout) :: f
    real(real64), intent(in) :: x(..)
    logical, intent(in) :: as_expression
    integer, intent(out) :: ierr
    ierr = -1
    select rank (x)
    rank (2)
      if (as_expression) then
        call scda_fwrite_array(f, "any rank", (x), each(8), 8, ierr=ierr)
      else
        call scda_fwrite_array(f, "any rank", x, each(8), 8, ierr=ierr)
      end if
    end select
  end subroutine write_any_rank

  subroutine read_any_rank(f, x, ierr)
    type(scda_fcontext_t), intent(inout) :: f
    real(real64), intent(inout) :: x(..)
    integer, intent(out) :: ierr
    ierr = -1
    select rank (x)
    rank (1)
      call scda_fread_array_range(f, x, 0, 5, ierr=ierr)
    end select
  end subroutine read_any_rank

  ! As the message says, an expression is right where components are refused; and so are sections of whole elements, and both kinds of
  ! logicals.
  subroutine copies_of_components(filename)
    character(*), intent(in) :: filename
    type(scda_fcontext_t) :: f
    type(cell) :: cells(3)
    real(real64) :: found(3)
    real(real64), target :: numbers(3), again(3)
    type(c_ptr) :: pointers(3)
    character(2) :: words(3)
    character(3) :: longer(3) = ["abc", "def", "ghi"]
    integer(int64) :: first, count(1)
    logical(c_bool) :: flags(8)
    real(real64), target :: table(3, 3)
    real(real64), pointer :: row(:)
    real(real64) :: eight(8), large(5, 2)
    integer :: i, ierr
    large = reshape([(i, i = 1, 10)], [5, 2])
    table = reshape([(i, i = 1, 9)], [3, 3])
    row => table(2, :)
    cells = [(cell(i, 10 * i, 8), i = 1, 3)]
    numbers = cells%x
    pointers = [(c_loc(numbers(i)), i = 1, 3)]
    flags = .true.
    flags(1) = .false.
    count = 3
    found = 0
    call scda_fopen_write(f, comm, filename, "copies of components")
    call scda_fwrite_array(f, "array", (cells%y), each(3))
    call scda_fwrite_block(f, "block", (longer(:)(2:3)))
    call scda_fwrite_varray(f, "varray", numbers, each(3), (cells%bytes))
    call scda_fwrite_array(f, "some", cells([1, 3]), each(2))
    call scda_fwrite_array(f, "direct", numbers, each(3), 8, indirect=flags(1))
    call scda_fwrite_array(f, "indirect", pointers, each(3), 8, indirect=flags(2))
    call scda_fwrite_array(f, "one", cells(2)%y, each(1), indirect=.false.)
    call scda_fwrite_array(f, "column", table(2:3, 2:2), each(1))
    call scda_fwrite_array(f, "pointed to", row(2:2), each(1))
    call scda_fwrite_array(f, "transposed", (transpose(reshape(large(2:5, :), [4, 2]))), each(8), 8)
    call write_any_rank(f, large(2:5, :), .true., ierr)
    call require(ierr == 0, "a copy of an argument of any rank")
    call scda_fclose(f)
    call scda_fopen_read(f, comm, filename)
    call next(f, 'A', 3 * ranks, 8, "array")
    call scda_fread_array_data(f, found, each(3))
    call require(all(nint(found) == [10, 20, 30]), "a copy of a component")
    call next(f, 'B', 0, 6, "block")
    words = ""
    call scda_fread_block_data(f, words)
    call require(rank > 0 .or. all(words == ["bc", "ef", "hi"]), "a copy of substrings")
    call next(f, 'V', 3 * ranks, 0, "varray")
    cells%bytes = 0
    call scda_fread_varray_sizes(f, cells%bytes, each(3)) ! the compiler copies these
    call scda_fread_varray_data(f, found, each(3), (cells%bytes))
    call require(all(nint(found) == [1, 2, 3]) .and. all(cells%bytes == 8), "elements whose bytes are a copy of a component")
    call next(f, 'A', 2 * ranks, 24, "some")
    call scda_fread_array_data(f, cells(:2), each(2))
    call require(all(nint(cells%y) == [10, 30, 30]), "some of the structs")
    call next(f, 'A', 3 * ranks, 8, "direct")
    call scda_fread_array_data(f, found, each(3), indirect=flags(1))
    call require(all(nint(found) == [1, 2, 3]), "not indirect, in C_BOOL")
    call next(f, 'A', 3 * ranks, 8, "indirect")
    pointers = [(c_loc(again(i)), i = 1, 3)]
    again = 0
    first = 3 * rank
    call scda_fread_array_range(f, pointers, first, count, indirect=flags(2))
    call require(all(nint(again) == [1, 2, 3]), "indirect, in C_BOOL")
    call next(f, 'A', ranks, 8, "one")
    call scda_fread_array_data(f, found(1), each(1))
    call require(nint(found(1)) == 20, "a component of one struct")
    call next(f, 'A', ranks, 16, "column")
    call scda_fread_array_data(f, table(1:2, 3:3), each(1))
    call require(all(nint(table(:, 3)) == [5, 6, 9]), "a part of one column")
    call next(f, 'A', ranks, 8, "pointed to")
    row => table(1, :)
    call scda_fread_array_data(f, row(1:1), each(1))
    call require(nint(table(1, 1)) == 5, "an element of a row")
    call next(f, 'A', 8 * ranks, 8, "transposed")
    call scda_fread_array_data(f, eight, each(8), 8)
    call require(all(nint(eight) == [2, 7, 3, 8, 4, 9, 5, 10]), "a copy of a transpose")
    call next(f, 'A', 8 * ranks, 8, "any rank")
    call scda_fread_array_data(f, eight, each(8), 8)
    call require(all(nint(eight) == [2, 3, 4, 5, 7, 8, 9, 10]), "a copy of an argument of any rank")
    call scda_fclose(f)
  end subroutine copies_of_components

  ! On all ranks alike, or the words are those of the last one.
  subroutine refused(ierr, words, by_all)
    integer, intent(in) :: ierr
    character(*), intent(in) :: words
    logical, intent(in), optional :: by_all
    character(:), allocatable :: expected
    expected = ": "
    if (ranks > 1 .and. .not. present(by_all)) expected = ": rank " // decimal(ranks - 1) // ": "
    call require(ierr == SCDA_ERR_ARG .and. index(scda_last_error_message(), expected // words) > 0, words)
  end subroutine refused

  function decimal(n) result(text)
    integer, intent(in) :: n
    character(:), allocatable :: text
    character(20) :: buffer
    write (buffer, '(i0)') n
    text = trim(buffer)
  end function decimal

  subroutine start(f, filename, mode)
    type(scda_fcontext_t), intent(out) :: f
    character(*), intent(in) :: filename, mode
    type(scda_params_t) :: params
    call scda_params_init(params)
    params%check = 1
    if (mode == "r") then
      call scda_fopen_read(f, comm, filename, params=params)
    else
      call scda_fopen_write(f, comm, filename, "lengths", params=params)
    end if
  end subroutine start

  ! ---- Counts and sizes of either kind -----------------------------------------------------------------------------------

  subroutine kinds_of_counts(filename)
    character(*), intent(in) :: filename
    integer(int64) :: x(3), found(3), Nq8(ranks), Ei8(3), sizes(3), Sq(ranks)
    integer(int32) :: Nq4(ranks), Ei4(3)
    integer :: i, ierr
    type(scda_fcontext_t) :: f
    x = [1, 2, 3]
    Nq4 = 3
    Nq8 = 3
    Ei4 = 8
    Ei8 = 8
    call scda_fopen_write(f, comm, filename, "kinds")
    call scda_fwrite_array(f, "44", x, Nq4, 8_int32, SCDA_ENCODE_NONE)
    call scda_fwrite_array(f, "48", x, Nq4, 8_int64, SCDA_ENCODE_NONE)
    call scda_fwrite_array(f, "84", x, Nq8, 8_int32, SCDA_ENCODE_NONE)
    call scda_fwrite_array(f, "88", x, Nq8, 8_int64, SCDA_ENCODE_NONE)
    call scda_fwrite_varray(f, "44", x, Nq4, Ei4, SCDA_ENCODE_NONE)
    call scda_fwrite_varray(f, "48", x, Nq4, Ei8, SCDA_ENCODE_NONE)
    call scda_fwrite_varray(f, "84", x, Nq8, Ei4, SCDA_ENCODE_NONE)
    call scda_fwrite_varray(f, "88", x, Nq8, Ei8, SCDA_ENCODE_NONE)
    call scda_fwrite_block(f, "4", x, 24_int32, 0, SCDA_ENCODE_NONE)
    call scda_fwrite_block(f, "8", x, 24_int64, 0, SCDA_ENCODE_NONE)
    call scda_proc_sizes(f, Ei4, Nq4, Sq)
    call scda_proc_sizes(f, Ei4, Nq8, Sq)
    call scda_proc_sizes(f, Ei8, Nq4, Sq)
    call scda_proc_sizes(f, Ei8, Nq8, Sq)
    call require(all(Sq == 24), "proc_sizes")
    call scda_fclose(f)
    call scda_fopen_read(f, comm, filename)
    do i = 1, 4
      call next(f, 'A', 3 * ranks, 8, merge("4", "8", i < 3) // merge("4", "8", mod(i, 2) == 1))
      found = 0
      if (i == 1) call scda_fread_array_data(f, found, Nq4, 8_int32, ierr)
      if (i == 2) call scda_fread_array_data(f, found, Nq4, 8_int64, ierr)
      if (i == 3) call scda_fread_array_data(f, found, Nq8, 8_int32, ierr)
      if (i == 4) call scda_fread_array_data(f, found, Nq8, 8_int64, ierr)
      call require(ierr == 0 .and. all(found == x), "array")
    end do
    do i = 1, 4
      call next(f, 'V', 3 * ranks, 0, merge("4", "8", i < 3) // merge("4", "8", mod(i, 2) == 1))
      found = 0
      if (i < 3) call scda_fread_varray_sizes(f, sizes, Nq4)
      if (i >= 3) call scda_fread_varray_sizes(f, sizes, Nq8)
      if (i < 3) call scda_fread_varray_data(f, found, Nq4, sizes)
      if (i >= 3) call scda_fread_varray_data(f, found, Nq8, sizes)
      call require(all(sizes == 8) .and. all(found == x), "varray")
    end do
    call next(f, 'B', 0, 24, "4")
    call scda_fread_block_data(f, found, 24_int32, 0)
    call next(f, 'B', 0, 24, "8")
    call scda_fread_block_data(f, found, 24_int64, 0)
    call scda_fclose(f)
  end subroutine kinds_of_counts

  ! ---- User strings ------------------------------------------------------------------------------------------------------

  subroutine user_strings(filename)
    character(*), intent(in) :: filename
    character(80) :: padded
    character(4) :: short
    character(60) :: long
    character(58) :: userstr
    character :: type
    integer :: n, ierr
    integer(int64) :: elements, bytes
    logical :: decode
    type(scda_fcontext_t) :: f
    padded = "padded"
    call scda_fopen_write(f, comm, filename // "   ", padded, ierr)
    call scda_fwrite_inline(f, "exact  ", repeat("x", 32), 0, ierr, len=7)
    call scda_fwrite_inline(f, "", repeat("x", 32), 0, ierr)
    call scda_fwrite_inline(f, " " // c_null_char // " ", repeat("x", 32), 0, ierr, len=3)
    call scda_fwrite_inline(f, repeat("s", 58), repeat("x", 32), 0, ierr)
    call scda_fclose(f, ierr)
    call require(ierr == 0, "write")

    call scda_fopen_read(f, comm, filename, long, ierr, len=n)
    call require(ierr == 0 .and. long == "padded" .and. n == 6, "of the file")
    decode = .false.
    call scda_fread_section_header(f, type, elements, bytes, short, decode, ierr, len=n)
    call require(short == "exac" .and. n == 7, "cut, but the length is told")
    call scda_fread_inline_data(f, root=0)
    call scda_fread_section_header(f, type, elements, bytes, short, decode, ierr, len=n)
    call require(short == "" .and. n == 0, "empty")
    call scda_fread_inline_data(f, root=0)
    call scda_fread_section_header(f, type, elements, bytes, short, decode, ierr, len=n)
    call require(short == " " // c_null_char .and. n == 3, "any character")
    call scda_fread_inline_data(f, root=0)
    call scda_fread_section_header(f, type, elements, bytes, userstr, decode, ierr, len=n)
    call require(userstr == repeat("s", 58) .and. n == 58, "the longest")
    call scda_fclose(f)

    call scda_fopen(f, comm, filename, "w", padded, ierr)
    call require(ierr == 0, "fopen w")
    call scda_fclose(f)
    long = ""
    call scda_fopen(f, comm, filename, "r", long, ierr, len=n)
    call require(at_end(f) .and. ierr == 0 .and. long == "padded" .and. n == 6, "fopen r")
    call scda_fclose(f)
    long = ""
    call scda_fopen(f, comm, filename, "a", long, ierr, len=n)
    call require(ierr == 0 .and. long == "padded" .and. n == 6, "fopen a")
    call scda_fclose(f)
    call scda_fopen(f, comm, filename, "x", long, ierr)
    call require(ierr == SCDA_ERR_ARG, "fopen x")
    call scda_fopen_write(f, comm, filename, repeat("s", 59), ierr)
    call require(ierr == SCDA_ERR_ARG, "too long")
  end subroutine user_strings

  ! ---- Sealed files, sections by number and by user string ----------------------------------------------------------------

  subroutine sealed(filename)
    character(*), intent(in) :: filename
    type(scda_params_t) :: params
    type(scda_fcontext_t) :: f, early
    type(scda_pending_t) :: begun
    type(scda_statistics_t) :: statistics
    character(20) :: userstr
    integer(int64) :: n, section
    type(scda_info_t) :: info
    integer :: unit, ierr, length, found(2)
    logical :: is_there
    call scda_params_init(params)
    params%seal = 1
    call require(params%to_seal == 1, "to the seal by default")
    call require(params%keep == 0 .and. params%append_after == 0, "no older files, and after all, by default")
    call scda_fopen_write(f, comm, filename, "sealed", ierr, params)
    call scda_fwrite_array(f, "state", [rank, rank], each(2))
    call scda_fcommit(f, ierr)
    call require(ierr == 0, "commit")
    call scda_fcommit_begin(f, begun, ierr)
    call require(ierr == 0, "begin to commit")
    do while (.not. scda_test(begun))
    end do
    call scda_wait(begun, ierr)
    call require(ierr == 0, "wait")
    call scda_get_statistics(f, statistics, ierr)
    call require(ierr == 0 .and. (statistics%written_bytes > 0 .or. rank > 0), "statistics")
    call scda_wait(begun, ierr)
    call require(ierr == 0, "nothing is left to wait for")
    call scda_fwrite_block(f, "note", 7)
    call scda_get_info(f, info)
    call require(info%is_writing == 1 .and. info%is_sealed == 1 .and. info%rolled_back_bytes == 0, "nothing is removed")
    call scda_fclose(f, ierr)
    call require(ierr == 0, "close")
    ! What a job leaves that was killed while it appended.
    if (rank == 0) then
      open (newunit=unit, file=filename, access="stream", form="unformatted", action="write", position="append", status="old")
      write (unit) repeat("x", 70)
      close (unit)
    end if
    call barrier()
    call scda_fopen_read(early, comm, filename, ierr=ierr)
    call scda_get_info(early, info)
    call require(info%is_sealed == 1 .and. info%unsealed_bytes == 70, "what was not committed is left out")
    call scda_frefresh(early, is_there, ierr)
    call require(ierr == 0 .and. .not. is_there, "nothing more was committed")
    call scda_fopen_append(f, comm, filename, userstr, ierr, length, params)
    call require(ierr == 0 .and. userstr == "sealed" .and. length == 6, "append")
    call require(index(scda_last_error_message(), "70") > 0, "the message says how many bytes were removed")
    call scda_get_info(f, info)
    call require(info%rolled_back_bytes == 70, "removed")
    call scda_fwrite_array(f, "state", [rank + 100, rank + 100], each(2))
    call scda_fclose_begin(f, begun, ierr)
    call require(ierr == 0, "begin to close")
    call scda_wait(begun, ierr)
    call require(ierr == 0, "close what was appended to")
    call scda_frefresh(early, is_there, ierr)
    call require(ierr == 0 .and. is_there, "more was committed")
    call scda_get_info(early, info)
    call scda_fsections(early, n, ierr)
    call require(ierr == 0 .and. n == 3 .and. info%bytes > 0 .and. info%unsealed_bytes == 0, "all of it is read")
    call scda_fclose(early)
#ifndef SCDA_TEST_SERIAL
    call scda_fopen_append(f, comm%mpi_val, filename, ierr=ierr, params=params)
    call require(ierr == 0, "append, integer communicator")
    call scda_fclose(f)
#endif
    call scda_fopen_append(f, comm, filename // ".none", ierr=ierr)
    call require(ierr == SCDA_ERR_NO_SUCH_FILE, "append to no file")
    params%seal = 0
    call scda_fopen_write(f, comm, filename // ".plain", "not sealed", params=params)
    call scda_fcommit(f, ierr)
    call require(ierr == SCDA_ERR_USAGE, "commit without seal")
    call scda_get_info(f, info)
    call require(info%is_open == 0 .and. at_end(f), "of a file that is closed")

    params%verify = 1
    call scda_fopen_read(f, comm, filename, ierr=ierr, params=params)
    call require(ierr == 0, "verify")
    call scda_fsections(f, n, ierr)
    call require(ierr == 0 .and. n == 3, "sections")
    call scda_ffind(f, "state", is_there, section, 0)
    call require(is_there .and. section == 0, "the first")
    call scda_ffind(f, "state", is_there, section)
    call require(is_there .and. section == 2, "the last, if no number is given")
    call scda_ffind(f, "state  ", is_there, section, 1, ierr)
    call require(ierr == 0 .and. is_there .and. section == 2, "the second")
    call scda_ffind(f, "state and more", is_there, section, -1, ierr, len=5)
    call require(ierr == 0 .and. is_there .and. section == 2, "the last")
    call scda_ffind(f, "state", is_there, section, 2, ierr)
    call require(ierr == 0 .and. .not. is_there .and. section == -1, "no third one")
    call scda_fseek(f, 2_int64, ierr)
    call next(f, 'A', 2 * ranks, 4, "state")
    call scda_fread_array_data(f, found, each(2))
    call require(ierr == 0 .and. all(found == rank + 100) .and. at_end(f), "the last section")
    call scda_fseek(f, 0, ierr)
    call next(f, 'A', 2 * ranks, 4, "state")
    call scda_fread_array_data(f, found, each(2))
    call require(ierr == 0 .and. all(found == rank), "the first section")
    call scda_fseek(f, 3, ierr)
    call require(ierr == SCDA_ERR_ARG, "no section 3")
    call scda_fsections(f, n, ierr)
    call require(ierr /= 0, "of a file that is closed")
    params%check = 1
    call scda_fopen_read(f, comm, filename, params=params)
    call scda_ffind(f, "state", is_there, section, ierr=ierr, len=merge(6, 5, rank == ranks - 1))
    call refused(ierr, "len: found 6, expected at most 5")
    call barrier()
    if (rank == 0) then ! in the first element of the first section
      open (newunit=unit, file=filename, access="stream", form="unformatted", action="readwrite", status="old")
      write (unit, pos=705) "x"
      close (unit)
    end if
    call barrier()
    call scda_fopen_read(f, comm, filename, ierr=ierr, params=params)
    call require(ierr == 0, "open")
    call first_header(f, ierr)
    call require(ierr == SCDA_ERR_CHECKSUM, "a byte has changed")
  end subroutine sealed

  subroutine first_header(f, ierr)
    type(scda_fcontext_t), intent(inout) :: f
    integer, intent(out) :: ierr
    character :: type
    character(SCDA_USER_STRING_BYTES) :: userstr
    integer(int64) :: elements, bytes
    call scda_fread_section_header(f, type, elements, bytes, userstr, ierr=ierr)
  end subroutine first_header

  subroutine barrier()
#ifndef SCDA_TEST_SERIAL
    call MPI_Barrier(comm)
#endif
  end subroutine barrier

  ! ---- Ranges --------------------------------------------------------------------------------------------------------------

  ! A number from 0 to n - 1, from a state that is the same on all ranks or not.
  function below(state, n) result(number)
    integer(int64), intent(inout) :: state
    integer, intent(in) :: n
    integer :: number
    state = modulo(state * 1103515245_int64 + 12345_int64, 2147483648_int64)
    number = int(modulo(state / 65536_int64, int(n, int64)))
  end function below

  ! The element k (from 0) of the arrays, and how many of its numbers that of the varrays has.
  pure function element(k) result(values)
    integer, intent(in) :: k
    integer(int64) :: values(3)
    values = [k, 2 * k, k * k]
  end function element

  pure function numbers_in(k) result(n)
    integer, intent(in) :: k
    integer :: n
    n = modulo(7 * k, 4)
  end function numbers_in

  ! Each rank reads elements at random.
  subroutine ranges(filename)
    character(*), intent(in) :: filename
    integer, parameter :: n = 300 ! elements of each rank
    integer(int64), allocatable :: array(:, :), varray(:), sizes(:)
    character(:), allocatable :: text
    type(scda_params_t) :: params
    type(scda_fcontext_t) :: f
    integer(int64) :: same, own
    integer :: turn, again, count, section, k, ierr
    allocate(array(3, n), sizes(n), varray(0))
    do k = 0, n - 1
      array(:, k + 1) = element(rank * n + k)
      sizes(k + 1) = 8 * numbers_in(rank * n + k)
      varray = [varray, array(:numbers_in(rank * n + k), k + 1)]
    end do
    text = repeat("abcdefghijklmnopqrstuvwxyz", 20)
    call scda_params_init(params)
    params%seal = 1
    call scda_fopen_write(f, comm, filename, "ranges", params=params)
    do k = SCDA_ENCODE_NONE, SCDA_ENCODE_ALWAYS
      call scda_fwrite_array(f, "array", array, each(n), encode=k)
      call scda_fwrite_varray(f, "varray", varray, each(n), sizes, k)
      call scda_fwrite_block(f, "block", text, encode=k)
    end do
    call scda_fclose(f, ierr)
    call require(ierr == 0, "write")

    call scda_fopen_read(f, comm, filename)
    same = 11
    own = 7 + 1000 * rank
    do turn = 1, 60
      section = below(same, 6)
      call scda_fseek(f, section)
      if (mod(section, 3) == 0) call next(f, 'A', n * ranks, 24, "array")
      if (mod(section, 3) == 1) call next(f, 'V', n * ranks, 0, "varray")
      if (mod(section, 3) == 2) call next(f, 'B', 0, len(text), "block")
      do again = 0, below(same, 3)
        count = merge(0, below(own, 100), below(own, 3) == 0)
        select case (mod(section, 3))
        case (0)
          call range_of_array(f, below(own, 4), below(own, n * ranks - count + 1), count)
        case (1)
          call range_of_varray(f, below(own, 4), below(own, n * ranks - count + 1), count)
        case default
          call range_of_block(f, below(own, 2), below(own, len(text) - count + 1), count, text)
        end select
      end do
    end do
    call scda_fclose(f, ierr)
    call require(ierr == 0, "close")
    call ranges_that_do_not_fit(filename, n)
  end subroutine ranges

  subroutine range_of_array(f, form, first, count)
    type(scda_fcontext_t), intent(inout) :: f
    integer, intent(in) :: form, first, count
    integer(int64), target :: found(3, count)
    integer(int64) :: wide_first, wide_count
    type(c_ptr) :: pointers(count)
    integer :: k, ierr
    wide_first = first
    wide_count = count
    found = -1
    pointers = [(c_loc(found(1, k)), k = 1, count)]
    select case (form)
    case (0) ! the size of the elements is that of the header
      call scda_fread_array_range(f, found, first, count, ierr=ierr)
    case (1)
      call scda_fread_array_range(f, found, wide_first, wide_count, 24, ierr)
    case (2)
      call scda_fread_array_range(f, pointers, first, count, 24_int64, ierr, indirect=.true.)
    case default
      call scda_fread_array_range(f, first=first, count=count, ierr=ierr)
    end select
    call require(ierr == 0 .and. (form < 3 .or. all(found == -1)), "an array")
    if (form < 3) call require(all([(all(found(:, k + 1) == element(first + k)), k = 0, count - 1)]), "range of an array")
  end subroutine range_of_array

  subroutine range_of_varray(f, form, first, count)
    type(scda_fcontext_t), intent(inout) :: f
    integer, intent(in) :: form, first, count
    integer(int64) :: sizes(count), known(count)
    integer(int64), allocatable :: expected(:)
    integer(int64), allocatable, target :: found(:)
    type(c_ptr) :: pointers(count)
    integer(int64) :: wide_first
    integer :: at, k, ierr
    wide_first = first
    sizes = -1
    known = [(8 * numbers_in(first + k), k = 0, count - 1)]
    allocate(found(sum(known) / 8), source=-1_int64)
    allocate(expected(0))
    at = 1
    do k = 1, count
      pointers(k) = c_null_ptr
      if (known(k) > 0) pointers(k) = c_loc(found(at))
      at = at + int(known(k)) / 8
      associate (values => element(first + k - 1))
        expected = [expected, values(:numbers_in(first + k - 1))]
      end associate
    end do
    if (form < 3) then
      call scda_fread_varray_sizes_range(f, sizes, first, count, ierr)
      call require(ierr == 0 .and. all(sizes == known), "sizes")
    else
      call scda_fread_varray_sizes_range(f, first=wide_first, count=count, ierr=ierr)
      call require(ierr == 0, "sizes that are skipped")
    end if
    select case (form)
    case (0)
      call scda_fread_varray_range(f, found, first, count, sizes, ierr)
    case (1)
      call scda_fread_varray_range(f, found, wide_first, count, int(sizes, int32), ierr)
    case (2)
      call scda_fread_varray_range(f, pointers, first, count, sizes, ierr, indirect=.true.)
    case default
      call scda_fread_varray_range(f, first=first, count=count, Ei=known, ierr=ierr)
      expected = -1
    end select
    call require(ierr == 0 .and. all(found == expected), "range of a varray")
  end subroutine range_of_varray

  subroutine range_of_block(f, form, first, count, text)
    type(scda_fcontext_t), intent(inout) :: f
    integer, intent(in) :: form, first, count
    character(*), intent(in) :: text
    character(count) :: found
    integer(int64) :: wide_first, wide_count
    integer :: ierr
    wide_first = first
    wide_count = count
    found = ""
    if (form == 0) then
      call scda_fread_block_range(f, first=wide_first, bytes=wide_count, ierr=ierr)
      call require(ierr == 0 .and. found == "", "a block that is skipped")
    else
      call scda_fread_block_range(f, found, first, count, ierr)
      call require(ierr == 0 .and. found == text(first + 1:first + count), "range of a block")
    end if
  end subroutine range_of_block

  ! What does not fit on one rank is an error of all.
  subroutine ranges_that_do_not_fit(filename, n)
    character(*), intent(in) :: filename
    integer, intent(in) :: n
    integer, parameter :: sections(9) = [0, 0, 0, 0, 1, 1, 1, 2, 0]
    integer(int64) :: first, found(3, 2), list(2)
    type(c_ptr) :: pointers(2)
    type(scda_params_t) :: params
    type(scda_fcontext_t) :: f
    integer :: i, k, few, ierr
    call scda_params_init(params)
    params%check = 1
    few = merge(1, 2, rank == ranks - 1)
    pointers = c_null_ptr
    do i = 1, size(sections)
      call scda_fopen_read(f, comm, filename, params=params)
      call scda_fseek(f, sections(i))
      call first_header(f, ierr)
      select case (i)
      case (1)
        call scda_fread_array_range(f, found(:, :few), 0, 2, ierr=ierr)
        call refused(ierr, "data: found 24 bytes, expected 2 elements of 24 bytes")
      case (2)
        call scda_fread_array_range(f, found, 0, few, ierr=ierr)
        call refused(ierr, "data: found 48 bytes, expected 24; or pass E")
      case (3)
        call scda_fread_array_range(f, pointers(:few), 0, 2, 24, ierr, indirect=.true.)
        call refused(ierr, "data: found 1 pointers, expected 2, one per element of this rank")
      case (4)
        first = merge(n * ranks - 1, 0, few == 1)
        call scda_fread_array_range(f, found, first, 2, 24, ierr)
        call refused(ierr, "range of elements: found")
      case (5)
        call scda_fread_varray_sizes_range(f, list(:few), 1, 2, ierr)
        call refused(ierr, "Ei: found 1 entries, expected 2, one per element of this rank")
      case (6)
        call scda_fread_varray_range(f, list(:1), 3, 2, [8, 16 - 8 * few], ierr)
        call refused(ierr, "data: found 0 of 8 bytes left for element 1 of this rank, expected 8")
      case (7)
        call scda_fread_varray_range(f, found, 3, 2, [(8 * (2 - k), k = 1, few)], ierr)
        call refused(ierr, "Ei: found 1 entries, expected 2, one per element of this rank")
      case (8)
        call scda_fread_block_range(f, found(:, :few), 0, 48, ierr)
        call refused(ierr, "data: found 24 bytes, expected 48")
      case (9)
        call scda_fread_array_range(f, found, 0, [(0, k = 1, 3 - few)], 24, ierr)
        call refused(ierr, "count: expected one integer")
      end select
    end do
  end subroutine ranges_that_do_not_fit

  ! ---- Parameters, communicators -----------------------------------------------------------------------------------------

  subroutine parameters(filename)
    character(*), intent(in) :: filename
    type(scda_params_t) :: params
    type(scda_fcontext_t) :: f
    integer :: i, ierr
    character(9), parameter :: names(9) = [character(9) :: "linebreak", "encoder", "level", "threads", "driver", "atomic", &
      & "sync", "check", "hdf5"]
    call scda_fopen_write(f, comm, filename, "params", ierr, params)
    call require(index(scda_last_error_message(), "scda_params_init") > 0 .and. ierr == SCDA_ERR_ARG, "not initialised")
    do i = 1, size(names)
      call scda_params_init(params)
      select case (i)
      case (1)
        params%linebreak = 77
      case (2)
        params%encoder = 77
      case (3)
        params%level = 77
      case (4)
        params%threads = -1
      case (5)
        params%driver = 77
      case (6)
        params%atomic = 77
      case (7)
        params%sync = 77
      case (8)
        params%check = 77
      case (9)
        params%hdf5 = 77
      end select
      call scda_fopen_write(f, comm, filename, "params", ierr, params)
      call require(index(scda_last_error_message(), trim(names(i))) > 0 .and. ierr == SCDA_ERR_ARG, trim(names(i)))
    end do
    call scda_params_init(params)
    params%aggregation_bytes = 65 * 1024 * 1024
    call scda_fopen_write(f, comm, filename, "params", ierr, params)
    call require(index(scda_last_error_message(), "aggregation") > 0 .and. ierr == SCDA_ERR_ARG, "aggregation_bytes")
    call scda_params_init(params)
    params%linebreak = SCDA_LINEBREAK_MIME
    params%atomic = 1
    call scda_fopen_write(f, comm, filename, "params", ierr, params)
    call scda_fclose(f, ierr)
    call require(ierr == 0, "atomic")
    call require(first_line_ends_mime(filename), "MIME")
  end subroutine parameters

  function first_line_ends_mime(filename) result(yes)
    character(*), intent(in) :: filename
    logical :: yes
    character(32) :: line
    integer :: unit
    open (newunit=unit, file=filename, access="stream", form="unformatted", action="read", status="old")
    read (unit) line
    close (unit)
    yes = line(31:32) == achar(13) // achar(10)
  end function first_line_ends_mime

  subroutine communicators(filename)
    character(*), intent(in) :: filename
    type(scda_fcontext_t) :: f
    character(8) :: own
    integer :: ierr
    write (own, '(".", i0)') rank
    call scda_fopen_write(f, SCDA_COMM_SELF, filename // own, "self", ierr)
    call require(ierr == 0, "self")
    call scda_fwrite_array(f, "one", [rank], [1], 4, SCDA_ENCODE_NONE, ierr)
    call require(ierr == 0, "alone")
    call scda_fclose(f, ierr)
    call require(ierr == 0, "self, close")
#ifdef SCDA_TEST_SERIAL
    call scda_fopen_write(f, 0, filename, "no communicator", ierr)
    call require(ierr == SCDA_ERR_ARG, "takes SCDA_COMM_SELF only")
#else
    block
      type(MPI_Info) :: info
      type(scda_params_t) :: params
      call scda_fopen_write(f, comm%mpi_val, filename, "integer", ierr)
      call scda_fwrite_array(f, "all", [rank], each(1), 4, SCDA_ENCODE_NONE, ierr)
      call scda_fclose(f, ierr)
      call require(ierr == 0, "integer communicator")
      call scda_fopen_read(f, comm%mpi_val, filename, ierr=ierr)
      call next(f, 'A', ranks, 4, "all")
      call scda_fclose(f, ierr)
      call scda_fopen_write(f, MPI_COMM_NULL, filename, "null", ierr)
      call require(ierr == SCDA_ERR_ARG, "null communicator")
      call scda_fopen_write(f, MPI_COMM_NULL%mpi_val, filename, "null", ierr)
      call require(ierr == SCDA_ERR_ARG, "null communicator")
      ! Hints reach the library: together with the POSIX driver they are refused.
      call MPI_Info_create(info)
      call scda_params_init(params)
      params%driver = SCDA_DRIVER_POSIX
      call scda_fopen_write(f, comm, filename, "hints", ierr, params, info)
      call require(index(scda_last_error_message(), "info") > 0 .and. ierr == SCDA_ERR_ARG, "info of mpi_f08")
      call scda_fopen_read(f, comm%mpi_val, filename, ierr=ierr, params=params, info=info%mpi_val)
      call require(index(scda_last_error_message(), "info") > 0 .and. ierr == SCDA_ERR_ARG, "info of mpi")
      call scda_fopen_read(f, comm, filename, ierr=ierr, params=params, info=MPI_INFO_NULL)
      call require(ierr == 0, "no hints")
      call scda_fclose(f)
      call scda_fopen_write(f, comm, filename, "hints", ierr, info=info)
      call require(ierr == 0, "hints")
      call scda_fclose(f)
      call MPI_Info_free(info)
    end block
#endif
  end subroutine communicators

  ! ---- Errors ------------------------------------------------------------------------------------------------------------

  subroutine what_goes_wrong(filename)
    character(*), intent(in) :: filename
    type(scda_fcontext_t) :: f
    type(scda_params_t) :: params
    character(8) :: version
    character :: type
    character(58) :: userstr
    integer(int64) :: elements, bytes, few(1)
    integer :: ierr, i, short
    integer :: Nq(ranks)
    logical :: decode
    type(c_ptr) :: pointers(2)

    call require(scda_ferror_string(SCDA_SUCCESS) == "success", "text of success")
    call require(len(scda_ferror_string(SCDA_ERR_EOF)) > 5, "text of an error")
    call require(len(scda_ferror_string(77)) == 0, "text of none")
    write (version, '(i0, ".", i0, ".", i0)') SCDA_VERSION_MAJOR, SCDA_VERSION_MINOR, SCDA_VERSION_PATCH
    call require(version == scda_version(), "version")

    call scda_fopen_read(f, comm, filename // ".none", ierr=ierr)
    call require(ierr == SCDA_ERR_NO_SUCH_FILE, "no such file")
    call require(index(scda_last_error_message(), filename // ".none") > 0, "message")
    call scda_fclose(f, ierr)
    call require(ierr == SCDA_ERR_NO_SUCH_FILE, "the error of opening stays")
    call require(at_end(f), "feof of what is not open")

    ! What is too short on one rank alone is an error on all, and with check at once.
    call scda_params_init(params)
    params%check = 1
    Nq = 2
    short = merge(1, 2, rank == ranks - 1)
    pointers = c_null_ptr
    do i = 1, 7
      call scda_fopen_write(f, comm, filename, "too short", ierr, params)
      select case (i)
      case (1)
        call scda_fwrite_array(f, "Nq", [1, 2], Nq(:ranks + short - 2), 4, SCDA_ENCODE_NONE, ierr)
      case (2)
        call scda_fwrite_varray(f, "Ei", [1, 2], Nq, [(4, i = 1, short)], SCDA_ENCODE_NONE, ierr)
      case (3)
        call scda_fwrite_varray(f, "Sq", [1, 2], Nq, [4, 4], SCDA_ENCODE_NONE, ierr, Sq=[(8_int64, i = 1, ranks + short - 2)])
      case (4)
        call scda_fwrite_array(f, "pointers", pointers(:short), Nq, 4, SCDA_ENCODE_NONE, ierr, indirect=.true.)
      case (5)
        call scda_proc_sizes(f, [(4, i = 1, short)], Nq, few, ierr)
      case (6)
        call scda_fwrite_array(f, "no pointers", [1, 2], Nq, 4, SCDA_ENCODE_NONE, ierr, indirect=.true.)
      case (7)
        call scda_fwrite_array(f, "pointers without E", pointers, Nq, ierr=ierr, indirect=.true.)
      end select
      call require(ierr == SCDA_ERR_ARG, "too short")
      call scda_fclose(f, ierr)
      call require(ierr == SCDA_ERR_ARG, "closed by the error")
    end do
    call scda_fopen_write(f, comm, filename, "file", ierr)
    call scda_fwrite_varray(f, "varray", [1, 2], Nq, [4, 4], SCDA_ENCODE_NONE, ierr)
    call scda_fclose(f, ierr)
    call require(ierr == 0, "a file")
    do i = 1, 3
      call scda_fopen_read(f, comm, filename, ierr=ierr, params=params)
      call next(f, 'V', 2 * ranks, 0, "varray")
      if (i == 1) call scda_fread_varray_sizes(f, few(:short - 1), Nq, ierr)
      if (i > 1) call scda_fread_varray_sizes(f, Nq=Nq)
      if (i == 2) call scda_fread_varray_data(f, pointers(:short), Nq, [4_int64, 4_int64], ierr, indirect=.true.)
      if (i == 3) call scda_fread_varray_data(f, pointers, Nq, [(4_int64, i = 1, short)], ierr)
      call require(ierr == SCDA_ERR_ARG, "too short for reading")
    end do

    call scda_fopen_read(f, comm, filename, ierr=ierr, params=params)
    call scda_fwrite_inline(f, "wrong way", repeat("x", 32), 0, ierr)
    call require(ierr == SCDA_ERR_USAGE, "writing while reading")
    call scda_fopen_write(f, comm, filename, "negative", ierr, params)
    call scda_fwrite_block(f, "negative", "x", -1, 0, SCDA_ENCODE_NONE, ierr)
    call require(ierr == SCDA_ERR_RANGE, "negative bytes")
    call scda_fopen_write(f, comm, filename, "negative", ierr, params)
    call scda_fwrite_array(f, "negative", "x", each(-1), 1, SCDA_ENCODE_NONE, ierr)
    call require(ierr == SCDA_ERR_RANGE, "negative elements")

    call scda_fopen_write(f, comm, filename, "empty", ierr)
    call scda_fclose(f)
    call scda_fopen_read(f, comm, filename, ierr=ierr, params=params)
    decode = .true.
    call scda_fread_section_header(f, type, elements, bytes, userstr, decode, ierr)
    call require(ierr == SCDA_ERR_EOF .and. .not. decode, "the end")
    call scda_fclose(f, ierr)
    call require(ierr == 0, "the file stays open at its end")
  end subroutine what_goes_wrong

  subroutine streams(filename)
    character(*), intent(in) :: filename
    type(scda_fcontext_t) :: f
    real(real64) :: own(3, 5), found(3, 5)
    character(5) :: text
    integer(int64) :: tasks, bytes, set, other
    type(scda_info_t) :: info
    integer :: ierr
    own = rank
    call scda_fopen_write(f, comm, filename, "streams")
    call scda_fwrite_streams_begin(f, "log", 4096_int64)
    call scda_stream_write(f, "hello")
    call scda_stream_write(f, own)
    call scda_stream_write(f, own(:, 2:3), ierr)
    call scda_get_info(f, info)
    call require(ierr == 0 .and. info%stream_bytes == 5 + 8 * 21, "the bytes of a stream")
    call scda_fwrite_streams_end(f)
    call scda_fwrite_streams_begin(f, "other", len=3)
    call scda_fwrite_streams_end(f, ierr)
    call require(ierr == 0, "streams of no bytes")
    call scda_fclose(f)

    call scda_fopen_read(f, comm, filename)
    call scda_ffind_streams(f, "log", set, tasks, 1)
    call require(set == 0 .and. tasks == 0, "no streams")
    call scda_ffind_streams(f, "oth", other, tasks, ierr=ierr)
    call require(other /= 0 .and. ierr == 0, "streams that were found by their name")
    call scda_ffind_streams(f, "log", set, tasks)
    call require(set /= 0 .and. set /= other .and. tasks == ranks, "streams that were found")
    call scda_stream_size(f, set, tasks - 1, bytes)
    call require(bytes == 5 + 8 * 21, "the bytes of a stream in the file")
    call scda_stream_read(f, set, tasks - 1, 0_int64, text)
    call scda_stream_read(f, set, tasks - 1, 5_int64, found)
    call require(text == "hello" .and. all(nint(found) == ranks - 1), "the data of a stream")
    call scda_stream_read(f, set, tasks - 1, bytes, found, ierr)
    call require(ierr == SCDA_ERR_ARG, "bytes after the end of a stream")
    call scda_stream_size(f, set, tasks, bytes, ierr)
    call require(ierr == SCDA_ERR_ARG, "a stream that is not there")
    call shares(f, set, int(tasks))
    call scda_fclose(f)
  end subroutine streams

  ! The streams of each rank's share: all on the last rank, of 5 letters and 21 numbers each.
  subroutine shares(f, set, tasks)
    type(scda_fcontext_t), intent(inout) :: f
    integer(int64), intent(in) :: set
    integer, intent(in) :: tasks
    integer(int64), allocatable :: Ei(:)
    integer, allocatable :: Nq(:)
    character(5 + 8 * 21), allocatable, target :: text(:)
    type(c_ptr), allocatable :: pointers(:)
    real(real64) :: numbers(21)
    integer :: ierr, k
    allocate(Nq(ranks))
    Nq = 0
    Nq(ranks) = tasks
    allocate(Ei(Nq(rank + 1)), text(Nq(rank + 1)), pointers(Nq(rank + 1)))
    call scda_fread_streams_sizes(f, set, Nq=Nq)
    call scda_fread_streams_sizes(f, set, Ei, Nq)
    call require(all(Ei == len(text)), "the bytes of a share")
    call scda_fread_streams_data(f, set, text, Nq, Ei, ierr)
    call require(ierr == 0, "the streams of a share")
    do k = 1, size(text)
      numbers = transfer(text(k)(6:), numbers)
      call require(text(k)(:5) == "hello" .and. all(nint(numbers) == k - 1), "the data of a share")
      pointers(k) = c_loc(text(k))
    end do
    text = " "
    call scda_fread_streams_data(f, set, pointers, Nq, Ei, indirect=.true.)
    call require(all(text(:)(:5) == "hello"), "a share by pointers")
    call scda_fread_streams_data(f, set, Nq=Nq, Ei=Ei)
  end subroutine shares

  subroutine stop_without_ierr(folder)
    character(*), intent(in) :: folder
    type(scda_fcontext_t) :: f
    call scda_fopen_write(f, comm, folder // "/no/such/folder", "stops")
  end subroutine stop_without_ierr

  subroutine stop_at_the_end(filename)
    character(*), intent(in) :: filename
    type(scda_fcontext_t) :: f
    character :: type
    character(58) :: userstr
    integer(int64) :: elements, bytes
    logical :: decode
    call scda_fopen_write(f, comm, filename, "empty")
    call scda_fclose(f)
    call scda_fopen_read(f, comm, filename)
    decode = .true.
    call scda_fread_section_header(f, type, elements, bytes, userstr, decode)
  end subroutine stop_at_the_end

  ! Whether no section follows.
  function at_end(f)
    type(scda_fcontext_t), intent(in) :: f
    logical :: at_end
    type(scda_info_t) :: info
    call scda_get_info(f, info)
    at_end = info%at_end /= 0
  end function at_end
end program test_fortran
