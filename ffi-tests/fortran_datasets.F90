! Datasets by the Fortran module: every type and rank, boxes, what is read again, what is refused. With MPI unless
! SCDA_TEST_SERIAL is defined.
!
!   fortran_datasets FOLDER
program test_fortran_datasets
  use, intrinsic :: iso_c_binding, only: c_bool, c_char, c_double, c_float, c_int, c_int64_t, c_int8_t, c_loc
  use, intrinsic :: iso_fortran_env, only: error_unit, int8, int16, int32, int64, real32, real64
#ifndef SCDA_TEST_SERIAL
  use mpi_f08
#endif
  use scda
  implicit none

  integer, parameter :: nx = 7, ny = 6, nz = 13, rows = 9
  integer :: rank = 0, ranks = 1, failures = 0
  character(1024) :: folder
#ifdef SCDA_TEST_SERIAL
  integer :: comm = SCDA_COMM_SELF
#else
  integer :: comm
  call MPI_Init()
  comm = MPI_COMM_WORLD%MPI_VAL
  call MPI_Comm_rank(MPI_COMM_WORLD, rank)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks)
#endif
  call get_command_argument(1, folder)
  call writing(comm, rank, ranks, trim(folder) // "/fortran-datasets.scda")
  if (rank == 0) then
    call writing(SCDA_COMM_SELF, 0, 1, trim(folder) // "/fortran-datasets-alone.scda")
    call require(same_bytes(trim(folder) // "/fortran-datasets.scda", trim(folder) // "/fortran-datasets-alone.scda"), &
      & "the file depends on the ranks")
  end if
#ifndef SCDA_TEST_SERIAL
  call MPI_Barrier(MPI_COMM_WORLD)
#endif
  call reading(trim(folder) // "/fortran-datasets.scda")
  call in_one_call(trim(folder) // "/fortran-datasets.scda")
  call in_turns(trim(folder) // "/fortran-datasets.scda")
  call options_of_chunks(trim(folder) // "/fortran-datasets-chunks.scda")
  call later(trim(folder) // "/fortran-datasets-later.scda")
  call require(.not. scda_stop_requested(comm), "no stop is requested")
  call scda_stop_watch(SCDA_STOP_TERM)
  call require(.not. scda_stop_requested(comm), "no stop is requested by waiting for one")
  if (rank == 0) call scda_stop_watch(seconds=1d-9)
  call require(scda_stop_requested(comm), "the time of one process is over")
  call series(trim(folder) // "/fortran-datasets-series.scda")
  call refused(trim(folder) // "/fortran-datasets-refused.scda")
  call types(trim(folder) // "/fortran-datasets-types.scda")
  call texts(trim(folder) // "/fortran-datasets-texts.scda")
  call versions(trim(folder) // "/fortran-datasets-versions.scda")
  call structs(trim(folder) // "/fortran-datasets-structs.scda")
  call components(trim(folder) // "/fortran-datasets-components.scda")
  call last_records(trim(folder) // "/fortran-datasets-records.scda")
  call several(trim(folder) // "/fortran-datasets-each.scda", .false.)
  call several(trim(folder) // "/fortran-datasets-several.scda", .true.)
  if (rank == 0) then
    call require(same_bytes(trim(folder) // "/fortran-datasets-each.scda", trim(folder) // "/fortran-datasets-several.scda"), &
      & "several datasets in one call")
  end if
  call held_by_copies(trim(folder) // "/fortran-datasets-each.scda", .false.)
  call held_by_copies(trim(folder) // "/fortran-datasets-several.scda", .true.)
  if (rank == 0) then
    call require(same_bytes(trim(folder) // "/fortran-datasets-each.scda", trim(folder) // "/fortran-datasets-several.scda"), &
      & "held back by copies of a variable")
  end if
  call refused_while_held(trim(folder) // "/fortran-datasets-refused.scda")
  call refused_requests(trim(folder) // "/fortran-datasets-refused.scda")
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

  function same_bytes(a, b) result(same)
    character(*), intent(in) :: a, b
    logical :: same
    integer(int64) :: bytes_a, bytes_b
    character(:), allocatable :: text_a, text_b
    integer :: unit
    inquire (file=a, size=bytes_a)
    inquire (file=b, size=bytes_b)
    same = bytes_a == bytes_b .and. bytes_a > 1000
    if (.not. same) return
    allocate(character(bytes_a) :: text_a, text_b)
    open (newunit=unit, file=a, access="stream", form="unformatted", action="read")
    read (unit) text_a
    close (unit)
    open (newunit=unit, file=b, access="stream", form="unformatted", action="read")
    read (unit) text_b
    close (unit)
    same = text_a == text_b
  end function same_bytes

  pure function value(i, j, k)
    integer, intent(in) :: i, j, k
    real(real64) :: value
    value = (i + 10 * j + 100 * k) / 8.0_real64
  end function value

  ! Attributes and rows that are added when the data are in the file already, by this job and by one that appends.
  subroutine later(filename)
    character(*), intent(in) :: filename
    type(scda_fcontext_t) :: f
    type(scda_dataset_t) :: d
    character(:), allocatable :: attributes
    integer(int64), allocatable :: lengths(:)
    character(4) :: names(3), signature
    integer :: numbers(2, 3), unit
    logical :: found
    call scda_fopen_write(f, comm, filename, "later")
    call scda_write(f, "rows", reshape([1, 2], [2, 1]))
    if (rank == 0) then
      call scda_fwrite_texts(f, "names", ["one"])
    else
      call scda_fwrite_texts(f, "names", [character(3) ::])
    end if
    call scda_write(f, "t", 0.5d0)
    call scda_write(f, "t", 1.5d0)
    call scda_fset_attributes(f, "t", "{""units"": ""s"", ""x"": 1}", record=0)
    call scda_fclose(f)
    open (newunit=unit, file=filename, access="stream", form="unformatted", action="read", status="old")
    read (unit, pos=513) signature
    close (unit)
    call require(signature == char(137) // "HDF", "the file is an HDF5 file, too")
    call scda_fopen_append(f, comm, filename)
    call scda_fset_attributes(f, "t", "{""x"": null}", record=0)
    call scda_fset_attributes(f, "t", scda_json("last", .true.))
    call scda_fset_attributes(f, "/", scda_json("title", "later"))
    call scda_fset_attributes(f, "a/", scda_json("x", [0.5d0, 1d300]) // ", " // scda_json("n", -3) // ", " // &
      & scda_json("q", 0.25) // ", " // scda_json("names", ["u  ", "v w"]) // ", " // &
      & scda_json("on", [.true., .false.]) // ", " // scda_json("big", huge(0_int64)))
    call scda_write(f, "rows", reshape([3, 4, 5, 6], [2, 2]), extends=.true.)
    if (rank == 0) then
      call scda_fwrite_texts(f, "names", ["two ", "tres"], extends=.true.)
    else
      call scda_fwrite_texts(f, "names", [character(4) ::], extends=.true.)
    end if
    call scda_fclose(f)
    call scda_fopen_read(f, comm, filename)
    call scda_ffind_dataset(f, "t", found, d, 0)
    call require(found .and. d%attributes == "{""units"":""s""}", "attributes set later: " // d%attributes)
    call scda_ffind_dataset(f, "t", found, d, -1)
    call require(found .and. d%attributes == "{""last"":true}", "attributes set later: " // d%attributes)
    call scda_ffind_group(f, "/", found, attributes)
    call require(found .and. attributes == "{""title"":""later""}", "attributes set later: " // attributes)
    call one_by_one(f, filename)
    call scda_ffind_dataset(f, "rows", found, d)
    call require(found .and. all(d%shape == [2, 3]), "rows added later")
    call scda_read(f, d, numbers)
    call require(all(reshape(numbers, [6]) == [1, 2, 3, 4, 5, 6]), "numbers in rows added later")
    call scda_ffind_dataset(f, "names", found, d)
    call scda_fread_texts_sizes(f, d, lengths)
    call scda_texts_data(f, lengths, names)
    call require(found .and. all(names == ["one ", "two ", "tres"]), "texts added later")
    call scda_fclose(f)
  end subroutine later

  ! A series that is begun and continued, and rolled back to a step that was not committed by itself.
  subroutine series(filename)
    character(*), intent(in) :: filename
    type(scda_fcontext_t) :: f
    type(scda_params_t) :: params
    logical :: is_new, found
    integer :: round, step, ierr, unit, length
    character(4 * SCDA_USER_STRING_BYTES) :: userstr
    real(real64) :: time
    type(scda_dataset_t) :: d
    if (rank == 0) then
      open (newunit=unit, file=filename, iostat=ierr)
      close (unit, status="delete", iostat=ierr)
    end if
    call scda_params_init(params)
    do round = 0, 1
      call scda_fopen_append_or_create(f, comm, filename, "a series", is_new, params=params)
      call require(is_new .eqv. round == 0, "created only once")
      call scda_get_user_string(f, userstr, length)
      call require(userstr == "a series" .and. length == 8, "the user string of a new file, and of one that exists")
      do step = 3 * round, 3 * round + 2
        call scda_write(f, "time", real(step, real64))
        call scda_write(f, "rho", [step, step])
      end do
      call scda_fclose(f)
    end do
    call scda_fopen_append(f, comm, filename, name="time", record=3)
    call scda_fclose(f)
    call scda_fopen_read(f, comm, filename)
    call scda_read(f, "time", time)
    call scda_ffind_dataset(f, "rho", found, d, 4)
    call require(nint(time) == 3 .and. .not. found, "what follows step 3 is removed")
    call scda_fclose(f)
    call scda_fopen_append_or_create(f, comm, filename, "a series", name="time", record=-3)
    call scda_fclose(f)
    call scda_fopen_read(f, comm, filename)
    call scda_read(f, "time", time)
    call require(nint(time) == 1, "what follows the step before the one before the last is removed")
    call scda_fclose(f)
    call scda_fopen_append(f, comm, filename, name="time", record=2, ierr=ierr)
    call require(ierr == SCDA_ERR_NOT_FOUND, "no such step")
    call scda_fopen_append(f, comm, filename, name=" ", ierr=ierr)
    call expect(f, ierr, SCDA_ERR_ARG, "the name of the dataset to append after: found an empty one")
    call scda_fopen_append(f, comm, filename, record=0, ierr=ierr)
    call require(ierr == SCDA_ERR_ARG, "a record of no name")
  end subroutine series

  ! Fields of another version of the program, and where the part of a rank begins.
  subroutine versions(filename)
    character(*), intent(in) :: filename
    type(scda_fcontext_t) :: f
    real(real32) :: old(2, 2, rank + 1)
    real(real64) :: u(4, rank + 1), more(5, rank + 1), line(rank + 1)
    real(real64) :: block(2)
    integer(int64) :: Nq(SCDA_PARTITION_WORDS), first, total
    integer :: found, ierr
    logical :: logicals(3)
    old = real(rank, real32)
    call scda_fopen_write(f, comm, filename, "an old version")
    call scda_partition_local(f, rank + 1, Nq, first=first, total=total)
    call require(first == rank * (rank + 1) / 2 + 1 .and. total == ranks * (ranks + 1) / 2, "where a part begins")
    call scda_write(f, "old", old, Nq=Nq)
    call scda_write(f, "flat", reshape(old, [4, rank + 1]), Nq=Nq)
    call scda_fclose(f)
    call scda_fopen_read(f, comm, filename)
    u = -1
    more = -1
    call scda_fread_field(f, "new", u, found=found)
    call require(found == 0 .and. all(u < 0), "no field")
    call scda_fread_field(f, "new", u, old_name="old", found=found)
    call require(found == ior(SCDA_FIELD_FOUND, ior(SCDA_FIELD_RENAMED, SCDA_FIELD_CONVERTED)), "an old name and type")
    call require(all(nint(u) == rank), "the values of an old field")
    call scda_fread_field(f, "flat", more, found=found)
    call require(found == ior(SCDA_FIELD_FOUND, ior(SCDA_FIELD_CONVERTED, SCDA_FIELD_COMPONENTS)), "more components")
    call require(all(nint(more(:4, :)) == rank) .and. all(nint(more(5, :)) == -1), "the components that both have")
    call scda_fread_field(f, "flat", line)
    call require(all(nint(line) == rank), "the first component")
    ! Boxes, too: of a field that is distributed in blocks.
    block = -1
    logicals = .true.
    call scda_read(f, "new", block, start=[1, 2, 1], count=[2, 1, 1], found=found)
    call require(found == 0 .and. all(block < 0), "no box of a field")
    call scda_read(f, "mask", logicals, found=found)
    call require(found == 0 .and. all(logicals), "logicals that the file lacks keep their values")
    call scda_read(f, "new", block, start=[1, 2, int(first)], count=[2, 1, 1], old_name="old", found=found)
    call require(found == ior(SCDA_FIELD_FOUND, ior(SCDA_FIELD_RENAMED, SCDA_FIELD_CONVERTED)), "a box by its old name")
    call require(all(nint(block) == rank), "the values of a box by its old name")
    call scda_read(f, "old", block, start=[1, 2, 1], count=[2, 1, 1], old_name="older", found=found)
    call require(found == ior(SCDA_FIELD_FOUND, SCDA_FIELD_CONVERTED), "a box by its new name")
    call scda_read(f, "new", old, start=[1, 1, int(first)], count=[2, 2, rank + 1], old_name="old")
    call require(all(nint(old) == rank), "an old name alone")
    call scda_read(f, "new", block, start=[1, 2, 1], count=[2, 1, 1], record=1, old_name="old", found=found)
    call require(found == 0, "no such record of a box")
    call scda_read(f, "new", block, start=[1, 2, 1], count=[2, 1, 1], old_name="none", ierr=ierr)
    call expect(f, ierr, SCDA_ERR_NOT_FOUND, "dataset ""new"": not found")
    call scda_fopen_read(f, comm, filename)
    call scda_read(f, "new", block, start=[1, 3, 1], count=[2, 1, 1], old_name="old", found=found, ierr=ierr)
    call expect(f, ierr, SCDA_ERR_ARG, "dataset ""old"": start, count: found 3 and 1 in dimension 2")
    call require(found == 0, "found of a read that fails")
    call scda_fopen_read(f, comm, filename)
    call scda_fread_field(f, "old", more, ierr=ierr)
    call require(ierr == SCDA_ERR_ARG, "other components of two dimensions")
  end subroutine versions

  ! The attributes of `later`.
  subroutine one_by_one(f, filename)
    type(scda_fcontext_t), intent(inout) :: f
    character(*), intent(in) :: filename
    type(scda_fcontext_t) :: closed
    real(real64) :: x(3), y
    real(real32) :: q
    integer(int64) :: big
    integer :: n, number, ierr
    logical :: found, on(2), last
    character(:), allocatable :: keys(:)
    integer, allocatable :: types(:)
    character(5) :: title, names(3)
    call scda_list_attributes('{"x": 1, "a key": {}}', keys, types)
    call require(size(keys) == 2 .and. len(keys) == 5, "the number of attributes")
    call require(keys(1) == "x" .and. keys(2) == "a key", "their names")
    call require(types(1) == SCDA_TYPE_INT64 .and. types(2) == 0, "their types")
    call scda_list_attributes("", keys)
    call require(size(keys) == 0, "no attributes")
    call scda_list_attributes("no", keys, ierr=ierr)
    call require(size(keys) == 0 .and. ierr == SCDA_ERR_FORMAT, "attributes that are no JSON")
    x = 7
    call scda_fread_attribute(f, "a/", "x", x, found, n=n)
    call require(found .and. n == 2 .and. all(abs(x - [0.5d0, 1d300, 7d0]) <= 0), "numbers of an attribute")
    call scda_fread_attribute(f, "a/", "n", y)
    call require(nint(y) == -3, "an integer as a real number")
    call scda_fread_attribute(f, "a/", "n", number)
    call scda_fread_attribute(f, "a/", "q", q)
    call scda_fread_attribute(f, "a/", "big", big)
    call require(number == -3 .and. nint(4 * q) == 1 .and. big == huge(big), "single numbers")
    names = "none"
    call scda_fread_attribute(f, "a/", "names", names, n=n)
    call require(n == 2 .and. all(names == ["u    ", "v w  ", "none "]), "texts of an attribute")
    call scda_fread_attribute(f, "/", "title", title)
    call scda_fread_attribute(f, "a/", "on", on)
    call scda_fread_attribute(f, "t", "last", last)
    call require(title == "later" .and. on(1) .and. .not. on(2) .and. last, "text and logicals")
    call scda_fread_attribute(f, "t", "last", last, found, record=0)
    call require(last .and. .not. found, "no such attribute")
    number = 5
    call scda_fread_attribute(f, "nothing", "n", number, found)
    call require(number == 5 .and. .not. found, "no such dataset")
    call scda_fopen_read(closed, comm, filename)
    call scda_fread_attribute(closed, "a/", "names", title, ierr=ierr)
    call require(ierr == SCDA_ERR_ARG, "two texts for one")
    call scda_fopen_read(closed, comm, filename)
    call scda_fread_attribute(closed, "/", "title", names(1)(1:4), ierr=ierr)
    call require(ierr == SCDA_ERR_ARG, "a text that is too long")
    call scda_fopen_read(closed, comm, filename)
    call scda_fread_attribute(closed, "a/", "x", number, ierr=ierr)
    call require(ierr == SCDA_ERR_ARG, "numbers with a fraction for an integer")
  end subroutine one_by_one

  ! A part of the array, from these indices to those.
  function part(first, last) result(numbers)
    integer, intent(in) :: first(3), last(3)
    real(real64) :: numbers(first(1):last(1), first(2):last(2), first(3):last(3))
    integer :: i, j, k
    do k = first(3), last(3)
      do j = first(2), last(2)
        do i = first(1), last(1)
          numbers(i, j, k) = value(i, j, k)
        end do
      end do
    end do
  end function part

  function partition_of(n, among) result(counts)
    integer, intent(in) :: n, among
    integer :: counts(among)
    integer :: q
    counts = [((n * q) / among - (n * (q - 1)) / among, q = 1, among)]
  end function partition_of

  subroutine writing(comm, rank, ranks, filename)
    integer, intent(in) :: comm, rank, ranks
    character(*), intent(in) :: filename
    integer :: counts(ranks), first, last, i, middle
    integer(int64) :: cells(SCDA_PARTITION_WORDS), same(SCDA_PARTITION_WORDS)
    real(real64), allocatable :: numbers(:, :, :), two(:)
    real(real32), allocatable :: state(:, :)
    logical :: flags(3)
    integer(int32) :: r7(2, 1, 2, 1, 2, 1, 2)
    integer :: first_of_none = -1
    type(scda_params_t) :: params
    type(scda_fcontext_t) :: f
    call scda_params_init(params)
    params%seal = 1
    call scda_fopen_write(f, comm, filename, "datasets", params=params)
    call scda_fwrite_group(f, "/", scda_json("title", "a ""test"" \") // ", " // scda_json("time", 0.25d0) // ", " // &
      & scda_json("steps", 3) // ", " // scda_json("many", 3000000000_int64) // ", " // scda_json("done", .true.) // ", " // &
      & scda_json("small", -1.5e-300_real64) // ", " // scda_json("single", 0.5))
    call scda_fwrite_group(f, "flow", "{""solver"": ""x""}")

    ! Every type, each of another rank; those of rank 0 count.
    call scda_write(f, "time", merge(0.5d0, -1.0d0, rank == 0))
    call scda_write(f, "i8", [-127_int8, 127_int8])
    call scda_write(f, "i16", reshape([1_int16, 2_int16, 3_int16, 4_int16, 5_int16, -6_int16], [3, 2]))
    call scda_write(f, "i32", reshape([(i, i = 1, 8)], [2, 2, 2]))
    call scda_write(f, "i64", reshape([(2_int64**40 + i, i = 1, 16)], [2, 2, 2, 2]))
    call scda_write(f, "r32", reshape([(i / 2.0_real32, i = 1, 6)], [1, 2, 1, 3, 1]))
    call scda_write(f, "c32", reshape([(cmplx(i, -i, real32), i = 1, 6)], [1, 2, 1, 3, 1, 1]))
    r7 = reshape([(i, i = 1, 16)], shape(r7))
    call scda_write(f, "r7", r7)
    call scda_write(f, "c64", (5.0_real64, 6.0_real64))
    flags = [.true., .false., .true.]
    call scda_write(f, "logical", flags)
    call scda_write(f, "bool", logical(.not. flags, c_bool))
    call scda_write(f, "shaped", [1.0, 2.0, 3.0, 4.0, 5.0, 6.0], shape=[2, 3])
    call scda_write(f, "shaped", [7.0], shape=[1, 1]) ! record 1
    call scda_write(f, "empty", r7(:, :, :, :, :, :, 1:0))
    allocate(two(0:first_of_none))
    call scda_write(f, "without", two)
    call scda_write(f, "no hits", pack([1.0, 2.0], [1.0, 2.0] > 2))
    call scda_write(f, "no items", [real ::], attributes="{ " // new_line("a") // "}", units="m")
    deallocate(two)

    ! What is not contiguous.
    numbers = part([1, 1, 1], [nx, ny, nz])
    call scda_write(f, "row", numbers(2, :, 3))
    call scda_write(f, "backwards", numbers(nx:1:-2, ::3, nz:1:-1))
    call scda_write(f, "imaginary", [flags(3:1:-1)])

    ! Boxes: layers to the ranks, in two pieces each, of which one rank passes the second first.
    counts = partition_of(nz, ranks)
    first = sum(counts(:rank)) + 1
    last = first + counts(rank + 1) - 1
    call scda_write(f, "flow/rho", numbers(:, :, first:last), shape=[nx, ny, nz], start=[1, 1, first], chunk=[4, 4, 4], level=6, &
      & attributes=scda_json("long_name", "density"), units="kg m-3", dimension_names=["x", " ", "z"])
    call scda_write(f, "flow/rho", numbers(:, :, first:last), shape=[nx, ny, nz], start=[1, 1, first], encode=SCDA_ENCODE_TEXT)
    call scda_write(f, "auto", numbers(:, :, first:last), shape=[nx, ny, nz], start=[1, 1, first], encode=SCDA_ENCODE_AUTO, &
      & shuffle=.false., units="m")
    middle = 2
    allocate(two(nx * ny * counts(rank + 1)))
    two(:) = [reshape(numbers(middle + 1:, :, first:last), [(nx - middle) * ny * counts(rank + 1)]), &
      & reshape(numbers(:middle, :, first:last), [middle * ny * counts(rank + 1)])]
    call scda_write(f, "plain", two, shape=int([nx, ny, nz], int64), &
      & start=reshape([middle + 1, 1, first, 1, 1, first], [3, 2]), &
      & count=reshape([nx - middle, ny, counts(rank + 1), middle, ny, counts(rank + 1)], [3, 2]))
    ! One box of the last rank; the rest has the fill value.
    if (rank == ranks - 1) then
      call scda_write(f, "filled", [1.0, 2.0], shape=[4, 3], start=[2, 2], count=[2, 1], fill=-1.5, chunk=[2, 2], &
        & max_relative_error=0.25_real64, max_absolute_error=0.5_real64) ! none of its numbers changes
    else
      call scda_write(f, "filled", [real ::], shape=[4, 3], start=[1, 1], count=[0, 0], fill=-1.5, chunk=[2, 2], &
        & max_relative_error=0.25_real64, max_absolute_error=0.5_real64)
    end if
    call scda_write(f, "unset", [logical ::], shape=[2], start=[1], count=[0], fill=.true.)

    ! Fields: the last dimension is distributed.
    counts = partition_of(rows, ranks)
    first = sum(counts(:rank))
    allocate(state(5, counts(rank + 1)))
    do i = 1, counts(rank + 1)
      state(:, i) = real(first + i, real32) + [1, 2, 3, 4, 5]
    end do
    call scda_partition_local(f, counts(rank + 1), cells)
    call require(cells(4) == first .and. cells(5) == counts(rank + 1) .and. cells(6) == sum(counts), "a partition")
    call scda_partition_counts(f, counts, same)
    call require(all(cells == same), "the same partition")
    call scda_write(f, "state", state, Nq=cells)
    call scda_write(f, "numbers", [(int(first + i, int64), i = 1, counts(rank + 1))], Nq=int(counts, int64), &
      & encode=SCDA_ENCODE_ALWAYS)
    call scda_fclose(f)
  end subroutine writing

  subroutine find(f, d, name, type, dims, record)
    type(scda_fcontext_t), intent(inout) :: f
    type(scda_dataset_t), intent(out) :: d
    character(*), intent(in) :: name
    integer, intent(in) :: type, dims(:)
    integer, intent(in), optional :: record
    logical :: found, same
    call scda_ffind_dataset(f, name, found, d, record)
    same = found
    if (same) same = d%name == name .and. d%type == type .and. size(d%shape) == size(dims) .and. d%unsupported == ""
    if (same) same = all(d%shape == dims)
    call require(same, "dataset " // name)
  end subroutine find

  subroutine reading(filename)
    character(*), intent(in) :: filename
    type(scda_fcontext_t) :: f
    type(scda_dataset_t) :: d
    logical :: found
    type(scda_entry_t) :: entry
    character(:), allocatable :: attributes
    real(real64) :: time, row(ny), whole(nx, ny, nz), strided(2 * nx, ny, nz), flat(nx * ny * nz)
    real(real64), allocatable :: box(:, :, :), nothing(:)
    integer :: first_of_none = -1
    real(real32) :: r32(1, 2, 1, 3, 1), shaped(2, 3), one(1, 1), filled(4, 3), state(5, rows), column(5)
    complex(real32) :: c32(1, 2, 1, 3, 1, 1)
    complex(real64) :: c64
    integer(int8) :: i8(2)
    integer(int16) :: i16(3, 2)
    integer(int32) :: i32(2, 2, 2), r7(2, 1, 2, 1, 2, 1, 2)
    integer(int64) :: i64(2, 2, 2, 2), numbers(rows), N, E
    integer :: i, ierr, first(3), last(3), datasets, groups
    logical :: flags(3), unset(2)
    logical(c_bool) :: bool(3)
    character :: type
    character(SCDA_USER_STRING_BYTES) :: userstr
    type(scda_params_t) :: params
    call scda_params_init(params)
    params%verify = 1
    call scda_fopen_read(f, comm, filename, params=params)

    call scda_ffind_group(f, "/", found, attributes)
    call require(found .and. attributes == "{""title"":""a \""test\"" \\"",""time"":0.25,""steps"":3,""many"":3000000000," // &
      & """done"":true,""small"":-1.5e-300,""single"":0.5}", "attributes of the file: " // attributes)
    call scda_ffind_group(f, "flow", found, attributes)
    call require(found .and. attributes == "{""solver"":""x""}", "attributes of a group")
    call scda_ffind_group(f, "none", found, attributes)
    call require(.not. found .and. attributes == "", "no group")

    call find(f, d, "time", SCDA_TYPE_FLOAT64, [integer ::])
    time = 0
    call scda_read(f, d, time)
    call require(abs(time - 0.5d0) <= 0, "time")
    call scda_read(f, "i8", i8)
    call require(all(i8 == [-127_int8, 127_int8]), "i8")
    call find(f, d, "i16", SCDA_TYPE_INT16, [3, 2])
    call scda_read(f, d, i16)
    call require(all(i16 == reshape([1, 2, 3, 4, 5, -6], [3, 2])), "i16")
    call scda_read(f, "i32", i32)
    call require(all(i32 == reshape([(i, i = 1, 8)], [2, 2, 2])), "i32")
    call scda_read(f, "i64", i64)
    call require(all(i64 == reshape([(2_int64**40 + i, i = 1, 16)], [2, 2, 2, 2])), "i64")
    call find(f, d, "r32", SCDA_TYPE_FLOAT32, [1, 2, 1, 3, 1])
    call scda_read(f, d, r32)
    call require(all(abs(r32 - reshape([(i / 2.0_real32, i = 1, 6)], [1, 2, 1, 3, 1])) <= 0), "r32")
    call find(f, d, "c32", SCDA_TYPE_COMPLEX64, [1, 2, 1, 3, 1, 1])
    call scda_read(f, d, c32)
    call require(all(abs(c32 - reshape([(cmplx(i, -i, real32), i = 1, 6)], [1, 2, 1, 3, 1, 1])) <= 0), "c32")
    call scda_read(f, "r7", r7)
    call require(all(r7 == reshape([(i, i = 1, 16)], shape(r7))), "r7")
    call scda_read(f, "c64", c64)
    call require(abs(c64 - (5.0_real64, 6.0_real64)) <= 0, "c64")
    call find(f, d, "logical", SCDA_TYPE_BOOL, [3])
    flags = .false.
    call scda_read(f, d, flags)
    call require(all(flags .eqv. [.true., .false., .true.]), "logical")
    call scda_read(f, "bool", bool)
    call require(all(flags .neqv. logical(bool)), "bool")
    flags = .true.
    call scda_read(f, "logical", flags(1:2), start=[2], count=[2])
    call require(all(flags .eqv. [.false., .true., .true.]), "two logicals")
    call scda_read(f, "shaped", shaped, record=0)
    call require(all(abs(shaped - reshape([1.0, 2.0, 3.0, 4.0, 5.0, 6.0], [2, 3])) <= 0), "shaped")
    call find(f, d, "shaped", SCDA_TYPE_FLOAT32, [1, 1], record=1)
    call scda_read(f, "shaped", one, record=-1)
    call require(abs(one(1, 1) - 7) <= 0, "record")
    call scda_ffind_dataset(f, "shaped", found, d, record=2)
    call require(.not. found, "no record")
    call find(f, d, "empty", SCDA_TYPE_INT32, [2, 1, 2, 1, 2, 1, 0])
    call find(f, d, "without", SCDA_TYPE_FLOAT64, [0])
    allocate(nothing(0:first_of_none))
    call scda_read(f, d, nothing, ierr=ierr)
    call require(ierr == 0, "no items are read")
    call find(f, d, "no hits", SCDA_TYPE_FLOAT32, [0])
    call find(f, d, "no items", SCDA_TYPE_FLOAT32, [0])
    call scda_ffind_dataset(f, "no items", found, d)
    call require(d%attributes == "{""units"":""m""}", "units alone: " // d%attributes)
    call scda_read(f, d, i32(1, 1, 1:0))

    ! In C the dimensions are reversed: rows of 5.
    call find(f, d, "state", SCDA_TYPE_FLOAT32, [5, rows])
    call scda_ffind(f, "state", found, N)
    call scda_fseek(f, N)
    call scda_fread_section_header(f, type, N, E, userstr)
    call require(type == "A" .and. N == rows .and. E == 20, "state as a section")
    call scda_read(f, "state", state)
    do i = 1, rows
      call require(all(abs(state(:, i) - (i + [1, 2, 3, 4, 5])) <= 0), "state")
    end do
    call scda_read(f, "state", column, start=[1, rows], count=[5, 1]) ! of another rank than the dataset
    call require(all(abs(column - state(:, rows)) <= 0), "column")
    call scda_read(f, "numbers", numbers)
    call require(all(numbers == [(i, i = 1, rows)]), "numbers")

    call scda_read(f, "row", row)
    call require(all(abs(row - [(value(2, i, 3), i = 1, ny)]) <= 0), "row")
    call find(f, d, "backwards", SCDA_TYPE_FLOAT64, [4, 2, nz])
    strided = -1
    call scda_read(f, d, strided(1:8:2, 1:4:3, nz:1:-1)) ! to what is not contiguous
    call require(abs(strided(3, 4, nz) - value(5, 4, nz)) <= 0 .and. abs(strided(7, 1, 1) - value(1, 1, 1)) <= 0, "strided")
    call require(count(strided >= 0) == 4 * 2 * nz, "nothing else")

    ! Boxes.
    do i = 1, 4
      if (i == 1) call scda_read(f, "flow/rho", whole, 0)
      if (i == 2) call scda_read(f, "flow/rho", whole, 1)
      if (i == 3) call scda_read(f, "auto", whole)
      if (i == 4) call scda_read(f, "plain", whole)
      call require(all(abs(whole - part([1, 1, 1], [nx, ny, nz])) <= 0), "all of it")
      if (i <= 2) call scda_ffind_dataset(f, "flow/rho", found, d, i - 1)
      if (i == 3) call scda_ffind_dataset(f, "auto", found, d)
      if (i == 4) call scda_ffind_dataset(f, "plain", found, d)
      call scda_read(f, d, flat)
      call require(all(abs(flat - reshape(whole, [size(whole)])) <= 0), "flat")
      first = [2 + mod(rank, 2), 1, 1 + mod(3 * rank, 5)]
      last = [nx, 3 + mod(rank, 3), nz - rank]
      allocate(box(first(1):last(1), first(2):last(2), first(3):last(3)))
      call scda_read(f, d, box, start=int(first, int64))
      call require(all(abs(box - part(first, last)) <= 0), "box")
      deallocate(box)
      if (rank == 0) then ! nothing here, two boxes elsewhere
        call scda_read(f, d, flat(1:0), start=[1, 1, 1], count=[0, 1, 1])
      else
        call scda_read(f, d, flat(:9), start=reshape([1, 1, 1, 5, 6, 13], [3, 2]), count=reshape([2, 1, 3, 3, 1, 1], [3, 2]))
        call require(all(abs(flat(:9) - [part([1, 1, 1], [2, 1, 3]), part([5, 6, 13], [7, 6, 13])]) <= 0), "two boxes")
      end if
    end do
    call scda_ffind_dataset(f, "flow/rho", found, d, 0)
    call require(found .and. d%encode == SCDA_ENCODE_ALWAYS .and. all(d%chunk == [4, 4, 4]) .and. d%shuffle, "chunks")
    call require(d%attributes == "{""units"":""kg m-3"",""long_name"":""density""}", "attributes " // d%attributes)
    call require(all(d%dimension_names == ["x", " ", "z"]), "names of dimensions")
    call scda_ffind_dataset(f, "auto", found, d)
    call require(d%attributes == "{""units"":""m""}" .and. .not. any(d%dimension_names /= ""), "units alone")
    call require(all(d%fill_value == 0) .and. size(d%fill_value) == d%item_bytes, "fill value of zero")
    call scda_ffind_dataset(f, "unset", found, d)
    call require(found .and. all(d%fill_value == [1_int8]), "fill value of a logical")
    call scda_ffind_dataset(f, "filled", found, d)
    call require(found .and. size(d%fill_value) == 4, "fill value")
    call require(abs(transfer(d%fill_value, 1.0_real32) + 1.5) <= 0, "fill value of a real")
    call scda_read(f, "filled", filled)
    call require(abs(filled(2, 2) - 1) <= 0 .and. abs(filled(3, 2) - 2) <= 0 .and. count(abs(filled + 1.5) <= 0) == 10, "filled")
    call scda_read(f, "unset", unset)
    call require(all(unset), "unset")

    ! All that is there.
    datasets = 0
    groups = 0
    do
      call scda_fnext_entry(f, entry, found)
      if (.not. found) exit
      if (entry%kind == SCDA_ENTRY_DATASET) then
        datasets = datasets + 1
        call scda_ffind_dataset(f, entry%name, found, d, int(entry%record))
        if (found) found = d%type == entry%type .and. size(d%shape) == size(entry%shape) .and. entry%record < entry%records
        if (found) found = all(d%shape == entry%shape)
        call require(found, "entry " // entry%name)
      else if (entry%kind == SCDA_ENTRY_GROUP) then
        call scda_ffind_group(f, entry%name, found, attributes)
        groups = groups + merge(1, 10, entry%name == "/") + merge(0, 100, index(attributes, "solver") == 0)
      end if
    end do
    call require(datasets == 28 .and. groups == 111, "what is listed")
    call scda_fclose(f, ierr)
    call require(ierr == 0, "close")
  end subroutine reading

  ! Datasets of every type and rank by one call, on each rank other boxes of some. The requests are used twice: the data are only
  ! read by the call.
  subroutine in_one_call(filename)
    character(*), intent(in) :: filename
    type(scda_fcontext_t) :: f, g
    type(scda_request_t) :: requests(18), others(2), nothing(0)
    real(real64), target :: time(1), whole(nx, ny, nz), two(9), rows_of(ny, 2)
    real(real64), allocatable, target :: box(:, :, :)
    real(real64), pointer, contiguous :: row(:), none(:) => null()
    real(real32), target :: r32(1, 2, 1, 3, 1), first_of(2, 3), last_of(1, 1)
    complex(real32), target :: c32(1, 2, 1, 3, 1, 1)
    complex(real64), target :: c64(1)
    integer(int8), target :: i8(2)
    integer(int16), target :: i16(3, 2)
    integer(int32), target :: i32(2, 2, 2), r7(2, 1, 2, 1, 2, 1, 2)
    integer(int64), target :: i64(2, 2, 2, 2)
    logical, target :: flags(3), some(3)
    logical(c_bool), target :: bool(3)
    integer :: i, time_of_reading, first(3), last(3)
    first = [2 + mod(rank, 2), 1, 1 + mod(3 * rank, 5)]
    last = [nx, 3 + mod(rank, 3), nz - rank]
    allocate(box(first(1):last(1), first(2):last(2), first(3):last(3)))
    row => rows_of(:, 2)
    requests(1) = scda_request("time", time)
    requests(2) = scda_request("i8", i8)
    requests(3) = scda_request("i16", i16)
    requests(4) = scda_request("i32", i32)
    requests(5) = scda_request("i64", i64)
    requests(6) = scda_request("r32", r32)
    requests(7) = scda_request("c32", c32)
    requests(8) = scda_request("r7", r7)
    requests(9) = scda_request("c64", c64)
    requests(10) = scda_request("logical", flags)
    requests(11) = scda_request("bool", bool)
    requests(12) = scda_request("logical", some(1:2), start=[2], count=[2])
    requests(13) = scda_request("shaped", last_of, record=-1)
    requests(14) = scda_request("shaped", first_of, record=0)
    requests(15) = scda_request("flow/rho", box, start=int(first, int64))
    requests(16) = scda_request("auto", whole)
    if (rank == 0) then ! nothing here, two boxes elsewhere
      requests(17) = scda_request("plain", none, start=[1, 1, 1], count=[0, 1, 1])
    else
      requests(17) = scda_request("plain", two, start=reshape([1, 1, 1, 5, 6, 13], [3, 2]), &
        & count=reshape([2, 1, 3, 3, 1, 1], [3, 2]))
    end if
    requests(18) = scda_request("row", row)
    do time_of_reading = 1, 2
      time = 0
      i8 = 0
      i16 = 0
      i32 = 0
      i64 = 0
      r32 = 0
      c32 = 0
      r7 = 0
      c64 = 0
      flags = .false.
      bool = .true.
      some = .true.
      last_of = 0
      first_of = 0
      box = 0
      whole = 0
      two = 0
      rows_of = 0
      call scda_fopen_read(f, comm, filename)
      g = f
      call scda_fread_datasets(f, nothing)
      if (time_of_reading == 1) call scda_fread_datasets(f, requests)
      if (time_of_reading == 2) call scda_fread_datasets(g, requests(18:1:-1)) ! by a copy of the variable, in another order
      call require(abs(time(1) - 0.5d0) <= 0, "time in one call")
      call require(all(i8 == [-127_int8, 127_int8]), "i8 in one call")
      call require(all(i16 == reshape([1, 2, 3, 4, 5, -6], [3, 2])), "i16 in one call")
      call require(all(i32 == reshape([(i, i = 1, 8)], [2, 2, 2])), "i32 in one call")
      call require(all(i64 == reshape([(2_int64**40 + i, i = 1, 16)], [2, 2, 2, 2])), "i64 in one call")
      call require(all(abs(r32 - reshape([(i / 2.0_real32, i = 1, 6)], [1, 2, 1, 3, 1])) <= 0), "r32 in one call")
      call require(all(abs(c32 - reshape([(cmplx(i, -i, real32), i = 1, 6)], [1, 2, 1, 3, 1, 1])) <= 0), "c32 in one call")
      call require(all(r7 == reshape([(i, i = 1, 16)], shape(r7))), "r7 in one call")
      call require(abs(c64(1) - (5.0_real64, 6.0_real64)) <= 0, "c64 in one call")
      call require(all(flags .eqv. [.true., .false., .true.]), "logical in one call")
      call require(all(flags .neqv. logical(bool)), "bool in one call")
      call require(all(some .eqv. [.false., .true., .true.]), "two logicals in one call")
      call require(abs(last_of(1, 1) - 7) <= 0, "record in one call")
      call require(all(abs(first_of - reshape([1.0, 2.0, 3.0, 4.0, 5.0, 6.0], [2, 3])) <= 0), "shaped in one call")
      call require(all(abs(box - part(first, last)) <= 0), "box in one call")
      call require(all(abs(whole - part([1, 1, 1], [nx, ny, nz])) <= 0), "all of it in one call")
      if (rank == 0) call require(all(abs(two) <= 0), "nothing in one call")
      if (rank > 0) call require(all(abs(two - [part([1, 1, 1], [2, 1, 3]), part([5, 6, 13], [7, 6, 13])]) <= 0), "two boxes")
      call require(all(abs(rows_of(:, 2) - [(value(2, i, 3), i = 1, ny)]) <= 0) .and. all(abs(rows_of(:, 1)) <= 0), "row")
      i8 = 0
      flags = .false.
      others(1) = scda_request("i8", i8)
      others(2) = scda_request("logical", flags(1:1), start=[3], count=[1])
      call scda_fread_datasets(f, others)
      call require(all(i8 == [-127_int8, 127_int8]) .and. flags(1) .and. .not. flags(2), "two more")
      call scda_fclose(f)
    end do
  end subroutine in_one_call

  ! Several datasets in turns; copies of the variable are the same file, so what one finds, the other reads.
  subroutine in_turns(filename)
    character(*), intent(in) :: filename
    type(scda_fcontext_t) :: f, g
    type(scda_dataset_t) :: of_shaped, of_r7, of_time, none
    real(real64) :: time
    real(real32) :: shaped(2, 3)
    integer(int32) :: r7(2, 1, 2, 1, 2, 1, 2)
    integer :: i, ierr
    logical :: found
    call scda_fopen_read(f, comm, filename)
    g = f
    call scda_ffind_dataset(f, "shaped", found, of_shaped, record=0)
    call scda_ffind_dataset(g, "r7", found, of_r7)
    call scda_ffind_dataset(f, "time", found, of_time)
    do i = 1, 3
      r7 = 0
      shaped = 0
      time = 0
      call scda_read(f, of_r7, r7)
      call scda_read(g, of_time, time)
      call scda_read(f, of_shaped, shaped)
      call require(all(r7 == reshape([1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16], shape(r7))), "r7 in turns")
      call require(abs(shaped(2, 3) - 6) <= 0 .and. abs(time - 0.5d0) <= 0, "shaped and time in turns")
    end do
    call scda_read(f, none, time, ierr=ierr)
    call expect(f, ierr, SCDA_ERR_ARG, "dataset: found none, expected one found by scda_ffind_dataset")
  end subroutine in_turns

  ! What only chunks have makes chunks, unless encode says otherwise.
  subroutine options_of_chunks(filename)
    character(*), intent(in) :: filename
    type(scda_fcontext_t) :: f
    type(scda_dataset_t) :: d
    character(8), parameter :: names(7) = [character(8) :: "codec", "level", "shuffle", "relative", "absolute", "none", "refused"]
    logical :: found
    integer :: i, ierr, room(2)
    type(scda_fcontext_t) :: another
    call scda_fopen_write(f, comm, filename, "chunks")
    call scda_write(f, names(1), [1, 2], codec=SCDA_CODEC_ZLIB)
    call scda_write(f, names(2), [1, 2], level=9)
    call scda_write(f, names(3), [1, 2], shuffle=.false.)
    call scda_write(f, names(4), [1.0, 2.0], max_relative_error=0.5d0)
    call scda_write(f, names(5), [1.0, 2.0], max_absolute_error=0.5d0)
    call scda_write(f, names(6), [1, 2], level=-1)
    call scda_write(f, names(7), [1, 2], level=9, encode=SCDA_ENCODE_NONE)
    call scda_fclose(f)
    call scda_fopen_read(f, comm, filename)
    do i = 1, size(names)
      call scda_ffind_dataset(f, trim(names(i)), found, d)
      call require(found .and. d%encode == merge(SCDA_ENCODE_ALWAYS, SCDA_ENCODE_NONE, i < 6), "chunks by " // names(i))
    end do
    call scda_fopen_read(another, comm, filename)
    call scda_read(another, d, room, ierr=ierr)
    call expect(another, ierr, SCDA_ERR_ARG, "dataset: it was found in another open file")
    call scda_fclose(f)
  end subroutine options_of_chunks

  ! Types that Fortran does not have.
  subroutine types(filename)
    character(*), intent(in) :: filename
    type(scda_fcontext_t) :: f
    type(scda_dataset_t) :: d
    integer(int8), target :: u8(2), again(3, 2, 2), one(3)
    integer(int8) :: raw(3, 2, 2)
    integer(int8), allocatable :: items(:, :)
    real(real32) :: real_item(1)
    integer(int16), target :: f16(2)
    integer(int64), target :: u64(2)
    real(real64) :: converted(2)
    type(scda_request_t) :: requests(5)
    integer :: i, ierr
    logical :: found
    raw = reshape([(int(i, int8), i = 1, 12)], shape(raw))
    call scda_fopen_write(f, comm, filename, "types")
    call scda_write(f, "u8", [-1_int8, 1_int8], type=SCDA_TYPE_UINT8)
    call scda_write(f, "u64", [-1_int64, 1_int64], fill=-1_int64, type=SCDA_TYPE_UINT64)
    call scda_write(f, "f16", [15360_int16, 16384_int16], type=SCDA_TYPE_FLOAT16) ! 1.0, 2.0
    call scda_write(f, "raw", raw, chunk=[2, 1], type=SCDA_TYPE_RAW)
    call scda_write(f, "raw boxes", raw(:, 1:2, rank + 1:rank + merge(1, 0, rank < 2)), shape=[2, max(2, ranks)], &
      & start=[1, rank + 1], count=[2, merge(1, 0, rank < 2)], type=SCDA_TYPE_RAW)
    call scda_fclose(f)

    call scda_fopen_read(f, comm, filename)
    call find(f, d, "u8", SCDA_TYPE_UINT8, [2])
    call scda_read(f, d, u8, type=SCDA_TYPE_UINT8)
    call require(all(u8 == [-1_int8, 1_int8]), "unsigned bytes")
    call find(f, d, "u64", SCDA_TYPE_UINT64, [2])
    call scda_read(f, d, u64)
    call require(all(u64 == [-1, 1]), "unsigned integers without their type")
    call find(f, d, "f16", SCDA_TYPE_FLOAT16, [2])
    call scda_read(f, d, f16, type=SCDA_TYPE_FLOAT16)
    call require(all(f16 == [15360, 16384]), "half precision")
    call find(f, d, "raw", SCDA_TYPE_RAW, [2, 2])
    call scda_ffind_dataset(f, "raw", found, d)
    call require(d%item_bytes == 3 .and. all(d%chunk == [2, 1]), "bytes of an item")
    call scda_read(f, "raw", again, type=SCDA_TYPE_RAW)
    call require(all(again == raw), "raw bytes")
    call scda_read(f, d, one, start=[2, 1], count=[1, 1], type=SCDA_TYPE_RAW)
    call require(all(one == [4, 5, 6]), "one item")
    call scda_read(f, "raw boxes", again(:, :, 1:1), start=[1, 1], type=SCDA_TYPE_RAW)
    call require(all(again(:, :, 1) == raw(:, :, 1)), "a box of raw bytes")
    u8 = 0
    u64 = 0
    f16 = 0
    again = 0
    one = 0
    requests(1) = scda_request("u8", u8, type=SCDA_TYPE_UINT8)
    requests(2) = scda_request("u64", u64)
    requests(3) = scda_request("f16", f16, type=SCDA_TYPE_FLOAT16)
    requests(4) = scda_request("raw", again, type=SCDA_TYPE_RAW)
    requests(5) = scda_request("raw", one, start=[2, 1], count=[1, 1], type=SCDA_TYPE_RAW)
    call scda_fread_datasets(f, requests)
    call require(all(u8 == [-1_int8, 1_int8]) .and. all(u64 == [-1, 1]) .and. all(f16 == [15360, 16384]), "types in one call")
    call require(all(again == raw) .and. all(one == [4, 5, 6]), "raw bytes in one call")
    call scda_read(f, "f16", f16)
    call require(all(f16 == [1, 2]), "halves as integers")
    call scda_read(f, "f16", converted)
    call require(all(abs(converted - [1, 2]) <= 0), "halves as doubles")
    call scda_read(f, "u8", u8, type=SCDA_TYPE_INT8, ierr=ierr)
    call expect(f, ierr, SCDA_ERR_RANGE, "dataset ""u8"" of uint8: item [0]")
    call scda_fopen_read(f, comm, filename)
    call scda_read(f, "raw", again(1:2, :, :), type=SCDA_TYPE_RAW, ierr=ierr)
    call expect(f, ierr, SCDA_ERR_ARG, "data: found 2 bytes in the first dimension, expected 3, the size of an item")
    call scda_fopen_write(f, comm, filename, "types")
    call scda_write(f, "singles", [0.1_real64, 1e300_real64], type=SCDA_TYPE_FLOAT32)
    call scda_write(f, "integers", [3_int8, -4_int8], type=SCDA_TYPE_INT64, chunk=[1])
    call scda_fclose(f)
    call scda_fopen_read(f, comm, filename)
    call find(f, d, "singles", SCDA_TYPE_FLOAT32, [2])
    call scda_read(f, d, converted)
    call require(abs(converted(1) - real(0.1_real32, real64)) <= 0 .and. converted(2) > huge(1.0_real64), "doubles as singles")
    call find(f, d, "integers", SCDA_TYPE_INT64, [2])
    call scda_read(f, d, f16)
    call require(all(f16 == [3, -4]), "integers of other sizes")
    call scda_fclose(f)
    call scda_fopen_write(f, comm, filename, "types")
    call scda_write(f, "u8", u8, type=SCDA_TYPE_COMPLEX64, ierr=ierr)
    call expect(f, ierr, SCDA_ERR_ARG, "type: found int8, which cannot be converted to complex64")
    call scda_fopen_write(f, comm, filename, "types")
    call scda_write(f, "too large", [1, 70000], type=SCDA_TYPE_INT16, ierr=ierr)
    call expect(f, ierr, SCDA_ERR_RANGE, "dataset ""too large"" of int16: item [1]")
    call scda_fopen_write(f, comm, filename, "types")
    call scda_write(f, "filled", [1, 2], fill=3, type=SCDA_TYPE_INT16, ierr=ierr)
    call expect(f, ierr, SCDA_ERR_ARG, "fill: found it with SCDA_TYPE_RAW or with items to be converted, expected neither")
    call scda_fopen_write(f, comm, filename, "types")
    call scda_write(f, "raw", raw, fill=1_int8, type=SCDA_TYPE_RAW, ierr=ierr)
    call expect(f, ierr, SCDA_ERR_ARG, "fill: found it with SCDA_TYPE_RAW")
    allocate(items(2**26, 0)) ! too many bytes to look at those of the fill value
    call scda_fopen_write(f, comm, filename, "types")
    call scda_fwrite_datasets_begin(f)
    call scda_write(f, "raw", items, fill=1_int8, type=SCDA_TYPE_RAW, chunk=[1], ierr=ierr)
    call scda_fwrite_datasets_end(f, ierr)
    call expect(f, ierr, SCDA_ERR_ARG, "fill: found it with SCDA_TYPE_RAW")

    ! 0 is no type.
    do i = 1, 6
      call scda_fopen_write(f, comm, filename, "types")
      if (i == 1) call scda_write(f, "d", [1.0_real32], type=0, ierr=ierr)
      if (i == 2) call scda_write(f, "d", [1.0_real64], type=0, ierr=ierr)
      if (i == 3) call scda_write(f, "d", [(1.0_real64, 1.0_real64)], type=0, ierr=ierr)
      if (i == 4) call scda_write(f, "d", [.true.], type=0, ierr=ierr)
      if (i == 5) call scda_write(f, "d", [1], type=0, ierr=ierr)
      if (i == 6) then
        call scda_fwrite_datasets_begin(f)
        call scda_write(f, "d", [1.0_real64], chunk=[1], type=0, ierr=ierr)
        call scda_fwrite_datasets_end(f, ierr)
      end if
      call expect(f, ierr, SCDA_ERR_ARG, "type: found 0, expected SCDA_TYPE_FLOAT64, ...")
    end do
    call scda_fopen_write(f, comm, filename, "types")
    call scda_write(f, "d", [1.0])
    call scda_fclose(f)
    call scda_fopen_read(f, comm, filename)
    call scda_read(f, "d", real_item, type=0, ierr=ierr)
    call expect(f, ierr, SCDA_ERR_ARG, "type: found a type that cannot describe items of type float32")
  end subroutine types

  ! Structs: rank r writes 2 + r particles, the first of several none; all ranks read all, and some of their components in other types.
  subroutine structs(filename)
    character(*), intent(in) :: filename
    type, bind(C) :: particle
      real(c_double) :: x(3) = 0
      character(kind=c_char) :: kind(3) = "?"
      integer(c_int64_t) :: id = 0
    end type particle
    type, bind(C) :: point
      integer(c_int) :: id = 0
      real(c_float) :: x(3) = 0
    end type point
    type(scda_dataset_t) :: d, none
    type(scda_fcontext_t) :: f
    type(particle), target :: mine(merge(0, 2 + rank, rank == 0 .and. ranks > 1)), any
    type(particle), allocatable :: all_of_them(:)
    type(point), target :: points(2)
    type(point), allocatable :: missing(:)
    type(scda_member_t) :: members(3), some(2)
    integer(int64) :: all_counts(ranks), partition(SCDA_PARTITION_WORDS)
    integer :: i, k, first, total, ierr
    logical :: found
    all_counts = [(merge(0, 2 + i, i == 0 .and. ranks > 1), i = 0, ranks - 1)]
    first = sum([(merge(0, 2 + i, i == 0 .and. ranks > 1), i = 0, rank - 1)])
    total = sum([(merge(0, 2 + i, i == 0 .and. ranks > 1), i = 0, ranks - 1)])
    do i = 1, size(mine)
      mine(i)%id = first + i
      mine(i)%x = [1, 2, 3] * real(first + i, c_double)
      mine(i)%kind = ["i", "o", "n"]
    end do
    allocate(missing(2))
    deallocate(missing)
    members(1) = scda_member("x", any, any%x)
    members(2) = scda_member("kind", SCDA_TYPE_BYTES, c_loc(any), c_loc(any%kind), bytes=3_int64)
    members(3) = scda_member("id", any, any%id)
    call scda_fopen_write(f, comm, filename, "structs")
    call scda_write_structs(f, "particles", mine, members, attributes=scda_json("what", "ions"))
    ! The same by the counts of all ranks, and by a partition.
    call scda_write_structs(f, "particles", mine, members, Nq=all_counts)
    call scda_partition_local(f, size(mine, kind=int64), partition)
    call scda_write_structs(f, "particles", mine, members, Nq=partition)
    call scda_fclose(f)
    allocate(all_of_them(total))
    call scda_fopen_read(f, comm, filename)
    do i = 1, 3
      all_of_them%id = 0
      call scda_ffind_dataset(f, "particles", found, d, record=i - 1)
      call scda_read_structs(f, d, all_of_them, members)
      call require(found .and. all(all_of_them%id == [(k, k = 1, total)]), "all structs")
    end do
    call require(all(abs(all_of_them(total)%x - [1, 2, 3] * total) < 0.1), "arrays in structs")
    call require(all_of_them(1)%kind(3) == "n", "bytes in structs")
    call scda_read_structs(f, "particles", all_of_them(total:1:-1), members, record=0)
    call require(all(all_of_them%id == [(k, k = total, 1, -1)]), "structs of a name, into a part of an array")
    some(1) = scda_member("id", points(1), points(1)%id)
    some(2) = scda_member("x", SCDA_TYPE_FLOAT32, c_loc(points(1)), c_loc(points(1)%x), count=3)
    call scda_read_structs(f, d, points, some, start=total - 1)
    call require(all(points%id == [total - 1, total]), "some components")
    call require(all(abs(points(2)%x - [1, 2, 3] * total) < 0.1), "converted components")
    call scda_read_structs(f, d, points(1), some, start=1_int64)
    call require(points(1)%id == 1, "one struct")
    call scda_read_structs(f, d, points(:0), some, start=1)
    call scda_read_structs(f, d, points, some, start=total, ierr=ierr)
    call require(ierr == SCDA_ERR_ARG, "structs after the end")
    do i = 1, 5
      call scda_fopen_read(f, comm, filename)
      call scda_ffind_dataset(f, "particles", found, d)
      select case (i)
      case (1)
        call scda_read_structs(f, d, points(:1), some, ierr=ierr)
        call expect(f, ierr, SCDA_ERR_ARG, "dataset ""particles"": data: found 1 structs, expected")
      case (2)
        call scda_read_structs(f, d, missing, some, ierr=ierr)
        call expect(f, ierr, SCDA_ERR_ARG, "dataset ""particles"": data: found an array that is not allocated")
      case (3)
        call scda_read_structs(f, none, points, some, ierr=ierr)
        call expect(f, ierr, SCDA_ERR_ARG, "dataset: found none, expected one found by scda_ffind_dataset")
      case (4)
        call scda_read_structs(f, "atoms", points, some, ierr=ierr)
        call expect(f, ierr, SCDA_ERR_NOT_FOUND, "dataset ""atoms"": not found")
      case (5) ! two of three items: nobody would notice the third one
        some(2) = scda_member("x", points(1), points(1)%x(:2))
        call scda_read_structs(f, d, points, some, start=1, ierr=ierr)
        call expect(f, ierr, SCDA_ERR_ARG, "struct: member ""x"": found float64[3], expected float32[2]")
      end select
    end do
    call scda_fopen_write(f, comm, filename // "-wrong", "structs")
    call scda_write_structs(f, "particles", mine, members, ierr, Nq=all_counts + 1)
    call require(ierr == SCDA_ERR_ARG, "structs with another count")
  end subroutine structs

  ! Components of each type and rank, without addresses; and what is none of the type.
  subroutine components(filename)
    character(*), intent(in) :: filename
    type, bind(C) :: all_t
      logical(c_bool) :: flag = .true._c_bool
      integer(c_int) :: n = 1
      complex(c_double) :: z(2) = (2, 3)
      integer(c_int8_t) :: raw(3, 1) = 4
      integer(c_int8_t) :: byte = -1
      real(c_float) :: table(3, 2) = 5
    end type all_t
    type, bind(C) :: words_t
      integer(c_int64_t) :: n = 0, byte = 0
      real(c_double) :: table(3, 2) = 0
    end type words_t
    type(scda_fcontext_t) :: f
    type(all_t) :: mine(rank), one, found(1 + ranks * (ranks - 1) / 2)
    type(words_t) :: words(size(found) - 1), other
    type(scda_member_t) :: members(6), some(3)
    integer :: i, ierr
    do i = 1, rank
      mine(i)%n = 10 * rank + i
      mine(i)%raw(2, 1) = int(rank, int8)
    end do
    members = [scda_member("flag", one, one%flag), scda_member("n", one, one%n), scda_member("z", one, one%z), &
      & scda_member("raw", one, one%raw, type=SCDA_TYPE_RAW), scda_member("byte", one, one%byte, type=SCDA_TYPE_UINT8), &
      & scda_member("table", one, one%table)]
    call scda_fopen_write(f, comm, filename, "components")
    call scda_write_structs(f, "all", mine, members)
    call scda_fclose(f)
    call scda_fopen_read(f, comm, filename)
    found%n = 0
    found%flag = .false._c_bool
    call scda_read_structs(f, "all", found(:size(found) - 1), members)
    do i = 1, size(found) - 1
      call require(found(i)%flag .and. found(i)%raw(2, 1) == found(i)%n / 10 .and. found(i)%raw(3, 1) == 4, "components of structs")
      call require(nint(real(found(i)%z(2))) == 2 .and. nint(aimag(found(i)%z(1))) == 3, "complex components")
    end do
    call require(found(size(found))%n == 0, "no more structs than there are")
    some = [scda_member("n", other, other%n), scda_member("byte", other, other%byte), scda_member("table", other, other%table)]
    call scda_read_structs(f, "all", words, some)
    call require(all(words%n == found(:size(words))%n) .and. all(words%byte == 255), "components of other types")
    do i = 1, size(words)
      call require(all(nint(words(i)%table) == 5), "a table in each struct")
    end do
    call scda_fclose(f)
    some(1) = scda_member("n", one, other%n)
    call scda_fopen_write(f, comm, filename, "components")
    call scda_write_structs(f, "all", mine, some(:1), ierr)
    call expect(f, ierr, SCDA_ERR_ARG, "struct: found the member ""n"" of int64 at byte")
  end subroutine components

  ! Three records of each name: without a number, each look-up by name finds the last one; what is read in order begins with the first one.
  subroutine last_records(filename)
    character(*), intent(in) :: filename
    type(scda_dataset_t) :: d
    type(scda_fcontext_t) :: f
    type(scda_request_t) :: requests(2)
    integer(int64) :: section, first, tasks, bytes, streams, before
    integer, target :: u(2), one(2)
    integer :: step, i
    logical :: found
    call scda_fopen_write(f, comm, filename, "records")
    do step = 0, 2
      call scda_write(f, "u", [step, step])
      call scda_fwrite_streams_begin(f, "log")
      do i = 0, step
        call scda_stream_write(f, "x")
      end do
      call scda_fwrite_streams_end(f)
    end do
    call scda_fclose(f)
    call scda_fopen_read(f, comm, filename)
    call scda_read(f, "u", u)
    call require(all(u == 2), "the last record is read")
    call scda_ffind_dataset(f, "u", found, d)
    call scda_read(f, d, u)
    call require(found .and. all(u == 2), "the last record is found")
    requests(1) = scda_request("u", u)
    requests(2) = scda_request("u", one, record=0)
    call scda_fread_datasets(f, requests)
    call require(all(u == 2) .and. all(one == 0), "the last record in one call")
    call scda_ffind(f, "u", found, section)
    call scda_ffind(f, "u", found, first, record=0)
    call require(found .and. section > first, "the last section")
    call scda_ffind_streams(f, "log", streams, tasks)
    call scda_ffind_streams(f, "log", before, tasks, record=0)
    call scda_stream_size(f, streams, 0_int64, bytes)
    call require(bytes == 3, "the last streams")
    call scda_stream_size(f, before, 0_int64, bytes)
    call require(bytes == 1, "the first streams, beside the last ones")
    call scda_fclose(f)
  end subroutine last_records

  ! Texts of any length: each rank writes two.
  subroutine texts(filename)
    character(*), intent(in) :: filename
    type(scda_fcontext_t) :: f
    type(scda_dataset_t) :: d
    integer(int64), allocatable :: lengths(:)
    character(8), allocatable :: items(:)
    character(8) :: mine(2)
    logical :: found
    integer :: ierr
    write (mine(1), "(a, i0)") "rank ", rank
    mine(2) = ""
    call scda_fopen_write(f, comm, filename, "texts")
    call scda_fwrite_texts(f, "names", mine, attributes=scda_json("what", "names"))
    call scda_fwrite_texts(f, "pairs", mine, shape=[2_int64, 0_int64])
    call scda_fclose(f)
    call scda_fopen_read(f, comm, filename)
    call scda_ffind_dataset(f, "names", found, d)
    call require(found .and. d%type == SCDA_TYPE_STRING .and. all(d%shape == [2 * ranks]) .and. size(d%fill_value) == 0, "texts")
    call scda_fread_texts_sizes(f, d, lengths)
    call require(size(lengths) == 2 * ranks .and. all(lengths(2::2) == 0) .and. lengths(1) == 6, "lengths of texts")
    allocate(items(size(lengths)))
    call scda_texts_data(f, lengths, items)
    call require(items(1) == "rank 0" .and. all(items(2::2) == "") .and. items(2 * rank + 1) == mine(1), "all texts")
    call scda_ffind_dataset(f, "pairs", found, d)
    call require(found .and. all(d%shape == [2, ranks]), "pairs of texts")
    call scda_fread_texts_sizes(f, d, lengths, start=[1_int64, rank + 1_int64], count=[1_int64, 1_int64])
    call scda_texts_data(f, lengths, items(:1))
    call require(size(lengths) == 1 .and. items(1) == mine(1), "a box of texts")
    call scda_texts_data(f, [1_int64], items(:1), ierr)
    call require(ierr == SCDA_ERR_ARG, "another number of bytes")
    call scda_texts_data(f, lengths, items(:0), ierr)
    call expect(f, ierr, SCDA_ERR_ARG, "data: found 0 elements, expected 1")
    call require(index(scda_last_error_message(), "Nq") == 0, "texts without Nq")
    call scda_texts_data(f, lengths, items(:1), ierr)
    call require(ierr == 0 .and. items(1) == mine(1), "a box of texts after an error")
    call scda_fflush(f, ierr)
    call expect(f, ierr, SCDA_ERR_ARG, "data: found 0 elements, expected 1")
    call scda_fopen_write(f, comm, filename, "texts")
    call scda_fwrite_texts(f, "pairs", mine(:1), ierr, shape=[2_int64, 0_int64])
    call require(ierr == SCDA_ERR_ARG, "half of a pair")
  end subroutine texts

  ! Datasets of each kind, all of them in one call if they are to be held back. What was passed changes before they are written.
  subroutine several(filename, held)
    character(*), intent(in) :: filename
    logical, intent(in) :: held
    type(scda_fcontext_t) :: f
    integer :: counts(ranks), first, last, i, k
    real(real64), allocatable :: numbers(:, :, :)
    logical :: flags(6)
    call scda_fopen_write(f, comm, filename, "several")
    if (held) call scda_fwrite_datasets_begin(f)
    counts = partition_of(nz, ranks)
    first = sum(counts(:rank)) + 1
    last = first + counts(rank + 1) - 1
    do i = 1, 5
      numbers = i * part([1, 1, first], [nx, ny, last])
      call scda_write(f, "flow/rho", numbers, shape=[nx, ny, nz], start=[1, 1, first], chunk=[4, 4, 4], units="kg m-3", &
        & dimension_names=["x", " ", "z"], fill=1.5d0)
      call scda_write(f, "row", numbers(2, ::2, :), shape=[nx, ny, nz], start=[1, 1, first], count=[1, 3, last - first + 1], &
        & encode=SCDA_ENCODE_TEXT)
      flags = [(mod(i + k, 3) == 0, k = 1, 6)]
      call scda_write(f, "flags", flags, chunk=[4], fill=.true.)
      ! What is not held back, between what is.
      if (i == 2) call scda_write(f, "plain", numbers, shape=[nx, ny, nz], start=[1, 1, first])
      if (i == 4) call scda_write(f, "auto", numbers, Nq=counts, encode=SCDA_ENCODE_AUTO)
      ! Two of these are too many to be held back at once; one of those is too large.
      call scda_write(f, "unset", [real(real64) ::], shape=[1024, 1280 * ranks], start=[1, 1], count=[0, 0], chunk=[512, 512])
      if (i == 3) then
        call scda_write(f, "large", [integer ::], shape=[4096, 2048 * ranks], start=[1, 1], count=[0, 0], chunk=[512, 512])
      end if
      numbers = -1
      flags = .false.
    end do
    if (held) call scda_fwrite_datasets_end(f)
    call scda_fwrite_inline(f, "end", "                               " // new_line("a"))
    call scda_fclose(f)
  end subroutine several

  ! Copies of the variable are the same file, made before and after some is held back. Two files at once.
  subroutine held_by_copies(filename, held)
    character(*), intent(in) :: filename
    logical, intent(in) :: held
    type(scda_fcontext_t) :: f, g, other
    integer :: i, k
    call scda_fopen_write(other, comm, filename // ".other", "other")
    call scda_fopen_write(f, comm, filename, "copies")
    if (held) call scda_fwrite_datasets_begin(other)
    do i = 1, 2
      if (i == 1) g = f
      if (held) call scda_fwrite_datasets_begin(f)
      if (i == 2) g = f
      call scda_write(f, "a", [(k, k = 1, 200)], chunk=[100])
      call scda_write(g, "b", [(k, k = 1, 200)], chunk=[100])
      call scda_write(other, "o", [(k, k = 1, 200)], chunk=[100])
      call scda_write(f, "c", [(k, k = 1, 200)], chunk=[100])
      call scda_write(g, "contiguous", [(k, k = 1, 200)])
      call scda_write(f, "d", [(k, k = 1, 200)], chunk=[100])
      if (held) call scda_fwrite_datasets_end(g)
      call scda_write(f, "e", [(k, k = 1, 200)], chunk=[100])
      call scda_fwrite_inline(g, "end", "                               " // new_line("a"))
    end do
    call scda_fclose(g)
    if (held) call scda_fwrite_datasets_end(other)
    call scda_fclose(other)
  end subroutine held_by_copies

  ! ---- What is refused -----------------------------------------------------------------------------------------------------

  ! Errors of what is held back come later, and everything that writes in another way is one.
  subroutine refused_while_held(filename)
    character(*), intent(in) :: filename
    type(scda_fcontext_t) :: f, g
    integer :: i, ierr
    integer :: Nq(ranks)
    integer(int8), allocatable :: large(:)
    Nq = 1
    allocate(large(17 * 2**20))
    do i = 1, 16
      call scda_fopen_write(f, comm, filename, "refused")
      g = f
      ierr = -1
      if (i /= 1) call scda_fwrite_datasets_begin(f, ierr)
      if (i == 1) then
        call scda_fwrite_datasets_end(f, ierr)
        call expect(f, ierr, SCDA_ERR_ARG, "no datasets are held back; call scda_fwrite_datasets_begin first")
        cycle
      end if
      call require(ierr == 0, "begin")
      ! Two boxes with the same index: an error of who looks at them.
      call scda_write(f, "d", [1, 2], shape=[4], start=reshape([2, 2], [1, 2]), count=reshape([1, 1], [1, 2]), chunk=[4], ierr=ierr)
      call require(ierr == 0, "held back")
      select case (i)
      case (2)
        call scda_fwrite_datasets_end(f, ierr)
        call expect(f, ierr, SCDA_ERR_ARG, "dataset ""d"": index [1] is in two boxes")
        call scda_fwrite_datasets_end(f, ierr)
        call require(ierr == SCDA_ERR_ARG, "end of a closed file")
        cycle
      case (3) ! before what is not held back
        call scda_write(f, "e", [1], ierr=ierr)
        call expect(f, ierr, SCDA_ERR_ARG, "dataset ""d"": index [1] is in two boxes")
        call scda_write(f, "e", [1], chunk=[1], ierr=ierr)
        call require(ierr == SCDA_ERR_ARG, "a closed file")
        cycle
      case (4)
        call scda_fwrite_inline(f, "i", repeat("x", 32), ierr=ierr)
      case (5)
        call scda_fwrite_block(f, "b", "data", ierr=ierr)
      case (6)
        call scda_fwrite_array(f, "a", [1], Nq, ierr=ierr)
      case (7)
        call scda_fwrite_varray(f, "v", [1], Nq, [4], ierr=ierr)
      case (8)
        call scda_fwrite_group(f, "/", "{}", ierr)
      case (9)
        call scda_fwrite_streams_begin(f, "s", ierr=ierr)
      case (10)
        call scda_fflush(f, ierr)
      case (11)
        call scda_fcommit(f, ierr)
      case (12)
        call scda_fwrite_datasets_begin(f, ierr)
      case (13)
        call scda_fclose(f, ierr)
      case (14) ! all of it is on rank 0: too large to be copied, for any number of ranks
        call scda_write(f, "large", large, chunk=[2**20], ierr=ierr)
        call expect(f, ierr, SCDA_ERR_ARG, "dataset ""d"": index [1] is in two boxes")
        cycle
      case (15) ! and on the last one
        Nq = 0
        Nq(ranks) = size(large)
        call scda_write(f, "large", large(:Nq(rank + 1)), Nq=Nq, chunk=[2**20], ierr=ierr)
        call expect(f, ierr, SCDA_ERR_ARG, "dataset ""d"": index [1] is in two boxes")
        cycle
      case (16) ! by a copy of the variable
        call scda_fclose(g, ierr)
      end select
      call expect(f, ierr, SCDA_ERR_ARG, "datasets are held back; call scda_fwrite_datasets_end first")
    end do
  end subroutine refused_while_held

  subroutine expect(f, ierr, code, message)
    type(scda_fcontext_t), intent(inout) :: f
    integer, intent(inout) :: ierr
    integer, intent(in) :: code
    character(*), intent(in) :: message
    character(:), allocatable :: found
    if (ierr == 0) call scda_fflush(f, ierr)
    found = scda_last_error_message()
    call require(ierr == code .and. index(found, message) > 0, "expected " // message)
  end subroutine expect

  ! What is wrong on the last rank is an error of all, with its words.
  subroutine refused(filename)
    character(*), intent(in) :: filename
    type(scda_dataset_t) :: d
    type(scda_fcontext_t) :: f
    real(real64) :: six(3, 2)
    real(real64), allocatable :: none(:, :)
    complex(real32) :: narrow(3, 2)
    integer :: i, ierr, n(0)
    integer :: Nq(ranks)
    logical :: here, found
    character(:), allocatable :: last, attributes
    here = rank == ranks - 1
    last = ""
    if (ranks > 1) last = "rank " // achar(iachar("0") + ranks - 1) // ": "
    six = 1
    narrow = 1
    allocate(none(3, 2))
    deallocate(none)
    do i = 1, 17
      call scda_fopen_write(f, comm, filename, "refused")
      select case (i)
      case (17)
        call scda_write(f, "d", six, shape=[3, 4], start=[0, 1], ierr=ierr)
        call expect(f, ierr, SCDA_ERR_ARG, "found 0 and 3 in dimension 1 of box 1, expected indices from 1 to 3")
      case (1)
        if (here) call scda_write(f, "d", six, shape=[3, 4], start=[1, 1], count=[3, 3], ierr=ierr)
        if (.not. here) call scda_write(f, "d", six(1:0, 1), shape=[3, 4], start=n, count=n, ierr=ierr)
        call expect(f, ierr, SCDA_ERR_ARG, last // "dataset ""d"": data: found 6 items, expected 9, the size of all boxes")
      case (2)
        if (here) call scda_write(f, "d", six, shape=[3, 4], start=[1], ierr=ierr)
        if (.not. here) call scda_write(f, "d", six(1:0, 1), shape=[3, 4], start=n, count=n, ierr=ierr)
        call expect(f, ierr, SCDA_ERR_ARG, last // "dataset ""d"": start, count: found 1 and 2 numbers, expected 2 for each box")
      case (3)
        call scda_write(f, "d", six, start=[1, 1], ierr=ierr)
        call expect(f, ierr, SCDA_ERR_ARG, "shape is missing: with start, it gives the shape of the whole array")
      case (4)
        call scda_write(f, "d", six, count=[1, 1], ierr=ierr)
        call expect(f, ierr, SCDA_ERR_ARG, "start is missing, but count is given")
      case (5)
        call scda_write(f, "d", six, shape=[3, 3], ierr=ierr)
        call expect(f, ierr, SCDA_ERR_ARG, "data: found the shape (3, 2), expected the items of (3, 3)")
      case (6)
        Nq = 0
        Nq(ranks) = 3
        call scda_write(f, "d", six(:, 1:merge(2, 0, here)), Nq=Nq, ierr=ierr)
        call expect(f, ierr, SCDA_ERR_ARG, last // "data: found 2 elements, expected 3, as Nq")
      case (7)
        call scda_write(f, "d", six, Nq=n, ierr=ierr)
        call expect(f, ierr, SCDA_ERR_ARG, "Nq: found 0 entries")
      case (8)
        call scda_write(f, "d", 1.0, Nq=[(1, ierr = 1, ranks)], ierr=ierr)
        call expect(f, ierr, SCDA_ERR_ARG, "data: found a scalar with Nq, expected an array")
      case (9)
        call scda_write(f, "d", six, chunk=[2], ierr=ierr)
        call expect(f, ierr, SCDA_ERR_ARG, "chunk: found 1 entries, expected 2, one per dimension")
      case (10)
        call scda_write(f, "d", six, dimension_names=["x"], ierr=ierr)
        call expect(f, ierr, SCDA_ERR_ARG, "dimension_names: found 1 entries, expected 2, one per dimension")
      case (11)
        call scda_write(f, "d", [1.0], shape=[(1, ierr = 1, 33)], ierr=ierr)
        call expect(f, ierr, SCDA_ERR_ARG, "shape: found 33 dimensions, expected at most 32")
      case (12)
        call scda_write(f, repeat("x", 64), six, ierr=ierr)
        call expect(f, ierr, SCDA_ERR_ARG, "name of a dataset: found 64 bytes, expected 1 to 58")
      case (13)
        call scda_write(f, "a" // achar(0) // "b", six, ierr=ierr)
        call expect(f, ierr, SCDA_ERR_ARG, "name of a dataset: found a NUL character")
      case (14)
        call scda_write(f, "d", six, attributes="""a"": " // achar(0), ierr=ierr)
        call expect(f, ierr, SCDA_ERR_ARG, "attributes: found a NUL character")
      case (15)
        call write_assumed_size(f, six, ierr)
        call expect(f, ierr, SCDA_ERR_ARG, "data: an array of assumed size has no shape")
      case (16)
        call scda_write(f, "d", six, shape=[1_int8], ierr=ierr)
        call expect(f, ierr, SCDA_ERR_ARG, "shape: expected integer(int32) or integer(int64)")
      end select
    end do

    call scda_fopen_write(f, comm, filename, "refused")
    call scda_write(f, "d", six)
    call scda_fclose(f)
    do i = 1, 12
      call scda_fopen_read(f, comm, filename)
      select case (i)
      case (1)
        if (here) call scda_read(f, "d", narrow, ierr=ierr)
        if (.not. here) call scda_read(f, "d", six, ierr=ierr)
        call expect(f, ierr, SCDA_ERR_ARG, last // "dataset ""d"": type: found float64, which cannot be converted to complex64")
      case (2)
        if (here) call scda_read(f, "d", six(:2, :), ierr=ierr)
        if (.not. here) call scda_read(f, "d", six, ierr=ierr)
        call expect(f, ierr, SCDA_ERR_ARG, last // "dataset ""d"": data: found the shape (2, 2), expected (3, 2)")
      case (3)
        if (here) call scda_read(f, "d", six(:, 1), start=[1, 2], ierr=ierr)
        if (.not. here) call scda_read(f, "d", six, ierr=ierr)
        call expect(f, ierr, SCDA_ERR_ARG, last // "dataset ""d"": start, count: found 2 and 1 numbers, expected 2 for each box")
      case (4)
        call scda_read(f, "none", six, ierr=ierr)
        call expect(f, ierr, SCDA_ERR_NOT_FOUND, "dataset ""none"": not found")
      case (5)
        call scda_read(f, d, six, ierr=ierr)
        call expect(f, ierr, SCDA_ERR_ARG, "dataset: found none, expected one found by scda_ffind_dataset")
      case (6) ! beyond the array
        call scda_read(f, "d", six(:, 1:1), start=[1, 3], ierr=ierr)
        call expect(f, ierr, SCDA_ERR_ARG, "found 3 and 1 in dimension 2 of box 1, expected indices from 1 to 2")
      case (7) ! before it
        call scda_read(f, "d", six(:, 1:1), start=[1, 0], ierr=ierr)
        call expect(f, ierr, SCDA_ERR_ARG, "found 0 and 1 in dimension 2 of box 1, expected indices from 1 to 2")
      case (11)
        call scda_read(f, "d", none, ierr=ierr)
        call expect(f, ierr, SCDA_ERR_ARG, "data: found an array that is not allocated")
      case (12)
        call scda_fread_field(f, "d", none, ierr=ierr)
        call expect(f, ierr, SCDA_ERR_ARG, "data: found an array that is not allocated")
      case (8)
        call scda_ffind_dataset(f, "d" // achar(0) // "e", found, ierr=ierr)
        call expect(f, ierr, SCDA_ERR_ARG, "name of a dataset: found a NUL character")
      case (9)
        call scda_read(f, "d" // achar(0) // "e", six, ierr=ierr)
        call expect(f, ierr, SCDA_ERR_ARG, "name of a dataset: found a NUL character")
      case (10)
        call scda_ffind_group(f, "/" // achar(0), found, attributes, ierr)
        call expect(f, ierr, SCDA_ERR_ARG, "group: found a NUL character")
      end select
    end do
  end subroutine refused

  subroutine write_assumed_size(f, x, ierr)
    type(scda_fcontext_t), intent(inout) :: f
    real(real64), intent(in) :: x(*)
    integer, intent(out) :: ierr
    call scda_write(f, "d", x, ierr=ierr)
  end subroutine write_assumed_size

  ! What is wrong with a request of the last rank, likewise.
  subroutine refused_requests(filename)
    character(*), intent(in) :: filename
    type(scda_fcontext_t) :: f
    type(scda_request_t) :: good, bad, requests(3)
    real(real64), target :: six(3, 2), again(3, 2)
    real(real64), pointer, contiguous :: none(:, :) => null()
    complex(real32), target :: narrow(3, 2)
    integer(int8), target :: small(1)
    integer :: i, ierr
    logical :: here
    character(:), allocatable :: last
    here = rank == ranks - 1
    last = ""
    if (ranks > 1) last = "rank " // achar(iachar("0") + ranks - 1) // ": "
    six = 1
    again = 0
    call scda_fopen_write(f, comm, filename, "refused")
    call scda_write(f, "d", six)
    call scda_write(f, "time", 1.0d0)
    call scda_write(f, "u8", 255_int16, type=SCDA_TYPE_UINT16)
    call scda_fclose(f)
    good = scda_request("d", again)
    do i = 1, 16
      bad = good
      select case (i)
      case (1)
        if (here) bad = scda_request("d", narrow)
      case (2)
        if (here) bad = scda_request("d", six(:, :1))
      case (3)
        if (here) bad = scda_request("d", six, start=[1])
      case (4)
        if (here) bad = scda_request("d", six(:, 1:1), start=[1, 3]) ! beyond the array
      case (5)
        if (here) bad = scda_request("d", six, count=[3, 2])
      case (6)
        if (here) bad = scda_request("d", six, start=[1_int8, 1_int8])
      case (7)
        if (here) bad = scda_request("d", six, start=[1, 1], count=[3_int8, 2_int8])
      case (8)
        if (here) bad = scda_request("d", none)
      case (9)
        bad = scda_request("time", six(:1, 1))
        if (here) bad = scda_request("time", six(:2, 1))
      case (10)
        bad = scda_request("none", six)
      case (11)
        bad = scda_request("d", six, record=1)
      case (12)
        bad = scda_request("d" // achar(0) // "e", six)
      case (13)
        bad = scda_request("u8", small, type=SCDA_TYPE_RAW)
      case (14)
        if (here) bad = requests(3) ! nothing was assigned to it
      case (15)
        if (here) bad = scda_request("time", six(:1, 1))
      end select
      requests(1) = good
      requests(2) = bad
      ierr = -1
      if (i == 15 .and. ranks == 1) cycle
      if (i == 16) then
        call scda_fopen_write(f, comm, filename, "refused")
        call scda_fread_datasets(f, requests(:2), ierr)
        call expect(f, ierr, SCDA_ERR_USAGE, "")
        call scda_fread_datasets(f, requests(:2), ierr)
        call require(ierr == SCDA_ERR_USAGE, "a closed file")
        cycle
      end if
      call scda_fopen_read(f, comm, filename)
      call scda_fread_datasets(f, requests(:2), ierr)
      select case (i)
      case (1)
        call expect(f, ierr, SCDA_ERR_ARG, last // "dataset ""d"": type: found float64, which cannot be converted to complex64")
      case (2)
        call expect(f, ierr, SCDA_ERR_ARG, last // "dataset ""d"": data: found the shape (3, 1), expected (3, 2)")
      case (3)
        call expect(f, ierr, SCDA_ERR_ARG, last // "dataset ""d"": start, count: found 1 and 2 numbers, expected 2 for each box")
      case (4)
        call expect(f, ierr, SCDA_ERR_ARG, last)
      case (5)
        call expect(f, ierr, SCDA_ERR_ARG, last // "dataset ""d"": start is missing, but count is given")
      case (6)
        call expect(f, ierr, SCDA_ERR_ARG, last // "dataset ""d"": start: expected integer(int32) or integer(int64)")
      case (7)
        call expect(f, ierr, SCDA_ERR_ARG, last // "dataset ""d"": count: expected integer(int32) or integer(int64)")
      case (8)
        call expect(f, ierr, SCDA_ERR_ARG, last // "dataset ""d"": data: found the shape (0, 0), expected (3, 2)")
      case (9)
        call expect(f, ierr, SCDA_ERR_ARG, last // "dataset ""time"": data: found the shape (2), expected ()")
      case (10)
        call expect(f, ierr, SCDA_ERR_NOT_FOUND, "dataset ""none"": not found")
      case (11)
        call expect(f, ierr, SCDA_ERR_NOT_FOUND, "dataset ""d"": record")
      case (12)
        call expect(f, ierr, SCDA_ERR_ARG, "name of a dataset: found a NUL character")
      case (13)
        call expect(f, ierr, SCDA_ERR_ARG, "data: found items of type raw bytes, expected uint16, as in the dataset")
      case (14)
        call expect(f, ierr, SCDA_ERR_ARG, last // "requests: found one that was not made by scda_request")
      case (15)
        call expect(f, ierr, SCDA_ERR_ARG, "disagree")
      end select
    end do

    ! More requests on one rank than on others.
    if (ranks == 1) return
    call scda_fopen_write(f, comm, filename, "refused")
    call scda_write(f, "d", six)
    call scda_fclose(f)
    requests = good
    call scda_fopen_read(f, comm, filename)
    call scda_fread_datasets(f, requests(:merge(3, 2, here)), ierr)
    call expect(f, ierr, SCDA_ERR_ARG, "disagree")
  end subroutine refused_requests

end program test_fortran_datasets
