! SPDX-License-Identifier: MIT OR Apache-2.0
!
! The Fortran module of libscda: parallel, serial-equivalent, archival files.
!
! docs/fortran.md explains every procedure with examples, scda.h says the rest in the terms of C. In short:
!
! - Every procedure with a type(scda_fcontext_t) is collective over its communicator, except scda_feof.
! - ierr is optional and the last argument by position; those behind it are passed by keyword. It is 0 or a code below, the same
!   on all ranks. On error the file is closed. An error without ierr stops the program with scda_last_error_message().
! - data may be any variable of intrinsic type, or of a derived type with bind(C) or sequence, of any rank. One that is not
!   contiguous is copied by the compiler. Absent or unallocated data are NULL in C: they skip reading on this rank.
!   (userstr stands before data because gfortran passes a hidden length for character data, which would be taken for that of
!   a string behind them.)
! - Counts are elements, sizes are bytes, each integer(int32) or integer(int64); what the library returns is integer(int64).
! - User strings lose their trailing blanks, unless exact=.true.
!
! .mod files depend on the compiler: this source is compiled with the program that uses it, once. It is Fortran 2018. (Not with
! -fno-automatic: gfortran then loses the lengths of the strings that functions return.)
!   SCDA_SERIAL      the library was built without MPI (the installation defines it below)
!   SCDA_NO_MPI_F08  define it if this compiler has no module mpi_f08: communicators are then integers only
! define SCDA_SERIAL
#if !defined(SCDA_SERIAL) && !defined(SCDA_NO_MPI_F08)
#define SCDA_F08
#endif

module scda
  use, intrinsic :: iso_c_binding, only: c_char, c_int, c_int64_t, c_intptr_t, c_loc, c_null_char, c_null_ptr, c_ptr, &
    & c_associated, c_f_pointer, c_size_t, c_sizeof
  use, intrinsic :: iso_fortran_env, only: int32, int64
#ifdef SCDA_F08
  use mpi_f08, only: MPI_Comm, MPI_Info
#endif
  implicit none
  private

  !> The version of the library that this module belongs to.
  integer, parameter, public :: SCDA_VERSION_MAJOR = 0
  integer, parameter, public :: SCDA_VERSION_MINOR = 1
  integer, parameter, public :: SCDA_VERSION_PATCH = 0

  !> The communicator of this process alone, with MPI or without.
  integer, parameter, public :: SCDA_COMM_SELF = 1557814815

  !> What ierr can be: scda.h says what each means. SCDA_ERR_EOF is no failure: no section follows, and the file stays open.
  integer, parameter, public :: SCDA_SUCCESS = 0
  integer, parameter, public :: SCDA_ERR_FORMAT = 15000
  integer, parameter, public :: SCDA_ERR_USAGE = 15001
  integer, parameter, public :: SCDA_ERR_DECODE = 15002
  integer, parameter, public :: SCDA_ERR_ARG = 15003
  integer, parameter, public :: SCDA_ERR_COUNT = 15004
  integer, parameter, public :: SCDA_ERR_SHORT_FILE = SCDA_ERR_COUNT
  integer, parameter, public :: SCDA_ERR_VERSION = 15005
  integer, parameter, public :: SCDA_ERR_EOF = 15006
  integer, parameter, public :: SCDA_ERR_RANGE = 15007
  integer, parameter, public :: SCDA_ERR_MEMORY = 15008
  integer, parameter, public :: SCDA_ERR_INTERNAL = 15009
  integer, parameter, public :: SCDA_ERR_MPI = 15010
  integer, parameter, public :: SCDA_ERR_CHECKSUM = 15011
  integer, parameter, public :: SCDA_ERR_NO_SUCH_FILE = 15020
  integer, parameter, public :: SCDA_ERR_ACCESS = 15021
  integer, parameter, public :: SCDA_ERR_NO_SPACE = 15022
  integer, parameter, public :: SCDA_ERR_QUOTA = 15023
  integer, parameter, public :: SCDA_ERR_READ_ONLY = 15024
  integer, parameter, public :: SCDA_ERR_FILE_EXISTS = 15025
  integer, parameter, public :: SCDA_ERR_BAD_FILE = 15026
  integer, parameter, public :: SCDA_ERR_FILE_IN_USE = 15027
  integer, parameter, public :: SCDA_ERR_UNSUPPORTED = 15028
  integer, parameter, public :: SCDA_ERR_IO = 15029

  !> scda_params_t%linebreak
  integer, parameter, public :: SCDA_LINEBREAK_UNIX = 0
  integer, parameter, public :: SCDA_LINEBREAK_MIME = 1

  !> scda_params_t%encoder
  integer, parameter, public :: SCDA_ENCODER_FAST = 0
  integer, parameter, public :: SCDA_ENCODER_ZLIB = 1

  !> scda_params_t%driver
  integer, parameter, public :: SCDA_DRIVER_AUTO = 0
  integer, parameter, public :: SCDA_DRIVER_MPIIO = 1
  integer, parameter, public :: SCDA_DRIVER_POSIX = 2

  !> The most bytes that a user string can have, and the bytes of an inline section.
  integer, parameter, public :: SCDA_USER_STRING_BYTES = 58
  integer, parameter, public :: SCDA_INLINE_BYTES = 32

  !> encode
  integer, parameter, public :: SCDA_ENCODE_NONE = 0
  integer, parameter, public :: SCDA_ENCODE_ALWAYS = 1
  integer, parameter, public :: SCDA_ENCODE_AUTO = 2

  !> What may be chosen when a file is opened, the same on all ranks: to be filled by scda_params_init and then changed. The
  !> meaning of each component is that of scda_params in scda.h. Hints for MPI-IO are the argument info of the open procedures.
  type, bind(C), public :: scda_params_t
    integer(c_size_t), private :: bytes = 0 ! what was not filled by scda_params_init is refused
    integer(c_int) :: linebreak = 0
    integer(c_int) :: encoder = 0
    integer(c_int) :: level = 0
    integer(c_int) :: threads = 0
    integer(c_int64_t) :: aggregation_bytes = 0
    integer(c_int) :: driver = 0
    integer(c_int) :: atomic = 0
    integer(c_int) :: sync = 0
    integer(c_int) :: check = 0
    integer(c_int64_t) :: fuzzy_everyn = 0
    integer(c_int64_t) :: fuzzy_seed = 0
    integer(c_intptr_t), private :: info = 0 ! room for MPI's handle in C, an int or a pointer
    integer(c_int64_t), private :: reserved(8) = 0
  end type scda_params_t

  !> A file that is open, or was closed. A copy is the same file.
  type, public :: scda_fcontext_t
    private
    type(c_ptr) :: handle = c_null_ptr
    integer(c_int) :: rank = 0, nranks = 0
  end type scda_fcontext_t

  public :: scda_fopen, scda_fopen_write, scda_fopen_read, scda_fclose, scda_fflush, scda_feof
  public :: scda_fwrite_inline, scda_fwrite_block, scda_fwrite_array, scda_fwrite_varray
  public :: scda_fread_section_header, scda_fread_inline_data, scda_fread_block_data, scda_fread_array_data
  public :: scda_fread_varray_sizes, scda_fread_varray_data, scda_proc_sizes
  public :: scda_params_init, scda_ferror_string, scda_ferror_class, scda_last_error_message, scda_version

  !> Opens a file for writing ("w") or reading ("r"): call scda_fopen(f, comm, filename, mode, userstr, ierr, len, exact)
  interface scda_fopen
    module procedure fopen_int
