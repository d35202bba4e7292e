! SPDX-License-Identifier: MIT OR Apache-2.0
!
! The Fortran module for patches and particles: scda_patches.h and scda_particles.h, which say what each function does.
!
! - The procedures have the names of C. All but scda_patches_free and scda_particles_free are collective.
! - group is optional: by default "patches" or "particles". step counts from 0; by default it is -1, the last one.
! - comm is an integer or type(MPI_Comm), the communicator of the file.
! - Patches and cells have numbers that count from 0, as in C and in the file.
! - A mesh or particles that are copied are the same; free one of the copies only.
! - The lengths of what is passed are checked, except for those of the data: these are addresses, c_loc of the first number.
!
! It is compiled with the program, as scda.F90 is, and so is scda_meshes.c. It needs MPI.
module scda_meshes
  use, intrinsic :: iso_c_binding, only: c_associated, c_char, c_double, c_f_pointer, c_int, c_int64_t, c_loc, &
    & c_null_char, c_null_ptr, c_ptr, c_size_t
  use, intrinsic :: iso_fortran_env, only: int32, int64, real64
  use scda
  use scda_implementation, only: c_member_t, finish, list_members, refuse_held
  implicit none
  private

  !> A mesh of patches: set dimension and the arrays down to boxes, then write it; or read it.
  type, public :: scda_patches_t
    integer :: dimension = 0                       !< The number of axes, 1 to 3: d.
    integer(int32), allocatable :: ratio(:, :)     !< (d, levels): how many cells lie side by side in one of the level before.
    integer(int64), allocatable :: domain(:, :)    !< (d, 2): the first cell, and the number of cells, of level 0.
    real(real64), allocatable :: geometry(:, :)    !< (d, 2): the least coordinate of the domain, and the size of a cell of level 0.
    integer(int32), allocatable :: level(:)        !< (n): of each patch of this process, its level, from 0.
    integer(int64), allocatable :: boxes(:, :, :)  !< (d, 2, n): of each, its first cell, and its number of cells.
    integer(int64), allocatable :: number(:)       !< (n): of each, its number, from 0. Not allocated: in order of processes.
    !> Set when it is written or read: patches and cells of all processes, and the number of the first patch of this one.
    integer(int64) :: patches = 0, cells = 0, first = 0
    !> Of all patches. Not allocated if the mesh was written without number.
    integer(int32), allocatable :: all_level(:)       !< (patches)
    integer(int64), allocatable :: all_boxes(:, :, :) !< (d, 2, patches)
    type(c_ptr), private :: c = c_null_ptr
    integer(int64), private :: n = 0                  ! the patches of this process that were written, or its share of those read
  end type scda_patches_t

  !> Which particles this process has: set counts or n, then write them; or read them.
  type, public :: scda_particles_t
    integer(int64), allocatable :: counts(:) !< The number of particles of each cell of this process. Not allocated: no cells.
    integer(int64), allocatable :: number(:) !< Of each cell: its number, from 0. Not allocated: in the order of the processes.
    character(:), allocatable :: mesh        !< Writing: the group of the mesh. Not allocated: none in the file.
    integer(int64) :: n = 0                  !< The number of particles of this process. Set it to write them without cells.
    !> Set when they are written or read: particles and cells of all processes; the first particle and cell of this one.
    integer(int64) :: particles = 0, all_cells = 0, first = 0, first_cell = 0
    type(c_ptr), private :: c = c_null_ptr
  end type scda_particles_t

  !> A field of patches or particles: what it is in the file, and where it lies in memory.
  type, public :: scda_mesh_field_t
    character(:), allocatable :: name           !< Without that of the group.
    !> Of each patch of this process: c_loc of the first number, a ghost cell's if there are any. Of particles: one address.
    type(c_ptr), allocatable :: data(:)
    integer :: type = SCDA_TYPE_FLOAT64
    integer :: components = 1                   !< The numbers of a cell or particle, which follow one another.
    integer :: ghost = 0                        !< Patches: the layers of ghost cells on both ends of each axis.
    integer(int64) :: cell_bytes = 0            !< Patches: the bytes from a cell to the next one on x. 0: its numbers.
    type(scda_member_t), allocatable :: members(:) !< Particles that are structs: their components, made by scda_member.
    integer(int64) :: item_bytes = 0            !< Likewise: the bytes of one, c_sizeof.
    character(:), allocatable :: attributes     !< Members of a JSON object, made by scda_json, with or without braces.
    integer :: encode = SCDA_ENCODE_NONE, codec = SCDA_CODEC_ZSTD, level = -1
    real(real64) :: max_relative_error = 0, max_absolute_error = 0
  end type scda_mesh_field_t

  public :: scda_forest_write_time, scda_forest_read_time, scda_forest_steps
  public :: scda_patches_write_mesh, scda_patches_write_fields, scda_patches_read_mesh, scda_patches_read_fields, scda_patches_free
  public :: scda_particles_write, scda_particles_write_fields, scda_particles_read, scda_particles_read_fields, scda_particles_free

  ! How scda_patches_t begins in C.
  type, bind(C) :: c_patches_t
    integer(c_int) :: dimension, levels
    type(c_ptr) :: ratio, domain, geometry
    integer(c_size_t) :: n
    type(c_ptr) :: level, boxes, number
    integer(c_int64_t) :: patches, cells, first
    type(c_ptr) :: all_level, all_boxes
  end type c_patches_t

  ! How scda_particles_t begins in C.
  type, bind(C) :: c_particles_t
    integer(c_int64_t) :: cells
    type(c_ptr) :: counts, number, mesh
    integer(c_int64_t) :: n, particles, all_cells, first, first_cell
  end type c_particles_t

  ! A field for scda_meshes.c.
  type, bind(C) :: field_t
    type(c_ptr) :: name = c_null_ptr, attributes = c_null_ptr, data = c_null_ptr, members = c_null_ptr
    integer(c_int64_t) :: cell_bytes = 0, item_bytes = 0
    real(c_double) :: max_relative_error = 0, max_absolute_error = 0
    integer(c_int) :: type = 0, components = 1, ghost = 0, encode = 0, codec = 0, level = -1
  end type field_t

  ! What field_t points to.
  type :: memory_t
    character(:), allocatable :: name, attributes
    type(c_ptr), allocatable :: data(:)
    type(c_member_t), allocatable :: members(:)
    character(kind=c_char), allocatable :: names(:, :)
  end type memory_t

  interface
    subroutine c_write_time(f, comm, group, time, units) bind(C, name="scda_fortran_write_time")
      import :: c_char, c_double, scda_fcontext_t
      type(scda_fcontext_t), intent(inout) :: f
      type(*), intent(in) :: comm
      character(kind=c_char), intent(in) :: group(*), units(*)
      real(c_double), value :: time
    end subroutine c_write_time

    subroutine c_read_time(f, group, step, time) bind(C, name="scda_fortran_read_time")
      import :: c_char, c_double, c_int64_t, scda_fcontext_t
      type(scda_fcontext_t), intent(inout) :: f
      character(kind=c_char), intent(in) :: group(*)
      integer(c_int64_t), value :: step
      real(c_double), intent(inout) :: time
    end subroutine c_read_time

    subroutine c_steps(f, group, steps) bind(C, name="scda_fortran_steps")
      import :: c_char, c_int64_t, scda_fcontext_t
      type(scda_fcontext_t), intent(inout) :: f
      character(kind=c_char), intent(in) :: group(*)
      integer(c_int64_t), intent(inout) :: steps
    end subroutine c_steps

    function c_patches_new() bind(C, name="scda_fortran_patches_new") result(m)
      import :: c_ptr
      type(c_ptr) :: m
    end function c_patches_new

    subroutine c_patches_delete(m) bind(C, name="scda_fortran_patches_delete")
      import :: c_ptr
      type(c_ptr), value :: m
    end subroutine c_patches_delete

    subroutine c_patches_write_mesh(f, comm, group, m, why) bind(C, name="scda_fortran_patches_write_mesh")
      import :: c_char, c_ptr, scda_fcontext_t
      type(scda_fcontext_t), intent(inout) :: f
      type(*), intent(in) :: comm
      character(kind=c_char), intent(in) :: group(*), why(*)
      type(c_ptr), value :: m
    end subroutine c_patches_write_mesh

    subroutine c_patches_read_mesh(f, comm, group, step, m) bind(C, name="scda_fortran_patches_read_mesh")
      import :: c_char, c_int64_t, c_ptr, scda_fcontext_t
      type(scda_fcontext_t), intent(inout) :: f
      type(*), intent(in) :: comm
      character(kind=c_char), intent(in) :: group(*)
      integer(c_int64_t), value :: step
      type(c_ptr), value :: m
    end subroutine c_patches_read_mesh

    subroutine c_patches_fields(f, group, step, is_read, m, n, fields, why) bind(C, name="scda_fortran_patches_fields")
      import :: c_char, c_int, c_int64_t, c_ptr, c_size_t, field_t, scda_fcontext_t
      type(scda_fcontext_t), intent(inout) :: f
      character(kind=c_char), intent(in) :: group(*), why(*)
      integer(c_int64_t), value :: step
      integer(c_int), value :: is_read
      type(c_ptr), value :: m
      integer(c_size_t), value :: n
      type(field_t), intent(in) :: fields(*)
    end subroutine c_patches_fields

    function c_particles_new() bind(C, name="scda_fortran_particles_new") result(p)
      import :: c_ptr
      type(c_ptr) :: p
    end function c_particles_new

    subroutine c_particles_delete(p) bind(C, name="scda_fortran_particles_delete")
      import :: c_ptr
      type(c_ptr), value :: p
    end subroutine c_particles_delete

    subroutine c_particles_write(f, comm, group, p, why) bind(C, name="scda_fortran_particles_write")
      import :: c_char, c_ptr, scda_fcontext_t
      type(scda_fcontext_t), intent(inout) :: f
      type(*), intent(in) :: comm
      character(kind=c_char), intent(in) :: group(*), why(*)
      type(c_ptr), value :: p
    end subroutine c_particles_write

    subroutine c_particles_read(f, comm, group, step, cells, number, p) bind(C, name="scda_fortran_particles_read")
      import :: c_char, c_int64_t, c_ptr, scda_fcontext_t
      type(scda_fcontext_t), intent(inout) :: f
      type(*), intent(in) :: comm
      character(kind=c_char), intent(in) :: group(*)
      integer(c_int64_t), value :: step, cells
      type(c_ptr), value :: number, p
    end subroutine c_particles_read

    subroutine c_particles_field(f, group, step, is_read, p, field, why) bind(C, name="scda_fortran_particles_field")
      import :: c_char, c_int, c_int64_t, c_ptr, field_t, scda_fcontext_t
      type(scda_fcontext_t), intent(inout) :: f
      character(kind=c_char), intent(in) :: group(*), why(*)
      integer(c_int64_t), value :: step
      integer(c_int), value :: is_read
      type(c_ptr), value :: p
      type(field_t), intent(in) :: field
    end subroutine c_particles_field
  end interface

