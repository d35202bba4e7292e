! SPDX-License-Identifier: MIT OR Apache-2.0
!
! The Fortran module of libscda: parallel, serial-equivalent, archival files.
!
! The comment of each procedure shows its arguments; those in [...] are optional: pass those after an omitted one by keyword.
! docs/fortran.md has examples, and scda.h the details in terms of C. In short:
!
! - Every procedure with a type(scda_fcontext_t) is collective over its communicator, unless its comment says otherwise.
! - ierr is optional: 0 or a code below, the same on all ranks. An error closes the file. Without ierr, an error stops the
!   program with scda_last_error_message(); so does SCDA_ERR_EOF of scda_fread_section_header at the end of a file.
! - data may be any variable of intrinsic type, or of a derived type with bind(C) or sequence, of any rank. If it is not
!   contiguous, the compiler makes a copy. However, gfortran does not copy components, complex parts and substrings of an array, the
!   transpose of a function, and dummy arguments of assumed rank: as data of sections, p%x is rejected; pass (p%x), or read into
!   another array. Absent or unallocated data are NULL in C: when reading, they skip the data of this rank.
! - Arguments that are shorter than the others require, and an E that is no multiple of the size of an element, are rejected on all
!   ranks (SCDA_ERR_ARG), before anything is read from them or written to them.
! - Counts are in elements, sizes in bytes, each integer(int32) or integer(int64); the library returns integer(int64).
! - Numbers of ranks, of sections, and of the first element of a range count from 0, as in C. Indices of datasets
!   count from 1, and their dimensions have the order of Fortran.
! - User strings, of up to SCDA_USER_STRING_BYTES, and names of files lose their trailing blanks, unless len tells how many
!   characters of a user string to write. What is read is padded with blanks; len is then its length in the file.
! - comm is an integer or type(MPI_Comm), info (except in scda_get_info) an integer or type(MPI_Info). SCDA_COMM_SELF is this
!   process alone, also without MPI.
! - Nq has the number of elements of each rank, one entry per rank, or is a partition, integer(int64) :: Nq(SCDA_PARTITION_WORDS).
! - E is the size of the block, or of each element, in bytes. Without it, the last dimension of data counts the elements, exactly as
!   many as Nq says for this rank: field(5, n) is n elements of 5 numbers, and a rank without elements passes field(5, 0). A block
!   then has the size of the data of root, at the cost of one more exchange. When reading, E defaults to that of the section header,
!   which data must fit exactly.
! - found, decode and indirect are logical. With indirect, data is an array of type(c_ptr), one for each element of this rank; data
!   may then have other types than those above. When writing, pass E as well.
! - section is the number of a section; -1 if none is found.
! - By default, root is 0, record is -1 (the last one), encode is SCDA_ENCODE_NONE, and decode is true. Integers that are neither
!   counts nor sizes (root, record, len, constants) are of the default kind; arguments for streams and texts, and Nq of structs, are
!   integer(int64).
! - params%lend is only for contiguous variables with the attribute target.
!
! .mod files depend on the compiler: compile this source with the program that uses it, once. It includes scda.inc
! and scda_c.inc, from the same folder. It is Fortran 2018. (Do not use
! -fno-automatic: gfortran then loses the lengths of the strings that functions return.)
!   SCDA_SERIAL      the library was built without MPI (the installation defines it below)
!   SCDA_NO_MPI_F08  define it if the compiler has no module mpi_f08: communicators are then integers only
! define SCDA_SERIAL
#if !defined(SCDA_SERIAL) && !defined(SCDA_NO_MPI_F08)
#define SCDA_F08
#endif

#if defined(__GFORTRAN__) && __GNUC__ < 12
#error libscda needs gfortran 12 or later: the C descriptors of older versions have wrong lengths of character data.
#endif

! Everything except the interfaces of the procedures with data, which are in the module scda below.
module scda_implementation
  use, intrinsic :: iso_c_binding, only: c_bool, c_char, c_double, c_funloc, c_int, c_int16_t, c_int32_t, c_int64_t, c_int8_t, &
    & c_intptr_t, c_loc, c_null_char, c_null_ptr, c_ptr, c_associated, c_f_pointer, c_f_procpointer, c_size_t, c_sizeof
  use, intrinsic :: iso_fortran_env, only: int8, int16, int32, int64, real32, real64
#ifdef SCDA_F08
  use mpi_f08, only: MPI_Comm, MPI_Info
#endif
  implicit none
  private

  !> The communicator of this process alone, with or without MPI.
  integer, parameter, public :: SCDA_COMM_SELF = 1557814815

  !> From scda.h: constants (SCDA_ERR_EOF is no failure); parameters for opening a file, scda_params_t, which
  !> scda_params_init fills before you change them (hints for MPI-IO are the argument info of the open procedures); a commit or
  !> close in progress, scda_pending_t, whose copies are the same request; where this rank has spent its time, scda_statistics_t;
  !> what is known of a file, scda_info_t; and the functions and other structs, with c_ in place of scda_.
#include "scda_c.inc"

  !> A file that is open or closed. A copy is the same file.
  type, bind(C), public :: scda_fcontext_t
    private
    type(c_ptr) :: handle = c_null_ptr
    integer(c_int) :: rank = 0, nranks = 0
    integer(c_int) :: err = 0   ! of the last call
    integer(c_int64_t) :: E = 0 ! from the last header that was read through this variable
    type(c_ptr) :: opened = c_null_ptr ! the handle, even after the file was closed: no other file gets it
  end type scda_fcontext_t

  !> A dataset in the file, like scda_dataset_t in scda.h, with the dimensions in the order of Fortran.
  type, public :: scda_dataset_t
    character(:), allocatable :: name
    integer :: type = 0, encode = 0, codec = SCDA_CODEC_ZSTD
    integer(int64) :: item_bytes = 0
    integer(int64), allocatable :: shape(:), chunk(:)
    logical :: shuffle = .true.
    character(SCDA_NAME_BYTES), allocatable :: dimension_names(:) ! blank: none
    integer(int8), allocatable :: fill_value(:) ! the bytes of the item: transfer(fill_value, 0.0)
    character(:), allocatable :: attributes, unsupported
    integer(c_int64_t), private :: number = 0 ! identifies the dataset in the file
  end type scda_dataset_t

  !> An entry of a file: see scda_fnext_entry. kind is SCDA_ENTRY_DATASET, ...; for a dataset, type is the type of its items,
  !> and shape has its dimensions in the order of Fortran. record is its number among those of its name, from 0, and records their
  !> number. section is the number of its first section. Right after scda_fnext_entry has found an SCDA_ENTRY_UNKNOWN,
  !> scda_last_error_message() says why it cannot be read.
  type, public :: scda_entry_t
    integer :: kind = 0, type = 0
    character(:), allocatable :: name
    integer(int64) :: record = 0, records = 0, section = 0
    integer(int64), allocatable :: shape(:)
    integer(c_int64_t), private :: end = 0 ! where the iteration continues
  end type scda_entry_t

  ! A dataset to write or read, the memory to which it points, and the boxes of this rank.
  type :: given_t
    type(c_dataset_t) :: d
    integer(c_int) :: in_memory = 0 ! the type of items that are converted
    character(:), allocatable :: json
    character(kind=c_char), allocatable :: names(:, :)
    type(c_ptr) :: name_pointers(SCDA_MAX_DIMS) = c_null_ptr
    type(c_ptr) :: data = c_null_ptr
    integer(c_size_t) :: nboxes = 0
    integer(int64), allocatable :: starts(:), sizes(:)
    integer(int8), allocatable :: items(:), fill_value(:) ! copies, if it is held back; items also for logicals that are read
    type(given_t), pointer :: before => null()
  end type given_t

  !> A component of a type with bind(C), made by scda_member.
  type, public :: scda_member_t
    private
    character(SCDA_NAME_BYTES) :: name = ""
    integer :: type = 0, count = 1
    integer(int64) :: offset = 0, bytes = 0
  end type scda_member_t

  !> What scda_fread_datasets reads from a dataset, made by scda_request. It points to the data.
  type, public :: scda_request_t
    private
    character(:), allocatable :: name
    character(:), allocatable :: why ! why it cannot be read
    integer :: record = -1
    integer :: code = 0
    type(c_ptr) :: items = c_null_ptr
    integer(int64), allocatable :: extents(:), start(:), count(:)
    integer, allocatable :: type
    procedure(puts_logicals), pointer, nopass :: put => null() ! for logicals, which have another size in C
  end type scda_request_t

  abstract interface
    subroutine puts_logicals(address, bytes)
      import :: c_ptr, int8
      type(c_ptr), intent(in) :: address
      integer(int8), intent(in) :: bytes(:)
    end subroutine puts_logicals
  end interface

  ! Datasets of a file that are held back between scda_fwrite_datasets_begin and scda_fwrite_datasets_end.
  type :: held_t
    type(c_ptr) :: file = c_null_ptr ! the handle of the file, which all copies of a variable share
    type(given_t), pointer :: last => null()
    integer :: count = 0
    integer(int64) :: bytes = 0 ! of the items on each rank, see items_of_each
    type(held_t), pointer :: next => null()
  end type held_t

  ! The list of datasets held back, with one entry per file. It begins after this entry, which belongs to no file. Threads may work
  ! on different files: the list is used only in critical sections of OpenMP.
  type(held_t), target, save :: all_held

  !> The kind of the default integers, in a form that compilers accept as interoperable.
  integer, parameter :: scda_int = merge(c_int, c_int64_t, kind(0) == c_int)

  public :: scda_fopen, scda_fopen_write, scda_fopen_read, scda_fopen_append, scda_fclose, scda_fflush, scda_fcommit, scda_get_info
  public :: scda_fcommit_begin, scda_fclose_begin, scda_test, scda_wait, scda_get_statistics, scda_get_user_string
  public :: scda_stop_watch, scda_stop_requested
  public :: scda_fopen_append_or_create, scda_frefresh, scda_fsections, scda_fseek, scda_ffind
  public :: scda_partition_local, scda_partition_counts
  public :: scda_proc_counts, scda_proc_sizes, scda_fread_section_header, scda_fread_varray_sizes, scda_fread_varray_sizes_range
  public :: scda_params_init, scda_ferror_string, scda_last_error_message, scda_version, scda_type_name
  public :: scda_write, scda_read, scda_ffind_dataset, scda_fnext_entry, scda_fwrite_group, scda_ffind_group
  public :: scda_fset_attributes, scda_fread_attribute, scda_fread_field
  public :: scda_json, scda_list_attributes, scda_fwrite_datasets_begin, scda_fwrite_datasets_end, scda_request, scda_fread_datasets
  public :: scda_fwrite_streams_begin, scda_fwrite_streams_end, scda_ffind_streams, scda_stream_size
  public :: scda_member, scda_write_structs, scda_read_structs
  public :: scda_fread_streams_sizes, scda_fwrite_texts, scda_fread_texts_sizes, scda_texts_data
  public :: scda_int ! for the module scda
  ! For the module scda_meshes.
  public :: begin_dataset, c_dataset_t, c_member_t, file_of, finish, list_members, refuse, refuse_held, store
  public :: c_patches_t, c_patch_field_t, c_particles_t, c_patches_init_size, c_patches_free, c_patch_field_init_size
  public :: c_patches_write_mesh, c_patches_write_fields, c_patches_read_mesh, c_patches_read_fields
  public :: c_particles_init_size, c_particles_free, c_particles_write, c_particles_write_field, c_particles_read
  public :: c_particles_read_field
  public :: c_forest_write_time, c_forest_steps, c_forest_read_time, c_forest_find_field, copy_dataset, decimal, object_of

  !> Opens a file for writing ("w"), reading ("r") or appending ("a"): call scda_fopen(f, comm, filename, mode, userstr [, ierr,
  !> len])
  interface scda_fopen
    module procedure fopen_int
#ifdef SCDA_F08
    module procedure fopen_f08
#endif
  end interface scda_fopen

  !> Creates a file: call scda_fopen_write(f, comm, filename, userstr [, ierr, params, info, len])
  interface scda_fopen_write
    module procedure fopen_write_int
#ifdef SCDA_F08
    module procedure fopen_write_f08
#endif
  end interface scda_fopen_write

  !> Opens a file for reading: call scda_fopen_read(f, comm, filename [, userstr, ierr, len, params, info])
  interface scda_fopen_read
    module procedure fopen_read_int
#ifdef SCDA_F08
    module procedure fopen_read_f08
#endif
  end interface scda_fopen_read

  !> Opens an existing file to write more sections at its end: call scda_fopen_append(f, comm, filename [, userstr, ierr, len,
  !> params, info, name, record]). name, record: continue after this step, as append_name and append_record of scda_params_t in
  !> scda.h; record is -1 (the last one) if it is absent.
  interface scda_fopen_append
    module procedure fopen_append_int
#ifdef SCDA_F08
    module procedure fopen_append_f08
#endif
  end interface scda_fopen_append

  !> Opens a file to append to it, or creates it if it does not exist: call scda_fopen_append_or_create(f, comm, filename, userstr
  !> [, is_new, ierr, params, info, name, record]). is_new: true if the file was created. name, record: as for scda_fopen_append.
  interface scda_fopen_append_or_create
    module procedure fopen_append_or_create_int
#ifdef SCDA_F08
    module procedure fopen_append_or_create_f08
#endif
  end interface scda_fopen_append_or_create

  !> True on all processes of comm if any of them was asked to stop, by a signal or by the time (scda_stop_watch): a logical
  !> function scda_stop_requested(comm [, ierr]).
  interface scda_stop_requested
    module procedure stop_requested_int
#ifdef SCDA_F08
    module procedure stop_requested_f08
#endif
  end interface scda_stop_requested

  !> Writes a dataset, a named array: call scda_write(f, name, data [, shape, start, count, Nq, chunk, encode, codec, level, shuffle,
  !> max_relative_error, max_absolute_error, fill, attributes, units, dimension_names, ierr, type, extends]).
  !>   data         integer(int8, int16, int32, int64), real(real32, real64), complex(real32, real64), logical or logical(c_bool), of a
  !>                rank from 0 to 7
  !>   shape        the shape of the whole array; absent: that of data
  !>   start, count the box of this process: first indices, from 1, and numbers of indices. Absent: the whole array; that of data
  !>   Nq           the distribution of the last dimension; in place of shape, start and count
  !>   chunk        the shape of the compressed chunks
  !>   encode       SCDA_ENCODE_ALWAYS (default with chunk; without, the library chooses the shape), SCDA_ENCODE_NONE (default
  !>                otherwise), SCDA_ENCODE_TEXT, SCDA_ENCODE_AUTO
  !>   codec, level, shuffle, max_relative_error, max_absolute_error
  !>                as in scda_dataset_t in scda.h; shuffle is a logical, by default .true. Each makes chunks, as chunk does
  !>   fill         the item where no process writes; by default zero
  !>   attributes   members of a JSON object, such as those of scda_json, joined by ", ", with or without braces
  !>   units        an attribute of this name
  !>   dimension_names  a name for each dimension, blank for none
  !>   type         SCDA_TYPE_UINT8, ...: the type in the file, if it differs from that in memory
  !>   extends      a logical: adds the data, as indices of the last dimension, to the last dataset of this name
  !> Without start and Nq, process 0 writes the whole array; the others pass an array of the same type and shape. With start, all
  !> pass the same shape; a process that has nothing passes a count of zeros. For several boxes of a process, start and count have a
  !> column for each box, and data has the boxes one after another. Writing an item twice is an error. With type, integers stand for
  !> unsigned ones of the same size, integer(int16) for the bits of SCDA_TYPE_FLOAT16, and integer(int8) for raw bytes
  !> (SCDA_TYPE_RAW), where the first dimension is the bytes of an item and no dimension of the dataset; other numbers are
  !> converted, without fill.
  interface scda_write
    module procedure write_integer8
    module procedure write_integer16
    module procedure write_integer32
    module procedure write_integer64
    module procedure write_real32
    module procedure write_real64
    module procedure write_complex32
    module procedure write_complex64
    module procedure write_logical
    module procedure write_bool
  end interface scda_write

  !> Reads the dataset of a name, or one that was found: call scda_read(f, name, data [, record, start, count, ierr, type, old_name,
  !> found]), or call scda_read(f, d, data [, start, count, ierr, type]), for which scda_ffind_dataset has found d. record: 0 is the
  !> first dataset of the name, -1 (absent) the last. type: what the numbers in memory stand for, if Fortran has no such type. Without
  !> it, unsigned integers are read as signed ones of the same size: too large ones become negative. Without start, data has the shape
  !> of the dataset (or another rank, and as many items). Data of another shape and types that cannot be converted are SCDA_ERR_ARG
  !> on all processes.
  !> For files that another version of the program may have written: old_name is looked up if there is no dataset of the name. With
  !> found, an integer, a missing dataset is no error: found is 0, and data keeps its values. Otherwise, found is SCDA_FIELD_FOUND,
  !> plus SCDA_FIELD_RENAMED, SCDA_FIELD_CONVERTED. Without found, a missing dataset is SCDA_ERR_NOT_FOUND.
  interface scda_read
    module procedure read_integer8, named_integer8
    module procedure read_integer16, named_integer16
    module procedure read_integer32, named_integer32
    module procedure read_integer64, named_integer64
    module procedure read_real32, named_real32
    module procedure read_real64, named_real64
    module procedure read_complex32, named_complex32
    module procedure read_complex64, named_complex64
    module procedure read_logical, named_logical
    module procedure read_bool, named_bool
  end interface scda_read

  !> What scda_fread_datasets is to read from a dataset: scda_request(name, data [, record, start, count, type]), with the arguments
  !> of scda_read. data must be an array that is a contiguous target, or a contiguous pointer; the compiler rejects others. It is
  !> filled later, so it must still exist then (gfortran: no scalars). A pointer that is not associated stands for no items, if
  !> count has a zero. Requests can be used again, also for other files. gfortran leaks some bytes for an array constructor of
  !> requests: assign them to the elements of an array.
  interface scda_request
    module procedure request_integer8
    module procedure request_integer16
    module procedure request_integer32
    module procedure request_integer64
    module procedure request_real32
    module procedure request_real64
    module procedure request_complex32
    module procedure request_complex64
    module procedure request_logical
    module procedure request_bool
  end interface scda_request

  !> A member of attributes, as text of JSON: scda_json(key, value), for a string, an integer, a real number or a logical, or an
  !> array of these. An array of one number or logical becomes a single value.
  interface scda_json
    module procedure json_text, json_integer32, json_integer64, json_real32, json_real64, json_logical
    module procedure json_texts, json_integer32s, json_integer64s, json_real32s, json_real64s, json_logicals
  end interface scda_json

  !> Reads one attribute of a dataset, or of a group if no dataset has its name (a slash at its end: the group; "/": the file): call
  !> scda_fread_attribute(f, name, key, value [, found, ierr, record, n]).
  !>   value   a string, an integer, a real number or a logical; or an array of these for a list. If there is no such attribute, it
  !>           stays as it is: set it to the default before. Too little room, and a value of another kind, are SCDA_ERR_ARG
  !>   found   true if there is such an attribute
  !>   record  0 for the first dataset of this name; by default the last one
  !>   n       with an array: the number of values
  interface scda_fread_attribute
    module procedure attribute_text, attribute_integer32, attribute_integer64, attribute_real32, attribute_real64, attribute_logical
    module procedure attributes_text, attributes_integer32, attributes_integer64, attributes_real32, attributes_real64
    module procedure attributes_logical
  end interface scda_fread_attribute

  !> Reads a field that is distributed along its last dimension, from a file that another version of the program may have written:
  !> by a new or an old name, with numbers of any type and any number of components. What the file does not have keeps its value in
  !> data: set the defaults before. See scda_fread_field in scda.h. call scda_fread_field(f, name, data [, old_name, found, record,
  !> ierr])
  !>   data      integers or real numbers: its last dimension counts the elements of this process, all others their components
  !>   found     0 if the file has neither name; otherwise SCDA_FIELD_FOUND, plus the differences: SCDA_FIELD_RENAMED,
  !>             SCDA_FIELD_CONVERTED, SCDA_FIELD_COMPONENTS
  interface scda_fread_field
    module procedure field_integer32, field_integer64, field_real32, field_real64
  end interface scda_fread_field

  !> A component of a type, for scda_write_structs and scda_read_structs: scda_member(name, variable, component [, type]), such as
  !> scda_member("x", p, p%x), where p is one variable of the type, not an array. component is a scalar or an array: integers, real or complex
  !> numbers, or logical(c_bool). type: SCDA_TYPE_UINT8, ..., as for scda_write; with SCDA_TYPE_RAW or SCDA_TYPE_BYTES, an array of
  !> integer(int8) is one item.
  !> For other types: scda_member(name, type, c_loc(p), c_loc(p%x) [, count, bytes]). count (1) is larger for an array. bytes is the
  !> size of an item, only for SCDA_TYPE_RAW and SCDA_TYPE_BYTES.
  interface scda_member
    module procedure member_of_address, member_integer8, member_integer16, member_integer32, member_integer64, member_real32
    module procedure member_real64, member_complex32, member_complex64, member_bool
  end interface scda_member

  !> Reads structs from a dataset of one dimension: call scda_read_structs(f, name, data, members [, record, start, ierr]), or call
  !> scda_read_structs(f, d, data, members [, start, ierr]), for which scda_ffind_dataset has found d. start, from 1, is the first
  !> struct to read, and data has room for as many as are to be read; without it, for all. members are matched by their names, and
  !> numbers are converted to their types.
  interface scda_read_structs
    module procedure read_structs, named_structs
  end interface scda_read_structs

  ! Describes an argument of any type and rank. Dummy arguments of this type are targets: otherwise, gfortran assumes
  ! that the targets of their pointers do not change.
  type, bind(C) :: memory_t
    type(c_ptr) :: address = c_null_ptr ! NULL: absent, or not allocated
    integer(c_int64_t) :: n = 0         ! the extent of the last dimension; 1 for a scalar, -1 for an assumed size
    integer(c_int64_t) :: each = 0      ! the bytes for each index of that dimension
    integer(c_int64_t) :: unit = 1      ! the bytes of an element of an array
  end type memory_t

  ! A string for C.
  type :: text_t
    type(c_ptr) :: address = c_null_ptr
    integer(c_size_t) :: bytes = 0
  end type text_t

  ! The error message for an argument with items of another type.
  character(*), parameter :: not_integers = ": expected integer(int32) or integer(int64)"

  ! Blank characters between the tokens of JSON.
  character(*), parameter :: json_blanks = " " // achar(9) // achar(10) // achar(13)

  ! Stands for the size of the elements if the caller has passed none.
  integer(int64), parameter :: not_passed = -huge(0_int64)

  ! The beginning of the C descriptor of an argument, with every compiler (Fortran 2018, 18.5.3); and the rest of gfortran's.
  type, bind(C) :: descriptor_t
    type(c_ptr) :: base
    integer(c_size_t) :: elem_len
