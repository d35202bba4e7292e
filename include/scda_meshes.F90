! SPDX-License-Identifier: MIT OR Apache-2.0
!
! The Fortran module for patches and particles; scda_meshes.h describes each function.
!
! - The procedures have the same names as in C. All except scda_patches_free and scda_particles_free are collective.
! - group is optional: by default "patches" or "particles". step counts from 0; by default it is -1, the last one.
! - Patches and cells are numbered from 0, as in C and in the file.
! - Copies of a mesh or of particles are the same object; free only one of them.
! - The lengths of arguments are checked, except those of the data, which are addresses: c_loc of the first number.
!
! Compile it with the program, like scda.F90.
module scda_meshes
  use, intrinsic :: iso_c_binding, only: c_associated, c_char, c_f_pointer, c_int, c_loc, c_null_char, c_null_ptr, c_ptr, &
    & c_size_t, c_sizeof
  use, intrinsic :: iso_fortran_env, only: int32, int64, real64
  use scda
  use scda_implementation, only: begin_dataset, c_dataset_t, c_member_t, file_of, finish, list_members, refuse, refuse_held, &
    & store, c_patches_t, c_patch_field_t, c_particles_t, c_patches_init_size, c_patches_free, c_patch_field_init_size, &
    & c_patches_write_mesh, c_patches_write_fields, c_patches_read_mesh, c_patches_read_fields, c_particles_init_size, &
    & c_particles_free, &
    & c_particles_write, c_particles_write_field, c_particles_read, c_particles_read_field, &
    & c_forest_write_time, c_forest_steps, c_forest_read_time, c_forest_find_field, copy_dataset, decimal, object_of
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
    !> Set by writing and reading: patches and cells on all processes, and the number of the first patch of this one.
    integer(int64) :: patches = 0, cells = 0, first = 0
    !> For all patches. Not allocated if the mesh was written without number.
    integer(int32), allocatable :: all_level(:)       !< (patches)
    integer(int64), allocatable :: all_boxes(:, :, :) !< (d, 2, patches)
    type(c_patches_t), pointer, private :: c => null()
    integer(int64), private :: n = 0                  ! the patches of this process that were written, or its share of those read
  end type scda_patches_t

  !> The particles of this process: set counts or n, then write them; or read them.
  type, public :: scda_particles_t
    integer(int64), allocatable :: counts(:) !< The number of particles of each cell of this process. Not allocated: no cells.
    integer(int64), allocatable :: number(:) !< Of each cell: its number, from 0. Not allocated: in the order of the processes.
    character(:), allocatable :: mesh        !< Writing: the group of the mesh. Not allocated: none in the file.
    integer(int64) :: n = 0                  !< The number of particles of this process. Set it to write them without cells.
    !> Set by writing and reading: particles and cells on all processes; the first particle and cell of this one.
    integer(int64) :: particles = 0, all_cells = 0, first = 0, first_cell = 0
    type(c_particles_t), pointer, private :: c => null()
  end type scda_particles_t

  !> A field of patches or particles: its description in the file, and its place in memory.
  type, public :: scda_mesh_field_t
    character(:), allocatable :: name           !< Without that of the group.
    !> For each patch of this process: c_loc of the first number, in a ghost cell if there are any. For particles: one address. Not
    !> allocated if there are none.
    type(c_ptr), allocatable :: data(:)
    integer :: type = SCDA_TYPE_FLOAT64
    integer :: components = 1                   !< The numbers of a cell or particle, which follow one another.
    integer :: ghost = 0                        !< Patches: the layers of ghost cells on both ends of each axis.
    integer(int64) :: cell_bytes = 0            !< Patches: the bytes from a cell to the next one on x. 0: its numbers.
    !> Patches: the bytes from a patch to the next one if they are in one array; data then has only the address of the first one.
    integer(int64) :: patch_bytes = 0
    type(scda_member_t), allocatable :: members(:) !< Particles that are structs: their components, made by scda_member.
    integer(int64) :: item_bytes = 0            !< Likewise: the bytes of one, c_sizeof.
    character(:), allocatable :: attributes     !< Members of a JSON object, made by scda_json, with or without braces.
    !> Another codec or level, or an error, makes chunks, even if encode is SCDA_ENCODE_NONE.
    integer :: encode = SCDA_ENCODE_NONE, codec = SCDA_CODEC_ZSTD, level = -1
    real(real64) :: max_relative_error = 0, max_absolute_error = 0
  end type scda_mesh_field_t

  public :: scda_forest_write_time, scda_forest_read_time, scda_forest_steps, scda_forest_find_field
  public :: scda_patches_write_mesh, scda_patches_write_fields, scda_patches_read_mesh, scda_patches_read_fields, scda_patches_free
  public :: scda_particles_write, scda_particles_write_fields, scda_particles_read, scda_particles_read_fields, scda_particles_free

  ! The memory to which a field for C points.
  type :: memory_t
    character(:), allocatable :: attributes
    type(c_ptr), allocatable :: data(:)
    type(c_member_t), allocatable :: members(:)
    character(kind=c_char), allocatable :: names(:, :)
  end type memory_t