#ifdef SCDA_F08
    module procedure fopen_f08
#endif
  end interface scda_fopen

  !> Creates a file: call scda_fopen_write(f, comm, filename, userstr, ierr, params, info, exact)
  interface scda_fopen_write
    module procedure fopen_write_int
#ifdef SCDA_F08
    module procedure fopen_write_f08
#endif
  end interface scda_fopen_write

  !> Opens a file for reading: call scda_fopen_read(f, comm, filename, userstr, ierr, len, params, info)
  interface scda_fopen_read
    module procedure fopen_read_int
#ifdef SCDA_F08
    module procedure fopen_read_f08
#endif
  end interface scda_fopen_read

  !> Writes a block: call scda_fwrite_block(f, userstr, data, E, root, encode, ierr, exact)
  interface scda_fwrite_block
    module procedure fwrite_block_4, fwrite_block_8
  end interface scda_fwrite_block

  !> Writes an array: call scda_fwrite_array(f, userstr, data, Nq, E, encode, ierr, indirect, exact)
  interface scda_fwrite_array
    module procedure fwrite_array_44, fwrite_array_48, fwrite_array_84, fwrite_array_88
  end interface scda_fwrite_array

  !> Writes a varray: call scda_fwrite_varray(f, userstr, data, Nq, Ei, encode, ierr, Sq, indirect, exact)
  interface scda_fwrite_varray
    module procedure fwrite_varray_44, fwrite_varray_48, fwrite_varray_84, fwrite_varray_88
  end interface scda_fwrite_varray

  !> Reads a block: call scda_fread_block_data(f, data, E, root, ierr)
  interface scda_fread_block_data
    module procedure fread_block_data_4, fread_block_data_8
  end interface scda_fread_block_data

  !> Reads an array: call scda_fread_array_data(f, data, Nq, E, ierr, indirect)
  interface scda_fread_array_data
    module procedure fread_array_data_44, fread_array_data_48, fread_array_data_84, fread_array_data_88
  end interface scda_fread_array_data

  !> Reads the sizes of the elements of a varray, before its data: call scda_fread_varray_sizes(f, Ei, Nq, ierr)
  interface scda_fread_varray_sizes
    module procedure fread_varray_sizes_4, fread_varray_sizes_8
  end interface scda_fread_varray_sizes

  !> Reads the data of a varray: call scda_fread_varray_data(f, data, Nq, Ei, ierr, Sq, indirect)
  interface scda_fread_varray_data
    module procedure fread_varray_data_4, fread_varray_data_8
  end interface scda_fread_varray_data

  !> Computes the bytes of a varray on each rank: call scda_proc_sizes(f, Ei, Nq, Sq, ierr)
  interface scda_proc_sizes
    module procedure proc_sizes_44, proc_sizes_48, proc_sizes_84, proc_sizes_88
  end interface scda_proc_sizes

  ! The functions of C. Pointers that may be NULL are passed as type(c_ptr).
  interface
    function c_fopen(comm, info, filename, mode, userstr, len, params, rank, nranks, err) bind(C, name="scda_fopen_f") result(f)
      import :: c_char, c_int, c_ptr, c_size_t
      integer(c_int), value :: comm
      type(c_ptr), value :: info, params
      character(kind=c_char), intent(in) :: filename(*), mode(*)
      character(kind=c_char), intent(inout) :: userstr(*)
      integer(c_size_t), intent(inout) :: len
      integer(c_int), intent(out) :: rank, nranks, err
      type(c_ptr) :: f
    end function c_fopen

    function c_fclose(f, err) bind(C, name="scda_fclose") result(status)
      import :: c_int, c_ptr
      type(c_ptr), value :: f
      integer(c_int), intent(out) :: err
      integer(c_int) :: status
    end function c_fclose

    function c_fflush(f, err) bind(C, name="scda_fflush") result(g)
      import :: c_int, c_ptr
      type(c_ptr), value :: f
      integer(c_int), intent(out) :: err
      type(c_ptr) :: g
    end function c_fflush

    function c_feof(f) bind(C, name="scda_feof") result(status)
      import :: c_int, c_ptr
      type(c_ptr), value :: f
      integer(c_int) :: status
    end function c_feof

    function c_proc_sizes(f, Ei, Nq, Sq, err) bind(C, name="scda_proc_sizes") result(g)
      import :: c_int, c_ptr
      type(c_ptr), value :: f, Ei, Nq, Sq
      integer(c_int), intent(out) :: err
      type(c_ptr) :: g
    end function c_proc_sizes

    function c_fwrite_inline(f, data, userstr, len, root, err) bind(C, name="scda_fwrite_inline") result(g)
      import :: c_char, c_int, c_ptr, c_size_t
      type(c_ptr), value :: f, data
      character(kind=c_char), intent(in) :: userstr(*)
      integer(c_size_t), intent(in) :: len
      integer(c_int), value :: root
      integer(c_int), intent(out) :: err
      type(c_ptr) :: g
    end function c_fwrite_inline

    function c_fwrite_block(f, data, E, userstr, len, root, encode, err) bind(C, name="scda_fwrite_block") result(g)
      import :: c_char, c_int, c_int64_t, c_ptr, c_size_t
      type(c_ptr), value :: f, data
      integer(c_int64_t), value :: E
      character(kind=c_char), intent(in) :: userstr(*)
      integer(c_size_t), intent(in) :: len
      integer(c_int), value :: root, encode
      integer(c_int), intent(out) :: err
      type(c_ptr) :: g
    end function c_fwrite_block

    function c_fwrite_array(f, data, Nq, E, indirect, userstr, len, encode, err) bind(C, name="scda_fwrite_array") result(g)
      import :: c_char, c_int, c_int64_t, c_ptr, c_size_t
      type(c_ptr), value :: f, data, Nq
      integer(c_int64_t), value :: E
      integer(c_int), value :: indirect, encode
      character(kind=c_char), intent(in) :: userstr(*)
      integer(c_size_t), intent(in) :: len
      integer(c_int), intent(out) :: err
      type(c_ptr) :: g
    end function c_fwrite_array

    function c_fwrite_varray(f, data, Nq, Ei, Sq, indirect, userstr, len, encode, err) bind(C, name="scda_fwrite_varray") result(g)
      import :: c_char, c_int, c_ptr, c_size_t
      type(c_ptr), value :: f, data, Nq, Ei, Sq
      integer(c_int), value :: indirect, encode
      character(kind=c_char), intent(in) :: userstr(*)
      integer(c_size_t), intent(in) :: len
      integer(c_int), intent(out) :: err
      type(c_ptr) :: g
    end function c_fwrite_varray

    function c_fread_section_header(f, type, N, E, userstr, len, decode, err) bind(C, name="scda_fread_section_header") result(g)
      import :: c_char, c_int, c_int64_t, c_ptr, c_size_t
      type(c_ptr), value :: f
      character(kind=c_char), intent(inout) :: type, userstr(*)
      integer(c_int64_t), intent(inout) :: N, E
      integer(c_size_t), intent(inout) :: len
      integer(c_int), intent(inout) :: decode
      integer(c_int), intent(out) :: err
      type(c_ptr) :: g
    end function c_fread_section_header

    function c_fread_inline_data(f, data, root, err) bind(C, name="scda_fread_inline_data") result(g)
      import :: c_int, c_ptr
      type(c_ptr), value :: f, data
      integer(c_int), value :: root
      integer(c_int), intent(out) :: err
      type(c_ptr) :: g
    end function c_fread_inline_data

    function c_fread_block_data(f, data, E, root, err) bind(C, name="scda_fread_block_data") result(g)
      import :: c_int, c_int64_t, c_ptr
      type(c_ptr), value :: f, data
      integer(c_int64_t), value :: E
      integer(c_int), value :: root
      integer(c_int), intent(out) :: err
      type(c_ptr) :: g
    end function c_fread_block_data

    function c_fread_array_data(f, data, Nq, E, indirect, err) bind(C, name="scda_fread_array_data") result(g)
      import :: c_int, c_int64_t, c_ptr
      type(c_ptr), value :: f, data, Nq
      integer(c_int64_t), value :: E
      integer(c_int), value :: indirect
      integer(c_int), intent(out) :: err
      type(c_ptr) :: g
    end function c_fread_array_data

    function c_fread_varray_sizes(f, Ei, Nq, err) bind(C, name="scda_fread_varray_sizes") result(g)
      import :: c_int, c_ptr
      type(c_ptr), value :: f, Ei, Nq
      integer(c_int), intent(out) :: err
      type(c_ptr) :: g
    end function c_fread_varray_sizes

    function c_fread_varray_data(f, data, Nq, Ei, Sq, indirect, err) bind(C, name="scda_fread_varray_data") result(g)
      import :: c_int, c_ptr
      type(c_ptr), value :: f, data, Nq, Ei, Sq
      integer(c_int), value :: indirect
      integer(c_int), intent(out) :: err
      type(c_ptr) :: g
    end function c_fread_varray_data

    function c_params_init(params) bind(C, name="scda_params_init") result(status)
      import :: c_int, scda_params_t
      type(scda_params_t), intent(inout) :: params
      integer(c_int) :: status
    end function c_params_init

    function c_ferror_string(err, str, len) bind(C, name="scda_ferror_string") result(status)
      import :: c_char, c_int
      integer(c_int), value :: err
      character(kind=c_char), intent(inout) :: str(*)
      integer(c_int), intent(inout) :: len
      integer(c_int) :: status
    end function c_ferror_string

    function c_ferror_class(err, errclass) bind(C, name="scda_ferror_class") result(status)
      import :: c_int
      integer(c_int), value :: err
      integer(c_int), intent(inout) :: errclass
      integer(c_int) :: status
    end function c_ferror_class

    function c_last_error_message() bind(C, name="scda_last_error_message") result(str)
      import :: c_ptr
      type(c_ptr) :: str
    end function c_last_error_message

    function c_version() bind(C, name="scda_version") result(str)
      import :: c_ptr
      type(c_ptr) :: str
    end function c_version

    function c_strlen(str) bind(C, name="strlen") result(n)
      import :: c_ptr, c_size_t
      type(c_ptr), value :: str
      integer(c_size_t) :: n
    end function c_strlen
  end interface