#ifdef __GFORTRAN__
    integer(c_int) :: version
    integer(c_int8_t) :: rank, attribute
    integer(c_int16_t) :: type
    integer(c_intptr_t) :: dimensions(3, 15) ! lower bound, extent, and bytes from one index to the next, of as many as rank says
#endif
  end type descriptor_t

  ! A C procedure receives an argument of any type and rank as a descriptor. So a call by takes_any passes the descriptor of x to
  ! a procedure written for descriptors, and a call by takes_descriptor passes it on to one written for any x.
  abstract interface
    subroutine takes_any(x, memory) bind(C)
      import :: memory_t
      type(*), dimension(..), intent(in), target :: x
      type(memory_t), intent(inout), target :: memory
    end subroutine takes_any

    subroutine takes_descriptor(x, memory) bind(C)
      import :: descriptor_t, memory_t
      type(descriptor_t), intent(in), target :: x
      type(memory_t), intent(inout), target :: memory
    end subroutine takes_descriptor
  end interface

  interface
    function c_strlen(str) bind(C, name="strlen") result(n)
      import :: c_ptr, c_size_t
      type(c_ptr), value :: str
      integer(c_size_t) :: n
    end function c_strlen
  end interface

contains

  ! ---- Opening and closing -----------------------------------------------------------------------------------------------

  subroutine fopen_int(f, comm, filename, mode, userstr, ierr, len)
    type(scda_fcontext_t), intent(out) :: f
    integer, intent(in) :: comm
    character(*), intent(in) :: filename, mode
    character(*), intent(inout) :: userstr
    integer, intent(out), optional :: ierr
    integer, intent(inout), optional :: len
    type(scda_params_t) :: bare ! as the paper defines it: without a seal
    call scda_params_init(bare)
    bare%seal = 0
    if (mode == "r" .or. mode == "a") then
      call open_file(f, comm, filename, mode, userstr, 0_c_size_t, ierr, len, bare)
    else
      call open_file(f, comm, filename, mode, userstr, bytes_of(userstr, len), ierr, params=bare)
    end if
  end subroutine fopen_int

  subroutine fopen_write_int(f, comm, filename, userstr, ierr, params, info, len)
    type(scda_fcontext_t), intent(out) :: f
    integer, intent(in) :: comm
    character(*), intent(in) :: filename, userstr
    integer, intent(out), optional :: ierr
    type(scda_params_t), intent(in), optional :: params
    integer, intent(in), optional :: info, len
    character(SCDA_USER_STRING_BYTES + 1) :: copy
    copy = userstr
    call open_file(f, comm, filename, "w", copy, bytes_of(userstr, len), ierr, params=params, info=info)
  end subroutine fopen_write_int

  subroutine fopen_read_int(f, comm, filename, userstr, ierr, len, params, info)
    type(scda_fcontext_t), intent(out) :: f
    integer, intent(in) :: comm
    character(*), intent(in) :: filename
    character(*), intent(out), optional :: userstr
    integer, intent(out), optional :: ierr, len
    type(scda_params_t), intent(in), optional :: params
    integer, intent(in), optional :: info
    call open_existing(f, comm, filename, "r", userstr, ierr, len, params, info)
  end subroutine fopen_read_int

  subroutine fopen_append_int(f, comm, filename, userstr, ierr, len, params, info, name, record)
    type(scda_fcontext_t), intent(out) :: f
    integer, intent(in) :: comm
    character(*), intent(in) :: filename
    character(*), intent(out), optional :: userstr
    integer, intent(out), optional :: ierr, len
    type(scda_params_t), intent(in), optional :: params
    integer, intent(in), optional :: info, record
    character(*), intent(in), optional :: name
    type(scda_params_t) :: chosen_params
    character(kind=c_char), allocatable, target :: c_name(:)
    call put_step(name, record, params, chosen_params, c_name)
    call open_existing(f, comm, filename, "a", userstr, ierr, len, chosen_params, info)
  end subroutine fopen_append_int

  subroutine fopen_append_or_create_int(f, comm, filename, userstr, is_new, ierr, params, info, name, record)
    type(scda_fcontext_t), intent(out) :: f
    integer, intent(in) :: comm
    character(*), intent(in) :: filename, userstr
    logical, intent(out), optional :: is_new
    integer, intent(out), optional :: ierr
    type(scda_params_t), intent(in), optional :: params
    integer, intent(in), optional :: info, record
    character(*), intent(in), optional :: name
    type(scda_params_t) :: chosen_params
    character(kind=c_char), allocatable, target :: c_name(:)
    character(len(userstr)) :: copy
    copy = userstr
    call put_step(name, record, params, chosen_params, c_name)
    call open_file(f, comm, filename, "c", copy, bytes_of(userstr), ierr, params=chosen_params, info=info, is_new=is_new)
  end subroutine fopen_append_or_create_int

  ! The parameters with the step after which the program continues. c_name must stay until the file is opened.
  subroutine put_step(name, record, params, chosen_params, c_name)
    character(*), intent(in), optional :: name
    integer, intent(in), optional :: record
    type(scda_params_t), intent(in), optional :: params
    type(scda_params_t), intent(out) :: chosen_params
    character(kind=c_char), allocatable, target, intent(out) :: c_name(:)
    integer :: i
    if (present(params)) then
      chosen_params = params
    else
      call scda_params_init(chosen_params)
    end if
    if (present(record)) chosen_params%append_record = record ! an error of C without a name
    if (.not. present(name)) return
    allocate(c_name(len_trim(name) + 1))
    do i = 1, len_trim(name)
      c_name(i) = name(i:i)
    end do
    c_name(len_trim(name) + 1) = c_null_char
    chosen_params%append_name = c_loc(c_name)
  end subroutine put_step

  !> From now on, signals and a deadline request a stop: call scda_stop_watch([signals, seconds, ierr]). signals: the sum of
  !> SCDA_STOP_TERM, SCDA_STOP_USR1, ...; by default these two. seconds: real(real64); absent or 0: no deadline.
  subroutine scda_stop_watch(signals, seconds, ierr)
    integer, intent(in), optional :: signals
    real(real64), intent(in), optional :: seconds
    integer, intent(out), optional :: ierr
    real(c_double) :: after
    integer(c_int) :: status, err
    after = 0
    if (present(seconds)) after = seconds
    status = c_stop_watch(chosen(signals, 0), after, err)
    call finish_stop(status, err, ierr)
  end subroutine scda_stop_watch

  function stop_requested_int(comm, ierr) result(is_requested)
    integer, intent(in) :: comm
    integer, intent(out), optional :: ierr
    logical :: is_requested
    integer(c_int) :: status, err
    status = c_stop_requested_f(int(comm, c_int), err)
    is_requested = status == 1
    call finish_stop(status, err, ierr)
  end function stop_requested_int

  subroutine finish_stop(status, err, ierr)
    integer(c_int), intent(in) :: status, err
    integer, intent(out), optional :: ierr
    if (present(ierr)) then
      ierr = int(err)
    else if (status < 0) then
      call fail(scda_last_error_message())
    end if
  end subroutine finish_stop

#ifdef SCDA_F08
  function stop_requested_f08(comm, ierr) result(is_requested)
    type(MPI_Comm), intent(in) :: comm
    integer, intent(out), optional :: ierr
    logical :: is_requested
    is_requested = stop_requested_int(int(comm%MPI_VAL), ierr)
  end function stop_requested_f08

  subroutine fopen_f08(f, comm, filename, mode, userstr, ierr, len)
    type(scda_fcontext_t), intent(out) :: f
    type(MPI_Comm), intent(in) :: comm
    character(*), intent(in) :: filename, mode
    character(*), intent(inout) :: userstr
    integer, intent(out), optional :: ierr
    integer, intent(inout), optional :: len
    call fopen_int(f, int(comm%MPI_VAL), filename, mode, userstr, ierr, len)
  end subroutine fopen_f08

  subroutine fopen_write_f08(f, comm, filename, userstr, ierr, params, info, len)
    type(scda_fcontext_t), intent(out) :: f
    type(MPI_Comm), intent(in) :: comm
    character(*), intent(in) :: filename, userstr
    integer, intent(out), optional :: ierr
    type(scda_params_t), intent(in), optional :: params
    type(MPI_Info), intent(in), optional :: info
    integer, intent(in), optional :: len
    integer, allocatable :: hints
    if (present(info)) hints = info%MPI_VAL
    call fopen_write_int(f, int(comm%MPI_VAL), filename, userstr, ierr, params, hints, len)
  end subroutine fopen_write_f08

  subroutine fopen_read_f08(f, comm, filename, userstr, ierr, len, params, info)
    type(scda_fcontext_t), intent(out) :: f
    type(MPI_Comm), intent(in) :: comm
    character(*), intent(in) :: filename
    character(*), intent(out), optional :: userstr
    integer, intent(out), optional :: ierr, len
    type(scda_params_t), intent(in), optional :: params
    type(MPI_Info), intent(in), optional :: info
    integer, allocatable :: hints
    if (present(info)) hints = info%MPI_VAL
    call fopen_read_int(f, int(comm%MPI_VAL), filename, userstr, ierr, len, params, hints)
  end subroutine fopen_read_f08

  subroutine fopen_append_or_create_f08(f, comm, filename, userstr, is_new, ierr, params, info, name, record)
    type(scda_fcontext_t), intent(out) :: f
    type(MPI_Comm), intent(in) :: comm
    character(*), intent(in) :: filename, userstr
    logical, intent(out), optional :: is_new
    integer, intent(out), optional :: ierr
    type(scda_params_t), intent(in), optional :: params
    type(MPI_Info), intent(in), optional :: info
    character(*), intent(in), optional :: name
    integer, intent(in), optional :: record
    integer, allocatable :: hints
    if (present(info)) hints = info%MPI_VAL
    call fopen_append_or_create_int(f, int(comm%MPI_VAL), filename, userstr, is_new, ierr, params, hints, name, record)
  end subroutine fopen_append_or_create_f08

  subroutine fopen_append_f08(f, comm, filename, userstr, ierr, len, params, info, name, record)
    type(scda_fcontext_t), intent(out) :: f
    type(MPI_Comm), intent(in) :: comm
    character(*), intent(in) :: filename
    character(*), intent(out), optional :: userstr
    integer, intent(out), optional :: ierr, len
    type(scda_params_t), intent(in), optional :: params
    type(MPI_Info), intent(in), optional :: info
    character(*), intent(in), optional :: name
    integer, intent(in), optional :: record
    integer, allocatable :: hints
    if (present(info)) hints = info%MPI_VAL
    call fopen_append_int(f, int(comm%MPI_VAL), filename, userstr, ierr, len, params, hints, name, record)
  end subroutine fopen_append_f08
