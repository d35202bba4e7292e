! meshes.f90: a block-structured mesh with ghost cells, and particles in its patches; any number of processes writes them, and any
! other number goes on from them. examples/c/meshes.cpp writes the same bytes.
!
! Compile:  mpif90 -c $(pkg-config --variable=fortran scda) $(pkg-config --variable=includedir scda)/scda_meshes.F90
!           mpif90 meshes.f90 scda.o scda_meshes.o -o meshes $(pkg-config --libs scda)
! Run:      mpirun -n 4 ./meshes write meshes.scda
!           mpirun -n 3 ./meshes restart meshes.scda
program meshes
  use, intrinsic :: iso_c_binding, only: c_double, c_float, c_int64_t, c_loc, c_sizeof
  use, intrinsic :: iso_fortran_env, only: error_unit, int32, int64, real64
  use mpi_f08
  use scda
  use scda_meshes
  implicit none

  integer, parameter :: cells = 8, ghost = 2, w = cells + 2 * ghost, most = 14
  type, bind(C) :: tracer_t
    real(c_double) :: position(3)
    real(c_float) :: mass
    integer(c_int64_t) :: id
  end type tracer_t

  ! The patches of this process in memory: two variables of each cell side by side, with ghost cells around them.
  real(real64), target :: u(2, w, w, w, most)
  type(tracer_t), allocatable, target :: tracers(:)
  integer :: rank, ranks
  character(256) :: mode = "", filename = ""

  call MPI_Init()
  call MPI_Comm_rank(MPI_COMM_WORLD, rank)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks)
  call get_command_argument(1, mode)
  call get_command_argument(2, filename)
  if (mode == "write") then
    call write_steps()
  else if (mode == "restart") then
    call restart()
  else if (rank == 0) then
    write (error_unit, '("usage: meshes write|restart FILE")')
  end if
  call MPI_Finalize()