contains

  ! ---- Opening and closing -----------------------------------------------------------------------------------------------

  subroutine fopen_int(f, comm, filename, mode, userstr, ierr, len, exact)
    type(scda_fcontext_t), intent(out) :: f
    integer, intent(in) :: comm
    character(*), intent(in) :: filename, mode
    character(*), intent(inout) :: userstr
    integer, intent(out), optional :: ierr, len
    logical, intent(in), optional :: exact
    call open_file(f, comm, filename, mode, userstr, bytes_of(userstr, exact), ierr, len)
  end subroutine fopen_int

  subroutine fopen_write_int(f, comm, filename, userstr, ierr, params, info, exact)
    type(scda_fcontext_t), intent(out) :: f
    integer, intent(in) :: comm
    character(*), intent(in) :: filename, userstr
    integer, intent(out), optional :: ierr
    type(scda_params_t), intent(in), optional :: params
    integer, intent(in), optional :: info
    logical, intent(in), optional :: exact
    character(SCDA_USER_STRING_BYTES + 1) :: copy
    integer, allocatable :: hints
    copy = userstr
    if (present(info)) hints = info
    call open_file(f, comm, filename, "w", copy, bytes_of(userstr, exact), ierr, params=params, info=hints)
  end subroutine fopen_write_int

  subroutine fopen_read_int(f, comm, filename, userstr, ierr, len, params, info)
    type(scda_fcontext_t), intent(out) :: f
    integer, intent(in) :: comm
    character(*), intent(in) :: filename
    character(*), intent(out), optional :: userstr
    integer, intent(out), optional :: ierr, len
    type(scda_params_t), intent(in), optional :: params
    integer, intent(in), optional :: info
    character(SCDA_USER_STRING_BYTES) :: copy
    integer, allocatable :: hints
    copy = ""
    if (present(info)) hints = info
    call open_file(f, comm, filename, "r", copy, 0_c_size_t, ierr, len, params, hints)
    if (present(userstr)) userstr = copy
  end subroutine fopen_read_int