#endif

  subroutine open_existing(f, comm, filename, mode, userstr, ierr, len, params, info)
    type(scda_fcontext_t), intent(inout) :: f
    integer, intent(in) :: comm
    character(*), intent(in) :: filename, mode
    character(*), intent(out), optional :: userstr
    integer, intent(out), optional :: ierr, len
    type(scda_params_t), intent(in), optional :: params
    integer, intent(in), optional :: info
    character(SCDA_USER_STRING_BYTES) :: copy
    copy = ""
    call open_file(f, comm, filename, mode, copy, 0_c_size_t, ierr, len, params, info)
    if (present(userstr)) userstr = copy
  end subroutine open_existing

  ! The user string: for "w", its first bytes are written; for "r" and "a", it is filled.
  subroutine open_file(f, comm, filename, mode, userstr, bytes, ierr, bytes_found, params, info, is_new)
    type(scda_fcontext_t), intent(inout) :: f
    integer, intent(in) :: comm
    character(*), intent(in) :: filename, mode
    character(*), intent(inout) :: userstr
    integer(c_size_t), intent(in) :: bytes
    integer, intent(out), optional :: ierr, bytes_found
    type(scda_params_t), intent(in), target, optional :: params
    integer, intent(in), optional :: info
    logical, intent(out), optional :: is_new
    integer(c_int) :: was_created
    character(kind=c_char) :: buffer(SCDA_USER_STRING_BYTES + 1)
    integer(c_size_t) :: length, i
    integer(c_int), target :: c_info
    type(c_ptr) :: info_pointer, params_pointer
    buffer = c_null_char
    do i = 1, min(bytes, size(buffer, kind=c_size_t), len(userstr, kind=c_size_t)) ! C rejects what is longer, and does not read it
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
    f%handle = c_fopen_f(int(comm, c_int), info_pointer, trim(filename) // c_null_char, trim(mode) // c_null_char, buffer, length, &
      & params_pointer, f%rank, f%nranks, was_created, f%err)
    if (present(is_new)) is_new = c_associated(f%handle) .and. was_created == 1
    f%opened = f%handle
    if (mode /= "w" .and. c_associated(f%handle)) call copy_text(buffer, length, userstr)
    if (present(bytes_found)) bytes_found = int(merge(length, 0_c_size_t, c_associated(f%handle)))
    call finish(f, ierr)
  end subroutine open_file

  !> Closes the file: without an error, every byte is in it.
  subroutine scda_fclose(f, ierr)
    type(scda_fcontext_t), intent(inout) :: f
    integer, intent(out), optional :: ierr
    call refuse_held(f)
    if (c_fclose(f%handle, f%err) == 0) f%err = SCDA_SUCCESS
    f%handle = c_null_ptr
    call finish(f, ierr)
  end subroutine scda_fclose

  !> Writes what is buffered, and lets all ranks know whether everything has gone well so far.
  subroutine scda_fflush(f, ierr)
    type(scda_fcontext_t), intent(inout) :: f
    integer, intent(out), optional :: ierr
    call refuse_held(f)
    f%handle = c_fflush(f%handle, f%err)
    call finish(f, ierr)
  end subroutine scda_fflush

  !> Writes what is buffered, and a seal: a program that appends after a kill continues here. Requires params%seal, or a sealed file
  !> that is appended to.
  subroutine scda_fcommit(f, ierr)
    type(scda_fcontext_t), intent(inout) :: f
    integer, intent(out), optional :: ierr
    call refuse_held(f)
    f%handle = c_fcommit(f%handle, f%err)
    call finish(f, ierr)
  end subroutine scda_fcommit

  !> Begins to commit, and returns when the data are copied, or written if params%background_bytes is 0: scda_wait completes it.
  subroutine scda_fcommit_begin(f, request, ierr)
    type(scda_fcontext_t), intent(inout) :: f
    type(scda_pending_t), intent(out) :: request
    integer, intent(out), optional :: ierr
    call refuse_held(f)
    f%handle = c_fcommit_begin(f%handle, request, f%err)
    call finish(f, ierr)
  end subroutine scda_fcommit_begin

  !> Begins to close, as scda_fcommit_begin begins to commit. Afterwards, only the request can be used.
  subroutine scda_fclose_begin(f, request, ierr)
    type(scda_fcontext_t), intent(inout) :: f
    type(scda_pending_t), intent(out) :: request
    integer, intent(out), optional :: ierr
    call refuse_held(f)
    if (c_fclose_begin(f%handle, request, f%err) == 0) f%err = SCDA_SUCCESS
    f%handle = c_null_ptr
    call finish(f, ierr)
  end subroutine scda_fclose_begin

  !> True if this rank has written its part, which scda_wait needs to complete the request. Not collective.
  function scda_test(request) result(is_written)
    type(scda_pending_t), intent(in), target :: request
    logical :: is_written
    is_written = c_test(c_loc(request)) /= 0
  end function scda_test

  !> Completes a commit or close. An error closes the file. A request that was not begun, or was waited for, counts as complete.
  subroutine scda_wait(request, ierr)
    type(scda_pending_t), intent(inout) :: request
    integer, intent(out), optional :: ierr
    integer(c_int) :: err
    err = SCDA_SUCCESS
    if (c_wait(request, err) == 0) err = SCDA_SUCCESS
    if (present(ierr)) then
      ierr = int(err)
    else if (err /= SCDA_SUCCESS) then
      call fail(scda_last_error_message())
    end if
  end subroutine scda_wait

  !> The user string of a file: call scda_get_user_string(f, userstr [, len, ierr]). Not collective; after an error the file stays
  !> open.
  subroutine scda_get_user_string(f, userstr, len, ierr)
    type(scda_fcontext_t), intent(in) :: f
    character(*), intent(out) :: userstr
    integer, intent(out), optional :: len, ierr
    character(kind=c_char) :: found(SCDA_USER_STRING_BYTES + 1)
    integer(c_size_t) :: n
    integer(c_int) :: err
    n = 0
    err = SCDA_SUCCESS
    if (c_get_user_string(f%handle, found, n, err) == 0) err = SCDA_SUCCESS
    call copy_text(found, n, userstr)
    if (present(len)) len = int(n)
    if (present(ierr)) then
      ierr = int(err)
    else if (err /= SCDA_SUCCESS) then
      call fail(scda_last_error_message())
    end if
  end subroutine scda_get_user_string

  !> Where this rank has spent its time, for a file open for writing. Not collective; after an error the file stays open.
  subroutine scda_get_statistics(f, statistics, ierr)
    type(scda_fcontext_t), intent(in) :: f
    type(scda_statistics_t), intent(out) :: statistics
    integer, intent(out), optional :: ierr
    integer(c_int) :: err
    statistics%size = c_sizeof(statistics)
    err = SCDA_SUCCESS
    if (c_get_statistics(f%handle, statistics, err) == 0) err = SCDA_SUCCESS
    if (present(ierr)) then
      ierr = int(err)
    else if (err /= SCDA_SUCCESS) then
      call fail(scda_last_error_message())
    end if
  end subroutine scda_get_statistics

  !> Begins a set of streams, one for each rank: call scda_fwrite_streams_begin(f, userstr [, chunk_bytes, ierr, len]). If
  !> chunk_bytes is absent or 0, it is a stripe of the file system, at least 1 MiB and at most 64 MiB.
  subroutine scda_fwrite_streams_begin(f, userstr, chunk_bytes, ierr, len)
    type(scda_fcontext_t), intent(inout) :: f
    character(*), target, intent(in) :: userstr
    integer(int64), intent(in), optional :: chunk_bytes
    integer, intent(out), optional :: ierr
    integer, intent(in), optional :: len
    type(text_t) :: text
    integer(int64) :: chosen_bytes
    text = text_of(f, string_at(userstr), len)
    chosen_bytes = 0
    if (present(chunk_bytes)) chosen_bytes = chunk_bytes
    call refuse_held(f)
    f%handle = c_fwrite_streams_begin(f%handle, text%address, text%bytes, chosen_bytes, f%err)
    call finish(f, ierr)
  end subroutine scda_fwrite_streams_begin

  subroutine stream_write(f, data, ierr) bind(C, name="scda_fortran_stream_write")
    type(scda_fcontext_t), intent(inout) :: f
    type(descriptor_t), intent(in), target :: data
    integer(scda_int), intent(out), optional :: ierr
    type(memory_t) :: memory
    integer(c_int) :: status
    memory = memory_of(f, data)
    status = c_stream_write(f%handle, memory%address, bytes_in(memory), f%err)
    call finish(f, ierr)
  end subroutine stream_write

  !> Ends the streams: call scda_fwrite_streams_end(f [, ierr])
  subroutine scda_fwrite_streams_end(f, ierr)
    type(scda_fcontext_t), intent(inout) :: f
    integer, intent(out), optional :: ierr
    f%handle = c_fwrite_streams_end(f%handle, f%err)
    call finish(f, ierr)
  end subroutine scda_fwrite_streams_end

  !> Finds a set of streams: call scda_ffind_streams(f, userstr, streams, tasks [, record, ierr, len]). streams is its number, which
  !> the subroutines that read it take; any number of sets can be read, in any order; 0 if there is none. tasks is the number of its
  !> streams.
  !> record: 0 is the first set of this name, -1 (absent) the last.
  subroutine scda_ffind_streams(f, userstr, streams, tasks, record, ierr, len)
    type(scda_fcontext_t), intent(inout) :: f
    character(*), target, intent(in) :: userstr
    integer(int64), intent(out) :: streams, tasks
    integer, intent(in), optional :: record, len
    integer, intent(out), optional :: ierr
    type(text_t) :: text
    integer(c_int64_t) :: chunk_bytes
    text = text_of(f, string_at(userstr), len)
    streams = 0
    tasks = 0
    chunk_bytes = 0
    f%handle = c_ffind_streams(f%handle, text%address, text%bytes, int(chosen(record, -1), c_int64_t), streams, tasks, &
        chunk_bytes, f%err)
    call finish(f, ierr)
  end subroutine scda_ffind_streams

  !> The size of the stream of a task, from 0, in bytes: call scda_stream_size(f, streams, task, bytes [, ierr]). Not collective.
  subroutine scda_stream_size(f, streams, task, bytes, ierr)
    type(scda_fcontext_t), intent(inout) :: f
    integer(int64), intent(in) :: streams, task
    integer(int64), intent(out) :: bytes
    integer, intent(out), optional :: ierr
    integer(c_int) :: status
    bytes = 0
    status = c_stream_size(f%handle, streams, task, bytes, f%err)
    call finish(f, ierr)
  end subroutine scda_stream_size

  subroutine read_stream(f, streams, task, offset, data, ierr) bind(C, name="scda_fortran_fread_stream")
    type(scda_fcontext_t), intent(inout) :: f
    integer(c_int64_t), intent(in) :: streams, task, offset
    type(descriptor_t), intent(in), target :: data
    integer(scda_int), intent(out), optional :: ierr
    type(memory_t) :: memory
    integer(c_int) :: status
    memory = memory_of(f, data)
    status = c_stream_read(f%handle, streams, task, offset, memory%address, bytes_in(memory), f%err)
    call finish(f, ierr)
  end subroutine read_stream

  !> Reads the size of each stream in this rank's share: call scda_fread_streams_sizes(f, streams, [Ei,] Nq [, ierr]). If Ei is
  !> absent, this rank skips them.
  subroutine scda_fread_streams_sizes(f, streams, Ei, Nq, ierr)
    type(scda_fcontext_t), intent(inout) :: f
    integer(int64), intent(in) :: streams
    integer(int64), contiguous, target, optional, intent(inout) :: Ei(:)
    type(*), dimension(..), contiguous, intent(in), target :: Nq
    integer, intent(out), optional :: ierr
    call get_sizes(f, memory_at(Ei), memory_at(Nq), ierr, streams)
  end subroutine scda_fread_streams_sizes

  subroutine read_streams(f, streams, data, Nq, Ei, ierr, indirect) bind(C, name="scda_fortran_fread_streams_data")
    type(scda_fcontext_t), intent(inout) :: f
    integer(c_int64_t), intent(in) :: streams
    type(descriptor_t), intent(inout), optional, target :: data
    type(descriptor_t), intent(in), target :: Nq, Ei
    integer(scda_int), intent(out), optional :: ierr
    type(descriptor_t), intent(in), optional, target :: indirect
    call get_varray(f, memory_of(f, data), memory_of(f, Nq), memory_of(f, Ei), memory_t(), is_indirect(f, indirect), ierr, streams)
  end subroutine read_streams

  !> Checks whether more has been committed since a file was opened for reading, and how far it can be read now. It is an error if a
  !> job has meanwhile rolled the file back, so that what was read is no longer in it.
  subroutine scda_frefresh(f, changed, ierr)
    type(scda_fcontext_t), intent(inout) :: f
    logical, intent(out) :: changed
    integer, intent(out), optional :: ierr
    integer(c_int) :: more
    more = 0
    f%handle = c_frefresh(f%handle, more, f%err)
    changed = more /= 0
    call finish(f, ierr)
  end subroutine scda_frefresh

  !> What is known of a file, and the rank on which the last error occurred: call scda_get_info(f, info). Not collective.
  subroutine scda_get_info(f, info)
    type(scda_fcontext_t), intent(in) :: f
    type(scda_info_t), intent(out) :: info
    info%size = c_sizeof(info)
    if (c_get_info(f%handle, info) /= 0) call fail(scda_last_error_message())
  end subroutine scda_get_info

  !> Fills params with the defaults. Not collective.
  subroutine scda_params_init(params)
    type(scda_params_t), intent(out) :: params
    if (c_params_init_size(params, c_sizeof(params)) /= 0) then
      call fail("this module is not that of the library which the program runs with")
    end if
  end subroutine scda_params_init
  ! ---- Writing -----------------------------------------------------------------------------------------------------------
  !
  ! The procedures with bind(C, name="scda_fortran_...") are called through the interfaces in the module scda, which declare
  ! their arguments. Here, these are C descriptors, because no other form has the lengths of all character data.

  subroutine write_inline(f, userstr, data, root, ierr, len) bind(C, name="scda_fortran_fwrite_inline")
    type(scda_fcontext_t), intent(inout) :: f
    type(descriptor_t), intent(in), target :: userstr
    type(descriptor_t), intent(in), optional, target :: data
    integer(scda_int), intent(in), optional :: root, len
    integer(scda_int), intent(out), optional :: ierr
    type(memory_t) :: memory
    type(text_t) :: text
    memory = memory_of(f, data)
    call check_root(f, memory, int(SCDA_INLINE_BYTES, int64), chosen(root, 0), .true.)
    text = text_of(f, memory_of(f, userstr), len)
    call refuse_held(f)
    f%handle = c_fwrite_inline(f%handle, memory%address, text%address, text%bytes, chosen(root, 0), f%err)
    call finish(f, ierr)
  end subroutine write_inline

  subroutine write_block(f, userstr, data, E, root, encode, ierr, len) bind(C, name="scda_fortran_fwrite_block")
    type(scda_fcontext_t), intent(inout) :: f
    type(descriptor_t), intent(in), target :: userstr
    type(descriptor_t), intent(in), optional, target :: data, E
    integer(scda_int), intent(in), optional :: root, encode, len
    integer(scda_int), intent(out), optional :: ierr
    type(memory_t) :: memory
    type(text_t) :: text
    integer(int64) :: bytes
    memory = memory_of(f, data)
    bytes = integer_in(f, memory_of(f, E), "E")
    if (bytes == not_passed) then
      call bytes_of_root(f, memory, chosen(root, 0), bytes)
      if (f%err /= SCDA_SUCCESS) then
        call finish(f, ierr)
        return
      end if
    else
      call check_root(f, memory, bytes, chosen(root, 0), .true.)
    end if
    text = text_of(f, memory_of(f, userstr), len)
    call refuse_held(f)
    f%handle = c_fwrite_block(f%handle, memory%address, bytes, text%address, text%bytes, chosen(root, 0), &
      & chosen(encode, SCDA_ENCODE_NONE), f%err)
    call finish(f, ierr)
  end subroutine write_block

  subroutine write_array(f, userstr, data, Nq, E, encode, ierr, indirect, len) bind(C, name="scda_fortran_fwrite_array")
    type(scda_fcontext_t), intent(inout) :: f
    type(descriptor_t), intent(in), target :: userstr, Nq
    type(descriptor_t), intent(in), optional, target :: data, E
    integer(scda_int), intent(in), optional :: encode, len
    integer(scda_int), intent(out), optional :: ierr
    type(descriptor_t), intent(in), optional, target :: indirect
    call put_array(f, text_of(f, memory_of(f, userstr), len), memory_of(f, data), memory_of(f, Nq), memory_of(f, E), &
      & is_indirect(f, indirect), encode, ierr)
  end subroutine write_array

  subroutine put_array(f, text, data, Nq, E, indirect, encode, ierr)
    type(scda_fcontext_t), intent(inout) :: f
    type(text_t), intent(in), target :: text
    type(memory_t), intent(in), target :: data, Nq, E
    logical, intent(in) :: indirect
    integer, intent(in), optional :: encode
    integer, intent(out), optional :: ierr
    integer(int64), allocatable, target :: copy(:)
    integer(int64), pointer, contiguous :: counts(:)
    integer(int64) :: bytes
    logical :: fits
    call list_of(Nq, counts, copy)
    fits = .true.
    bytes = integer_in(f, E, "E")
    if (indirect .and. bytes == not_passed) then
      call refuse(f, "E is missing: it says how many bytes each element of indirect data has", fits)
    else if (indirect .or. bytes /= not_passed) then
      call check_lengths(f, fits, data, counts, E=bytes, indirect=indirect, is_written=.true.)
    else
      bytes = data%each
      if (.not. c_associated(data%address)) then
        call refuse(f, "E is missing, and this rank has no data that give it", fits)
      else
        call check_lengths(f, fits, counts=counts, E=bytes, elements=data%n)
      end if
    end if
    call refuse_held(f)
    f%handle = c_fwrite_array(f%handle, data%address, pointer_to(counts, fits), bytes, flag(indirect), text%address, text%bytes, &
      & chosen(encode, SCDA_ENCODE_NONE), f%err)
    call finish(f, ierr)
  end subroutine put_array

  subroutine write_varray(f, userstr, data, Nq, Ei, encode, ierr, Sq, indirect, len) bind(C, name="scda_fortran_fwrite_varray")
    type(scda_fcontext_t), intent(inout) :: f
    type(descriptor_t), intent(in), target :: userstr, Nq, Ei
    type(descriptor_t), intent(in), optional, target :: data, Sq
    integer(scda_int), intent(in), optional :: encode, len
    integer(scda_int), intent(out), optional :: ierr
    type(descriptor_t), intent(in), optional, target :: indirect
    call put_varray(f, text_of(f, memory_of(f, userstr), len), memory_of(f, data), memory_of(f, Nq), memory_of(f, Ei), &
      & memory_of(f, Sq), is_indirect(f, indirect), encode, ierr)
  end subroutine write_varray

  subroutine put_varray(f, text, data, Nq, Ei, Sq, indirect, encode, ierr)
    type(scda_fcontext_t), intent(inout) :: f
    type(text_t), intent(in), target :: text
    type(memory_t), intent(in), target :: data, Nq, Ei, Sq
    logical, intent(in) :: indirect
    integer, intent(in), optional :: encode
    integer, intent(out), optional :: ierr
    integer(int64), allocatable, target :: Nq_copy(:), Ei_copy(:)
    integer(int64), pointer, contiguous :: counts(:), sizes(:)
    logical :: fits
    call list_of(Nq, counts, Nq_copy)
    call list_of(Ei, sizes, Ei_copy)
    fits = .true.
    call check_lengths(f, fits, data, counts, sizes=sizes, Sq=Sq, indirect=indirect)
    call refuse_held(f)
    f%handle = c_fwrite_varray(f%handle, data%address, pointer_to(counts, fits), pointer_to(sizes, fits), Sq%address, &
      & flag(indirect), text%address, text%bytes, chosen(encode, SCDA_ENCODE_NONE), f%err)
    call finish(f, ierr)
  end subroutine put_varray

  ! ---- Sections by number and by user string -----------------------------------------------------------------------------

  !> The number of sections of a file open for reading.
  subroutine scda_fsections(f, N, ierr)
    type(scda_fcontext_t), intent(inout) :: f
    integer(int64), intent(out) :: N
    integer, intent(out), optional :: ierr
    N = 0
    f%handle = c_fsections(f%handle, N, f%err)
    call finish(f, ierr)
  end subroutine scda_fsections

  !> Seeks a section by its number, from 0: call scda_fseek(f, section [, ierr])
  subroutine scda_fseek(f, section, ierr)
    type(scda_fcontext_t), intent(inout) :: f
    type(*), dimension(..), contiguous, intent(in), target :: section
    integer, intent(out), optional :: ierr
    integer(int64) :: number
    number = integer_in(f, memory_at(section), "section")
    f%handle = c_fseek(f%handle, number, f%err)
    call finish(f, ierr)
  end subroutine scda_fseek

  !> Finds a section by its user string: call scda_ffind(f, userstr, found, section [, record, ierr, len]). record: 0 is the first
  !> with this user string, -1 (absent) the last. section is the number for scda_fseek; -1 if there is none.
  subroutine scda_ffind(f, userstr, found, section, record, ierr, len)
    type(scda_fcontext_t), intent(inout) :: f
    character(*), target, intent(in) :: userstr
    logical, intent(out) :: found
    integer(int64), intent(out) :: section
    integer, intent(in), optional :: record, len
    integer, intent(out), optional :: ierr
    type(text_t) :: text
    integer(c_int) :: c_found
    text = text_of(f, string_at(userstr), len)
    c_found = 0
    section = -1
    f%handle = c_ffind(f%handle, text%address, text%bytes, int(chosen(record, -1), c_int64_t), c_found, section, f%err)
    found = c_found /= 0
    call finish(f, ierr)
  end subroutine scda_ffind

  ! ---- Reading -----------------------------------------------------------------------------------------------------------

  !> Reads the header of the next section: call scda_fread_section_header(f, type, N, E, userstr [, decode, ierr, len]). decode in: whether to decompress a compressed one (absent: yes); out: whether this
  !> one is.
  subroutine scda_fread_section_header(f, type, N, E, userstr, decode, ierr, len)
    type(scda_fcontext_t), intent(inout) :: f
    character, intent(out) :: type
    integer(int64), intent(out) :: N, E
    character(*), intent(out) :: userstr
    logical, intent(inout), optional :: decode
    integer, intent(out), optional :: ierr, len
    character(kind=c_char) :: c_type, buffer(SCDA_USER_STRING_BYTES + 1)
    integer(c_size_t) :: bytes
    integer(c_int) :: c_decode
    c_type = ' '
    N = 0
    E = 0
    bytes = 0
    c_decode = 1
    if (present(decode)) c_decode = merge(1_c_int, 0_c_int, decode)
    f%handle = c_fread_section_header(f%handle, c_type, N, E, buffer, bytes, c_decode, f%err)
    f%E = E
    type = c_type
    call copy_text(buffer, bytes, userstr)
    if (present(decode)) decode = f%err == SCDA_SUCCESS .and. c_decode /= 0
    if (present(len)) len = int(bytes)
    call finish(f, ierr)
  end subroutine scda_fread_section_header

  subroutine read_inline(f, data, root, ierr) bind(C, name="scda_fortran_fread_inline_data")
    type(scda_fcontext_t), intent(inout) :: f
    type(descriptor_t), intent(inout), optional, target :: data
    integer(scda_int), intent(in), optional :: root
    integer(scda_int), intent(out), optional :: ierr
    type(memory_t) :: memory
    memory = memory_of(f, data)
    call check_root(f, memory, int(SCDA_INLINE_BYTES, int64), chosen(root, 0), .false.)
    f%handle = c_fread_inline_data(f%handle, memory%address, chosen(root, 0), f%err)
    call finish(f, ierr)
  end subroutine read_inline

  subroutine read_block(f, data, E, root, ierr) bind(C, name="scda_fortran_fread_block_data")
    type(scda_fcontext_t), intent(inout) :: f
    type(descriptor_t), intent(inout), optional, target :: data
    type(descriptor_t), intent(in), optional, target :: E
    integer(scda_int), intent(in), optional :: root
    integer(scda_int), intent(out), optional :: ierr
    type(memory_t) :: memory
    integer(int64) :: bytes
    logical :: exactly
    memory = memory_of(f, data)
    bytes = integer_in(f, memory_of(f, E), "E")
    exactly = bytes == not_passed
    if (exactly) bytes = f%E
    call check_root(f, memory, bytes, chosen(root, 0), .false., exactly)
    f%handle = c_fread_block_data(f%handle, memory%address, bytes, chosen(root, 0), f%err)
    call finish(f, ierr)
  end subroutine read_block

  subroutine read_array(f, data, Nq, E, ierr, indirect) bind(C, name="scda_fortran_fread_array_data")
    type(scda_fcontext_t), intent(inout) :: f
    type(descriptor_t), intent(inout), optional, target :: data
    type(descriptor_t), intent(in), target :: Nq
    type(descriptor_t), intent(in), optional, target :: E
    integer(scda_int), intent(out), optional :: ierr
    type(descriptor_t), intent(in), optional, target :: indirect
    call get_array(f, memory_of(f, data), memory_of(f, Nq), memory_of(f, E), is_indirect(f, indirect), ierr)
  end subroutine read_array

  subroutine get_array(f, data, Nq, E, indirect, ierr)
    type(scda_fcontext_t), intent(inout) :: f
    type(memory_t), intent(in), target :: data, Nq, E
    logical, intent(in) :: indirect
    integer, intent(out), optional :: ierr
    integer(int64), allocatable, target :: copy(:)
    integer(int64), pointer, contiguous :: counts(:)
    integer(int64) :: bytes
    logical :: fits
    call list_of(Nq, counts, copy)
    fits = .true.
    bytes = integer_in(f, E, "E")
    call check_room(f, data, bytes, indirect, fits, counts=counts)
    f%handle = c_fread_array_data(f%handle, data%address, pointer_to(counts, fits), bytes, flag(indirect), f%err)
    call finish(f, ierr)
  end subroutine get_array

  subroutine read_block_range(f, data, first, bytes, ierr) bind(C, name="scda_fortran_fread_block_range")
    type(scda_fcontext_t), intent(inout) :: f
    type(descriptor_t), intent(inout), optional, target :: data
    type(descriptor_t), intent(in), target :: first, bytes
    integer(scda_int), intent(out), optional :: ierr
    type(memory_t) :: memory
    integer(int64) :: from, n
    memory = memory_of(f, data)
    from = integer_in(f, memory_of(f, first), "first")
    n = integer_in(f, memory_of(f, bytes), "bytes")
    call check_root(f, memory, n, f%rank, .false.)
    f%handle = c_fread_block_range(f%handle, memory%address, from, n, f%err)
    call finish(f, ierr)
  end subroutine read_block_range

  subroutine read_array_range(f, data, first, count, E, ierr, indirect) bind(C, name="scda_fortran_fread_array_range")
    type(scda_fcontext_t), intent(inout) :: f
    type(descriptor_t), intent(inout), optional, target :: data
    type(descriptor_t), intent(in), target :: first, count
    type(descriptor_t), intent(in), optional, target :: E
    integer(scda_int), intent(out), optional :: ierr
    type(descriptor_t), intent(in), optional, target :: indirect
    call get_array_range(f, memory_of(f, data), memory_of(f, first), memory_of(f, count), memory_of(f, E), &
      & is_indirect(f, indirect), ierr)
  end subroutine read_array_range

  subroutine get_array_range(f, data, first, count, E, indirect, ierr)
    type(scda_fcontext_t), intent(inout) :: f
    type(memory_t), intent(in), target :: data, first, count, E
    logical, intent(in) :: indirect
    integer, intent(out), optional :: ierr
    integer(int64) :: from, n, bytes
    logical :: fits
    from = integer_in(f, first, "first")
    n = integer_in(f, count, "count")
    bytes = integer_in(f, E, "E")
    fits = .true.
    call check_room(f, data, bytes, indirect, fits, n)
    f%handle = c_fread_array_range(f%handle, address_if(fits, data), from, n, bytes, flag(indirect), f%err)
    call finish(f, ierr)
  end subroutine get_array_range

  !> Reads the sizes of the elements of a varray, before its data: call scda_fread_varray_sizes(f, [Ei,] Nq [, ierr]). If Ei is
  !> absent, this rank skips them.
  subroutine scda_fread_varray_sizes(f, Ei, Nq, ierr)
    type(scda_fcontext_t), intent(inout) :: f
    integer(int64), contiguous, target, optional, intent(inout) :: Ei(:)
    type(*), dimension(..), contiguous, intent(in), target :: Nq
    integer, intent(out), optional :: ierr
    call get_sizes(f, memory_at(Ei), memory_at(Nq), ierr)
  end subroutine scda_fread_varray_sizes

  ! Gets the sizes of the elements of a varray, or of the streams of a set.
  subroutine get_sizes(f, Ei, Nq, ierr, streams)
    type(scda_fcontext_t), intent(inout) :: f
    type(memory_t), intent(in), target :: Ei, Nq
    integer, intent(out), optional :: ierr
    integer(int64), intent(in), optional :: streams
    integer(int64), allocatable, target :: copy(:)
    integer(int64), pointer, contiguous :: counts(:)
    logical :: fits
    call list_of(Nq, counts, copy)
    fits = .true.
    if (c_associated(Ei%address)) then
      call check_lengths(f, fits, counts=counts, entries=Ei%n)
    else
      call check_lengths(f, fits, counts=counts)
    end if
    if (present(streams)) then
      f%handle = c_fread_streams_sizes(f%handle, streams, Ei%address, pointer_to(counts, fits), f%err)
    else
      f%handle = c_fread_varray_sizes(f%handle, Ei%address, pointer_to(counts, fits), f%err)
    end if
    call finish(f, ierr)
  end subroutine get_sizes

  !> Reads the sizes of count elements of a varray, beginning with element first (from 0): call scda_fread_varray_sizes_range(f,
  !> [Ei,] first, count [, ierr]). If Ei is absent, this rank skips them.
  subroutine scda_fread_varray_sizes_range(f, Ei, first, count, ierr)
    type(scda_fcontext_t), intent(inout) :: f
    integer(int64), contiguous, target, optional, intent(inout) :: Ei(:)
    type(*), dimension(..), contiguous, intent(in), target :: first, count
    integer, intent(out), optional :: ierr
    integer(int64) :: from, n
    logical :: fits
    type(memory_t) :: sizes
    from = integer_in(f, memory_at(first), "first")
    n = integer_in(f, memory_at(count), "count")
    sizes = memory_at(Ei)
    fits = .true.
    if (c_associated(sizes%address)) call check_lengths(f, fits, n=n, entries=sizes%n)
    f%handle = c_fread_varray_sizes_range(f%handle, address_if(fits, sizes), from, n, f%err)
    call finish(f, ierr)
  end subroutine scda_fread_varray_sizes_range

  subroutine read_varray_range(f, data, first, count, Ei, ierr, indirect) bind(C, name="scda_fortran_fread_varray_range")
    type(scda_fcontext_t), intent(inout) :: f
    type(descriptor_t), intent(inout), optional, target :: data
    type(descriptor_t), intent(in), target :: first, count, Ei
    integer(scda_int), intent(out), optional :: ierr
    type(descriptor_t), intent(in), optional, target :: indirect
    call get_varray_range(f, memory_of(f, data), memory_of(f, first), memory_of(f, count), memory_of(f, Ei), &
      & is_indirect(f, indirect), ierr)
  end subroutine read_varray_range

  subroutine get_varray_range(f, data, first, count, Ei, indirect, ierr)
    type(scda_fcontext_t), intent(inout) :: f
    type(memory_t), intent(in), target :: data, first, count, Ei
    logical, intent(in) :: indirect
    integer, intent(out), optional :: ierr
    integer(int64), allocatable, target :: copy(:)
    integer(int64), pointer, contiguous :: sizes(:)
    integer(int64) :: from, n
    logical :: fits
    call list_of(Ei, sizes, copy)
    from = integer_in(f, first, "first")
    n = integer_in(f, count, "count")
    fits = .true.
    if (indirect .or. c_associated(data%address)) call check_lengths(f, fits, data, n=n, sizes=sizes, indirect=indirect)
    f%handle = c_fread_varray_range(f%handle, address_if(fits, data), from, n, pointer_to(sizes, fits), flag(indirect), f%err)
    call finish(f, ierr)
  end subroutine get_varray_range

  subroutine read_varray(f, data, Nq, Ei, ierr, Sq, indirect) bind(C, name="scda_fortran_fread_varray_data")
    type(scda_fcontext_t), intent(inout) :: f
    type(descriptor_t), intent(inout), optional, target :: data
    type(descriptor_t), intent(in), target :: Nq, Ei
    integer(scda_int), intent(out), optional :: ierr
    type(descriptor_t), intent(in), optional, target :: Sq
    type(descriptor_t), intent(in), optional, target :: indirect
    call get_varray(f, memory_of(f, data), memory_of(f, Nq), memory_of(f, Ei), memory_of(f, Sq), &
      & is_indirect(f, indirect), ierr)
  end subroutine read_varray

  ! Gets elements of a varray, or streams of a set, for which there is no Sq.
  subroutine get_varray(f, data, Nq, Ei, Sq, indirect, ierr, streams)
    type(scda_fcontext_t), intent(inout) :: f
    type(memory_t), intent(in), target :: data, Nq, Ei, Sq
    logical, intent(in) :: indirect
    integer, intent(out), optional :: ierr
    integer(int64), intent(in), optional :: streams
    integer(int64), allocatable, target :: Nq_copy(:), Ei_copy(:)
    integer(int64), pointer, contiguous :: counts(:), sizes(:)
    logical :: fits
    call list_of(Nq, counts, Nq_copy)
    call list_of(Ei, sizes, Ei_copy)
    fits = .true.
    if (indirect .or. c_associated(data%address)) then
      call check_lengths(f, fits, data, counts, sizes=sizes, Sq=Sq, indirect=indirect)
    else
      call check_lengths(f, fits, counts=counts, Sq=Sq)
    end if
    if (present(streams)) then
      f%handle = c_fread_streams_data(f%handle, streams, data%address, pointer_to(counts, fits), pointer_to(sizes, fits), &
        & flag(indirect), f%err)
    else
      f%handle = c_fread_varray_data(f%handle, data%address, pointer_to(counts, fits), pointer_to(sizes, fits), Sq%address, &
        & flag(indirect), f%err)
    end if
    call finish(f, ierr)
  end subroutine get_varray

  ! ---- Datasets ------------------------------------------------------------------------------------------------------------
  !
  ! Dimensions, indices and boxes have the order of Fortran in the arguments, and that of C where they are passed to C.

  ! Writes boxes of this rank: those of start and count, or its rows according to Nq, or the array of rank 0.
  subroutine put_dataset(f, name, code, items, found, shape, start, count, Nq, chunk, encode, codec, level, shuffle, &
    & max_relative_error, max_absolute_error, fill_value, attributes, units, dimension_names, ierr, type, extends)
    type(scda_fcontext_t), intent(inout) :: f
    character(*), intent(in) :: name
    integer, intent(in) :: code
    type(c_ptr), intent(in) :: items
    integer(int64), intent(in) :: found(:)
    type(memory_t), intent(in), target :: shape, start, count, Nq, chunk
    integer, intent(in), optional :: encode, codec, level
    logical, intent(in), optional :: shuffle
    real(real64), intent(in), optional :: max_relative_error, max_absolute_error
    type(c_ptr), intent(in) :: fill_value
    character(*), intent(in), optional :: attributes, units, dimension_names(:)
    integer, intent(out), optional :: ierr
    integer, intent(in), optional :: type
    logical, intent(in), optional :: extends
    type(given_t), pointer :: given
    type(held_t), pointer :: held
    integer(int64), allocatable :: first(:), extents(:), dims(:), chunks(:)
    integer(int64), allocatable, target :: numbers(:)
    integer(int64), pointer, contiguous :: counts(:)
    type(c_lengths_t) :: known
    integer(int64) :: rows
    integer :: i, k, n
    character(:), allocatable :: of
    logical :: fits, has_shape, has_chunks

    fits = .true.
    of = title_of(name)
    allocate(given)
    call begin_dataset(given%d)
    call put_name(f, name, given%d%name, fits)
    ! The unknown extent of an array of assumed size is replaced by 0.
    extents = max(found, 0_int64)
    call require_memory(f, of, items, extents, fits)
    call choose_type(code, type, extents, given)
    if ((given%d%type == SCDA_TYPE_RAW .or. given%in_memory /= 0) .and. c_associated(fill_value)) then
      call refuse(f, of // "fill: found it with SCDA_TYPE_RAW or with items to be converted, expected neither", fits)
    else
      given%d%fill_value = fill_value
    end if
    has_shape = c_associated(shape%address) .or. c_associated(start%address) .or. c_associated(Nq%address)
    if (any(found < 0) .and. .not. has_shape) then
      call refuse(f, of // "data: an array of assumed size has no shape", fits)
    end if

    ! The shape, and the boxes.
    allocate(dims, source=extents)
    allocate(first, source=0 * extents)
    n = size(extents)
    rows = -1
    if (c_associated(Nq%address)) then
      allocate(numbers, source=integers_in(f, Nq, of // "Nq", fits))
      if (all(numbers >= 0)) rows = max(0_int64, maxval(numbers)) ! otherwise, the numbers are those of a partition
      counts => numbers
      if (n == 0) call refuse(f, of // "data: found a scalar with Nq, expected an array", fits)
      if (c_associated(shape%address) .or. c_associated(start%address) .or. c_associated(count%address)) then
        call refuse(f, of // "shape, start, count: found with Nq, expected either these or Nq", fits)
      end if
      if (fits) then
        call check_lengths(f, fits, counts=counts, elements=extents(n), known=known)
        first(n) = known%first
        dims(n) = known%total
      end if
    end if
    if (c_associated(shape%address)) dims = integers_in(f, shape, of // "shape", fits)
    if (c_associated(Nq%address)) then
      given%starts = first(n:1:-1)
      given%sizes = extents(n:1:-1)
      given%nboxes = 1
    else if (c_associated(start%address)) then
      if (.not. c_associated(shape%address)) call refuse(f, &
        & of // "shape is missing: with start, it gives the shape of the whole array", fits)
      call boxes_in(f, of, start, count, extents, dims, given%starts, given%sizes, given%nboxes, fits)
    else
      if (c_associated(count%address)) call refuse(f, of // "start is missing, but count is given", fits)
      given%starts = 0 * dims
      given%sizes = dims(size(dims):1:-1)
      given%nboxes = merge(1_c_size_t, 0_c_size_t, f%rank == 0)
      if (f%rank == 0 .and. product(dims) /= product(extents)) then
        call refuse(f, of // "data: found the shape " // list_text(extents) // ", expected the items of " // list_text(dims), fits)
      end if
    end if
    call check_dimensions(f, of // "shape", size(dims), size(dims), fits)
    n = min(size(dims), SCDA_MAX_DIMS)
    given%d%ndims = int(n, c_int)
    given%d%shape(:n) = dims(n:1:-1)

    ! The layout.
    given%d%codec = chosen(codec, SCDA_CODEC_ZSTD)
    given%d%level = chosen(level, -1)
    if (present(shuffle)) given%d%shuffle = flag(shuffle)
    if (present(extends)) given%d%extends = flag(extends)
    if (present(max_relative_error)) given%d%max_relative_error = max_relative_error
    if (present(max_absolute_error)) given%d%max_absolute_error = max_absolute_error
    has_chunks = c_associated(chunk%address) .or. present(codec) .or. given%d%level /= -1 .or. present(shuffle) .or. &
      & abs(given%d%max_relative_error) > 0 .or. abs(given%d%max_absolute_error) > 0
    given%d%encode = chosen(encode, merge(SCDA_ENCODE_ALWAYS, SCDA_ENCODE_NONE, has_chunks))
    if (c_associated(chunk%address)) then
      allocate(chunks, source=integers_in(f, chunk, of // "chunk", fits))
      call check_dimensions(f, of // "chunk", size(chunks), size(dims), fits)
      if (size(chunks) == size(dims)) given%d%chunk(:n) = chunks(n:1:-1)
    end if

    ! The attributes and names.
    given%json = object_of(attributes)
    if (present(units)) then
      i = verify(given%json(2:), json_blanks) + 1
      if (given%json(i:i) == "}") then
        given%json = "{" // scda_json("units", units) // given%json(i:)
      else
        given%json = "{" // scda_json("units", units) // ", " // given%json(2:)
      end if
    end if
    if (index(given%json, c_null_char) > 0) call refuse(f, of // "attributes: found a NUL character", fits)
    given%json = given%json // c_null_char
    given%d%attributes = c_loc(given%json)
    if (present(dimension_names)) then
      call check_dimensions(f, of // "dimension_names", size(dimension_names), size(dims), fits)
      allocate(given%names(len(dimension_names) + 1, size(dimension_names)))
      given%names = c_null_char
      do i = 1, min(size(dimension_names), n)
        do k = 1, len_trim(dimension_names(i))
          given%names(k, i) = dimension_names(i)(k:k)
        end do
        if (dimension_names(i) /= "") given%name_pointers(n + 1 - i) = c_loc(given%names(1, i))
      end do
      given%d%dimension_names = c_loc(given%name_pointers)
    end if

    if (.not. fits) given%nboxes = 0
    if (given%nboxes > 0 .and. product(extents) > 0) given%data = items
    held => held_of(f)
    if (associated(held)) then
      call hold(f, held, given, product(extents), items_of_each(f, dims, c_associated(start%address) .or. &
        & c_associated(Nq%address), rows), fits)
    else
      call write_now(f, given)
    end if
    call finish(f, ierr)
  end subroutine put_dataset

  ! The most items of a dataset on any rank, the same number on all ranks. With `start`, it is the mean, because the ranks do not
  ! know each other's boxes. `rows` is the largest number in Nq; -1: there is no Nq.
  pure function items_of_each(f, dims, has_start, rows) result(items)
    type(scda_fcontext_t), intent(in) :: f
    integer(int64), intent(in) :: dims(:)
    logical, intent(in) :: has_start
    integer(int64), intent(in) :: rows
    integer(int64) :: items
    if (rows >= 0) then
      items = product_of([dims(:size(dims) - 1), rows])
    else
      items = product_of(dims)
      if (has_start) items = items / f%nranks
    end if
  end function items_of_each

  ! The product of non-negative numbers, or the largest integer if it does not fit.
  pure function product_of(numbers) result(all)
    integer(int64), intent(in) :: numbers(:)
    integer(int64) :: all
    integer :: i
    all = 1
    do i = 1, size(numbers)
      if (numbers(i) > 0) then
        if (all > huge(all) / numbers(i)) then
          all = huge(all)
          cycle
        end if
      end if
      all = all * max(numbers(i), 0_int64)
    end do
  end function product_of

  ! The type of the dataset, and the size of its items if the type does not determine it: the type of data, or the one that the user
  ! passes, to which items of another size are converted. Raw bytes are 8-bit integers; the first dimension is the bytes of an item.
  subroutine choose_type(code, type, extents, given)
    integer, intent(in) :: code
    integer, intent(in), optional :: type
    integer(int64), allocatable, intent(inout) :: extents(:)
    type(given_t), intent(inout) :: given
    given%d%type = int(code, c_int)
    if (.not. present(type)) return
    given%d%type = int(type, c_int)
    if (type == SCDA_TYPE_RAW .and. code == SCDA_TYPE_INT8 .and. size(extents) > 0) then
      given%d%item_bytes = extents(1)
      extents = extents(2:)
    else if (.not. is_taken_for(code, type)) then
      given%in_memory = int(code, c_int)
    end if
  end subroutine choose_type

  ! Determines how items of a dataset are stored in memory. Items of the same size may stand for the type that the user passes.
  subroutine match_type(f, of, code, type, extents, given, fits)
    type(scda_fcontext_t), intent(in) :: f
    character(*), intent(in) :: of
    integer, intent(in) :: code
    integer, intent(in), optional :: type
    integer(int64), allocatable, intent(inout) :: extents(:)
    type(given_t), intent(inout) :: given
    logical, intent(inout) :: fits
    integer :: in_memory
    integer(int64) :: item_bytes
    in_memory = code
    if (given%d%type == unsigned_of(code)) in_memory = unsigned_of(code)
    if (present(type)) in_memory = type
    item_bytes = given%d%item_bytes
    if (in_memory == SCDA_TYPE_RAW .and. code == SCDA_TYPE_INT8 .and. size(extents) > 0) then
      item_bytes = extents(1)
      extents = extents(2:)
    else if (.not. is_taken_for(code, in_memory)) then
      call refuse(f, of // "type: found a type that cannot describe items of type " // scda_type_name(code), fits)
    end if
    if (in_memory == given%d%type) then
      if (item_bytes /= given%d%item_bytes) then
        call refuse(f, of // "data: found " // decimal(item_bytes) // " bytes in the first dimension, expected " // &
          & decimal(given%d%item_bytes) // ", the size of an item", fits)
      end if
    else if (in_memory == SCDA_TYPE_RAW) then
      call refuse(f, of // "data: found items of type " // scda_type_name(in_memory) // ", expected " // &
        & scda_type_name(int(given%d%type)) // ", as in the dataset", fits)
    else
      given%in_memory = int(in_memory, c_int)
    end if
  end subroutine match_type

  ! True if items of this type in memory stand for another type unchanged: Fortran has neither unsigned integers nor halves.
  pure logical function is_taken_for(code, type)
    integer, intent(in) :: code, type
    is_taken_for = type == code .or. type == unsigned_of(code) .or. (type == SCDA_TYPE_FLOAT16 .and. code == SCDA_TYPE_INT16)
  end function is_taken_for

  ! The unsigned type of the same size; if there is none, the type itself.
  pure integer function unsigned_of(code)
    integer, intent(in) :: code
    unsigned_of = code
    if (code >= SCDA_TYPE_INT8 .and. code <= SCDA_TYPE_INT64) unsigned_of = code - SCDA_TYPE_INT8 + SCDA_TYPE_UINT8
  end function unsigned_of

  ! The size of an item of a type; for raw bytes, item_bytes.
  integer(int64) function bytes_of_type(type, item_bytes)
    integer(c_int), intent(in) :: type
    integer(int64), intent(in) :: item_bytes
    integer(int64) :: bytes
    type(c_ptr) :: str
    str = c_type_name(type, bytes)
    bytes_of_type = merge(bytes, item_bytes, bytes > 0)
  end function bytes_of_type

  ! ---- Several datasets in one call ----------------------------------------------------------------------------------------

  !> From here on, scda_write holds chunked datasets back, until scda_fwrite_datasets_end writes them in one call. The file does not
  !> differ. Copies are held, of at most 16 MiB of items on a rank (with start, on average over all ranks). Contiguous datasets,
  !> those with SCDA_ENCODE_AUTO, and larger ones are written at once. Errors are reported at the latest at the end; any other
  !> writing in between is an error.
  !> call scda_fwrite_datasets_begin(f [, ierr])
  subroutine scda_fwrite_datasets_begin(f, ierr)
    type(scda_fcontext_t), intent(inout) :: f
    integer, intent(out), optional :: ierr
    type(held_t), pointer :: held
    f%err = SCDA_SUCCESS
    held => held_of(f)
    if (associated(held)) then
      call refuse_held(f)
    else if (c_associated(f%handle)) then
      allocate(held)
      held%file = f%opened
      !$omp critical (scda_held)
      held%next => all_held%next
      all_held%next => held
      !$omp end critical (scda_held)
    end if
    call finish(f, ierr)
  end subroutine scda_fwrite_datasets_begin

  !> Writes the datasets that were held back: call scda_fwrite_datasets_end(f [, ierr])
  subroutine scda_fwrite_datasets_end(f, ierr)
    type(scda_fcontext_t), intent(inout) :: f
    integer, intent(out), optional :: ierr
    type(held_t), target :: nothing
    type(held_t), pointer :: held
    logical :: fits
    held => held_of(f)
    if (.not. associated(held)) then
      call refuse(f, "no datasets are held back; call scda_fwrite_datasets_begin first", fits)
      held => nothing
    end if
    call write_held(f, held)
    call drop_held(f)
    call finish(f, ierr)
  end subroutine scda_fwrite_datasets_end

  ! The entry before that of a file in the list; the last one if the file has no entry. Only for critical sections.
  function place_of(f) result(before)
    type(scda_fcontext_t), intent(in) :: f
    type(held_t), pointer :: before
    before => all_held
    do while (associated(before%next))
      if (c_associated(before%next%file, f%opened)) exit
      before => before%next
    end do
  end function place_of

  ! The datasets of a file that are held back; null if it holds none back.
  function held_of(f) result(held)
    type(scda_fcontext_t), intent(in) :: f
    type(held_t), pointer :: held
    !$omp critical (scda_held)
    held => place_of(f)
    held => held%next
    !$omp end critical (scda_held)
  end function held_of

  ! Holds a dataset back, with copies of its items and its fill value; first writes the datasets held so far, if there would be too
  ! many. A dataset that is not compressed would gain nothing, and is written at once, as is one that is too large. `items` is the
  ! number on this rank, `each` the most on any rank, from items_of_each.
  subroutine hold(f, held, given, items, each, fits)
    type(scda_fcontext_t), intent(inout) :: f
    type(held_t), intent(inout) :: held
    type(given_t), pointer, intent(inout) :: given
    integer(int64), intent(in) :: items
    integer(int64), intent(in) :: each
    logical, intent(inout) :: fits
    integer(int64), parameter :: most = 16 * 2_int64**20 ! for each rank, as much as the library compresses together
    character(:), allocatable :: name
    type(c_ptr) :: address
    integer(int64) :: bytes
    logical :: is_chunked
    integer(c_int) :: in_memory
    integer :: status
    bytes = min(product_of([each, bytes_of_type(given%d%type, given%d%item_bytes)]), most + 1)
    is_chunked = given%d%encode == SCDA_ENCODE_ALWAYS .or. given%d%encode == SCDA_ENCODE_TEXT
    if (held%bytes + bytes > most .or. .not. is_chunked) then
      call write_held(f, held)
      if (f%err /= SCDA_SUCCESS) then
        deallocate(given)
        return
      else if (bytes > most .or. .not. is_chunked) then
        call write_now(f, given)
        return
      end if
    end if
    f%err = SCDA_SUCCESS
    in_memory = merge(given%in_memory, given%d%type, given%in_memory /= 0)
    call copy_bytes(given%data, items * bytes_of_type(in_memory, given%d%item_bytes), given%items, status)
    if (status == 0) call copy_bytes(given%d%fill_value, bytes_of_type(given%d%type, given%d%item_bytes), given%fill_value, status)
    if (status /= 0) then
      address = c_loc(given%d%name)
      call copy_if(address, name)
      call refuse(f, "datasets: not enough memory to hold """ // name // """ back", fits)
      given%nboxes = 0
      given%data = c_null_ptr
      given%d%fill_value = c_null_ptr
    end if
    given%before => held%last
    held%last => given
    held%count = held%count + 1
    held%bytes = held%bytes + bytes
  end subroutine hold

  ! Copies bytes, and replaces their address by that of the copy.
  subroutine copy_bytes(address, bytes, copy, status)
    type(c_ptr), intent(inout) :: address
    integer(int64), intent(in) :: bytes
    integer(int8), allocatable, target, intent(inout) :: copy(:)
    integer, intent(out) :: status
    integer(int8), pointer, contiguous :: from(:)
    status = 0
    if (.not. c_associated(address)) return
    call c_f_pointer(address, from, [bytes])
    allocate(copy(bytes), stat=status)
    if (status /= 0) return
    copy(:) = from
    address = c_loc(copy)
  end subroutine copy_bytes

  ! Writes a dataset.
  subroutine write_now(f, given)
    type(scda_fcontext_t), intent(inout) :: f
    type(given_t), pointer, intent(inout) :: given
    type(c_box_t) :: boxes(given%nboxes)
    call boxes_of(given, boxes)
    f%handle = c_fwrite_datasets(f%handle, 1_c_size_t, c_loc(given%d), [given%nboxes], boxes, f%err)
    deallocate(given)
  end subroutine write_now

  ! Writes the datasets that are held back, and empties the list.
  subroutine write_held(f, held)
    type(scda_fcontext_t), intent(inout) :: f
    type(held_t), intent(inout) :: held
    type(given_t), pointer :: given
    type(c_dataset_t), allocatable, target :: d(:)
    type(c_box_t), allocatable :: boxes(:)
    integer(c_size_t), allocatable :: nboxes(:)
    integer(c_size_t) :: after
    integer :: i, n
    n = held%count
    given => held%last
    allocate(d(n), nboxes(n))
    do i = n, 1, -1
      d(i) = given%d
      nboxes(i) = given%nboxes
      given => given%before
    end do
    after = sum(nboxes)
    allocate(boxes(after))
    given => held%last
    do i = n, 1, -1
      call boxes_of(given, boxes(after - nboxes(i) + 1:after))
      after = after - nboxes(i)
      given => given%before
    end do
    f%handle = c_fwrite_datasets(f%handle, int(n, c_size_t), c_loc(d), nboxes, boxes, f%err)
    call forget(held)
  end subroutine write_held

  ! The boxes of a dataset with contiguous items.
  subroutine boxes_of(given, boxes)
    type(given_t), intent(in), target :: given
    type(c_box_t), intent(inout) :: boxes(:)
    integer(c_int) :: status
    integer :: i, n
    n = int(given%d%ndims)
    do i = 1, size(boxes)
      status = c_box_init_size(boxes(i), c_sizeof(boxes(i)))
      if (i == 1) boxes(i)%data = given%data
      boxes(i)%type = given%in_memory
      if (n == 0) cycle
      boxes(i)%start = c_loc(given%starts((i - 1) * n + 1))
      boxes(i)%count = c_loc(given%sizes((i - 1) * n + 1))
    end do
  end subroutine boxes_of

  subroutine forget(held)
    type(held_t), intent(inout) :: held
    type(given_t), pointer :: given
    do while (associated(held%last))
      given => held%last
      held%last => given%before
      deallocate(given)
    end do
    held%count = 0
    held%bytes = 0
  end subroutine forget

  ! Stops holding datasets back.
  subroutine drop_held(f)
    type(scda_fcontext_t), intent(in) :: f
    type(held_t), pointer :: before, held
    !$omp critical (scda_held)
    before => place_of(f)
    held => before%next
    if (associated(held)) before%next => held%next
    !$omp end critical (scda_held)
    if (.not. associated(held)) return
    call forget(held)
    deallocate(held)
  end subroutine drop_held

  ! Rejects other ways of writing while datasets are held back.
  subroutine refuse_held(f)
    type(scda_fcontext_t), intent(in) :: f
    logical :: fits
    if (associated(held_of(f))) then
      call refuse(f, "datasets are held back; call scda_fwrite_datasets_end first", fits)
    end if
  end subroutine refuse_held

  ! Reads boxes of a dataset.
  subroutine get_dataset(f, d, code, items, found, start, count, ierr, type)
    type(scda_fcontext_t), intent(inout) :: f
    type(scda_dataset_t), intent(in) :: d
    integer, intent(in) :: code
    type(c_ptr), intent(in) :: items
    integer(int64), intent(in) :: found(:)
    type(memory_t), intent(in), target :: start, count
    integer, intent(out), optional :: ierr
    integer, intent(in), optional :: type
    type(given_t), target :: given
    type(c_box_t), allocatable :: boxes(:)
    logical :: fits
    fits = .true.
    call describe_found(f, d, given%d, fits)
    if (d%number == 0) given%d%type = int(code, c_int)
    call take_boxes(f, title_of(d%name), given, code, items, found, start, count, fits, type)
    allocate(boxes(given%nboxes))
    call boxes_of(given, boxes)
    f%handle = c_fread_boxes(f%handle, c_loc(given%d), given%nboxes, boxes, f%err)
    call finish(f, ierr)
  end subroutine get_dataset

  ! Begins messages about a dataset; without a name if it was not found.
  function title_of(name) result(title)
    character(*), intent(in), optional :: name
    character(:), allocatable :: title
    title = ""
    if (present(name)) title = "dataset """ // trim(name) // """: "
  end function title_of

  ! The description that C needs to read a dataset, which must have been found.
  subroutine describe_found(f, d, c, fits)
    type(scda_fcontext_t), intent(in) :: f
    type(scda_dataset_t), intent(in) :: d
    type(c_dataset_t), intent(out) :: c
    logical, intent(inout) :: fits
    if (d%number == 0) call refuse(f, "dataset: found none, expected one found by scda_ffind_dataset", fits)
    call describe(d, c)
  end subroutine describe_found

  subroutine describe(d, c)
    type(scda_dataset_t), intent(in) :: d
    type(c_dataset_t), intent(out) :: c
    call begin_dataset(c)
    c%number = d%number
    c%type = int(d%type, c_int)
    c%item_bytes = d%item_bytes
    if (.not. allocated(d%shape)) return
    c%ndims = size(d%shape, kind=c_int)
    c%shape(:c%ndims) = d%shape(c%ndims:1:-1)
  end subroutine describe

  ! The boxes to read from a dataset in the file, and the places for their items.
  subroutine take_boxes(f, of, given, code, items, found, start, count, fits, type)
    type(scda_fcontext_t), intent(in) :: f
    character(*), intent(in) :: of
    type(given_t), intent(inout) :: given
    integer, intent(in) :: code
    type(c_ptr), intent(in) :: items
    integer(int64), intent(in) :: found(:)
    type(memory_t), intent(in), target :: start, count
    logical, intent(inout) :: fits
    integer, intent(in), optional :: type
    integer(int64), allocatable :: extents(:), dims(:)
    logical :: same
    allocate(dims, source=given%d%shape(given%d%ndims:1:-1))
    extents = max(found, 0_int64) ! see put_dataset
    call require_memory(f, of, items, extents, fits)
    call match_type(f, of, code, type, extents, given, fits)
    if (c_associated(start%address)) then
      call boxes_in(f, of, start, count, extents, dims, given%starts, given%sizes, given%nboxes, fits)
    else
      if (c_associated(count%address)) call refuse(f, of // "start is missing, but count is given", fits)
      given%starts = 0 * dims
      given%sizes = dims(size(dims):1:-1)
      given%nboxes = 1
      same = product(dims) == product(extents)
      if (same .and. size(dims) == size(extents)) same = all(dims == extents)
      if (.not. same) then
        call refuse(f, of // "data: found the shape " // list_text(extents) // ", expected " // list_text(dims), fits)
      end if
    end if
    if (.not. fits) given%nboxes = 0
    if (given%nboxes > 0 .and. product(extents) > 0) given%data = items
  end subroutine take_boxes

  !> Reads several datasets in one call: call scda_fread_datasets(f, requests [, ierr]). scda_request makes the requests.
  !> All ranks request the same datasets in the same order, each with its own boxes, which must not overlap in memory.
  subroutine scda_fread_datasets(f, requests, ierr)
    type(scda_fcontext_t), intent(inout) :: f
    type(scda_request_t), intent(in) :: requests(:)
    integer, intent(out), optional :: ierr
    type(given_t), allocatable, target :: given(:)
    type(c_dataset_t), allocatable, target :: d(:)
    type(c_box_t), allocatable :: boxes(:)
    integer(c_size_t), allocatable :: nboxes(:)
    integer(c_size_t) :: first
    integer(c_int64_t), allocatable, target :: record(:)
    type(c_ptr) :: items, list
    integer :: i, n
    logical :: fits
    n = size(requests)
    allocate(given(n), d(n), nboxes(n), record(n))
    do i = 1, n
      fits = .true.
      associate (request => requests(i))
        if (allocated(request%why)) call refuse(f, title_of(request%name) // request%why, fits)
        if (.not. allocated(request%name)) then
          call refuse(f, "requests: found one that was not made by scda_request", fits)
          call require_dataset(f, "", 0, given(i)%d)
        else
          call require_dataset(f, request%name, request%record, given(i)%d)
        end if
        if (f%err /= SCDA_SUCCESS) then
          call finish(f, ierr)
          return
        end if
        items = request%items
        if (associated(request%put)) then
          allocate(given(i)%items(product(request%extents)))
          items = c_loc(given(i)%items)
        end if
        call take_boxes(f, title_of(request%name), given(i), request%code, items, request%extents, memory_at(request%start), &
          & memory_at(request%count), fits, request%type)
        record(i) = request%record
      end associate
      d(i) = given(i)%d
      nboxes(i) = given(i)%nboxes
    end do
    allocate(boxes(sum(nboxes)))
    first = 1
    do i = 1, n
      call boxes_of(given(i), boxes(first:first + nboxes(i) - 1))
      first = first + nboxes(i)
    end do
    list = c_null_ptr
    if (n > 0) list = c_loc(d)
    f%handle = c_fread_datasets(f%handle, int(n, c_size_t), list, address_of(record), nboxes, boxes, f%err)
    if (f%err == SCDA_SUCCESS) then
      do i = 1, n
        if (associated(requests(i)%put)) call requests(i)%put(requests(i)%items, given(i)%items)
      end do
    end if
    call finish(f, ierr)
  end subroutine scda_fread_datasets

  ! Makes a request, with copies of start and count.
  function request_of(name, code, items, extents, record, start, count, type) result(request)
    character(*), intent(in) :: name
    integer, intent(in) :: code
    type(c_ptr), intent(in) :: items
    integer(int64), intent(in) :: extents(:)
    integer, intent(in), optional :: record, type
    type(memory_t), intent(in), target :: start, count
    type(scda_request_t) :: request
    logical :: are_integers
    request%name = trim(name)
    request%code = code
    request%items = items
    request%extents = extents
    if (present(record)) request%record = record
    if (present(type)) request%type = type
    are_integers = .true.
    if (c_associated(start%address)) call copy_integers(start, request%start, are_integers)
    if (.not. are_integers) request%why = "start" // not_integers
    if (c_associated(count%address)) call copy_integers(count, request%count, are_integers)
    if (.not. are_integers .and. .not. allocated(request%why)) request%why = "count" // not_integers
  end function request_of

  !> Finds a dataset by its name: call scda_ffind_dataset(f, name, found [, d, record, ierr]). record: 0 is the first of this
  !> name, -1 (absent) the last. scda_read then reads d; any number of datasets can be read, in any order. The position in the file
  !> stays.
  subroutine scda_ffind_dataset(f, name, found, d, record, ierr)
    type(scda_fcontext_t), intent(inout) :: f
    character(*), intent(in) :: name
    logical, intent(out) :: found
    type(scda_dataset_t), intent(out), optional :: d
    integer, intent(in), optional :: record
    integer, intent(out), optional :: ierr
    type(c_dataset_t) :: c
    call find_dataset(f, name, record, found, c)
    if (found .and. present(d)) call copy_dataset(c, d)
    call finish(f, ierr)
  end subroutine scda_ffind_dataset

  !> Gets the next entry of the file, as users see it: call scda_fnext_entry(f, e, found [, ierr]). e stores the place in the list:
  !> a new variable begins at the first entry. found: false if there are no more. The position in the file stays.
  subroutine scda_fnext_entry(f, e, found, ierr)
    type(scda_fcontext_t), intent(inout) :: f
    type(scda_entry_t), intent(inout) :: e
    logical, intent(out) :: found
    integer, intent(out), optional :: ierr
    type(c_entry_t), target :: c
    type(c_ptr) :: address
    if (c_entry_init_size(c, c_sizeof(c)) /= 0) then
      call fail("this module is not that of the library which the program runs with")
    end if
    c%end = e%end
    f%handle = c_fnext_entry(f%handle, c, f%err)
    found = f%err == SCDA_SUCCESS
    if (f%err == SCDA_ERR_EOF .and. c_associated(f%handle)) f%err = SCDA_SUCCESS
    if (found) then
      address = c_loc(c%name)
      call copy_if(address, e%name)
      e%kind = int(c%kind)
      e%type = int(c%type)
      e%record = c%record
      e%records = c%records
      e%section = c%section
      e%end = c%end
      e%shape = c%shape(c%ndims:1:-1)
    end if
    call finish(f, ierr)
  end subroutine scda_fnext_entry

  function member_of_address(name, type, variable, component, count, bytes) result(member)
    character(*), intent(in) :: name
    integer, intent(in) :: type
    type(c_ptr), intent(in) :: variable, component
    integer, intent(in), optional :: count
    integer(int64), intent(in), optional :: bytes
    type(scda_member_t) :: member
    member%name = name
    member%type = type
    member%offset = transfer(component, member%offset) - transfer(variable, member%offset)
    if (present(count)) member%count = count
    if (present(bytes)) member%bytes = bytes
  end function member_of_address

  ! The items of a component, of so many bytes each, and of the type `code` unless another one is passed.
  function member_of(name, code, item_bytes, variable, component, type) result(member)
    character(*), intent(in) :: name
    integer, intent(in) :: code, item_bytes
    type(c_ptr), intent(in) :: variable
    type(memory_t), intent(in), target :: component
    integer, intent(in), optional :: type
    type(scda_member_t) :: member
    member = member_of_address(name, chosen(type, code), variable, component%address)
    if (member%type == SCDA_TYPE_RAW .or. member%type == SCDA_TYPE_BYTES) then
      member%bytes = component%n * component%each
    else
      member%count = int(component%n * component%each / item_bytes)
    end if
  end function member_of

  !> Writes a dataset of structs, which is distributed: call scda_write_structs(f, name, data, members [, ierr, attributes, encode,
  !> Nq]). data is an array, maybe of size 0, whose elements have these members (scda_member). The ranks add up their numbers of
  !> elements, unless Nq, the same on all ranks, has those of all ranks, or is a partition of scda_partition_local.
  subroutine scda_write_structs(f, name, data, members, ierr, attributes, encode, Nq)
    type(scda_fcontext_t), intent(inout) :: f
    character(*), intent(in) :: name
    type(*), dimension(..), contiguous, intent(in), target :: data
    type(scda_member_t), intent(in) :: members(:)
    integer, intent(out), optional :: ierr
    character(*), intent(in), optional :: attributes
    integer, intent(in), optional :: encode
    integer(int64), intent(in), optional :: Nq(:)
    type(given_t), pointer :: given
    type(c_partition_t) :: part
    type(c_lengths_t) :: known
    type(memory_t), target :: memory
    integer(int64), allocatable, target :: numbers(:)
    integer(int64), pointer, contiguous :: counts(:)
    type(c_member_t), target :: list(size(members) + 1)
    character(kind=c_char), target :: names(SCDA_NAME_BYTES + 1, size(members) + 1)
    integer(int64) :: count
    logical :: fits
    allocate(given)
    call begin_dataset(given%d)
    fits = .true.
    call put_name(f, name, given%d%name, fits)
    memory = structs_at(f, title_of(name), memory_at(data), rank(data), fits, count)
    call refuse_held(f)
    if (present(Nq)) then
      allocate(numbers, source=Nq)
      counts => numbers
      if (fits) call check_lengths(f, fits, counts=counts, elements=count, known=known)
      if (fits) then
        part%total = known%total
        part%offset = known%first
        part%count = count
      end if
    else
      part = c_partition_local(f%handle, count, f%err)
    end if
    if (f%err /= SCDA_SUCCESS) then
      deallocate(given)
      call finish(f, ierr)
      return
    end if
    given%d%type = SCDA_TYPE_STRUCT
    given%d%item_bytes = memory%unit
    given%d%ndims = 1
    given%d%shape(1) = part%total
    given%d%encode = chosen(encode, SCDA_ENCODE_NONE)
    call list_members(members, list, names)
    given%d%members = c_loc(list)
    given%json = object_of(attributes)
    if (index(given%json, c_null_char) > 0) call refuse(f, title_of(name) // "attributes: found a NUL character", fits)
    given%json = given%json // c_null_char
    given%d%attributes = c_loc(given%json)
    given%starts = [part%offset]
    given%sizes = [part%count]
    given%nboxes = merge(1_c_size_t, 0_c_size_t, fits)
    if (count > 0) given%data = memory%address
    call write_now(f, given)
    call finish(f, ierr)
  end subroutine scda_write_structs

  subroutine named_structs(f, name, data, members, record, start, ierr)
    type(scda_fcontext_t), intent(inout) :: f
    character(*), intent(in) :: name
    type(*), dimension(..), contiguous, intent(inout), target :: data
    type(scda_member_t), intent(in) :: members(:)
    integer, intent(in), optional :: record
    type(*), dimension(..), contiguous, intent(in), optional, target :: start
    integer, intent(out), optional :: ierr
    type(c_dataset_t), target :: c
    type(scda_dataset_t) :: d
    call require_dataset(f, name, record, c)
    if (f%err /= SCDA_SUCCESS) then
      call finish(f, ierr)
    else
      call copy_dataset(c, d)
      call get_structs(f, d, memory_at(data), rank(data), members, memory_at(start), ierr)
    end if
  end subroutine named_structs

  subroutine read_structs(f, d, data, members, start, ierr)
    type(scda_fcontext_t), intent(inout) :: f
    type(scda_dataset_t), intent(in) :: d
    type(*), dimension(..), contiguous, intent(inout), target :: data
    type(scda_member_t), intent(in) :: members(:)
    type(*), dimension(..), contiguous, intent(in), optional, target :: start
    integer, intent(out), optional :: ierr
    call get_structs(f, d, memory_at(data), rank(data), members, memory_at(start), ierr)
  end subroutine read_structs

  subroutine get_structs(f, d, data, dimensions, members, start, ierr)
    type(scda_fcontext_t), intent(inout) :: f
    type(scda_dataset_t), intent(in) :: d
    type(memory_t), intent(in), target :: data, start
    integer, intent(in) :: dimensions
    type(scda_member_t), intent(in) :: members(:)
    integer, intent(out), optional :: ierr
    type(given_t), target :: given
    type(memory_t), target :: memory
    type(c_member_t), target :: list(size(members) + 1)
    character(kind=c_char), target :: names(SCDA_NAME_BYTES + 1, size(members) + 1)
    type(c_box_t) :: box(1)
    integer(int64) :: first, count
    logical :: fits
    fits = .true.
    call describe_found(f, d, given%d, fits)
    memory = structs_at(f, title_of(d%name), data, dimensions, fits, count)
    first = 1
    if (given%d%ndims /= 1) then
      call refuse(f, title_of(d%name) // "found " // decimal(int(given%d%ndims, int64)) // " dimensions, expected 1", fits)
    else if (c_associated(start%address)) then
      first = integer_in(f, start, title_of(d%name) // "start")
      if (first < 1 .or. first - 1 > given%d%shape(1) .or. count > given%d%shape(1) - (first - 1)) then
        call refuse(f, title_of(d%name) // "start: found " // decimal(first) // " and room for " // decimal(count) // &
          & " structs, expected a range within 1 to " // decimal(given%d%shape(1)), fits)
        first = 1
      end if
    else if (count /= given%d%shape(1)) then
      call refuse(f, title_of(d%name) // "data: found " // decimal(count) // " structs, expected " // &
        & decimal(given%d%shape(1)), fits)
    end if
    call list_members(members, list, names)
    given%starts = [first - 1]
    given%sizes = [count]
    given%nboxes = merge(1_c_size_t, 0_c_size_t, fits)
    if (count > 0) given%data = memory%address
    call boxes_of(given, box(:given%nboxes))
    box%type = SCDA_TYPE_STRUCT
    box%item_bytes = memory%unit
    box%members = c_loc(list)
    f%handle = c_fread_boxes(f%handle, c_loc(given%d), given%nboxes, box, f%err)
    call finish(f, ierr)
  end subroutine get_structs

  ! The memory of structs, with the bytes of each as its unit, and their number.
  function structs_at(f, of, memory, dimensions, fits, count) result(structs)
    type(scda_fcontext_t), intent(in) :: f
    character(*), intent(in) :: of
    type(memory_t), intent(in), target :: memory
    integer, intent(in) :: dimensions
    logical, intent(inout) :: fits
    integer(int64), intent(out) :: count
    type(memory_t) :: structs
    structs = memory
    count = 0
    if (.not. c_associated(memory%address)) then
      call refuse(f, of // "data: found an array that is not allocated; one of size 0 stands for no items", fits)
    else if (memory%n < 0) then
      call refuse(f, of // "data: an array of assumed size has no shape", fits)
    else
      if (dimensions == 0) structs%unit = memory%each
      count = memory%n * memory%each / structs%unit
    end if
  end function structs_at

  ! Members for C; an empty one ends the list.
  subroutine list_members(members, list, names)
    type(scda_member_t), intent(in) :: members(:)
    type(c_member_t), intent(out) :: list(:)
    character(kind=c_char), intent(out), target :: names(:, :)
    integer :: i, k
    names = c_null_char
    do i = 1, size(members)
      do k = 1, len_trim(members(i)%name)
        names(k, i) = members(i)%name(k:k)
      end do
      list(i)%name = c_loc(names(1, i))
      list(i)%type = int(members(i)%type, c_int)
      list(i)%count = int(members(i)%count, c_int)
      list(i)%offset = members(i)%offset
      list(i)%item_bytes = members(i)%bytes
    end do
  end subroutine list_members

  !> Writes a dataset of texts of any length, which is distributed: call scda_fwrite_texts(f, name, items [, ierr, attributes,
  !> shape, extends]). Blanks at the end of each item are left out. shape (absent: one dimension) is that of the dataset; its last
  !> number is ignored, because the ranks add up their numbers.
  subroutine scda_fwrite_texts(f, name, items, ierr, attributes, shape, extends)
    type(scda_fcontext_t), intent(inout) :: f
    character(*), intent(in) :: name, items(:)
    integer, intent(out), optional :: ierr
    character(*), intent(in), optional :: attributes
    integer(int64), intent(in), optional :: shape(:)
    logical, intent(in), optional :: extends
    type(given_t), target :: given
    character(kind=c_char), allocatable, target :: bytes(:)
    type(c_ptr), allocatable, target :: pointers(:)
    integer(c_int64_t), allocatable, target :: lengths(:)
    integer(int64) :: row, after, count, k
    integer :: i, n
    logical :: fits
    call begin_dataset(given%d)
    fits = .true.
    if (index(name, c_null_char) > 0) call refuse(f, "name of a dataset: found a NUL character", fits)
    if (len_trim(name) >= SCDA_NAME_BYTES) call refuse(f, "name of a dataset: found " // &
      & decimal(int(len_trim(name), int64)) // " bytes, expected 1 to 58", fits)
    do i = 1, min(len_trim(name), SCDA_NAME_BYTES - 1)
      given%d%name(i) = name(i:i)
    end do
    given%d%type = SCDA_TYPE_STRING
    given%d%ndims = 1
    if (present(extends)) given%d%extends = flag(extends)
    row = 1
    if (present(shape)) then
      n = size(shape)
      call check_dimensions(f, "shape", n, n, fits)
      n = min(n, SCDA_MAX_DIMS)
      given%d%ndims = int(n, c_int)
      given%d%shape(:n) = shape(n:1:-1)
      row = product(shape(:n - 1))
    end if
    count = size(items, kind=int64) / max(row, 1_int64)
    if (count * row /= size(items)) then
      call refuse(f, "items: found " // decimal(size(items, kind=int64)) // ", expected " // decimal(row) // &
        & " for each index of the last dimension", fits)
      count = 0
    end if
    given%json = object_of(attributes)
    if (index(given%json, c_null_char) > 0) call refuse(f, "attributes: found a NUL character", fits)
    given%json = given%json // c_null_char
    given%d%attributes = c_loc(given%json)
    allocate(lengths(size(items) + 1), pointers(size(items) + 1)) ! not empty, for c_loc
    lengths(:size(items)) = len_trim(items, kind=int64)
    lengths(size(items) + 1) = 0
    allocate(bytes(sum(lengths) + 1))
    after = 0
    do i = 1, size(items)
      pointers(i) = c_loc(bytes(after + 1))
      do k = 1, lengths(i)
        bytes(after + k) = items(i)(k:k)
      end do
      after = after + lengths(i)
    end do
    call refuse_held(f)
    f%handle = c_fwrite_texts(f%handle, c_loc(given%d), count, c_loc(pointers), c_loc(lengths), f%err)
    call finish(f, ierr)
  end subroutine scda_fwrite_texts

  !> Reads a box of a dataset whose items are texts or bytes of any length, and returns their lengths: call
  !> scda_fread_texts_sizes(f, d, lengths [, ierr, start, count]). start counts from 1; without both, everything is read.
  !> scda_texts_data then copies the texts.
  subroutine scda_fread_texts_sizes(f, d, lengths, ierr, start, count)
    type(scda_fcontext_t), intent(inout) :: f
    type(scda_dataset_t), intent(in) :: d
    integer(int64), allocatable, intent(out) :: lengths(:)
    integer, intent(out), optional :: ierr
    integer(int64), intent(in), optional :: start(:), count(:)
    type(c_dataset_t), target :: c
    integer(c_int64_t), allocatable, target :: first(:), counts(:), found(:)
    integer(int64) :: items
    integer :: n
    logical :: fits
    fits = .true.
    call describe(d, c)
    n = int(c%ndims)
    allocate(counts(n + 1), first(n + 1)) ! not empty, for c_loc
    counts(:n) = c%shape(:n)
    counts(n + 1) = 1
    first(:) = 0
    if (present(start) .neqv. present(count)) then
      call refuse(f, "start, count: one of them is missing", fits)
    else if (present(start)) then
      call check_dimensions(f, "start", size(start), n, fits)
      call check_dimensions(f, "count", size(count), n, fits)
      if (fits) then
        first(:n) = start(n:1:-1) - 1
        counts(:n) = count(n:1:-1)
      end if
    end if
    ! A box that C will reject gets no memory.
    items = 0
    if (fits .and. all(counts >= 0) .and. all(counts(:n) <= c%shape(:n))) items = product(counts)
    allocate(found(items + 1))
    f%handle = c_fread_texts_sizes(f%handle, c_loc(c), merge(1_c_size_t, 0_c_size_t, fits), c_loc(first), c_loc(counts), &
      & c_loc(found), f%err)
    lengths = found(:items)
    call finish(f, ierr)
  end subroutine scda_fread_texts_sizes

  !> Copies the texts whose lengths scda_fread_texts_sizes has returned: call scda_texts_data(f, lengths, items [, ierr]). items has
  !> as many elements as lengths. Longer texts are truncated, shorter ones padded with blanks. Not collective. After an error the
  !> file stays open; if items has too few or too many elements, until the next collective call.
  subroutine scda_texts_data(f, lengths, items, ierr)
    type(scda_fcontext_t), intent(inout) :: f
    integer(int64), intent(in) :: lengths(:)
    character(*), intent(inout) :: items(:)
    integer, intent(out), optional :: ierr
    character(kind=c_char), allocatable, target :: bytes(:)
    integer(int64) :: after, i, k
    integer(c_int) :: status
    logical :: fits
    fits = .true.
    call check_lengths(f, fits, n=size(lengths, kind=int64), elements=size(items, kind=int64))
    if (.not. fits) then
      f%err = SCDA_ERR_ARG
      call finish(f, ierr)
      return
    end if
    allocate(bytes(sum(lengths) + 1)) ! not empty, for c_loc
    status = c_texts_data(f%handle, c_loc(bytes), sum(lengths), f%err)
    after = 0
    do i = 1, size(lengths, kind=int64)
      items(i) = ""
      if (status == 0) then
        do k = 1, min(lengths(i), len(items, kind=int64))
          items(i)(k:k) = bytes(after + k)
        end do
      end if
      after = after + lengths(i)
    end do
    call finish(f, ierr)
  end subroutine scda_texts_data

  !> Writes the attributes of a group of datasets, "/" for the file: call scda_fwrite_group(f, path, attributes [, ierr])
  subroutine scda_fwrite_group(f, path, attributes, ierr)
    type(scda_fcontext_t), intent(inout) :: f
    character(*), intent(in) :: path, attributes
    integer, intent(out), optional :: ierr
    logical :: fits
    if (index(path, c_null_char) + index(attributes, c_null_char) > 0) then
      call refuse(f, "group: found a NUL character", fits)
    end if
    call refuse_held(f)
    f%handle = c_fwrite_group(f%handle, trim(path) // c_null_char, object_of(attributes) // c_null_char, f%err)
    call finish(f, ierr)
  end subroutine scda_fwrite_group

  !> Sets attributes of a dataset or group that is already in the file (a slash at the end of a path: the group): call
  !> scda_fset_attributes(f, name, changes [, ierr, record]). changes: a JSON object, in which null removes an attribute. record: 0
  !> for the first dataset of this name; by default the last one.
  subroutine scda_fset_attributes(f, name, changes, ierr, record)
    type(scda_fcontext_t), intent(inout) :: f
    character(*), intent(in) :: name, changes
    integer, intent(out), optional :: ierr
    integer, intent(in), optional :: record
    logical :: fits
    if (index(name, c_null_char) + index(changes, c_null_char) > 0) then
      call refuse(f, "attributes: found a NUL character", fits)
    end if
    call refuse_held(f)
    f%handle = c_fset_attributes(f%handle, trim(name) // c_null_char, int(chosen(record, -1), c_int64_t), &
      object_of(changes) // c_null_char, f%err)
    call finish(f, ierr)
  end subroutine scda_fset_attributes

  !> Finds the attributes of a group, a JSON object: call scda_ffind_group(f, path, found, attributes [, ierr])
  subroutine scda_ffind_group(f, path, found, attributes, ierr)
    type(scda_fcontext_t), intent(inout) :: f
    character(*), intent(in) :: path
    logical, intent(out) :: found
    character(:), allocatable, intent(out) :: attributes
    integer, intent(out), optional :: ierr
    integer(c_int) :: c_found
    type(c_ptr) :: json
    logical :: fits
    c_found = 0
    json = c_null_ptr
    if (index(path, c_null_char) > 0) call refuse(f, "group: found a NUL character", fits)
    f%handle = c_ffind_group(f%handle, trim(path) // c_null_char, c_found, json, f%err)
    found = c_found /= 0
    call copy_if(json, attributes)
    call finish(f, ierr)
  end subroutine scda_ffind_group

  ! Finds a dataset that must exist.
  subroutine require_dataset(f, name, record, c)
    type(scda_fcontext_t), intent(inout) :: f
    character(*), intent(in) :: name
    integer, intent(in), optional :: record
    type(c_dataset_t), intent(out), target :: c
    character(:), allocatable :: none
    logical :: found
    call find_dataset(f, name, record, found, c)
    if (found .or. f%err /= SCDA_SUCCESS) return
    none = "not found"
    if (chosen(record, -1) /= -1) none = "record " // decimal(int(record, int64)) // " not found"
    f%handle = c_fagree(f%handle, SCDA_ERR_NOT_FOUND, title_of(name) // none // c_null_char, f%err)
  end subroutine require_dataset

  ! Finds a dataset by a new or an old name. found is as for scda_fread_field, for items of the type `code`.
  subroutine find_any(f, name, old_name, record, code, c, found)
    type(scda_fcontext_t), intent(inout) :: f
    character(*), intent(in) :: name
    character(*), intent(in), optional :: old_name
    integer, intent(in), optional :: record
    integer, intent(in) :: code
    type(c_dataset_t), intent(out), target :: c
    integer, intent(out), optional :: found
    integer :: origin
    logical :: is_there
    origin = SCDA_FIELD_FOUND
    is_there = .false.
    if (present(old_name) .or. present(found)) call find_dataset(f, name, record, is_there, c)
    if (present(old_name) .and. .not. is_there .and. f%err == SCDA_SUCCESS) then
      origin = origin + SCDA_FIELD_RENAMED
      call find_dataset(f, old_name, record, is_there, c)
    end if
    if (.not. present(found)) then
      if (.not. is_there .and. f%err == SCDA_SUCCESS) call require_dataset(f, name, record, c)
      return
    end if
    if (c%type /= code .and. c%type /= unsigned_of(code)) origin = origin + SCDA_FIELD_CONVERTED
    found = merge(origin, 0, is_there)
  end subroutine find_any

  subroutine find_dataset(f, name, record, found, c)
    type(scda_fcontext_t), intent(inout) :: f
    character(*), intent(in) :: name
    integer, intent(in), optional :: record
    logical, intent(out) :: found
    type(c_dataset_t), intent(out) :: c
    integer(c_int) :: c_found
    logical :: fits
    call begin_dataset(c)
    c_found = 0
    if (index(name, c_null_char) > 0) call refuse(f, "name of a dataset: found a NUL character", fits)
    f%handle = c_ffind_dataset(f%handle, trim(name) // c_null_char, int(chosen(record, -1), c_int64_t), c_found, c, f%err)
    found = c_found /= 0
  end subroutine find_dataset

  subroutine begin_dataset(c)
    type(c_dataset_t), intent(inout) :: c
    if (c_dataset_init_size(c, c_sizeof(c)) /= 0) then
      call fail("this module is not that of the library which the program runs with")
    end if
  end subroutine begin_dataset

  subroutine copy_dataset(c, d)
    type(c_dataset_t), intent(in), target :: c
    type(scda_dataset_t), intent(inout) :: d
    type(c_ptr), pointer :: names(:)
    integer(int8), pointer :: fill_value(:)
    integer(int64) :: length
    type(c_ptr) :: address
    character(:), allocatable :: name
    integer :: i
    address = c_loc(c%name) ! as an argument, gfortran would pass the length of a string, too
    call copy_if(address, d%name)
    d%type = int(c%type)
    d%encode = int(c%encode)
    d%codec = int(c%codec)
    d%item_bytes = c%item_bytes
    d%shape = c%shape(c%ndims:1:-1)
    d%chunk = c%chunk(c%ndims:1:-1)
    d%shuffle = c%shuffle /= 0
    d%number = c%number
    allocate(d%dimension_names(c%ndims))
    d%dimension_names = ""
    if (c_associated(c%dimension_names)) then
      call c_f_pointer(c%dimension_names, names, [c%ndims])
      do i = 1, int(c%ndims)
        call copy_if(names(c%ndims + 1 - i), name)
        d%dimension_names(i) = name
      end do
    end if
    ! For texts of any length, the fill value is a C string.
    length = c%item_bytes
    if (c%type == SCDA_TYPE_STRING .or. c%type == SCDA_TYPE_VARIABLE_BYTES) length = c_strlen(c%fill_value)
    call c_f_pointer(c%fill_value, fill_value, [length])
    d%fill_value = fill_value
    call copy_if(c%attributes, d%attributes)
    call copy_if(c%unsupported, d%unsupported)
  end subroutine copy_dataset

  subroutine copy_if(pointer, str)
    type(c_ptr), value :: pointer
    character(:), allocatable, intent(out) :: str
    if (c_associated(pointer)) then
      call copy_c_string(pointer, str)
    else
      str = ""
    end if
  end subroutine copy_if

  subroutine put_name(f, name, buffer, fits)
    type(scda_fcontext_t), intent(in) :: f
    character(*), intent(in) :: name
    character(kind=c_char), intent(inout) :: buffer(:)
    logical, intent(inout) :: fits
    integer :: i
    if (len_trim(name) >= size(buffer)) then
      call refuse(f, "name of a dataset: found " // decimal(int(len_trim(name), int64)) // " bytes, expected 1 to " // &
        & decimal(int(SCDA_USER_STRING_BYTES, int64)), fits)
    else if (index(name, c_null_char) > 0) then
      call refuse(f, "name of a dataset: found a NUL character", fits)
    end if
    do i = 1, min(len_trim(name), size(buffer) - 1)
      buffer(i) = name(i:i)
    end do
  end subroutine put_name

  ! The boxes of this rank in an array of n dimensions. Without count, there is one box, of the shape of data. Messages begin with `of`.
  subroutine boxes_in(f, of, start, count, extents, dims, starts, sizes, nboxes, fits)
    type(scda_fcontext_t), intent(in) :: f
    character(*), intent(in) :: of
    type(memory_t), intent(in), target :: start, count
    integer(int64), intent(in) :: extents(:), dims(:)
    integer(int64), allocatable, intent(inout) :: starts(:), sizes(:)
    integer(c_size_t), intent(out) :: nboxes
    logical, intent(inout) :: fits
    integer(int64) :: items
    integer :: i, k, n
    nboxes = 1
    n = size(dims)
    starts = integers_in(f, start, of // "start", fits) - 1
    if (c_associated(count%address)) then
      sizes = integers_in(f, count, of // "count", fits)
      if (n > 0) nboxes = int(size(starts) / n, c_size_t)
    else
      sizes = extents
    end if
    if (size(starts) /= n * nboxes .or. size(sizes) /= n * nboxes) then
      call refuse(f, of // "start, count: found " // decimal(size(starts, kind=int64)) // " and " // &
        & decimal(size(sizes, kind=int64)) // " numbers, expected " // decimal(int(n, int64)) // " for each box", fits)
      return
    end if
    items = 0
    do i = 1, int(nboxes)
      items = items + product(sizes(n * (i - 1) + 1:n * i))
      do k = 1, n
        associate (first => starts(n * (i - 1) + k) + 1, number => sizes(n * (i - 1) + k))
          if (first >= 1 .and. number >= 0 .and. first - 1 <= dims(k) .and. number <= dims(k) - first + 1) cycle
          call refuse(f, of // "start, count: found " // decimal(first) // " and " // decimal(number) // " in dimension " // &
            & decimal(int(k, int64)) // " of box " // decimal(int(i, int64)) // ", expected indices from 1 to " // &
            & decimal(dims(k)), fits)
        end associate
        return
      end do
      starts(n * (i - 1) + 1:n * i) = starts(n * i:n * (i - 1) + 1:-1)
      sizes(n * (i - 1) + 1:n * i) = sizes(n * i:n * (i - 1) + 1:-1)
    end do
    if (items /= product(extents)) then
      call refuse(f, of // "data: found " // decimal(product(extents)) // " items, expected " // decimal(items) // &
        & ", the size of all boxes", fits)
    end if
  end subroutine boxes_in

  ! Refuses an array that is not allocated, or a pointer that is not associated.
  subroutine require_memory(f, of, items, extents, fits)
    type(scda_fcontext_t), intent(in) :: f
    character(*), intent(in) :: of
    type(c_ptr), intent(in) :: items
    integer(int64), intent(in) :: extents(:)
    logical, intent(inout) :: fits
    if (.not. c_associated(items) .and. product(extents) > 0) then
      call refuse(f, of // "data: found an array that is not allocated; one of size 0 stands for no items", fits)
    end if
  end subroutine require_memory

  subroutine check_dimensions(f, what, found, expected, fits)
    type(scda_fcontext_t), intent(in) :: f
    character(*), intent(in) :: what
    integer, intent(in) :: found, expected
    logical, intent(inout) :: fits
    if (found > SCDA_MAX_DIMS) then
      call refuse(f, what // ": found " // decimal(int(found, int64)) // " dimensions, expected at most " // &
        & decimal(int(SCDA_MAX_DIMS, int64)), fits)
    else if (found /= expected) then
      call refuse(f, what // ": found " // decimal(int(found, int64)) // " entries, expected " // &
        & decimal(int(expected, int64)) // ", one per dimension", fits)
    end if
  end subroutine check_dimensions

  ! Integers of either kind, from an array of any rank.
  function integers_in(f, memory, what, fits) result(list)
    type(scda_fcontext_t), intent(in) :: f
    type(memory_t), intent(in), target :: memory
    character(*), intent(in) :: what
    logical, intent(inout) :: fits
    integer(int64), allocatable :: list(:)
    logical :: are_integers
    are_integers = .true.
    call copy_integers(memory, list, are_integers)
    if (.not. are_integers) call refuse(f, what // not_integers, fits)
  end function integers_in

  subroutine copy_integers(memory, list, are_integers)
    type(memory_t), intent(in), target :: memory
    integer(int64), allocatable, intent(out) :: list(:)
    logical, intent(inout) :: are_integers
    integer(int64), pointer, contiguous :: wide(:)
    integer(int32), pointer, contiguous :: narrow(:)
    integer(int64) :: n, each
    n = memory%n
    each = memory%each
    if (memory%unit > 1) then ! an array
      n = n * (each / memory%unit)
      each = memory%unit
    end if
    if (n <= 0 .or. memory%each == 0) then ! gfortran treats [integer ::] as an array of assumed size
      allocate(list(0))
    else if (each == 8) then
      call c_f_pointer(memory%address, wide, [n])
      list = wide
    else if (each == 4) then
      call c_f_pointer(memory%address, narrow, [n])
      list = int(narrow, int64)
    else
      allocate(list(0))
      are_integers = .false.
    end if
  end subroutine copy_integers

  function address_of(list) result(address)
    integer(int64), allocatable, target, intent(in) :: list(:)
    type(c_ptr) :: address
    address = c_null_ptr
    if (size(list) > 0) address = c_loc(list)
  end function address_of

  function list_text(list) result(text)
    integer(int64), intent(in) :: list(:)
    character(:), allocatable :: text
    integer :: i
    text = "("
    do i = 1, size(list)
      if (i > 1) text = text // ", "
      text = text // decimal(list(i))
    end do
    text = text // ")"
  end function list_text

  !> The name of a type of items, as in docs/datasets.md: "float64", ..., and "raw bytes" for SCDA_TYPE_RAW; "" if it is no type:
  !> scda_type_name(type [, item_bytes]).
  !> item_bytes: the size of an item; 0 for SCDA_TYPE_RAW. Not collective.
  function scda_type_name(type, item_bytes) result(name)
    integer, intent(in) :: type
    integer(int64), intent(out), optional :: item_bytes
    character(:), allocatable :: name
    integer(c_int64_t) :: bytes
    type(c_ptr) :: str
    str = c_type_name(int(type, c_int), bytes)
    if (present(item_bytes)) item_bytes = bytes
    name = ""
    if (c_associated(str)) call copy_c_string(str, name)
  end function scda_type_name

  ! Attributes, with braces added if they have none.
  function object_of(attributes) result(json)
    character(*), intent(in), optional :: attributes
    character(:), allocatable :: json
    json = "{}"
    if (.not. present(attributes)) return
    json = trim(adjustl(attributes))
    if (index(json, "{") /= 1) json = "{" // json // "}"
  end function object_of

  function json_text(key, value) result(json)
    character(*), intent(in) :: key, value
    character(:), allocatable :: json
    json = quoted(key) // ": " // quoted(trim(value))
  end function json_text

  function json_texts(key, value) result(json)
    character(*), intent(in) :: key, value(:)
    character(:), allocatable :: json
    integer :: i
    json = quoted(key) // ": ["
    do i = 1, size(value)
      if (i > 1) json = json // ", "
      json = json // quoted(trim(value(i)))
    end do
    json = json // "]"
  end function json_texts

  ! A member of attributes: n numbers, or bytes of logicals, as in C. Empty for a key that no attribute can have: the procedure that
  ! gets this rejects it, because the rest of the object is then no JSON, or has fewer members.
  function json_member(key, type, values, n) result(json)
    character(*), intent(in) :: key
    integer, intent(in) :: type, n
    type(c_ptr), intent(in) :: values
    character(:), allocatable :: json
    integer(c_int) :: status, err
    integer(c_size_t) :: length
    character(kind=c_char), target :: text(40 * n + 40)
    text(1) = c_null_char
    status = c_set_attribute(text, size(text, kind=c_size_t), "" // c_null_char, int(type, c_int), values, int(n, c_int64_t), err)
    json = "?"
    if (status == 0) then
      length = c_strlen(c_loc(text))
      deallocate(json)
      allocate(character(length) :: json)
      call copy_text(text, length, json)
      json = json(5:len(json) - 1) ! without {"": and }
    end if
    json = quoted(key) // ": " // json
  end function json_member

  subroutine attribute_text(f, name, key, value, found, ierr, record)
    type(scda_fcontext_t), intent(inout) :: f
    character(*), intent(in) :: name, key
    character(*), intent(inout) :: value
    logical, intent(out), optional :: found
    integer, intent(out), optional :: ierr
    integer, intent(in), optional :: record
    character(len(value)) :: values(1)
    values = value
    call attributes_text(f, name, key, values, found, ierr, record)
    value = values(1)
  end subroutine attribute_text

  subroutine attributes_text(f, name, key, value, found, ierr, record, n)
    type(scda_fcontext_t), intent(inout) :: f
    character(*), intent(in) :: name, key
    character(*), intent(inout) :: value(:)
    logical, intent(out), optional :: found
    integer, intent(out), optional :: ierr
    integer, intent(in), optional :: record
    integer, intent(out), optional :: n
    character(kind=c_char), target :: text(max(1, size(value) * (len(value) + 1)))
    integer(c_int64_t) :: number, first, last
    integer :: texts
    logical :: fits
    number = size(value) * (len(value) + 1)
    call get_attribute(f, name, key, SCDA_TYPE_STRING, c_loc(text), number, record)
    first = 1
    texts = 0
    do last = 1, number
      if (text(last) /= c_null_char) cycle
      if (texts == size(value) .or. last - first > len(value)) then
        call refuse(f, "attribute """ // trim(key) // """: found more texts, or longer ones, than fit into the variable", fits)
        call get_attribute(f, name, key, SCDA_TYPE_STRING, c_null_ptr, number, record)
        texts = 0
        exit
      end if
      texts = texts + 1
      call copy_text(text(first:), int(last - first, c_size_t), value(texts))
      first = last + 1
    end do
    if (present(n)) n = texts
    if (present(found)) found = texts > 0
    call finish(f, ierr)
  end subroutine attributes_text

  !> Lists the attributes in the text of a JSON object, such as attributes of scda_dataset_t, in its order: call
  !> scda_list_attributes(attributes, keys [, types, ierr]). keys: their names. types: by which scda_fread_attribute reads each:
  !> SCDA_TYPE_BOOL, SCDA_TYPE_INT64, SCDA_TYPE_FLOAT64, SCDA_TYPE_STRING, ...; 0 for what it cannot read, such as an object.
  subroutine scda_list_attributes(attributes, keys, types, ierr)
    character(*), intent(in) :: attributes
    character(:), allocatable, intent(out) :: keys(:)
    integer, allocatable, intent(out), optional :: types(:)
    integer, intent(out), optional :: ierr
    character(kind=c_char), allocatable :: names(:)
    integer(c_int), allocatable :: codes(:)
    integer(c_int64_t) :: bytes, number, i, first, last
    integer(c_int) :: err
    integer :: longest, pass
    bytes = len(attributes, kind=c_int64_t) + 1 ! no more than the text has
    number = bytes
    allocate(names(bytes), codes(number))
    if (c_list_attributes(attributes // c_null_char, names, bytes, codes, number, err) /= 0) number = 0
    do pass = 1, 2
      if (pass == 2) allocate(character(longest) :: keys(number))
      longest = 0
      last = 0
      do i = 1, number
        first = last + 1
        last = first
        do while (names(last) /= c_null_char)
          last = last + 1
        end do
        longest = max(longest, int(last - first))
        if (pass == 2) call copy_text(names(first:), int(last - first, c_size_t), keys(i))
      end do
    end do
    if (present(types)) types = int(codes(:number))
    if (present(ierr)) then
      ierr = int(err)
    else if (err /= SCDA_SUCCESS) then
      call fail(scda_last_error_message())
    end if
  end subroutine scda_list_attributes

  ! Reads an attribute through C. number: in, the room for values; out, the number of values, 0 also after an error.
  subroutine get_attribute(f, name, key, type, values, number, record)
    type(scda_fcontext_t), intent(inout) :: f
    character(*), intent(in) :: name, key
    integer, intent(in) :: type
    type(c_ptr), intent(in) :: values
    integer(c_int64_t), intent(inout) :: number
    integer, intent(in), optional :: record
    logical :: fits
    if (index(name, c_null_char) + index(key, c_null_char) > 0) call refuse(f, "attribute: found a NUL character", fits)
    f%handle = c_fread_attribute(f%handle, trim(name) // c_null_char, int(chosen(record, -1), c_int64_t), &
      trim(key) // c_null_char, int(type, c_int), values, number, f%err)
    if (f%err /= SCDA_SUCCESS) number = 0
  end subroutine get_attribute

  ! Reads a field whose last dimension is distributed.
  subroutine get_field(f, name, code, items, extents, old_name, found, record, ierr)
    type(scda_fcontext_t), intent(inout) :: f
    character(*), intent(in) :: name
    integer, intent(in) :: code
    type(c_ptr), intent(in) :: items
    integer(int64), intent(in) :: extents(:)
    character(*), intent(in), optional :: old_name
    integer, intent(out), optional :: found
    integer, intent(in), optional :: record
    integer, intent(out), optional :: ierr
    character(:), allocatable :: before
    integer(c_int) :: origin
    logical :: fits
    fits = .true.
    before = trim(name)
    if (present(old_name)) before = trim(old_name)
    if (index(name // before, c_null_char) > 0) call refuse(f, "name of a field: found a NUL character", fits)
    if (size(extents) == 0) then
      call refuse(f, title_of(name) // "data: found a scalar, expected an array whose last dimension is distributed", &
        & fits)
    end if
    call require_memory(f, title_of(name), items, extents, fits)
    origin = 0
    f%handle = c_fread_field(f%handle, trim(name) // c_null_char, before // c_null_char, int(chosen(record, -1), c_int64_t), &
      & int(code, c_int), items, product(extents(size(extents):)), product(extents(:max(0, size(extents) - 1))), origin, f%err)
    if (present(found)) found = origin
    call finish(f, ierr)
  end subroutine get_field

  function quoted(str) result(json)
    character(*), intent(in) :: str
    character(:), allocatable :: json
    character, parameter :: backslash = achar(92) ! not as a literal, which some options of compilers interpret
    character(5) :: escape
    integer :: i
    json = """"
    do i = 1, len(str)
      if (iachar(str(i:i)) < 32) then
        write (escape, '("u", z4.4)') iachar(str(i:i))
        json = json // backslash // escape
      else if (str(i:i) == """" .or. str(i:i) == backslash) then
        json = json // backslash // str(i:i)
      else
        json = json // str(i:i)
      end if
    end do
    json = json // """"
  end function quoted

#define ITEM integer(int8)
#define ITEM_CODE SCDA_TYPE_INT8
#define WRITE_ITEMS write_integer8
#define READ_ITEMS read_integer8
#define READ_NAMED named_integer8
#define REQUEST_ITEMS request_integer8
#define MEMBER_OF member_integer8
#include "scda.inc"
#define ITEM integer(int16)
#define ITEM_CODE SCDA_TYPE_INT16
#define WRITE_ITEMS write_integer16
#define READ_ITEMS read_integer16
#define READ_NAMED named_integer16
#define REQUEST_ITEMS request_integer16
#define MEMBER_OF member_integer16
#include "scda.inc"
#define ITEM integer(int32)
#define ITEM_CODE SCDA_TYPE_INT32
#define WRITE_ITEMS write_integer32
#define READ_ITEMS read_integer32
#define READ_NAMED named_integer32
#define REQUEST_ITEMS request_integer32
#define MEMBER_OF member_integer32
#define JSON_VALUE json_integer32
#define JSON_VALUES json_integer32s
#define READ_ATTRIBUTE attribute_integer32
#define READ_ATTRIBUTES attributes_integer32
#define READ_FIELD field_integer32
#include "scda.inc"
#define ITEM integer(int64)
#define ITEM_CODE SCDA_TYPE_INT64
#define WRITE_ITEMS write_integer64
#define READ_ITEMS read_integer64
#define READ_NAMED named_integer64
#define REQUEST_ITEMS request_integer64
#define MEMBER_OF member_integer64
#define JSON_VALUE json_integer64
#define JSON_VALUES json_integer64s
#define READ_ATTRIBUTE attribute_integer64
#define READ_ATTRIBUTES attributes_integer64
#define READ_FIELD field_integer64
#include "scda.inc"
#define ITEM real(real32)
#define ITEM_CODE SCDA_TYPE_FLOAT32
#define WRITE_ITEMS write_real32
#define READ_ITEMS read_real32
#define READ_NAMED named_real32
#define REQUEST_ITEMS request_real32
#define MEMBER_OF member_real32
#define JSON_VALUE json_real32
#define JSON_VALUES json_real32s
#define READ_ATTRIBUTE attribute_real32
#define READ_ATTRIBUTES attributes_real32
#define READ_FIELD field_real32
#include "scda.inc"
#define ITEM real(real64)
#define ITEM_CODE SCDA_TYPE_FLOAT64
#define WRITE_ITEMS write_real64
#define READ_ITEMS read_real64
#define READ_NAMED named_real64
#define REQUEST_ITEMS request_real64
#define MEMBER_OF member_real64
#define JSON_VALUE json_real64
#define JSON_VALUES json_real64s
#define READ_ATTRIBUTE attribute_real64
#define READ_ATTRIBUTES attributes_real64
#define READ_FIELD field_real64
#include "scda.inc"
#define ITEM complex(real32)
#define ITEM_CODE SCDA_TYPE_COMPLEX64
#define WRITE_ITEMS write_complex32
#define READ_ITEMS read_complex32
#define READ_NAMED named_complex32
#define REQUEST_ITEMS request_complex32
#define MEMBER_OF member_complex32
#include "scda.inc"
#define ITEM complex(real64)
#define ITEM_CODE SCDA_TYPE_COMPLEX128
#define WRITE_ITEMS write_complex64
#define READ_ITEMS read_complex64
#define READ_NAMED named_complex64
#define REQUEST_ITEMS request_complex64
#define MEMBER_OF member_complex64
#include "scda.inc"
#define ITEM logical
#define ITEM_CODE SCDA_TYPE_BOOL
#define ITEM_IS_LOGICAL
#define WRITE_ITEMS write_logical
#define READ_ITEMS read_logical
#define READ_NAMED named_logical
#define REQUEST_ITEMS request_logical
#define JSON_VALUE json_logical
#define JSON_VALUES json_logicals
#define READ_ATTRIBUTE attribute_logical
#define READ_ATTRIBUTES attributes_logical
#define PUT_ITEMS put_logical
#include "scda.inc"
#define ITEM logical(c_bool)
#define ITEM_CODE SCDA_TYPE_BOOL
#define ITEM_IS_LOGICAL
#define WRITE_ITEMS write_bool
#define READ_ITEMS read_bool
#define READ_NAMED named_bool
#define REQUEST_ITEMS request_bool
#define MEMBER_OF member_bool
#define PUT_ITEMS put_bool
#include "scda.inc"

  ! ---- Partitions --------------------------------------------------------------------------------------------------------

  !> Makes a partition from the number of elements on this rank, Np. Passing it as Nq takes the same time on any number of ranks:
  !> call scda_partition_local(f, Np, Nq [, ierr, first, total]). first is the index of the first element of this rank, from 1, as
  !> scda_write and scda_read take it in start; total is the number on all ranks.
  subroutine scda_partition_local(f, Np, Nq, ierr, first, total)
    type(scda_fcontext_t), intent(inout) :: f
    type(*), dimension(..), contiguous, intent(in), target :: Np
    integer(int64), intent(out) :: Nq(SCDA_PARTITION_WORDS)
    integer, intent(out), optional :: ierr
    integer(int64), intent(out), optional :: first, total
    type(c_partition_t) :: made
    made = c_partition_local(f%handle, integer_in(f, memory_at(Np), "Np"), f%err)
    Nq = made%Nq
    if (present(first)) first = made%offset + 1
    if (present(total)) total = made%total
    call finish_partition(f, ierr)
  end subroutine scda_partition_local

  !> Makes a partition from the numbers of elements on all ranks: call scda_partition_counts(f, counts, Nq [, ierr])
  subroutine scda_partition_counts(f, counts, Nq, ierr)
    type(scda_fcontext_t), intent(inout) :: f
    type(*), dimension(..), contiguous, intent(in), target :: counts
    integer(int64), intent(out) :: Nq(SCDA_PARTITION_WORDS)
    integer, intent(out), optional :: ierr
    type(c_partition_t) :: made
    type(memory_t), target :: given
    integer(int64), pointer, contiguous :: all(:)
    integer(int64), allocatable, target :: copy(:)
    logical :: fits
    given = memory_at(counts)
    call list_of(given, all, copy)
    fits = .true.
    call check_lengths(f, fits, counts=all)
    made = c_partition_counts(f%handle, pointer_to(all, fits), f%err)
    Nq = made%Nq
    call finish_partition(f, ierr)
  end subroutine scda_partition_counts

  ! Closes the file after an error.
  subroutine finish_partition(f, ierr)
    type(scda_fcontext_t), intent(inout) :: f
    integer, intent(out), optional :: ierr
    if (f%err /= SCDA_SUCCESS) f%handle = c_null_ptr
    call finish(f, ierr)
  end subroutine finish_partition

  !> Gathers the number of elements of each rank, Np, from all ranks: call scda_proc_counts(f, Np, Nq [, ierr])
  subroutine scda_proc_counts(f, Np, Nq, ierr)
    type(scda_fcontext_t), intent(inout) :: f
    type(*), dimension(..), contiguous, intent(in), target :: Np
    class(*), intent(inout) :: Nq(:)
    integer, intent(out), optional :: ierr
    integer(int64) :: n, counts(f%nranks)
    logical :: fits
    if (size(Nq) < f%nranks) call refuse(f, "Nq: found " // decimal(size(Nq, kind=int64)) // " entries, expected " // &
      & decimal(int(f%nranks, int64)) // ", one per rank", fits)
    n = integer_in(f, memory_at(Np), "Np")
    f%handle = c_proc_counts(f%handle, n, counts, f%err)
    if (c_associated(f%handle)) then
      select type (Nq)
      type is (integer(int32))
        if (any(counts > huge(Nq))) then ! the same on all ranks
          call refuse(f, "Nq: found " // decimal(maxval(counts)) // " elements, expected at most 2147483647, " // &
            & "the largest integer(int32)", fits)
          f%handle = c_proc_counts(f%handle, 0_int64, counts, f%err)
        else
          Nq(:f%nranks) = int(counts, int32)
        end if
      type is (integer(int64))
        Nq(:f%nranks) = counts
      class default
        call fail("Nq: expected integer(int32) or integer(int64)")
      end select
    end if
    call finish(f, ierr)
  end subroutine scda_proc_counts

  !> Computes the bytes of a varray on each rank: call scda_proc_sizes(f, Ei, Nq, Sq [, ierr])
  subroutine scda_proc_sizes(f, Ei, Nq, Sq, ierr)
    type(scda_fcontext_t), intent(inout) :: f
    type(*), dimension(..), contiguous, intent(in), target :: Ei, Nq
    integer(int64), contiguous, target, intent(inout) :: Sq(:)
    integer, intent(out), optional :: ierr
    integer(int64), allocatable, target :: Nq_copy(:), Ei_copy(:)
    integer(int64), pointer, contiguous :: counts(:), sizes(:)
    type(memory_t) :: sums
    logical :: fits
    sums = memory_at(Sq)
    call list_of(memory_at(Nq), counts, Nq_copy)
    call list_of(memory_at(Ei), sizes, Ei_copy)
    fits = .true.
    call check_lengths(f, fits, counts=counts, sizes=sizes, Sq=sums)
    f%handle = c_proc_sizes(f%handle, pointer_to(sizes, fits), pointer_to(counts, fits), sums%address, f%err)
    call finish(f, ierr)
  end subroutine scda_proc_sizes

  ! The size of a block, which may be known only to root.
  subroutine bytes_of_root(f, data, root, bytes)
    type(scda_fcontext_t), intent(inout) :: f
    type(memory_t), intent(in), target :: data
    integer(c_int), intent(in) :: root
    integer(int64), intent(out) :: bytes
    integer(int64) :: counts(f%nranks)
    logical :: fits
    bytes = 0
    if (f%rank == root) then
      bytes = bytes_in(data)
      if (.not. c_associated(data%address)) call refuse(f, "data are missing on root", fits)
      if (data%n < 0) call refuse(f, "E is missing: an array of assumed size does not give it", fits)
    end if
    f%handle = c_proc_counts(f%handle, bytes, counts, f%err)
    if (f%err == SCDA_SUCCESS .and. root >= 0 .and. root < f%nranks) bytes = counts(root + 1)
  end subroutine bytes_of_root

  ! ---- Errors in arguments -----------------------------------------------------------------------------------------------
  !
  ! An error in the arguments of this rank makes all ranks fail, with the message passed to refuse, or with the library's message
  ! about lengths. C then gets NULL in place of Nq, or of the data, so that it reads and writes nothing.

  subroutine refuse(f, why, fits)
    type(scda_fcontext_t), intent(in) :: f
    character(*), intent(in) :: why
    logical, intent(out) :: fits
    integer(c_int) :: err
    type(c_ptr) :: handle
    fits = .false.
    err = SCDA_SUCCESS
    handle = c_refuse(f%handle, why // c_null_char, err)
    if (.not. c_associated(handle)) continue ! not an open file: the call that follows reports it
  end subroutine refuse

  ! Compares the lengths of the arguments of a call with what it is to use: the data, of elements of E bytes, or of individual
  ! `sizes`; the entries of sizes to read; the sums of sizes. This rank has as many elements as its entry of counts says, or n.
  subroutine check_lengths(f, fits, data, counts, n, E, sizes, entries, Sq, indirect, exactly, is_written, elements, known)
    type(scda_fcontext_t), intent(in) :: f
    logical, intent(inout) :: fits
    type(memory_t), intent(in), target, optional :: data, Sq
    integer(int64), pointer, contiguous, intent(in), optional :: counts(:), sizes(:)
    integer(int64), intent(in), optional :: n, E, entries, elements
    logical, intent(in), optional :: indirect, exactly, is_written
    type(c_lengths_t), intent(out), optional :: known ! also the number of this rank's first element, and the number of all elements
    type(c_lengths_t), target :: lengths
    integer(c_int) :: err
    lengths = c_lengths_t(Nq_entries=-1, Ei_entries=-1, Sq_entries=-1, data=-1, unit=-1, elements=-1)
    lengths%size = c_sizeof(lengths)
    if (present(counts)) then
      lengths%Nq_entries = size(counts, kind=int64)
      if (size(counts) > 0) lengths%Nq = c_loc(counts)
    end if
    if (present(n)) lengths%n = n
    if (present(E)) lengths%E = E
    if (present(sizes)) then
      lengths%Ei_entries = size(sizes, kind=int64)
      if (size(sizes) > 0) lengths%Ei = c_loc(sizes)
    end if
    if (present(entries)) lengths%Ei_entries = entries
    if (present(Sq)) then
      if (c_associated(Sq%address)) lengths%Sq_entries = Sq%n
    end if
    if (present(elements)) lengths%elements = elements
    if (present(indirect)) lengths%indirect = flag(indirect)
    if (present(exactly)) lengths%exactly = flag(exactly)
    if (present(data)) then
      if (data%n >= 0) lengths%data = merge(data%n, data%n * data%each, lengths%indirect /= 0)
      if (lengths%indirect /= 0) lengths%unit = data%unit
      if (present(is_written)) then
        if (is_written) lengths%unit = data%unit
      end if
    end if
    err = SCDA_SUCCESS
    if (c_check_lengths(f%handle, c_loc(lengths), err) /= 0) fits = .false.
    if (present(known)) known = lengths
  end subroutine check_lengths

  ! Checks the room for n elements of E bytes, or as counts say; if E was not passed, it is that of the header, and must match
  ! exactly.
  subroutine check_room(f, data, E, indirect, fits, n, counts)
    type(scda_fcontext_t), intent(in) :: f
    type(memory_t), intent(in), target :: data
    integer(int64), intent(inout) :: E
    logical, intent(in) :: indirect
    logical, intent(inout) :: fits
    integer(int64), intent(in), optional :: n
    integer(int64), pointer, contiguous, intent(in), optional :: counts(:)
    logical :: exactly
    exactly = E == not_passed
    if (exactly) E = f%E
    if (indirect .or. c_associated(data%address)) then
      call check_lengths(f, fits, data, counts, n, E, indirect=indirect, exactly=exactly .and. .not. indirect)
    else
      call check_lengths(f, fits, counts=counts)
    end if
  end subroutine check_room

  ! Checks the data of the root, which may be absent there when reading.
  subroutine check_root(f, data, bytes, root, required, exactly)
    type(scda_fcontext_t), intent(in) :: f
    type(memory_t), intent(inout), target :: data
    integer(int64), intent(in) :: bytes
    integer(c_int), intent(in) :: root
    logical, intent(in) :: required
    logical, intent(in), optional :: exactly
    logical :: fits
    if (f%rank /= root .or. .not. (required .or. c_associated(data%address))) return
    fits = .true.
    call check_lengths(f, fits, data, n=1_int64, E=bytes, is_written=required, exactly=exactly)
    if (.not. fits) data%address = c_null_ptr
  end subroutine check_root

  ! ---- Descriptions of arguments -------------------------------------------------------------------------------------------

  ! Describes an argument, given its C descriptor.
  function memory_of(f, x) result(memory)
    type(scda_fcontext_t), intent(in) :: f
    type(descriptor_t), intent(in), optional, target :: x
    type(memory_t) :: memory
    logical :: fits
    if (.not. present(x)) return
    call measure(x, memory)
#ifdef __GFORTRAN__
    if (x%rank == 0 .and. c_associated(x%base) .and. abs(transfer(x%base, 0_c_intptr_t)) < 65536) then
      ! There is no object at this address: gfortran 16.2 passes the value of a scalar expression as its address.
      memory%address = c_null_ptr
      call refuse(f, "an argument is a scalar expression, which this gfortran passes without an address: pass a variable", fits)
      return
    end if
#endif
    if (follow_one_another(x)) return
    call refuse(f, "an argument is not contiguous, and gfortran does not copy it: components, complex parts or " // &
      & "substrings of an array, the transpose of a function, or part of an array of any rank: pass a copy, such as (p%x), " // &
      & "or read into another array", fits)
    memory%address = c_null_ptr
  end function memory_of

  ! True if the items are contiguous, as the interfaces require with contiguous. gfortran also treats a part of all elements of an
  ! array as contiguous, with the address of the array; likewise the transpose of a function, and a dummy argument of assumed rank.
  ! The steps in their descriptors give them away. (Without contiguous, the address is right, but gfortran 12 crashes on data with a
  ! vector subscript. Arguments of memory_at are copied.) Nothing gives away a component of an array section of one struct: sections
  ! of one element have any step.
  function follow_one_another(x) result(they_do)
    type(descriptor_t), intent(in), target :: x
    logical :: they_do
#ifdef __GFORTRAN__
    integer(c_intptr_t) :: step
    integer :: i
#endif
    they_do = .true.
#ifdef __GFORTRAN__
    if (any(x%dimensions(2, :x%rank) == 0)) return
    step = int(x%elem_len, c_intptr_t)
    do i = 1, int(x%rank)
      if (x%dimensions(2, i) /= 1 .and. x%dimensions(3, i) /= step) they_do = .false.
      step = step * x%dimensions(2, i)
    end do
#endif
  end function follow_one_another

  ! The same for an argument that is no string.
  function memory_at(x) result(memory)
    type(*), dimension(..), intent(in), optional, target :: x
    type(memory_t) :: memory
    procedure(takes_any), pointer :: get
    if (.not. present(x)) return
    call c_f_procpointer(c_funloc(measure), get)
    call get(x, memory)
  end function memory_at

  ! The extent of the last dimension, even if size treats an array without items as one of assumed size; for assumed size, it is -1.
  function last_extent(x) result(n)
    type(*), dimension(..), intent(in), target :: x
    integer(int64) :: n
    type(memory_t) :: memory
    memory = memory_at(x)
    n = memory%n
  end function last_extent

  function string_at(userstr) result(memory)
    character(*), target, intent(in) :: userstr
    type(memory_t) :: memory
    memory%address = c_loc(userstr)
    memory%each = len(userstr, kind=int64)
  end function string_at

  subroutine measure(x, memory) bind(C, name="scda_fortran_measure")
    type(descriptor_t), intent(in), target :: x
    type(memory_t), intent(inout), target :: memory
    procedure(takes_descriptor), pointer :: get
    memory%address = x%base
    ! An argument that is not allocated has no extents; and gfortran divides by the length of strings.
    if (.not. c_associated(x%base) .or. x%elem_len == 0) return
    memory%each = int(x%elem_len, int64)
    call c_f_procpointer(c_funloc(measure_extents), get)
    call get(x, memory)
#ifdef __GFORTRAN__
    if (memory%n < 0) memory%n = int(x%dimensions(2, x%rank), int64) ! size takes some arrays without items for those of assumed size
#endif
  end subroutine measure

  subroutine measure_extents(x, memory) bind(C, name="scda_fortran_measure_extents")
    type(*), dimension(..), intent(in), target :: x
    type(memory_t), intent(inout), target :: memory
    integer :: i
    if (rank(x) > 0) memory%unit = memory%each
    memory%n = 1
    do i = 1, rank(x)
      memory%each = memory%each * memory%n
      memory%n = size(x, dim=i, kind=int64)
    end do
  end subroutine measure_extents

  function bytes_in(memory) result(bytes)
    type(memory_t), intent(in), target :: memory
    integer(int64) :: bytes
    bytes = memory%n * memory%each
    if (memory%n < 0) bytes = huge(bytes) ! unknown
  end function bytes_in

  ! The user string without its trailing blanks, or its first characters.
  function text_of(f, userstr, len) result(text)
    type(scda_fcontext_t), intent(in) :: f
    type(memory_t), intent(in), target :: userstr
    integer, intent(in), optional :: len
    type(text_t) :: text
    character(kind=c_char), pointer :: characters(:)
    logical :: fits
    text%address = userstr%address
    text%bytes = userstr%each
    if (.not. c_associated(userstr%address)) text%bytes = 0
    if (present(len)) then
      if (len < 0 .or. len > userstr%each) then
        call refuse(f, "len: found " // decimal(int(len, int64)) // ", expected at most " // decimal(userstr%each) // &
          & ", the length of userstr", fits)
      else
        text%bytes = int(len, c_size_t)
      end if
    else if (text%bytes > 0) then
      call c_f_pointer(userstr%address, characters, [userstr%each])
      do while (text%bytes > 0)
        if (characters(text%bytes) /= " ") exit
        text%bytes = text%bytes - 1
      end do
    end if
  end function text_of

  ! An integer of either kind.
  function integer_in(f, memory, what) result(n)
    type(scda_fcontext_t), intent(in) :: f
    type(memory_t), intent(in), target :: memory
    character(*), intent(in) :: what
    integer(int64) :: n
    integer(int64), allocatable, target :: copy(:)
    integer(int64), pointer, contiguous :: list(:)
    logical :: fits
    n = not_passed
    if (.not. c_associated(memory%address)) return
    n = 0
    call list_of(memory, list, copy)
    if (size(list) == 1) then
      n = list(1)
    else
      call refuse(f, what // ": expected one integer(int32) or integer(int64)", fits)
    end if
  end function integer_in

  ! Integers of either kind as integers of C: the originals, or a copy.
  subroutine list_of(memory, list, copy)
    type(memory_t), intent(in), target :: memory
    integer(int64), pointer, contiguous, intent(out) :: list(:)
    integer(int64), allocatable, target, intent(inout) :: copy(:)
    integer(int32), pointer, contiguous :: narrow(:)
    if (.not. c_associated(memory%address)) then
      allocate(copy(0))
    else if (memory%each == 8) then
      call c_f_pointer(memory%address, list, [memory%n])
      return
    else if (memory%each == 4) then
      call c_f_pointer(memory%address, narrow, [memory%n])
      allocate(copy(memory%n))
      copy = narrow
    else ! no integers
      allocate(copy(0))
    end if
    list => copy
  end subroutine list_of

  ! A list for C: NULL if it was rejected, or has no entries.
  function pointer_to(list, fits) result(pointer)
    integer(int64), pointer, contiguous, intent(in) :: list(:)
    logical, intent(in) :: fits
    type(c_ptr) :: pointer
    pointer = c_null_ptr
    if (fits .and. size(list) > 0) pointer = c_loc(list)
  end function pointer_to

  ! The address of data for C: NULL if they were rejected.
  function address_if(fits, memory) result(address)
    logical, intent(in) :: fits
    type(memory_t), intent(in), target :: memory
    type(c_ptr) :: address
    address = c_null_ptr
    if (fits) address = memory%address
  end function address_if

  ! A logical of the default kind is not interoperable, so it is passed as an argument of any type. C's logicals are accepted, too.
  function is_indirect(f, option)
    type(scda_fcontext_t), intent(in) :: f
    type(descriptor_t), intent(in), optional, target :: option
    logical :: is_indirect
    logical, pointer :: given
    logical(c_bool), pointer :: given_bool
    logical :: fits
    type(memory_t) :: memory
    is_indirect = .false.
    memory = memory_of(f, option)
    if (.not. c_associated(memory%address)) return
    fits = memory%n == 1 .and. memory%unit == 1
#ifdef __GFORTRAN__
    if (iand(int(option%type), 255) /= 2) fits = .false. ! CFI_type_Bool, without the bytes of the kind
#endif
    if (fits .and. memory%each == storage_size(is_indirect) / 8) then
      call c_f_pointer(memory%address, given)
      is_indirect = given
    else if (fits .and. memory%each == storage_size(given_bool) / 8) then
      call c_f_pointer(memory%address, given_bool)
      is_indirect = given_bool
    else
      call refuse(f, "indirect: expected a logical of the default kind or of C_BOOL", fits)
    end if
  end function is_indirect

  function flag(option) result(n)
    logical, intent(in) :: option
    integer(c_int) :: n
    n = merge(1_c_int, 0_c_int, option)
  end function flag

  function chosen(option, default) result(value)
    integer, intent(in), optional :: option
    integer, intent(in) :: default
    integer(c_int) :: value
    value = int(default, c_int)
    if (present(option)) value = int(option, c_int)
  end function chosen

  function decimal(n) result(text)
    integer(int64), intent(in) :: n
    character(:), allocatable :: text
    character(20) :: buffer
    write (buffer, '(i0)') n
    text = trim(buffer)
  end function decimal

  ! ---- Errors ------------------------------------------------------------------------------------------------------------

  !> The text of an error code; empty if it is none. Not collective.
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

  !> The last error of this thread: the file, the byte offset, what was found and what was expected. Not collective.
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

  ! The file for a function of C, and the error of the last call.
  subroutine file_of(f, handle, err)
    type(scda_fcontext_t), intent(in) :: f
    type(c_ptr), intent(out) :: handle
    integer(c_int), intent(out) :: err
    handle = f%handle
    err = f%err
  end subroutine file_of

  ! Stores what a function of C has returned for the file.
  subroutine store(f, handle, err)
    type(scda_fcontext_t), intent(inout) :: f
    type(c_ptr), intent(in) :: handle
    integer(c_int), intent(in) :: err
    f%handle = handle
    f%err = err
  end subroutine store

  ! Handles the error after each call.
  subroutine finish(f, ierr)
    type(scda_fcontext_t), intent(in) :: f
    integer, intent(out), optional :: ierr
    if (.not. c_associated(f%handle)) call drop_held(f) ! the file is closed
    if (present(ierr)) then
      ierr = int(f%err)
    else if (f%err == SCDA_ERR_EOF) then
      call fail(scda_ferror_string(int(f%err)), f%rank) ! C does not count this as an error, and has no message
    else if (f%err /= SCDA_SUCCESS) then
      call fail(scda_last_error_message(), f%rank)
    end if
  end subroutine finish

  ! Stops the program. Other ranks wait for rank 0, which has the same error: when it stops, mpiexec ends them, so that it alone prints.
  subroutine fail(message, rank)
    character(*), intent(in) :: message
    integer(c_int), intent(in), optional :: rank
    integer(c_int) :: seconds
    interface
      function c_sleep(seconds) bind(C, name="sleep") result(left)
        import :: c_int
        integer(c_int), value :: seconds
        integer(c_int) :: left
      end function c_sleep
    end interface
    seconds = 0
    if (present(rank)) seconds = merge(3_c_int, 0_c_int, rank > 0)
    do while (seconds > 0)
      seconds = c_sleep(seconds)
    end do
    error stop "scda: " // message
  end subroutine fail

  ! The length of a user string to write; longer than C accepts if it makes no sense.
  function bytes_of(userstr, n_characters) result(n)
    character(*), intent(in) :: userstr
    integer, intent(in), optional :: n_characters
    integer(c_size_t) :: n
    n = len_trim(userstr, kind=c_size_t)
    if (present(n_characters)) then
      n = huge(n)
      if (n_characters >= 0 .and. n_characters <= len(userstr)) n = int(n_characters, c_size_t)
    end if
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

end module scda_implementation

!> The module for programs.
module scda
  use, intrinsic :: iso_c_binding, only: c_char, c_int64_t
  use scda_implementation
  implicit none
  private :: c_char, c_int64_t, scda_int
  private :: begin_dataset, c_dataset_t, c_member_t, file_of, finish, list_members, refuse, refuse_held, store
  private :: c_patches_t, c_patch_field_t, c_particles_t, c_patches_init_size, c_patches_free, c_patch_field_init_size
  private :: c_patches_write_mesh, c_patches_write_fields, c_patches_read_mesh, c_patches_read_fields
  private :: c_particles_init_size, c_particles_free, c_particles_write, c_particles_write_field, c_particles_read
  private :: c_particles_read_field
  private :: c_forest_write_time, c_forest_steps, c_forest_read_time, c_forest_find_field, copy_dataset, decimal, object_of
  public :: scda_fwrite_inline, scda_fwrite_block, scda_fwrite_array, scda_fwrite_varray
  public :: scda_fread_inline_data, scda_fread_block_data, scda_fread_array_data, scda_fread_varray_data
  public :: scda_fread_block_range, scda_fread_array_range, scda_fread_varray_range
  public :: scda_stream_write, scda_stream_read, scda_fread_streams_data

  ! The procedures with data are those with bind(C) above; Nq, E, Ei, first, count and bytes are integers of either kind.

  !> Writes an inline section, 32 bytes of root (0): call scda_fwrite_inline(f, userstr, data [, root, ierr, len])
  interface scda_fwrite_inline
    subroutine fwrite_inline(f, userstr, data, root, ierr, len) bind(C, name="scda_fortran_fwrite_inline")
      import :: c_char, scda_fcontext_t, scda_int
      type(scda_fcontext_t), intent(inout) :: f
      character(kind=c_char, len=*), intent(in) :: userstr
      type(*), dimension(..), contiguous, intent(in), optional, target :: data
      integer(scda_int), intent(in), optional :: root, len
      integer(scda_int), intent(out), optional :: ierr
    end subroutine fwrite_inline
  end interface scda_fwrite_inline

  !> Writes a block of root (0): call scda_fwrite_block(f, userstr, data [, E, root, encode, ierr, len])
  interface scda_fwrite_block
    subroutine fwrite_block(f, userstr, data, E, root, encode, ierr, len) bind(C, name="scda_fortran_fwrite_block")
      import :: c_char, scda_fcontext_t, scda_int
      type(scda_fcontext_t), intent(inout) :: f
      character(kind=c_char, len=*), intent(in) :: userstr
      type(*), dimension(..), contiguous, intent(in), optional, target :: data
      type(*), dimension(..), contiguous, intent(in), optional, target :: E
      integer(scda_int), intent(in), optional :: root, encode, len
      integer(scda_int), intent(out), optional :: ierr
    end subroutine fwrite_block
  end interface scda_fwrite_block

  !> Writes an array: call scda_fwrite_array(f, userstr, data, Nq [, E, encode, ierr, indirect, len])
  interface scda_fwrite_array
    subroutine fwrite_array(f, userstr, data, Nq, E, encode, ierr, indirect, len) &
      & bind(C, name="scda_fortran_fwrite_array")
      import :: c_char, scda_fcontext_t, scda_int
      type(scda_fcontext_t), intent(inout) :: f
      character(kind=c_char, len=*), intent(in) :: userstr
      type(*), dimension(..), contiguous, intent(in), optional, target :: data
      type(*), dimension(..), contiguous, intent(in), target :: Nq
      type(*), dimension(..), contiguous, intent(in), optional, target :: E
      integer(scda_int), intent(in), optional :: encode, len
      integer(scda_int), intent(out), optional :: ierr
      type(*), dimension(..), intent(in), optional :: indirect ! a logical: see is_indirect
    end subroutine fwrite_array
  end interface scda_fwrite_array

  !> Writes a varray: call scda_fwrite_varray(f, userstr, data, Nq, Ei [, encode, ierr, Sq, indirect, len])
  interface scda_fwrite_varray
    subroutine fwrite_varray(f, userstr, data, Nq, Ei, encode, ierr, Sq, indirect, len) &
      & bind(C, name="scda_fortran_fwrite_varray")
      import :: c_char, c_int64_t, scda_fcontext_t, scda_int
      type(scda_fcontext_t), intent(inout) :: f
      character(kind=c_char, len=*), intent(in) :: userstr
      type(*), dimension(..), contiguous, intent(in), optional, target :: data
      type(*), dimension(..), contiguous, intent(in), target :: Nq, Ei
      integer(scda_int), intent(in), optional :: encode, len
      integer(scda_int), intent(out), optional :: ierr
      integer(c_int64_t), contiguous, intent(in), optional :: Sq(:)
      type(*), dimension(..), intent(in), optional :: indirect ! a logical: see is_indirect
    end subroutine fwrite_varray
  end interface scda_fwrite_varray

  !> Reads the 32 bytes of an inline section on root (0): call scda_fread_inline_data(f [, data, root, ierr])
  interface scda_fread_inline_data
    subroutine fread_inline_data(f, data, root, ierr) bind(C, name="scda_fortran_fread_inline_data")
      import :: scda_fcontext_t, scda_int
      type(scda_fcontext_t), intent(inout) :: f
      type(*), dimension(..), contiguous, intent(inout), optional, target :: data
      integer(scda_int), intent(in), optional :: root
      integer(scda_int), intent(out), optional :: ierr
    end subroutine fread_inline_data
  end interface scda_fread_inline_data

  !> Reads a block on root (0): call scda_fread_block_data(f [, data, E, root, ierr])
  interface scda_fread_block_data
    subroutine fread_block_data(f, data, E, root, ierr) bind(C, name="scda_fortran_fread_block_data")
      import :: scda_fcontext_t, scda_int
      type(scda_fcontext_t), intent(inout) :: f
      type(*), dimension(..), contiguous, intent(inout), optional, target :: data
      type(*), dimension(..), contiguous, intent(in), optional, target :: E
      integer(scda_int), intent(in), optional :: root
      integer(scda_int), intent(out), optional :: ierr
    end subroutine fread_block_data
  end interface scda_fread_block_data

  !> Reads an array: call scda_fread_array_data(f, [data,] Nq [, E, ierr, indirect])
  interface scda_fread_array_data
    subroutine fread_array_data(f, data, Nq, E, ierr, indirect) &
      & bind(C, name="scda_fortran_fread_array_data")
      import :: scda_fcontext_t, scda_int
      type(scda_fcontext_t), intent(inout) :: f
      type(*), dimension(..), contiguous, intent(inout), optional, target :: data
      type(*), dimension(..), contiguous, intent(in), target :: Nq
      type(*), dimension(..), contiguous, intent(in), optional, target :: E
      integer(scda_int), intent(out), optional :: ierr
      type(*), dimension(..), intent(in), optional :: indirect ! a logical: see is_indirect
    end subroutine fread_array_data
  end interface scda_fread_array_data

  !> Reads the data of a varray: call scda_fread_varray_data(f, [data,] Nq, Ei [, ierr, Sq, indirect])
  interface scda_fread_varray_data
    subroutine fread_varray_data(f, data, Nq, Ei, ierr, Sq, indirect) &
      & bind(C, name="scda_fortran_fread_varray_data")
      import :: c_int64_t, scda_fcontext_t, scda_int
      type(scda_fcontext_t), intent(inout) :: f
      type(*), dimension(..), contiguous, intent(inout), optional, target :: data
      type(*), dimension(..), contiguous, intent(in), target :: Nq, Ei
      integer(scda_int), intent(out), optional :: ierr
      integer(c_int64_t), contiguous, intent(in), optional :: Sq(:)
      type(*), dimension(..), intent(in), optional :: indirect ! a logical: see is_indirect
    end subroutine fread_varray_data
  end interface scda_fread_varray_data

  !> Reads bytes of a block on each rank, beginning with byte first (from 0): call scda_fread_block_range(f, [data,] first, bytes [,
  !> ierr])
  interface scda_fread_block_range
    subroutine fread_block_range(f, data, first, bytes, ierr) bind(C, name="scda_fortran_fread_block_range")
      import :: scda_fcontext_t, scda_int
      type(scda_fcontext_t), intent(inout) :: f
      type(*), dimension(..), contiguous, intent(inout), optional, target :: data
      type(*), dimension(..), contiguous, intent(in), target :: first, bytes
      integer(scda_int), intent(out), optional :: ierr
    end subroutine fread_block_range
  end interface scda_fread_block_range

  !> Appends all bytes of data to this rank's stream: call scda_stream_write(f, data [, ierr]). Not collective; after an error,
  !> the file stays open until the next collective call.
  interface scda_stream_write
    subroutine fstream_write(f, data, ierr) bind(C, name="scda_fortran_stream_write")
      import :: scda_fcontext_t, scda_int
      type(scda_fcontext_t), intent(inout) :: f
      type(*), dimension(..), contiguous, intent(in), target :: data
      integer(scda_int), intent(out), optional :: ierr
    end subroutine fstream_write
  end interface scda_stream_write

  !> Fills data with bytes from the stream of a task (from 0), beginning at byte offset (from 0): call scda_stream_read(f, streams,
  !> task, offset, data [, ierr]). Not collective; after an error the file stays open.
  interface scda_stream_read
    subroutine fread_stream(f, streams, task, offset, data, ierr) bind(C, name="scda_fortran_fread_stream")
      import :: c_int64_t, scda_fcontext_t, scda_int
      type(scda_fcontext_t), intent(inout) :: f
      integer(c_int64_t), intent(in) :: streams, task, offset
      type(*), dimension(..), contiguous, intent(inout), target :: data
      integer(scda_int), intent(out), optional :: ierr
    end subroutine fread_stream
  end interface scda_stream_read

  !> Reads the streams in this rank's share: call scda_fread_streams_data(f, streams, [data,] Nq, Ei [, ierr, indirect])
  interface scda_fread_streams_data
    subroutine fread_streams_data(f, streams, data, Nq, Ei, ierr, indirect) &
      & bind(C, name="scda_fortran_fread_streams_data")
      import :: c_int64_t, scda_fcontext_t, scda_int
      type(scda_fcontext_t), intent(inout) :: f
      integer(c_int64_t), intent(in) :: streams
      type(*), dimension(..), contiguous, intent(inout), optional, target :: data
      type(*), dimension(..), contiguous, intent(in), target :: Nq, Ei
      integer(scda_int), intent(out), optional :: ierr
      type(*), dimension(..), intent(in), optional :: indirect ! a logical: see is_indirect
    end subroutine fread_streams_data
  end interface scda_fread_streams_data

  !> Reads count elements of an array on each rank, beginning with element first (from 0): call scda_fread_array_range(f, [data,]
  !> first, count [, E, ierr, indirect])
  interface scda_fread_array_range
    subroutine fread_array_range(f, data, first, count, E, ierr, indirect) &
      & bind(C, name="scda_fortran_fread_array_range")
      import :: scda_fcontext_t, scda_int
      type(scda_fcontext_t), intent(inout) :: f
      type(*), dimension(..), contiguous, intent(inout), optional, target :: data
      type(*), dimension(..), contiguous, intent(in), target :: first, count
      type(*), dimension(..), contiguous, intent(in), optional, target :: E
      integer(scda_int), intent(out), optional :: ierr
      type(*), dimension(..), intent(in), optional :: indirect ! a logical: see is_indirect
    end subroutine fread_array_range
  end interface scda_fread_array_range

  !> Reads count elements of a varray on each rank, beginning with element first (from 0): call scda_fread_varray_range(f, [data,]
  !> first, count, Ei [, ierr, indirect])
  interface scda_fread_varray_range
    subroutine fread_varray_range(f, data, first, count, Ei, ierr, indirect) &
      & bind(C, name="scda_fortran_fread_varray_range")
      import :: scda_fcontext_t, scda_int
      type(scda_fcontext_t), intent(inout) :: f
      type(*), dimension(..), contiguous, intent(inout), optional, target :: data
      type(*), dimension(..), contiguous, intent(in), target :: first, count, Ei
      integer(scda_int), intent(out), optional :: ierr
      type(*), dimension(..), intent(in), optional :: indirect ! a logical: see is_indirect
    end subroutine fread_varray_range
  end interface scda_fread_varray_range

end module scda