contains

  subroutine write_steps()
    type(scda_fcontext_t) :: f
    type(scda_patches_t) :: mesh
    type(scda_particles_t) :: p
    type(scda_mesh_field_t) :: fields(2), atoms(1)
    integer(int32), allocatable :: level(:)
    integer(int64), allocatable :: boxes(:, :, :)
    integer :: step, i, m, next
    call scda_fopen_write(f, MPI_COMM_WORLD, filename, "meshes")
    do step = 0, 2
      call make_mesh(step, level, boxes)
      mesh%dimension = 3
      mesh%ratio = reshape([1, 1, 1, 4, 4, 4], [3, 2])
      mesh%domain = reshape([0_int64, 0_int64, 0_int64, 16_int64, 16_int64, 16_int64], [3, 2])
      mesh%geometry = reshape([0d0, 0d0, 0d0, 0.125d0, 0.125d0, 0.125d0], [3, 2])
      mesh%number = [(int(i, int64), i = rank, size(level) - 1, ranks)] ! dealt to the processes in turn, from 0
      mesh%level = level(mesh%number + 1)
      mesh%boxes = boxes(:, :, mesh%number + 1)
      p%counts = [(count_of(mesh%number(m), step), m = 1, size(mesh%number))]
      p%number = mesh%number
      p%mesh = "patches"
      allocate(tracers(sum(p%counts)))
      next = 0
      do m = 1, size(mesh%number)
        call visit(m, step, mesh%level(m), mesh%boxes(:, :, m), .true.)
        do i = 0, int(p%counts(m)) - 1
          next = next + 1
          tracers(next) = tracer(mesh%number(m), i, step, mesh%boxes(:, :, m), mesh%level(m))
        end do
      end do
      call scda_forest_write_time(f, "patches", 0.5d0 * step, "s")
      call scda_patches_write_mesh(f, mesh)
      call describe_fields(fields)
      call scda_patches_write_fields(f, mesh, fields)
      call scda_particles_write(f, p) ! in the same time step, which is that of the mesh
      call describe_tracers(atoms(1))
      call scda_particles_write_fields(f, p, atoms)
      deallocate(tracers)
    end do
    call scda_fclose(f)
    call scda_patches_free(mesh)
    call scda_particles_free(p)
  end subroutine write_steps

  subroutine restart()
    type(scda_fcontext_t) :: f
    type(scda_patches_t) :: mesh
    type(scda_particles_t) :: p
    type(scda_mesh_field_t) :: fields(2), atoms(1)
    type(tracer_t) :: t
    integer(int64) :: steps
    real(real64) :: time
    integer :: m, i, next, step
    logical :: is_right, found
    call scda_fopen_read(f, MPI_COMM_WORLD, filename)
    call scda_forest_steps(f, "patches", steps)
    call scda_forest_read_time(f, "patches", time)
    call scda_forest_find_field(f, "patches", "rho", found)
    if (.not. found) error stop "meshes: an older file, without rho"
    call scda_patches_read_mesh(f, mesh)
    if (size(mesh%level) > most) error stop "meshes: more patches than there is memory for"
    call describe_fields(fields)
    call scda_patches_read_fields(f, mesh, fields)
    call scda_particles_read(f, p, cells=size(mesh%level, kind=int64)) ! those in the patches of this process
    allocate(tracers(p%n))
    call describe_tracers(atoms(1))
    call scda_particles_read_fields(f, p, atoms)
    call scda_fclose(f)

    step = int(steps) - 1
    is_right = .true.
    next = 0
    do m = 1, size(mesh%level)
      call visit(m, step, mesh%level(m), mesh%boxes(:, :, m), .false., is_right)
      is_right = is_right .and. p%counts(m) == count_of(mesh%first + m - 1, step)
      do i = 0, int(p%counts(m)) - 1
        next = next + 1
        t = tracer(mesh%first + m - 1, i, step, mesh%boxes(:, :, m), mesh%level(m))
        is_right = is_right .and. tracers(next)%id == t%id .and. all(abs(tracers(next)%position - t%position) <= 0) &
          & .and. abs(tracers(next)%mass - t%mass) <= 0
      end do
    end do
    if (.not. is_right) error stop "meshes: values differ from those written"
    call MPI_Barrier(MPI_COMM_WORLD)
    if (rank == 0) then
      print '("time ", f3.1, " s: ", i0, " patches, ", i0, " particles, 0 values wrong")', time, mesh%patches, p%particles
    end if
    call scda_patches_free(mesh)
    call scda_particles_free(p)
  end subroutine restart

  ! The fields, as they lie in u. (Functions with such results are wrong in gfortran 12.)
  subroutine describe_fields(fields)
    type(scda_mesh_field_t), intent(out) :: fields(2)
    integer :: v
    do v = 1, 2
      fields(v)%data = [c_loc(u(v, 1, 1, 1, 1))]
      fields(v)%ghost = ghost
      fields(v)%cell_bytes = 2 * 8
      fields(v)%patch_bytes = 2 * w**3 * 8
    end do
    fields(1)%name = "rho"
    fields(1)%attributes = scda_json("units", "kg m-3")
    fields(2)%name = "p"
    fields(2)%encode = SCDA_ENCODE_ALWAYS
  end subroutine describe_fields

  subroutine describe_tracers(field)
    type(scda_mesh_field_t), intent(out) :: field
    type(tracer_t), target :: t
    field%name = "tracer"
    field%data = [c_loc(tracers)]
    field%item_bytes = c_sizeof(t)
    allocate(field%members(3))
    field%members(1) = scda_member("position", t, t%position)
    field%members(2) = scda_member("mass", t, t%mass)
    field%members(3) = scda_member("id", t, t%id)
  end subroutine describe_tracers

  ! The mesh of a step: 8 blocks of level 0, and on a level that is finer by 4, as many as the step says.
  subroutine make_mesh(step, level, boxes)
    integer, intent(in) :: step
    integer(int32), allocatable, intent(out) :: level(:)
    integer(int64), allocatable, intent(out) :: boxes(:, :, :)
    integer :: n, p, a
    n = 8 + 2 * (step + 1)
    allocate(boxes(3, 2, n))
    level = [(merge(0, 1, p <= 8), p = 1, n)]
    boxes(:, 2, :) = cells
    do p = 1, n
      boxes(:, 1, p) = [(cells * merge(1, 4, p <= 8) * ibits(merge(p - 1, p - 9, p <= 8), a, 1), a = 0, 2)]
    end do
  end subroutine make_mesh

  ! What the code computes: of each cell of each level another value. Sets or compares patch m in memory.
  subroutine visit(m, step, level, box, is_set, is_right)
    integer, intent(in) :: m, step
    integer(int32), intent(in) :: level
    integer(int64), intent(in) :: box(3, 2)
    logical, intent(in) :: is_set
    logical, intent(inout), optional :: is_right
    real(real64) :: x
    integer :: i, j, k
    do k = 1, cells
      do j = 1, cells
        do i = 1, cells
          x = 0.5d0 * step + level + (box(1, 1) + i - 1 + 100 * (box(2, 1) + j - 1) + 10000 * (box(3, 1) + k - 1)) / 1048576d0
          if (is_set) u(:, ghost + i, ghost + j, ghost + k, m) = [x, -x]
          if (present(is_right)) is_right = is_right .and. all(abs(u(:, ghost + i, ghost + j, ghost + k, m) - [x, -x]) <= 0)
        end do
      end do
    end do
  end subroutine visit

  ! The number of particles of a patch, and one of them, from 0.
  pure integer(int64) function count_of(number, step)
    integer(int64), intent(in) :: number
    integer, intent(in) :: step
    count_of = mod(number, 3_int64) + step
  end function count_of

  function tracer(number, i, step, box, level) result(t)
    integer(int64), intent(in) :: number, box(3, 2)
    integer, intent(in) :: i, step
    integer(int32), intent(in) :: level
    type(tracer_t) :: t
    t%position = (box(:, 1) + 0.25d0 * (i + 1)) * 0.125d0 / merge(1, 4, level == 0)
    t%mass = 1.5 + i
    t%id = 1000 * number + 10 * step + i
  end function tracer
end program meshes