#ifdef SCDA_F08
  subroutine fopen_f08(f, comm, filename, mode, userstr, ierr, len, exact)
    type(scda_fcontext_t), intent(out) :: f
    type(MPI_Comm), intent(in) :: comm
    character(*), intent(in) :: filename, mode
    character(*), intent(inout) :: userstr
    integer, intent(out), optional :: ierr, len
    logical, intent(in), optional :: exact
    call open_file(f, int(comm%MPI_VAL), filename, mode, userstr, bytes_of(userstr, exact), ierr, len)
  end subroutine fopen_f08

  subroutine fopen_write_f08(f, comm, filename, userstr, ierr, params, info, exact)
    type(scda_fcontext_t), intent(out) :: f
    type(MPI_Comm), intent(in) :: comm
    character(*), intent(in) :: filename, userstr
    integer, intent(out), optional :: ierr
    type(scda_params_t), intent(in), optional :: params
    type(MPI_Info), intent(in), optional :: info
    logical, intent(in), optional :: exact
    character(SCDA_USER_STRING_BYTES + 1) :: copy
    integer, allocatable :: hints
    copy = userstr
    if (present(info)) hints = info%MPI_VAL
    call open_file(f, int(comm%MPI_VAL), filename, "w", copy, bytes_of(userstr, exact), ierr, params=params, info=hints)
  end subroutine fopen_write_f08

  subroutine fopen_read_f08(f, comm, filename, userstr, ierr, len, params, info)
    type(scda_fcontext_t), intent(out) :: f
    type(MPI_Comm), intent(in) :: comm
    character(*), intent(in) :: filename
    character(*), intent(out), optional :: userstr
    integer, intent(out), optional :: ierr, len
    type(scda_params_t), intent(in), optional :: params
    type(MPI_Info), intent(in), optional :: info
    character(SCDA_USER_STRING_BYTES) :: copy
    integer, allocatable :: hints
    copy = ""
    if (present(info)) hints = info%MPI_VAL
    call open_file(f, int(comm%MPI_VAL), filename, "r", copy, 0_c_size_t, ierr, len, params, hints)
    if (present(userstr)) userstr = copy
  end subroutine fopen_read_f08