contains

  ! ---- Time steps --------------------------------------------------------------------------------------------------------

  !> Begins a time step of a group: call scda_forest_write_time(f, comm, group, time [, units, ierr])
  subroutine scda_forest_write_time(f, comm, group, time, units, ierr)
    type(scda_fcontext_t), intent(inout) :: f
    type(*), intent(in) :: comm
    character(*), intent(in) :: group
    real(real64), intent(in) :: time
    character(*), intent(in), optional :: units
    integer, intent(out), optional :: ierr
    call refuse_held(f)
    call c_write_time(f, comm, trim(group) // c_null_char, time, text_or(units, ""))
    call finish(f, ierr)
  end subroutine scda_forest_write_time

  !> Reads the time of a step: call scda_forest_read_time(f, group, time [, step, ierr])
  subroutine scda_forest_read_time(f, group, time, step, ierr)
    type(scda_fcontext_t), intent(inout) :: f
    character(*), intent(in) :: group
    real(real64), intent(inout) :: time
    integer, intent(in), optional :: step
    integer, intent(out), optional :: ierr
    call c_read_time(f, trim(group) // c_null_char, step_or_last(step), time)
    call finish(f, ierr)
  end subroutine scda_forest_read_time

  !> The number of time steps of a group: call scda_forest_steps(f, group, steps [, ierr])
  subroutine scda_forest_steps(f, group, steps, ierr)
    type(scda_fcontext_t), intent(inout) :: f
    character(*), intent(in) :: group
    integer(int64), intent(out) :: steps
    integer, intent(out), optional :: ierr
    steps = 0
    call c_steps(f, trim(group) // c_null_char, steps)
    call finish(f, ierr)
  end subroutine scda_forest_steps

  ! ---- Patches -----------------------------------------------------------------------------------------------------------

  !> Writes a mesh: call scda_patches_write_mesh(f, comm, mesh [, group, ierr])
  subroutine scda_patches_write_mesh(f, comm, mesh, group, ierr)
    type(scda_fcontext_t), intent(inout) :: f
    type(*), intent(in) :: comm
    type(scda_patches_t), intent(inout), target :: mesh
    character(*), intent(in), optional :: group
    integer, intent(out), optional :: ierr
    type(c_patches_t), pointer :: m
    character(:), allocatable :: why
    call refuse_held(f)
    why = ""
    call begin_patches(mesh, m)
    if (.not. (allocated(mesh%ratio) .and. allocated(mesh%domain) .and. allocated(mesh%geometry) .and. allocated(mesh%level) &
      & .and. allocated(mesh%boxes))) then
      why = "patches: ratio, domain, geometry, level and boxes must be allocated, also without patches of this process"
    else if (size(mesh%ratio, 1) /= mesh%dimension .or. any(shape(mesh%domain) /= [mesh%dimension, 2]) &
      & .or. any(shape(mesh%geometry) /= [mesh%dimension, 2])) then
      why = "patches: expected the shapes ratio(d, levels), domain(d, 2) and geometry(d, 2), d being the dimension"
    else if (any(shape(mesh%boxes) /= [mesh%dimension, 2, size(mesh%level)])) then
      why = "patches: expected the shapes level(n) and boxes(d, 2, n), d being the dimension"
    else
      m%dimension = mesh%dimension
      m%levels = size(mesh%ratio, 2)
      m%ratio = c_loc(mesh%ratio)
      m%domain = c_loc(mesh%domain)
      m%geometry = c_loc(mesh%geometry)
      m%n = size(mesh%level, kind=c_size_t)
      mesh%n = size(mesh%level, kind=int64)
      m%level = c_loc(mesh%level)
      m%boxes = c_loc(mesh%boxes)
      call set_number(mesh%number, m%n, m%number, why)
    end if
    call c_patches_write_mesh(f, comm, text_or(group, "patches"), mesh%c, why // c_null_char)
    if (allocated(mesh%all_level)) deallocate(mesh%all_level, mesh%all_boxes)
    if (f_is_right(f)) call take_all(mesh, m)
    call finish(f, ierr)
  end subroutine scda_patches_write_mesh

  !> Writes fields of the mesh that was written last: call scda_patches_write_fields(f, mesh, fields [, group, ierr])
  subroutine scda_patches_write_fields(f, mesh, fields, group, ierr)
    type(scda_fcontext_t), intent(inout) :: f
    type(scda_patches_t), intent(inout), target :: mesh
    type(scda_mesh_field_t), intent(in) :: fields(:)
    character(*), intent(in), optional :: group
    integer, intent(out), optional :: ierr
    call refuse_held(f)
    call patches_fields(f, mesh, fields, text_or(group, "patches"), 0_int64, 0_c_int)
    call finish(f, ierr)
  end subroutine scda_patches_write_fields

  !> Reads a mesh, of which each process gets a share: call scda_patches_read_mesh(f, comm, mesh [, step, group, ierr]). For other shares,
  !> set mesh%number before the fields are read.
  subroutine scda_patches_read_mesh(f, comm, mesh, step, group, ierr)
    type(scda_fcontext_t), intent(inout) :: f
    type(*), intent(in) :: comm
    type(scda_patches_t), intent(inout), target :: mesh
    integer, intent(in), optional :: step
    character(*), intent(in), optional :: group
    integer, intent(out), optional :: ierr
    type(c_patches_t), pointer :: m
    integer(int32), pointer :: numbers(:, :)
    integer(int64), pointer :: cells(:, :)
    real(real64), pointer :: coordinates(:, :)
    integer :: d
    integer(int64) :: begin, end
    call scda_patches_free(mesh)
    call begin_patches(mesh, m)
    call c_patches_read_mesh(f, comm, text_or(group, "patches"), step_or_last(step), mesh%c)
    if (f_is_right(f)) then
      d = m%dimension
      mesh%dimension = d
      call c_f_pointer(m%ratio, numbers, [d, int(m%levels)])
      mesh%ratio = numbers
      call c_f_pointer(m%domain, cells, [d, 2])
      mesh%domain = cells
      call c_f_pointer(m%geometry, coordinates, [d, 2])
      mesh%geometry = coordinates
      call take_all(mesh, m)
      mesh%n = int(m%n, int64)
      begin = mesh%first + 1
      end = mesh%first + mesh%n
      mesh%level = mesh%all_level(begin:end)
      mesh%boxes = mesh%all_boxes(:, :, begin:end)
    end if
    call finish(f, ierr)
  end subroutine scda_patches_read_mesh

  !> Reads fields into the memory of the patches of this process: call scda_patches_read_fields(f, mesh, fields [, step, group, ierr])
  subroutine scda_patches_read_fields(f, mesh, fields, step, group, ierr)
    type(scda_fcontext_t), intent(inout) :: f
    type(scda_patches_t), intent(inout), target :: mesh
    type(scda_mesh_field_t), intent(in) :: fields(:)
    integer, intent(in), optional :: step
    character(*), intent(in), optional :: group
    integer, intent(out), optional :: ierr
    call patches_fields(f, mesh, fields, text_or(group, "patches"), step_or_last(step), 1_c_int)
    call finish(f, ierr)
  end subroutine scda_patches_read_fields

  !> Releases what the library keeps of a mesh, and makes it empty.
  subroutine scda_patches_free(mesh)
    type(scda_patches_t), intent(inout) :: mesh
    call c_patches_delete(mesh%c)
    mesh = scda_patches_t()
  end subroutine scda_patches_free

  ! The mesh of C, which stays where it is.
  subroutine begin_patches(mesh, m)
    type(scda_patches_t), intent(inout) :: mesh
    type(c_patches_t), pointer, intent(out) :: m
    if (.not. c_associated(mesh%c)) mesh%c = c_patches_new()
    if (.not. c_associated(mesh%c)) error stop "scda: no memory for a mesh of patches"
    call c_f_pointer(mesh%c, m)
  end subroutine begin_patches

  ! What C knows of all patches.
  subroutine take_all(mesh, m)
    type(scda_patches_t), intent(inout) :: mesh
    type(c_patches_t), intent(in) :: m
    integer(int32), pointer :: level(:)
    integer(int64), pointer :: boxes(:, :, :)
    mesh%patches = m%patches
    mesh%cells = m%cells
    mesh%first = m%first
    if (.not. c_associated(m%all_level)) return
    call c_f_pointer(m%all_level, level, [m%patches])
    mesh%all_level = level
    call c_f_pointer(m%all_boxes, boxes, [int(m%dimension, int64), 2_int64, m%patches])
    mesh%all_boxes = boxes
  end subroutine take_all

  subroutine patches_fields(f, mesh, fields, group, step, is_read)
    type(scda_fcontext_t), intent(inout) :: f
    type(scda_patches_t), intent(inout), target :: mesh
    type(scda_mesh_field_t), intent(in) :: fields(:)
    character(*), intent(in) :: group
    integer(int64), intent(in) :: step
    integer(c_int), intent(in) :: is_read
    type(c_patches_t), pointer :: m
    type(field_t) :: list(size(fields))
    type(memory_t), target :: memory(size(fields))
    character(:), allocatable :: why
    integer :: i
    why = ""
    call begin_patches(mesh, m)
    ! What C has pointed to may be gone: the mesh may be a copy, or may have changed.
    m%n = mesh%n
    if (is_read /= 0 .and. allocated(mesh%number)) m%n = size(mesh%number, kind=c_size_t)
    call set_number(mesh%number, m%n, m%number, why)
    if (.not. c_associated(m%all_boxes)) then ! of the mesh that was written without number, C needs them
      m%boxes = c_null_ptr
      if (.not. allocated(mesh%boxes)) then
        if (m%n > 0) why = "patches: boxes must be allocated"
      else if (any(shape(mesh%boxes, kind=int64) /= [int(m%dimension, int64), 2_int64, int(m%n, int64)])) then
        why = "patches: expected the shape boxes(d, 2, n), as the mesh was written"
      else
        m%boxes = c_loc(mesh%boxes)
      end if
    end if
    do i = 1, size(fields)
      call describe(fields(i), int(m%n, int64), list(i), memory(i), why)
    end do
    call c_patches_fields(f, group, step, is_read, mesh%c, size(fields, kind=c_size_t), list, why // c_null_char)
  end subroutine patches_fields

  ! ---- Particles ---------------------------------------------------------------------------------------------------------

  !> Writes how many particles each cell has: call scda_particles_write(f, comm, p [, group, ierr])
  subroutine scda_particles_write(f, comm, p, group, ierr)
    type(scda_fcontext_t), intent(inout) :: f
    type(*), intent(in) :: comm
    type(scda_particles_t), intent(inout), target :: p
    character(*), intent(in), optional :: group
    integer, intent(out), optional :: ierr
    type(c_particles_t), pointer :: c
    character(:), allocatable :: why
    character(:), allocatable, target :: mesh
    call refuse_held(f)
    why = ""
    call begin_particles(p, c)
    c%cells = 0
    c%counts = c_null_ptr
    c%mesh = c_null_ptr
    c%n = p%n
    if (allocated(p%counts)) then
      c%cells = size(p%counts, kind=int64)
      c%counts = c_loc(p%counts)
    end if
    call set_number(p%number, int(c%cells, c_size_t), c%number, why)
    if (allocated(p%mesh)) then
      mesh = trim(p%mesh) // c_null_char
      c%mesh = c_loc(mesh)
    end if
    call c_particles_write(f, comm, text_or(group, "particles"), p%c, why // c_null_char)
    c%mesh = c_null_ptr
    call take_particles(p, c)
    call finish(f, ierr)
  end subroutine scda_particles_write

  !> Writes fields of the particles that were written last: call scda_particles_write_fields(f, p, fields [, group, ierr])
  subroutine scda_particles_write_fields(f, p, fields, group, ierr)
    type(scda_fcontext_t), intent(inout) :: f
    type(scda_particles_t), intent(inout), target :: p
    type(scda_mesh_field_t), intent(in) :: fields(:)
    character(*), intent(in), optional :: group
    integer, intent(out), optional :: ierr
    call refuse_held(f)
    call particles_fields(f, p, fields, text_or(group, "particles"), 0_int64, 0_c_int)
    call finish(f, ierr)
  end subroutine scda_particles_write_fields

  !> Reads how many particles each cell has: call scda_particles_read(f, comm, p [, step, cells, number, group, ierr]). Each process gets
  !> cells with about as many particles; or `cells` cells in the order of the processes; or those of these numbers.
  subroutine scda_particles_read(f, comm, p, step, cells, number, group, ierr)
    type(scda_fcontext_t), intent(inout) :: f
    type(*), intent(in) :: comm
    type(scda_particles_t), intent(inout), target :: p
    integer, intent(in), optional :: step
    integer(int64), intent(in), optional :: cells, number(:)
    character(*), intent(in), optional :: group
    integer, intent(out), optional :: ierr
    type(c_particles_t), pointer :: c
    integer(int64), pointer :: counts(:)
    integer(int64) :: n
    type(c_ptr) :: numbers
    call scda_particles_free(p)
    call begin_particles(p, c)
    n = -1
    numbers = c_null_ptr
    if (present(cells)) n = cells
    if (present(number)) then
      n = size(number, kind=int64)
      p%number = number
      numbers = c_loc(p%number)
    end if
    call c_particles_read(f, comm, text_or(group, "particles"), step_or_last(step), n, numbers, p%c)
    call take_particles(p, c)
    if (f_is_right(f)) then
      allocate(p%counts(c%cells))
      if (c%cells > 0) then
        call c_f_pointer(c%counts, counts, [c%cells])
        p%counts = counts
      end if
    end if
    call finish(f, ierr)
  end subroutine scda_particles_read

  !> Reads fields of the particles of this process: call scda_particles_read_fields(f, p, fields [, step, group, ierr])
  subroutine scda_particles_read_fields(f, p, fields, step, group, ierr)
    type(scda_fcontext_t), intent(inout) :: f
    type(scda_particles_t), intent(inout), target :: p
    type(scda_mesh_field_t), intent(in) :: fields(:)
    integer, intent(in), optional :: step
    character(*), intent(in), optional :: group
    integer, intent(out), optional :: ierr
    call particles_fields(f, p, fields, text_or(group, "particles"), step_or_last(step), 1_c_int)
    call finish(f, ierr)
  end subroutine scda_particles_read_fields

  !> Releases what the library keeps of particles, and makes them none.
  subroutine scda_particles_free(p)
    type(scda_particles_t), intent(inout) :: p
    call c_particles_delete(p%c)
    p = scda_particles_t()
  end subroutine scda_particles_free

  ! The particles of C, which stay where they are.
  subroutine begin_particles(p, c)
    type(scda_particles_t), intent(inout) :: p
    type(c_particles_t), pointer, intent(out) :: c
    if (.not. c_associated(p%c)) p%c = c_particles_new()
    if (.not. c_associated(p%c)) error stop "scda: no memory for particles"
    call c_f_pointer(p%c, c)
  end subroutine begin_particles

  subroutine take_particles(p, c)
    type(scda_particles_t), intent(inout) :: p
    type(c_particles_t), intent(in) :: c
    p%n = c%n
    p%particles = c%particles
    p%all_cells = c%all_cells
    p%first = c%first
    p%first_cell = c%first_cell
  end subroutine take_particles

  subroutine particles_fields(f, p, fields, group, step, is_read)
    type(scda_fcontext_t), intent(inout) :: f
    type(scda_particles_t), intent(inout), target :: p
    type(scda_mesh_field_t), intent(in) :: fields(:)
    character(*), intent(in) :: group
    integer(int64), intent(in) :: step
    integer(c_int), intent(in) :: is_read
    type(c_particles_t), pointer :: c
    type(field_t) :: field
    type(memory_t), target :: memory
    character(:), allocatable :: why
    integer :: i
    call begin_particles(p, c)
    do i = 1, size(fields)
      why = ""
      call set_cells(p, c, why)
      call describe(fields(i), 1_int64, field, memory, why)
      call c_particles_field(f, group, step, is_read, p%c, field, why // c_null_char)
      if (.not. f_is_right(f)) exit
    end do
  end subroutine particles_fields

  ! What C has pointed to may be gone: the particles may be a copy, or may have changed. Without numbers, C does not look at the cells.
  subroutine set_cells(p, c, why)
    type(scda_particles_t), intent(in), target :: p
    type(c_particles_t), intent(inout) :: c
    character(:), allocatable, intent(inout) :: why
    if (.not. c_associated(c%number) .or. c%cells == 0) return
    if (.not. (allocated(p%counts) .and. allocated(p%number))) then
      why = "particles: counts and number must be allocated, as they were"
    else if (size(p%counts, kind=int64) /= c%cells .or. size(p%number, kind=int64) /= c%cells) then
      why = "particles: expected as many counts and numbers as there were"
    else
      c%counts = c_loc(p%counts)
      c%number = c_loc(p%number)
    end if
  end subroutine set_cells

  ! ---- Between Fortran and C ---------------------------------------------------------------------------------------------

  ! Whether the last call succeeded.
  logical function f_is_right(f)
    type(scda_fcontext_t), intent(in) :: f
    type(scda_info_t) :: info
    call scda_get_info(f, info)
    f_is_right = info%is_open /= 0
  end function f_is_right

  ! A field for C, which has n addresses.
  subroutine describe(field, n, c, memory, why)
    type(scda_mesh_field_t), intent(in) :: field
    integer(int64), intent(in) :: n
    type(field_t), intent(out) :: c
    type(memory_t), intent(out), target :: memory
    character(:), allocatable, intent(inout) :: why
    memory%name = ""
    if (allocated(field%name)) memory%name = trim(field%name)
    if (index(memory%name, c_null_char) > 0 .or. len(memory%name) >= SCDA_NAME_BYTES) then
      why = "name of a field: found a NUL character or too many bytes, expected 1 to 58"
    end if
    memory%name = memory%name // c_null_char
    c%name = c_loc(memory%name)
    if (allocated(field%attributes)) then
      memory%attributes = "{" // field%attributes // "}" // c_null_char
      if (index(adjustl(field%attributes), "{") == 1) memory%attributes = field%attributes // c_null_char
      c%attributes = c_loc(memory%attributes)
    end if
    if (allocated(field%data)) then
      memory%data = field%data
    else
      memory%data = [c_ptr ::]
    end if
    if (size(memory%data, kind=int64) /= n .and. why == "") then
      why = "field " // memory%name(:len(memory%name) - 1) // ": expected an address for each patch, or one of all particles"
    end if
    if (size(memory%data) == 0) memory%data = [c_null_ptr]
    c%data = c_loc(memory%data)
    if (allocated(field%members)) then
      allocate(memory%members(size(field%members) + 1), memory%names(SCDA_NAME_BYTES + 1, size(field%members) + 1))
      call list_members(field%members, memory%members, memory%names)
      c%members = c_loc(memory%members)
    end if
    c%type = merge(SCDA_TYPE_STRUCT, field%type, allocated(field%members))
    c%item_bytes = field%item_bytes
    c%cell_bytes = field%cell_bytes
    c%components = field%components
    c%ghost = field%ghost
    c%encode = field%encode
    c%codec = field%codec
    c%level = field%level
    c%max_relative_error = field%max_relative_error
    c%max_absolute_error = field%max_absolute_error
  end subroutine describe

  ! Numbers of patches or cells for C: n of them, or none.
  subroutine set_number(number, n, address, why)
    integer(int64), allocatable, intent(in), target :: number(:)
    integer(c_size_t), intent(in) :: n
    type(c_ptr), intent(out) :: address
    character(:), allocatable, intent(inout) :: why
    address = c_null_ptr
    if (.not. allocated(number)) return
    address = c_loc(number)
    if (size(number, kind=c_size_t) /= n .and. why == "") why = "number: expected one for each patch or cell of this process"
  end subroutine set_number

  ! A text for C.
  function text_or(text, default) result(c)
    character(*), intent(in), optional :: text
    character(*), intent(in) :: default
    character(:), allocatable :: c
    c = default // c_null_char
    if (present(text)) c = trim(text) // c_null_char
  end function text_or

  integer(int64) function step_or_last(step)
    integer, intent(in), optional :: step
    step_or_last = -1
    if (present(step)) step_or_last = step
  end function step_or_last
end module scda_meshes