contains

  ! ---- Time steps --------------------------------------------------------------------------------------------------------

  !> Begins a time step of a group: call scda_forest_write_time(f, group, time [, units, ierr, attributes]). attributes: made by
  !> scda_json, such as scda_json("step", step)
  subroutine scda_forest_write_time(f, group, time, units, ierr, attributes)
    type(scda_fcontext_t), intent(inout) :: f
    character(*), intent(in) :: group
    real(real64), intent(in) :: time
    character(*), intent(in), optional :: units, attributes
    integer, intent(out), optional :: ierr
    type(c_ptr) :: handle
    integer(c_int) :: err
    call refuse_held(f)
    call file_of(f, handle, err)
    handle = c_forest_write_time(handle, trim(group) // c_null_char, time, text_or(units, ""), &
      & object_of(attributes) // c_null_char, err)
    call store(f, handle, err)
    call finish(f, ierr)
  end subroutine scda_forest_write_time

  !> Reads the time of a step: call scda_forest_read_time(f, group, time [, step, ierr])
  subroutine scda_forest_read_time(f, group, time, step, ierr)
    type(scda_fcontext_t), intent(inout) :: f
    character(*), intent(in) :: group
    real(real64), intent(inout) :: time
    integer, intent(in), optional :: step
    integer, intent(out), optional :: ierr
    type(c_ptr) :: handle
    integer(c_int) :: err
    call file_of(f, handle, err)
    handle = c_forest_read_time(handle, trim(group) // c_null_char, step_or_last(step), time, err)
    call store(f, handle, err)
    call finish(f, ierr)
  end subroutine scda_forest_read_time

  !> The number of time steps of a group, 0 if nothing has been written to it: call scda_forest_steps(f, group, steps [, ierr])
  subroutine scda_forest_steps(f, group, steps, ierr)
    type(scda_fcontext_t), intent(inout) :: f
    character(*), intent(in) :: group
    integer(int64), intent(out) :: steps
    integer, intent(out), optional :: ierr
    type(c_ptr) :: handle
    integer(c_int) :: err
    steps = 0
    call file_of(f, handle, err)
    handle = c_forest_steps(handle, trim(group) // c_null_char, steps, err)
    call store(f, handle, err)
    call finish(f, ierr)
  end subroutine scda_forest_steps

  !> Finds a field of a step of a forest, of patches or of particles, of which scda_read reads any boxes:
  !> call scda_forest_find_field(f, group, name, found [, d, step, ierr])
  subroutine scda_forest_find_field(f, group, name, found, d, step, ierr)
    type(scda_fcontext_t), intent(inout) :: f
    character(*), intent(in) :: group, name
    logical, intent(out) :: found
    type(scda_dataset_t), intent(out), optional :: d
    integer, intent(in), optional :: step
    integer, intent(out), optional :: ierr
    type(c_dataset_t), target :: c
    type(c_ptr) :: handle
    integer(c_int) :: c_found, err
    call begin_dataset(c)
    c_found = 0
    call file_of(f, handle, err)
    handle = c_forest_find_field(handle, trim(group) // c_null_char, step_or_last(step), trim(name) // c_null_char, c_found, c, err)
    call store(f, handle, err)
    found = c_found /= 0
    if (found .and. present(d)) call copy_dataset(c, d)
    call finish(f, ierr)
  end subroutine scda_forest_find_field

  ! ---- Patches -----------------------------------------------------------------------------------------------------------

  !> Writes a mesh: call scda_patches_write_mesh(f, mesh [, group, ierr])
  subroutine scda_patches_write_mesh(f, mesh, group, ierr)
    type(scda_fcontext_t), intent(inout) :: f
    type(scda_patches_t), intent(inout), target :: mesh
    character(*), intent(in), optional :: group
    integer, intent(out), optional :: ierr
    character(:), allocatable :: why
    type(c_ptr) :: handle
    integer(c_int) :: err
    call refuse_held(f)
    why = ""
    call begin_patches(mesh)
    associate (c => mesh%c)
      c%levels = 0
      c%n = 0
      if (.not. (allocated(mesh%ratio) .and. allocated(mesh%domain) .and. allocated(mesh%geometry) .and. allocated(mesh%level) &
        & .and. allocated(mesh%boxes))) then
        why = "patches: ratio, domain, geometry, level and boxes must be allocated, even if this process has no patches"
      else if (size(mesh%ratio, 1) /= mesh%dimension .or. any(shape(mesh%domain) /= [mesh%dimension, 2]) &
        & .or. any(shape(mesh%geometry) /= [mesh%dimension, 2])) then
        why = "patches: found other shapes, expected ratio(d, levels), domain(d, 2) and geometry(d, 2) for the dimension d = " // &
          & decimal(int(mesh%dimension, int64))
      else if (any(shape(mesh%boxes) /= [mesh%dimension, 2, size(mesh%level)])) then
        why = "patches: found other shapes, expected level(n) and boxes(d, 2, n) for n = " // &
          & decimal(size(mesh%level, kind=int64)) // " patches and the dimension d = " // decimal(int(mesh%dimension, int64))
      else
        c%dimension = mesh%dimension
        c%levels = size(mesh%ratio, 2)
        c%ratio = c_loc(mesh%ratio)
        c%domain = c_loc(mesh%domain)
        c%geometry = c_loc(mesh%geometry)
        c%n = size(mesh%level, kind=c_size_t)
        mesh%n = size(mesh%level, kind=int64)
        c%level = c_loc(mesh%level)
        c%boxes = c_loc(mesh%boxes)
        call set_number(mesh%number, c%n, c%number, why)
      end if
      call refuse_if(f, why)
      call file_of(f, handle, err)
      handle = c_patches_write_mesh(handle, text_or(group, "patches"), c, err)
      call store(f, handle, err)
    end associate
    if (allocated(mesh%all_level)) deallocate(mesh%all_level, mesh%all_boxes)
    if (c_associated(handle)) call take_all(mesh)
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
    call patches_fields(f, mesh, fields, text_or(group, "patches"))
    call finish(f, ierr)
  end subroutine scda_patches_write_fields

  !> Reads a mesh; each process gets a share of its patches: call scda_patches_read_mesh(f, mesh [, step, group, ierr]). For other
  !> shares, set mesh%number before reading fields.
  subroutine scda_patches_read_mesh(f, mesh, step, group, ierr)
    type(scda_fcontext_t), intent(inout) :: f
    type(scda_patches_t), intent(inout), target :: mesh
    integer, intent(in), optional :: step
    character(*), intent(in), optional :: group
    integer, intent(out), optional :: ierr
    integer(int32), pointer :: numbers(:, :)
    integer(int64), pointer :: cells(:, :)
    real(real64), pointer :: coordinates(:, :)
    integer :: d
    integer(int64) :: begin, end
    type(c_ptr) :: handle
    integer(c_int) :: err
    call scda_patches_free(mesh)
    call begin_patches(mesh)
    call file_of(f, handle, err)
    handle = c_patches_read_mesh(handle, text_or(group, "patches"), step_or_last(step), mesh%c, err)
    call store(f, handle, err)
    if (c_associated(handle)) then
      d = mesh%c%dimension
      mesh%dimension = d
      call c_f_pointer(mesh%c%ratio, numbers, [d, int(mesh%c%levels)])
      mesh%ratio = numbers
      call c_f_pointer(mesh%c%domain, cells, [d, 2])
      mesh%domain = cells
      call c_f_pointer(mesh%c%geometry, coordinates, [d, 2])
      mesh%geometry = coordinates
      call take_all(mesh)
      mesh%n = int(mesh%c%n, int64)
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
    call patches_fields(f, mesh, fields, text_or(group, "patches"), step_or_last(step))
    call finish(f, ierr)
  end subroutine scda_patches_read_fields

  !> Releases what the library keeps for a mesh, and makes it empty.
  subroutine scda_patches_free(mesh)
    type(scda_patches_t), intent(inout) :: mesh
    integer(c_int) :: ignored
    if (associated(mesh%c)) then
      ignored = c_patches_free(mesh%c)
      deallocate(mesh%c)
    end if
    mesh = scda_patches_t()
  end subroutine scda_patches_free

  ! The mesh for C, which stays at its address.
  subroutine begin_patches(mesh)
    type(scda_patches_t), intent(inout) :: mesh
    if (associated(mesh%c)) return
    allocate(mesh%c)
    if (c_patches_init_size(mesh%c, c_sizeof(mesh%c)) /= 0) error stop "scda: this module is not that of the library"
  end subroutine begin_patches

  ! Copies what C has for all patches.
  subroutine take_all(mesh)
    type(scda_patches_t), intent(inout) :: mesh
    integer(int32), pointer :: level(:)
    integer(int64), pointer :: boxes(:, :, :)
    mesh%patches = mesh%c%patches
    mesh%cells = mesh%c%cells
    mesh%first = mesh%c%first
    if (.not. c_associated(mesh%c%all_level)) return
    call c_f_pointer(mesh%c%all_level, level, [mesh%patches])
    mesh%all_level = level
    call c_f_pointer(mesh%c%all_boxes, boxes, [int(mesh%c%dimension, int64), 2_int64, mesh%patches])
    mesh%all_boxes = boxes
  end subroutine take_all

  ! Writes fields, or reads those of a step.
  subroutine patches_fields(f, mesh, fields, group, step)
    type(scda_fcontext_t), intent(inout) :: f
    type(scda_patches_t), intent(inout), target :: mesh
    type(scda_mesh_field_t), intent(in) :: fields(:)
    character(*), intent(in) :: group
    integer(int64), intent(in), optional :: step
    type(c_patch_field_t), target :: list(size(fields))
    type(memory_t), target :: memory(size(fields))
    character(:), allocatable :: why
    type(c_ptr) :: handle, address
    integer(c_int) :: err
    integer(c_size_t) :: n
    integer(int64) :: addresses
    integer :: i
    why = ""
    call begin_patches(mesh)
    ! The targets of C's pointers may be gone: the mesh may be a copy, or may have changed.
    mesh%c%n = mesh%n
    if (present(step) .and. allocated(mesh%number)) mesh%c%n = size(mesh%number, kind=c_size_t)
    call set_number(mesh%number, mesh%c%n, mesh%c%number, why)
    do i = 1, size(fields)
      if (c_patch_field_init_size(list(i), c_sizeof(list(i))) /= 0) error stop "scda: this module is not that of the library"
      addresses = int(mesh%c%n, int64)
      if (fields(i)%patch_bytes /= 0) addresses = min(addresses, 1_int64)
      call describe(fields(i), addresses, list(i)%dataset, memory(i), why)
      list(i)%data = c_loc(memory(i)%data)
      list(i)%components = fields(i)%components
      list(i)%ghost = fields(i)%ghost
      list(i)%cell_bytes = fields(i)%cell_bytes
      list(i)%patch_bytes = fields(i)%patch_bytes
    end do
    if (c_associated(mesh%c%kept)) call refuse_if(f, why) ! otherwise C reports the error
    if (why /= "") mesh%c%n = 0
    call file_of(f, handle, err)
    n = size(fields, kind=c_size_t)
    address = c_null_ptr
    if (n > 0) address = c_loc(list)
    if (present(step)) then
      handle = c_patches_read_fields(handle, group, step, c_loc(mesh%c), n, address, err)
    else
      handle = c_patches_write_fields(handle, group, c_loc(mesh%c), n, address, err)
    end if
    call store(f, handle, err)
  end subroutine patches_fields

  ! ---- Particles ---------------------------------------------------------------------------------------------------------

  !> Writes the number of particles of each cell: call scda_particles_write(f, p [, group, ierr])
  subroutine scda_particles_write(f, p, group, ierr)
    type(scda_fcontext_t), intent(inout) :: f
    type(scda_particles_t), intent(inout), target :: p
    character(*), intent(in), optional :: group
    integer, intent(out), optional :: ierr
    character(:), allocatable :: why
    character(:), allocatable, target :: mesh
    type(c_ptr) :: handle
    integer(c_int) :: err
    call refuse_held(f)
    why = ""
    call begin_particles(p)
    p%c%cells = 0
    p%c%counts = c_null_ptr
    p%c%mesh = c_null_ptr
    p%c%n = p%n
    if (allocated(p%counts)) then
      p%c%cells = size(p%counts, kind=int64)
      p%c%counts = c_loc(p%counts)
    end if
    call set_number(p%number, int(p%c%cells, c_size_t), p%c%number, why)
    if (allocated(p%mesh)) then
      mesh = trim(p%mesh) // c_null_char
      p%c%mesh = c_loc(mesh)
    end if
    call refuse_if(f, why)
    if (why /= "") p%c%cells = 0
    call file_of(f, handle, err)
    handle = c_particles_write(handle, text_or(group, "particles"), p%c, err)
    call store(f, handle, err)
    p%c%mesh = c_null_ptr
    call take_particles(p)
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
    call particles_fields(f, p, fields, text_or(group, "particles"))
    call finish(f, ierr)
  end subroutine scda_particles_write_fields

  !> Reads the number of particles of each cell: call scda_particles_read(f, p [, step, cells, number, group, ierr]). Each process
  !> gets cells with about as many particles as the others; or `cells` cells in the order of the processes; or the cells with these
  !> numbers.
  subroutine scda_particles_read(f, p, step, cells, number, group, ierr)
    type(scda_fcontext_t), intent(inout) :: f
    type(scda_particles_t), intent(inout), target :: p
    integer, intent(in), optional :: step
    integer(int64), intent(in), optional :: cells, number(:)
    character(*), intent(in), optional :: group
    integer, intent(out), optional :: ierr
    integer(int64), pointer :: counts(:)
    integer(int64) :: n
    type(c_ptr) :: numbers, handle
    integer(c_int) :: err
    call scda_particles_free(p)
    call begin_particles(p)
    n = -1
    numbers = c_null_ptr
    if (present(cells)) n = cells
    if (present(number)) then
      n = size(number, kind=int64)
      p%number = number
      numbers = c_loc(p%number)
    end if
    call file_of(f, handle, err)
    handle = c_particles_read(handle, text_or(group, "particles"), step_or_last(step), n, numbers, p%c, err)
    call store(f, handle, err)
    call take_particles(p)
    if (c_associated(handle)) then
      allocate(p%counts(p%c%cells))
      if (p%c%cells > 0) then
        call c_f_pointer(p%c%counts, counts, [p%c%cells])
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
    call particles_fields(f, p, fields, text_or(group, "particles"), step_or_last(step))
    call finish(f, ierr)
  end subroutine scda_particles_read_fields

  !> Releases what the library keeps for particles, and makes them empty.
  subroutine scda_particles_free(p)
    type(scda_particles_t), intent(inout) :: p
    integer(c_int) :: ignored
    if (associated(p%c)) then
      ignored = c_particles_free(p%c)
      deallocate(p%c)
    end if
    p = scda_particles_t()
  end subroutine scda_particles_free

  ! The particles for C, which stay at their address.
  subroutine begin_particles(p)
    type(scda_particles_t), intent(inout) :: p
    if (associated(p%c)) return
    allocate(p%c)
    if (c_particles_init_size(p%c, c_sizeof(p%c)) /= 0) error stop "scda: this module is not that of the library"
  end subroutine begin_particles

  subroutine take_particles(p)
    type(scda_particles_t), intent(inout) :: p
    p%n = p%c%n
    p%particles = p%c%particles
    p%all_cells = p%c%all_cells
    p%first = p%c%first
    p%first_cell = p%c%first_cell
  end subroutine take_particles

  ! Writes fields, or reads those of a step.
  subroutine particles_fields(f, p, fields, group, step)
    type(scda_fcontext_t), intent(inout) :: f
    type(scda_particles_t), intent(inout), target :: p
    type(scda_mesh_field_t), intent(in) :: fields(:)
    character(*), intent(in) :: group
    integer(int64), intent(in), optional :: step
    type(c_dataset_t), target :: d
    type(memory_t), target :: memory
    character(:), allocatable :: why
    type(c_ptr) :: handle
    integer(c_int) :: err
    integer :: i
    call begin_particles(p)
    do i = 1, size(fields)
      why = ""
      call begin_dataset(d)
      call describe(fields(i), 1_int64, d, memory, why)
      if (c_associated(p%c%kept)) call refuse_if(f, why) ! otherwise C reports the error
      call file_of(f, handle, err)
      if (present(step)) then
        handle = c_particles_read_field(handle, group, step, c_loc(p%c), c_loc(d), memory%data(1), err)
      else
        handle = c_particles_write_field(handle, group, c_loc(p%c), c_loc(d), memory%data(1), err)
      end if
      call store(f, handle, err)
      if (.not. c_associated(handle)) exit
    end do
  end subroutine particles_fields

  ! ---- Between Fortran and C ---------------------------------------------------------------------------------------------

  ! Makes an error in the arguments of this process an error of all, in the call of C that follows.
  subroutine refuse_if(f, why)
    type(scda_fcontext_t), intent(in) :: f
    character(*), intent(in) :: why
    logical :: fits
    if (why /= "") call refuse(f, why, fits)
  end subroutine refuse_if

  ! Describes a field for C, with n addresses.
  subroutine describe(field, n, d, memory, why)
    type(scda_mesh_field_t), intent(in) :: field
    integer(int64), intent(in) :: n
    type(c_dataset_t), intent(inout) :: d
    type(memory_t), intent(out), target :: memory
    character(:), allocatable, intent(inout) :: why
    character(:), allocatable :: name
    integer :: i
    name = ""
    if (allocated(field%name)) name = trim(field%name)
    if (index(name, c_null_char) > 0 .or. len(name) >= SCDA_NAME_BYTES) then
      why = "name of a field: found " // decimal(len(name, kind=int64)) // " bytes or a NUL character, expected " // &
        & "1 to 58 bytes without NUL"
    end if
    do i = 1, min(len(name), SCDA_NAME_BYTES - 1)
      d%name(i) = name(i:i)
    end do
    if (allocated(field%attributes)) then
      memory%attributes = "{" // field%attributes // "}" // c_null_char
      if (index(adjustl(field%attributes), "{") == 1) memory%attributes = field%attributes // c_null_char
      d%attributes = c_loc(memory%attributes)
    end if
    if (allocated(field%data)) then
      memory%data = field%data
    else
      memory%data = [c_ptr ::]
    end if
    if (size(memory%data, kind=int64) /= n .and. .not. (n == 0 .and. size(memory%data) == 1) .and. why == "") then
      why = "field " // name // ": found " // decimal(size(memory%data, kind=int64)) // " addresses, expected " // decimal(n) // &
        & ", one for each patch, or one for all particles"
    end if
    if (size(memory%data) == 0) memory%data = [c_null_ptr]
    if (allocated(field%members)) then
      allocate(memory%members(size(field%members) + 1), memory%names(SCDA_NAME_BYTES + 1, size(field%members) + 1))
      call list_members(field%members, memory%members, memory%names)
      d%members = c_loc(memory%members)
    end if
    d%type = merge(SCDA_TYPE_STRUCT, field%type, allocated(field%members))
    d%item_bytes = field%item_bytes
    d%ndims = merge(1, 2, field%components == 1)
    if (field%components /= 1) d%shape(2) = field%components
    d%encode = field%encode
    ! As scda_write does, because codec, level and errors mean nothing without chunks.
    if (field%encode == SCDA_ENCODE_NONE .and. (field%codec /= SCDA_CODEC_ZSTD .or. field%level /= -1 .or. &
      & abs(field%max_relative_error) > 0 .or. abs(field%max_absolute_error) > 0)) d%encode = SCDA_ENCODE_ALWAYS
    d%codec = field%codec
    d%level = field%level
    d%max_relative_error = field%max_relative_error
    d%max_absolute_error = field%max_absolute_error
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
    if (size(number, kind=c_size_t) /= n .and. why == "") why = "number: found " // decimal(size(number, kind=int64)) // &
      & " numbers, expected " // decimal(int(n, int64)) // ", one for each patch or cell of this process"
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