#endif

  ! The user string: "w": its first bytes are written. "r": it is filled.
  subroutine open_file(f, comm, filename, mode, userstr, bytes, ierr, len, params, info)
    type(scda_fcontext_t), intent(inout) :: f
    integer, intent(in) :: comm
    character(*), intent(in) :: filename, mode
    character(*), intent(inout) :: userstr
    integer(c_size_t), intent(in) :: bytes
    integer, intent(out), optional :: ierr, len
    type(scda_params_t), intent(in), target, optional :: params
    integer, intent(in), optional :: info
    character(kind=c_char) :: buffer(SCDA_USER_STRING_BYTES + 1)
    integer(c_size_t) :: length, i
    integer(c_int), target :: c_info
    integer(c_int) :: err
    type(c_ptr) :: handle, info_pointer, params_pointer
    buffer = c_null_char
    do i = 1, min(bytes, size(buffer, kind=c_size_t)) ! C refuses what is longer, and does not read it
      buffer(i) = userstr(i:i)
    end do
    length = bytes
    params_pointer = c_null_ptr
    if (present(params)) params_pointer = c_loc(params)
    info_pointer = c_null_ptr
    if (present(info)) then
      c_info = int(info, c_int)
      info_pointer = c_loc(c_info)
    end if
    handle = c_fopen(int(comm, c_int), info_pointer, trim(filename) // c_null_char, trim(mode) // c_null_char, buffer, length, &
      & params_pointer, f%rank, f%nranks, err)
    if (mode == "r" .and. c_associated(handle)) call copy_text(buffer, length, userstr)
    if (present(len)) len = int(merge(length, 0_c_size_t, c_associated(handle)))
    call finish(f, handle, err, ierr)
  end subroutine open_file

  !> Closes the file: without an error, every byte is in it.
  subroutine scda_fclose(f, ierr)
    type(scda_fcontext_t), intent(inout) :: f
    integer, intent(out), optional :: ierr
    integer(c_int) :: status, err
    status = c_fclose(f%handle, err)
    call finish(f, c_null_ptr, merge(err, 0_c_int, status /= 0), ierr)
  end subroutine scda_fclose

  !> Writes all that waits, and lets all ranks know whether all went well until now.
  subroutine scda_fflush(f, ierr)
    type(scda_fcontext_t), intent(inout) :: f
    integer, intent(out), optional :: ierr
    integer(c_int) :: err
    type(c_ptr) :: handle
    handle = c_fflush(f%handle, err)
    call finish(f, handle, err, ierr)
  end subroutine scda_fflush

  !> Whether no section follows in a file open for reading. Not collective, and the same on all ranks.
  function scda_feof(f) result(at_end)
    type(scda_fcontext_t), intent(in) :: f
    logical :: at_end
    at_end = c_feof(f%handle) /= 0
  end function scda_feof

  !> Fills params with the defaults. Not collective.
  subroutine scda_params_init(params)
    type(scda_params_t), intent(out) :: params
    if (c_params_init(params) /= 0 .or. params%bytes /= c_sizeof(params)) then
      call fail("this module is not that of the library which the program runs with")
    end if
  end subroutine scda_params_init

  ! ---- Writing -----------------------------------------------------------------------------------------------------------

  !> Writes an inline section: 32 bytes of root.
  subroutine scda_fwrite_inline(f, userstr, data, root, ierr, exact)
    type(scda_fcontext_t), intent(inout) :: f
    character(*), intent(in) :: userstr
    type(*), dimension(..), contiguous, target, optional, intent(in) :: data
    integer, intent(in) :: root
    integer, intent(out), optional :: ierr
    logical, intent(in), optional :: exact
    integer(c_int) :: err
    type(c_ptr) :: handle
    handle = c_fwrite_inline(f%handle, address(data), userstr, bytes_of(userstr, exact), int(root, c_int), err)
    call finish(f, handle, err, ierr)
  end subroutine scda_fwrite_inline

  subroutine fwrite_block_4(f, userstr, data, E, root, encode, ierr, exact)
    type(scda_fcontext_t), intent(inout) :: f
    character(*), intent(in) :: userstr
    type(*), dimension(..), contiguous, target, optional, intent(in) :: data
    integer(int32), intent(in) :: E
    integer, intent(in) :: root, encode
    integer, intent(out), optional :: ierr
    logical, intent(in), optional :: exact
    call put_block(f, address(data), int(E, int64), userstr, root, encode, ierr, exact)
  end subroutine fwrite_block_4

  subroutine fwrite_block_8(f, userstr, data, E, root, encode, ierr, exact)
    type(scda_fcontext_t), intent(inout) :: f
    character(*), intent(in) :: userstr
    type(*), dimension(..), contiguous, target, optional, intent(in) :: data
    integer(int64), intent(in) :: E
    integer, intent(in) :: root, encode
    integer, intent(out), optional :: ierr
    logical, intent(in), optional :: exact
    call put_block(f, address(data), E, userstr, root, encode, ierr, exact)
  end subroutine fwrite_block_8

  subroutine fwrite_array_44(f, userstr, data, Nq, E, encode, ierr, indirect, exact)
    type(scda_fcontext_t), intent(inout) :: f
    character(*), intent(in) :: userstr
    type(*), dimension(..), contiguous, target, optional, intent(in) :: data
    integer(int32), intent(in) :: Nq(:), E
    integer, intent(in) :: encode
    integer, intent(out), optional :: ierr
    logical, intent(in), optional :: indirect, exact
    call put_array(f, address(data), extent(data), int(Nq, int64), int(E, int64), userstr, encode, &
      & ierr, indirect, exact)
  end subroutine fwrite_array_44

  subroutine fwrite_array_48(f, userstr, data, Nq, E, encode, ierr, indirect, exact)
    type(scda_fcontext_t), intent(inout) :: f
    character(*), intent(in) :: userstr
    type(*), dimension(..), contiguous, target, optional, intent(in) :: data
    integer(int32), intent(in) :: Nq(:)
    integer(int64), intent(in) :: E
    integer, intent(in) :: encode
    integer, intent(out), optional :: ierr
    logical, intent(in), optional :: indirect, exact
    call put_array(f, address(data), extent(data), int(Nq, int64), E, userstr, encode, &
      & ierr, indirect, exact)
  end subroutine fwrite_array_48

  subroutine fwrite_array_84(f, userstr, data, Nq, E, encode, ierr, indirect, exact)
    type(scda_fcontext_t), intent(inout) :: f
    character(*), intent(in) :: userstr
    type(*), dimension(..), contiguous, target, optional, intent(in) :: data
    integer(int64), intent(in) :: Nq(:)
    integer(int32), intent(in) :: E
    integer, intent(in) :: encode
    integer, intent(out), optional :: ierr
    logical, intent(in), optional :: indirect, exact
    call put_array(f, address(data), extent(data), Nq, int(E, int64), userstr, encode, &
      & ierr, indirect, exact)
  end subroutine fwrite_array_84

  subroutine fwrite_array_88(f, userstr, data, Nq, E, encode, ierr, indirect, exact)
    type(scda_fcontext_t), intent(inout) :: f
    character(*), intent(in) :: userstr
    type(*), dimension(..), contiguous, target, optional, intent(in) :: data
    integer(int64), intent(in) :: Nq(:), E
    integer, intent(in) :: encode
    integer, intent(out), optional :: ierr
    logical, intent(in), optional :: indirect, exact
    call put_array(f, address(data), extent(data), Nq, E, userstr, encode, &
      & ierr, indirect, exact)
  end subroutine fwrite_array_88

  subroutine fwrite_varray_44(f, userstr, data, Nq, Ei, encode, ierr, Sq, indirect, exact)
    type(scda_fcontext_t), intent(inout) :: f
    character(*), intent(in) :: userstr
    type(*), dimension(..), contiguous, target, optional, intent(in) :: data
    integer(int32), intent(in) :: Nq(:), Ei(:)
    integer, intent(in) :: encode
    integer, intent(out), optional :: ierr
    integer(int64), contiguous, target, optional, intent(in) :: Sq(:)
    logical, intent(in), optional :: indirect, exact
    call put_varray(f, address(data), extent(data), int(Nq, int64), int(Ei, int64), userstr, encode, &
      & ierr, Sq, indirect, exact)
  end subroutine fwrite_varray_44

  subroutine fwrite_varray_48(f, userstr, data, Nq, Ei, encode, ierr, Sq, indirect, exact)
    type(scda_fcontext_t), intent(inout) :: f
    character(*), intent(in) :: userstr
    type(*), dimension(..), contiguous, target, optional, intent(in) :: data
    integer(int32), intent(in) :: Nq(:)
    integer(int64), intent(in) :: Ei(:)
    integer, intent(in) :: encode
    integer, intent(out), optional :: ierr
    integer(int64), contiguous, target, optional, intent(in) :: Sq(:)
    logical, intent(in), optional :: indirect, exact
    call put_varray(f, address(data), extent(data), int(Nq, int64), Ei, userstr, encode, &
      & ierr, Sq, indirect, exact)
  end subroutine fwrite_varray_48

  subroutine fwrite_varray_84(f, userstr, data, Nq, Ei, encode, ierr, Sq, indirect, exact)
    type(scda_fcontext_t), intent(inout) :: f
    character(*), intent(in) :: userstr
    type(*), dimension(..), contiguous, target, optional, intent(in) :: data
    integer(int64), intent(in) :: Nq(:)
    integer(int32), intent(in) :: Ei(:)
    integer, intent(in) :: encode
    integer, intent(out), optional :: ierr
    integer(int64), contiguous, target, optional, intent(in) :: Sq(:)
    logical, intent(in), optional :: indirect, exact
    call put_varray(f, address(data), extent(data), Nq, int(Ei, int64), userstr, encode, &
      & ierr, Sq, indirect, exact)
  end subroutine fwrite_varray_84

  subroutine fwrite_varray_88(f, userstr, data, Nq, Ei, encode, ierr, Sq, indirect, exact)
    type(scda_fcontext_t), intent(inout) :: f
    character(*), intent(in) :: userstr
    type(*), dimension(..), contiguous, target, optional, intent(in) :: data
    integer(int64), intent(in) :: Nq(:), Ei(:)
    integer, intent(in) :: encode
    integer, intent(out), optional :: ierr
    integer(int64), contiguous, target, optional, intent(in) :: Sq(:)
    logical, intent(in), optional :: indirect, exact
    call put_varray(f, address(data), extent(data), Nq, Ei, userstr, encode, &
      & ierr, Sq, indirect, exact)
  end subroutine fwrite_varray_88

  subroutine put_block(f, data, E, userstr, root, encode, ierr, exact)
    type(scda_fcontext_t), intent(inout) :: f
    type(c_ptr), intent(in) :: data
    integer(int64), intent(in) :: E
    character(*), intent(in) :: userstr
    integer, intent(in) :: root, encode
    integer, intent(out), optional :: ierr
    logical, intent(in), optional :: exact
    integer(c_int) :: err
    type(c_ptr) :: handle
    handle = c_fwrite_block(f%handle, data, E, userstr, bytes_of(userstr, exact), int(root, c_int), int(encode, c_int), err)
    call finish(f, handle, err, ierr)
  end subroutine put_block

  subroutine put_array(f, data, n_data, Nq, E, userstr, encode, ierr, indirect, exact)
    type(scda_fcontext_t), intent(inout) :: f
    type(c_ptr), intent(in) :: data
    integer(int64), intent(in) :: n_data, E
    integer(int64), contiguous, target, intent(in) :: Nq(:)
    character(*), intent(in) :: userstr
    integer, intent(in) :: encode
    integer, intent(out), optional :: ierr
    logical, intent(in), optional :: indirect, exact
    integer(c_int) :: err
    type(c_ptr) :: handle
    handle = c_fwrite_array(f%handle, data, partition(f, Nq, n_data >= pointers(f, Nq, indirect)), E, flag(indirect), userstr, &
      & bytes_of(userstr, exact), int(encode, c_int), err)
    call finish(f, handle, err, ierr)
  end subroutine put_array

  subroutine put_varray(f, data, n_data, Nq, Ei, userstr, encode, ierr, Sq, indirect, exact)
    type(scda_fcontext_t), intent(inout) :: f
    type(c_ptr), intent(in) :: data
    integer(int64), intent(in) :: n_data
    integer(int64), contiguous, target, intent(in) :: Nq(:), Ei(:)
    character(*), intent(in) :: userstr
    integer, intent(in) :: encode
    integer, intent(out), optional :: ierr
    integer(int64), contiguous, target, optional, intent(in) :: Sq(:)
    logical, intent(in), optional :: indirect, exact
    logical :: fits
    integer(c_int) :: err
    type(c_ptr) :: handle
    fits = n_data >= pointers(f, Nq, indirect) .and. long_enough(f, Sq)
    handle = c_fwrite_varray(f%handle, data, partition(f, Nq, fits), list(Ei, own(f, Nq)), sums(Sq), flag(indirect), userstr, &
      & bytes_of(userstr, exact), int(encode, c_int), err)
    call finish(f, handle, err, ierr)
  end subroutine put_varray

  ! ---- Reading -----------------------------------------------------------------------------------------------------------

  !> Reads the header of the next section. decode in: whether to decompress a compressed one; out: whether this one is.
  subroutine scda_fread_section_header(f, type, N, E, userstr, decode, ierr, len)
    type(scda_fcontext_t), intent(inout) :: f
    character, intent(out) :: type
    integer(int64), intent(out) :: N, E
    character(*), intent(out) :: userstr
    logical, intent(inout) :: decode
    integer, intent(out), optional :: ierr, len
    character(kind=c_char) :: c_type, buffer(SCDA_USER_STRING_BYTES + 1)
    integer(c_size_t) :: bytes
    integer(c_int) :: c_decode, err
    type(c_ptr) :: handle
    c_type = ' '
    N = 0
    E = 0
    bytes = 0
    c_decode = merge(1_c_int, 0_c_int, decode)
    handle = c_fread_section_header(f%handle, c_type, N, E, buffer, bytes, c_decode, err)
    type = c_type
    call copy_text(buffer, bytes, userstr)
    decode = err == SCDA_SUCCESS .and. c_decode /= 0
    if (present(len)) len = int(bytes)
    call finish(f, handle, err, ierr)
  end subroutine scda_fread_section_header

  !> Reads the 32 bytes of an inline section on root.
  subroutine scda_fread_inline_data(f, data, root, ierr)
    type(scda_fcontext_t), intent(inout) :: f
    type(*), dimension(..), contiguous, target, optional, intent(inout) :: data
    integer, intent(in) :: root
    integer, intent(out), optional :: ierr
    integer(c_int) :: err
    type(c_ptr) :: handle
    handle = c_fread_inline_data(f%handle, address(data), int(root, c_int), err)
    call finish(f, handle, err, ierr)
  end subroutine scda_fread_inline_data

  subroutine fread_block_data_4(f, data, E, root, ierr)
    type(scda_fcontext_t), intent(inout) :: f
    type(*), dimension(..), contiguous, target, optional, intent(inout) :: data
    integer(int32), intent(in) :: E
    integer, intent(in) :: root
    integer, intent(out), optional :: ierr
    call get_block(f, address(data), int(E, int64), root, ierr)
  end subroutine fread_block_data_4

  subroutine fread_block_data_8(f, data, E, root, ierr)
    type(scda_fcontext_t), intent(inout) :: f
    type(*), dimension(..), contiguous, target, optional, intent(inout) :: data
    integer(int64), intent(in) :: E
    integer, intent(in) :: root
    integer, intent(out), optional :: ierr
    call get_block(f, address(data), E, root, ierr)
  end subroutine fread_block_data_8

  subroutine fread_array_data_44(f, data, Nq, E, ierr, indirect)
    type(scda_fcontext_t), intent(inout) :: f
    type(*), dimension(..), contiguous, target, optional, intent(inout) :: data
    integer(int32), intent(in) :: Nq(:), E
    integer, intent(out), optional :: ierr
    logical, intent(in), optional :: indirect
    call get_array(f, address(data), extent(data), int(Nq, int64), int(E, int64), ierr, indirect)
  end subroutine fread_array_data_44

  subroutine fread_array_data_48(f, data, Nq, E, ierr, indirect)
    type(scda_fcontext_t), intent(inout) :: f
    type(*), dimension(..), contiguous, target, optional, intent(inout) :: data
    integer(int32), intent(in) :: Nq(:)
    integer(int64), intent(in) :: E
    integer, intent(out), optional :: ierr
    logical, intent(in), optional :: indirect
    call get_array(f, address(data), extent(data), int(Nq, int64), E, ierr, indirect)
  end subroutine fread_array_data_48

  subroutine fread_array_data_84(f, data, Nq, E, ierr, indirect)
    type(scda_fcontext_t), intent(inout) :: f
    type(*), dimension(..), contiguous, target, optional, intent(inout) :: data
    integer(int64), intent(in) :: Nq(:)
    integer(int32), intent(in) :: E
    integer, intent(out), optional :: ierr
    logical, intent(in), optional :: indirect
    call get_array(f, address(data), extent(data), Nq, int(E, int64), ierr, indirect)
  end subroutine fread_array_data_84

  subroutine fread_array_data_88(f, data, Nq, E, ierr, indirect)
    type(scda_fcontext_t), intent(inout) :: f
    type(*), dimension(..), contiguous, target, optional, intent(inout) :: data
    integer(int64), intent(in) :: Nq(:), E
    integer, intent(out), optional :: ierr
    logical, intent(in), optional :: indirect
    call get_array(f, address(data), extent(data), Nq, E, ierr, indirect)
  end subroutine fread_array_data_88

  subroutine fread_varray_sizes_4(f, Ei, Nq, ierr)
    type(scda_fcontext_t), intent(inout) :: f
    integer(int64), contiguous, optional, intent(inout) :: Ei(:)
    integer(int32), intent(in) :: Nq(:)
    integer, intent(out), optional :: ierr
    call get_sizes(f, Ei, int(Nq, int64), ierr)
  end subroutine fread_varray_sizes_4

  subroutine fread_varray_sizes_8(f, Ei, Nq, ierr)
    type(scda_fcontext_t), intent(inout) :: f
    integer(int64), contiguous, optional, intent(inout) :: Ei(:)
    integer(int64), intent(in) :: Nq(:)
    integer, intent(out), optional :: ierr
    call get_sizes(f, Ei, Nq, ierr)
  end subroutine fread_varray_sizes_8

  subroutine fread_varray_data_4(f, data, Nq, Ei, ierr, Sq, indirect)
    type(scda_fcontext_t), intent(inout) :: f
    type(*), dimension(..), contiguous, target, optional, intent(inout) :: data
    integer(int32), intent(in) :: Nq(:)
    integer(int64), intent(in) :: Ei(:)
    integer, intent(out), optional :: ierr
    integer(int64), contiguous, target, optional, intent(in) :: Sq(:)
    logical, intent(in), optional :: indirect
    call get_varray(f, address(data), extent(data), int(Nq, int64), Ei, ierr, Sq, indirect)
  end subroutine fread_varray_data_4

  subroutine fread_varray_data_8(f, data, Nq, Ei, ierr, Sq, indirect)
    type(scda_fcontext_t), intent(inout) :: f
    type(*), dimension(..), contiguous, target, optional, intent(inout) :: data
    integer(int64), intent(in) :: Nq(:)
    integer(int64), intent(in) :: Ei(:)
    integer, intent(out), optional :: ierr
    integer(int64), contiguous, target, optional, intent(in) :: Sq(:)
    logical, intent(in), optional :: indirect
    call get_varray(f, address(data), extent(data), Nq, Ei, ierr, Sq, indirect)
  end subroutine fread_varray_data_8

  subroutine proc_sizes_44(f, Ei, Nq, Sq, ierr)
    type(scda_fcontext_t), intent(inout) :: f
    integer(int32), intent(in) :: Ei(:), Nq(:)
    integer(int64), intent(inout) :: Sq(:)
    integer, intent(out), optional :: ierr
    call sum_sizes(f, int(Ei, int64), int(Nq, int64), Sq, ierr)
  end subroutine proc_sizes_44

  subroutine proc_sizes_48(f, Ei, Nq, Sq, ierr)
    type(scda_fcontext_t), intent(inout) :: f
    integer(int32), intent(in) :: Ei(:)
    integer(int64), intent(in) :: Nq(:)
    integer(int64), intent(inout) :: Sq(:)
    integer, intent(out), optional :: ierr
    call sum_sizes(f, int(Ei, int64), Nq, Sq, ierr)
  end subroutine proc_sizes_48

  subroutine proc_sizes_84(f, Ei, Nq, Sq, ierr)
    type(scda_fcontext_t), intent(inout) :: f
    integer(int64), intent(in) :: Ei(:)
    integer(int32), intent(in) :: Nq(:)
    integer(int64), intent(inout) :: Sq(:)
    integer, intent(out), optional :: ierr
    call sum_sizes(f, Ei, int(Nq, int64), Sq, ierr)
  end subroutine proc_sizes_84

  subroutine proc_sizes_88(f, Ei, Nq, Sq, ierr)
    type(scda_fcontext_t), intent(inout) :: f
    integer(int64), intent(in) :: Ei(:), Nq(:)
    integer(int64), intent(inout) :: Sq(:)
    integer, intent(out), optional :: ierr
    call sum_sizes(f, Ei, Nq, Sq, ierr)
  end subroutine proc_sizes_88

  subroutine get_block(f, data, E, root, ierr)
    type(scda_fcontext_t), intent(inout) :: f
    type(c_ptr), intent(in) :: data
    integer(int64), intent(in) :: E
    integer, intent(in) :: root
    integer, intent(out), optional :: ierr
    integer(c_int) :: err
    type(c_ptr) :: handle
    handle = c_fread_block_data(f%handle, data, E, int(root, c_int), err)
    call finish(f, handle, err, ierr)
  end subroutine get_block

  subroutine get_array(f, data, n_data, Nq, E, ierr, indirect)
    type(scda_fcontext_t), intent(inout) :: f
    type(c_ptr), intent(in) :: data
    integer(int64), intent(in) :: n_data, E
    integer(int64), contiguous, target, intent(in) :: Nq(:)
    integer, intent(out), optional :: ierr
    logical, intent(in), optional :: indirect
    integer(c_int) :: err
    type(c_ptr) :: handle
    handle = c_fread_array_data(f%handle, data, partition(f, Nq, n_data >= pointers(f, Nq, indirect)), E, flag(indirect), err)
    call finish(f, handle, err, ierr)
  end subroutine get_array

  subroutine get_sizes(f, Ei, Nq, ierr)
    type(scda_fcontext_t), intent(inout) :: f
    integer(int64), contiguous, target, optional, intent(inout) :: Ei(:)
    integer(int64), contiguous, target, intent(in) :: Nq(:)
    integer, intent(out), optional :: ierr
    logical :: fits
    integer(c_int) :: err
    type(c_ptr) :: handle, sizes
    fits = .true.
    sizes = c_null_ptr
    if (present(Ei)) then
      fits = size(Ei, kind=int64) >= own(f, Nq)
      sizes = list(Ei, 0_int64)
    end if
    handle = c_fread_varray_sizes(f%handle, sizes, partition(f, Nq, fits), err)
    call finish(f, handle, err, ierr)
  end subroutine get_sizes

  subroutine get_varray(f, data, n_data, Nq, Ei, ierr, Sq, indirect)
    type(scda_fcontext_t), intent(inout) :: f
    type(c_ptr), intent(in) :: data
    integer(int64), intent(in) :: n_data
    integer(int64), contiguous, target, intent(in) :: Nq(:), Ei(:)
    integer, intent(out), optional :: ierr
    integer(int64), contiguous, target, optional, intent(in) :: Sq(:)
    logical, intent(in), optional :: indirect
    logical :: fits
    integer(c_int) :: err
    type(c_ptr) :: handle
    fits = n_data >= pointers(f, Nq, indirect) .and. long_enough(f, Sq)
    handle = c_fread_varray_data(f%handle, data, partition(f, Nq, fits), list(Ei, own(f, Nq)), sums(Sq), flag(indirect), err)
    call finish(f, handle, err, ierr)
  end subroutine get_varray

  subroutine sum_sizes(f, Ei, Nq, Sq, ierr)
    type(scda_fcontext_t), intent(inout) :: f
    integer(int64), contiguous, target, intent(in) :: Ei(:), Nq(:)
    integer(int64), contiguous, target, intent(inout) :: Sq(:)
    integer, intent(out), optional :: ierr
    integer(c_int) :: err
    type(c_ptr) :: handle
    handle = c_proc_sizes(f%handle, list(Ei, own(f, Nq)), partition(f, Nq, .true.), list(Sq, int(f%nranks, int64)), err)
    call finish(f, handle, err, ierr)
  end subroutine sum_sizes

  ! ---- Errors ------------------------------------------------------------------------------------------------------------

  !> The text of an error code; empty for what is none. Not collective.
  function scda_ferror_string(ierr) result(str)
    integer, intent(in) :: ierr
    character(:), allocatable :: str
    character(kind=c_char) :: buffer(256)
    integer(c_int) :: bytes
    bytes = size(buffer)
    if (c_ferror_string(int(ierr, c_int), buffer, bytes) /= 0) bytes = 0
    allocate(character(bytes) :: str)
    call copy_text(buffer, int(bytes, c_size_t), str)
  end function scda_ferror_string

  !> The class of an error code: one of the codes of this module; -1 for what is none. Not collective.
  function scda_ferror_class(ierr) result(errclass)
    integer, intent(in) :: ierr
    integer :: errclass
    integer(c_int) :: class
    if (c_ferror_class(int(ierr, c_int), class) /= 0) class = -1
    errclass = int(class)
  end function scda_ferror_class

  !> What the last error of this thread was about: the file, the byte offset, what was found and expected. Not collective.
  function scda_last_error_message() result(str)
    character(:), allocatable :: str
    call copy_c_string(c_last_error_message(), str)
  end function scda_last_error_message

  !> The version of the library, as "MAJOR.MINOR.PATCH". Not collective.
  function scda_version() result(str)
    character(:), allocatable :: str
    call copy_c_string(c_version(), str)
  end function scda_version

  ! ---- Between Fortran and C ---------------------------------------------------------------------------------------------

  ! After every call: what became of the file, and of the error.
  subroutine finish(f, handle, err, ierr)
    type(scda_fcontext_t), intent(inout) :: f
    type(c_ptr), intent(in) :: handle
    integer(c_int), intent(in) :: err
    integer, intent(out), optional :: ierr
    f%handle = handle
    if (present(ierr)) then
      ierr = int(err)
    else if (err == SCDA_ERR_EOF) then
      call fail(scda_ferror_string(int(err))) ! no error for C, which keeps no message
    else if (err /= SCDA_SUCCESS) then
      call fail(scda_last_error_message())
    end if
  end subroutine finish

  subroutine fail(message)
    character(*), intent(in) :: message
    error stop "scda: " // message
  end subroutine fail

  ! NULL for data that are absent.
  function address(data) result(pointer)
    type(*), dimension(..), contiguous, target, optional, intent(in) :: data
    type(c_ptr) :: pointer
    pointer = c_null_ptr
    if (present(data)) pointer = c_loc(data)
  end function address

  ! The number of elements that data have in Fortran; that of absent data is of no interest.
  function extent(data) result(n)
    type(*), dimension(..), optional, intent(in) :: data
    integer(int64) :: n
    n = huge(n)
    if (present(data)) n = size(data, kind=int64)
    if (n < 0) n = huge(n) ! of an assumed size
  end function extent

  ! A list for C, or NULL if it has fewer than n entries: C then refuses it on all ranks, rather than read what is not there.
  function list(entries, n) result(pointer)
    integer(int64), contiguous, target, intent(in) :: entries(:)
    integer(int64), intent(in) :: n
    type(c_ptr) :: pointer
    pointer = c_null_ptr
    if (size(entries, kind=int64) >= n .and. size(entries) > 0) pointer = c_loc(entries)
  end function list

  ! The elements of this rank.
  function own(f, Nq) result(n)
    type(scda_fcontext_t), intent(in) :: f
    integer(int64), intent(in) :: Nq(:)
    integer(int64) :: n
    n = 0
    if (size(Nq) > f%rank) n = Nq(f%rank + 1)
  end function own

  ! The partition for C: NULL if it, or what depends on it, is too short.
  function partition(f, Nq, fits) result(pointer)
    type(scda_fcontext_t), intent(in) :: f
    integer(int64), contiguous, target, intent(in) :: Nq(:)
    logical, intent(in) :: fits
    type(c_ptr) :: pointer
    pointer = c_null_ptr
    if (fits) pointer = list(Nq, int(f%nranks, int64))
  end function partition

  ! Sq for C: NULL, that is to be computed, if absent.
  function sums(Sq) result(pointer)
    integer(int64), contiguous, target, optional, intent(in) :: Sq(:)
    type(c_ptr) :: pointer
    pointer = c_null_ptr
    if (present(Sq)) pointer = list(Sq, 0_int64)
  end function sums

  function long_enough(f, Sq) result(yes)
    type(scda_fcontext_t), intent(in) :: f
    integer(int64), contiguous, optional, intent(in) :: Sq(:)
    logical :: yes
    yes = .true.
    if (present(Sq)) yes = size(Sq) >= f%nranks
  end function long_enough

  ! The pointers that indirect data must have.
  function pointers(f, Nq, indirect) result(n)
    type(scda_fcontext_t), intent(in) :: f
    integer(int64), intent(in) :: Nq(:)
    logical, intent(in), optional :: indirect
    integer(int64) :: n
    n = 0
    if (is_true(indirect)) n = own(f, Nq)
  end function pointers

  function is_true(option) result(yes)
    logical, intent(in), optional :: option
    logical :: yes
    yes = .false.
    if (present(option)) yes = option
  end function is_true

  function flag(option) result(n)
    logical, intent(in), optional :: option
    integer(c_int) :: n
    n = merge(1_c_int, 0_c_int, is_true(option))
  end function flag

  ! The bytes of a user string to be written.
  function bytes_of(userstr, exact) result(n)
    character(*), intent(in) :: userstr
    logical, intent(in), optional :: exact
    integer(c_size_t) :: n
    n = len_trim(userstr, kind=c_size_t)
    if (is_true(exact)) n = len(userstr, kind=c_size_t)
  end function bytes_of

  ! The first n characters, as many as fit, padded with blanks.
  subroutine copy_text(buffer, n, str)
    character(kind=c_char), intent(in) :: buffer(:)
    integer(c_size_t), intent(in) :: n
    character(*), intent(out) :: str
    integer(c_size_t) :: i
    str = ""
    do i = 1, min(n, len(str, kind=c_size_t))
      str(i:i) = buffer(i)
    end do
  end subroutine copy_text

  subroutine copy_c_string(pointer, str)
    type(c_ptr), value :: pointer
    character(:), allocatable, intent(out) :: str
    character(kind=c_char), pointer :: buffer(:)
    integer(c_size_t) :: n
    n = c_strlen(pointer)
    call c_f_pointer(pointer, buffer, [n])
    allocate(character(n) :: str)
    call copy_text(buffer, n, str)
  end subroutine copy_c_string

end module scda
