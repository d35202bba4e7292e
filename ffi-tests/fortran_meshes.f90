! fortran_meshes.f90: the module scda_meshes, what the example examples/fortran/meshes.f90 does not do: fortran_meshes FOLDER. What is
! wrong on one rank is an error of all, in the same words; shares of one's own; particles without cells, and by numbers; components.
program fortran_meshes
  use, intrinsic :: iso_c_binding, only: c_double, c_int64_t, c_loc, c_sizeof
  use, intrinsic :: iso_fortran_env, only: error_unit, int64, real32, real64
  use mpi
  use scda
  use scda_meshes
  implicit none
  type, bind(C) :: ion_t
    real(c_double) :: mass
    integer(c_int64_t) :: charge
  end type ion_t
  integer :: rank, ranks, err, failures = 0
  character(1024) :: folder = "."
  character(:), allocatable :: path

  call MPI_Init(err)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, err)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks, err)
  call get_command_argument(1, folder)
  path = trim(folder) // "/fortran-" // achar(iachar("0") + ranks) // ".scda"
  call round_trip()
  call copied()
  call structs()
  call refusals()
  call MPI_Allreduce(MPI_IN_PLACE, failures, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, err)
  call MPI_Finalize(err)
  if (failures /= 0) error stop "fortran_meshes: failed"

contains

  subroutine check(is_right, what)
    logical, intent(in) :: is_right
    character(*), intent(in) :: what
    if (is_right) return
    failures = failures + 1
    write (error_unit, '("rank ", i0, ": ", a)') rank, what
  end subroutine check

  ! The next call fails with this code, and these words.
  subroutine expect(ierr, code, words)
    integer, intent(in) :: ierr, code
    character(*), intent(in) :: words
    if (ierr == code .and. index(scda_last_error_message(), words) > 0) return
    failures = failures + 1
    write (error_unit, '("rank ", i0, ": expected ", a, ", found ", i0, ": ", a)') rank, words, ierr, scda_last_error_message()
  end subroutine expect

  ! Each rank has a patch of 2 x 1 cells, in the order of the ranks.
  subroutine make(mesh)
    type(scda_patches_t), intent(inout) :: mesh
    mesh%dimension = 2
    mesh%ratio = reshape([1, 1], [2, 1])
    mesh%domain = reshape([0_int64, 0_int64, 2_int64, int(ranks, int64)], [2, 2])
    mesh%geometry = reshape([0d0, 0d0, 1d0, 1d0], [2, 2])
    mesh%level = [0]
    mesh%boxes = reshape([0_int64, int(rank, int64), 2_int64, 1_int64], [2, 2, 1])
  end subroutine make

  subroutine round_trip()
    type(scda_fcontext_t) :: f
    type(scda_patches_t) :: mesh
    type(scda_particles_t) :: p
    type(scda_mesh_field_t) :: fields(1)
    real(real32), target :: u(2, 4, 3), every(2, 2, 8) ! with ghost cells; without, of all ranks
    real(real64), allocatable, target :: x(:)
    integer(int64) :: steps, i, q, at
    integer :: m
    u = -1
    u(1, 2:3, 2) = rank
    u(2, 2:3, 2) = [0.0, 1.0]
    call make(mesh)
    call scda_fopen_write(f, MPI_COMM_WORLD, path, "fortran_meshes")
    call scda_patches_write_mesh(f, mesh, group="blocks")
    call check(mesh%patches == ranks .and. mesh%cells == 2 * ranks .and. mesh%first == rank, "numbers of the mesh that was written")
    fields(1)%name = "u"
    fields(1)%type = SCDA_TYPE_FLOAT32
    fields(1)%components = 2
    fields(1)%ghost = 1
    fields(1)%data = [c_loc(u)]
    call scda_patches_write_fields(f, mesh, fields, group="blocks")
    p%n = mod(rank, 3)
    allocate(x(p%n))
    x = rank
    call describe(fields(1), x)
    fields(1)%attributes = '{"units": "m"}'
    call scda_particles_write(f, p)
    call scda_particles_write_fields(f, p, fields)
    p%counts = [int(rank + 1, int64)]
    p%number = [int(ranks - 1 - rank, int64)] ! the last rank has the first cell
    p%mesh = "blocks"
    deallocate(x)
    allocate(x(rank + 1))
    x = rank
    call describe(fields(1), x)
    call scda_particles_write(f, p, group="numbered")
    call scda_particles_write_fields(f, p, fields, group="numbered")
    call scda_fclose(f)
    call scda_patches_free(mesh)

    call scda_fopen_read(f, MPI_COMM_WORLD, path)
    call scda_forest_steps(f, "blocks", steps)
    call scda_patches_read_mesh(f, mesh, step=0, group="blocks")
    call check(steps == 1 .and. mesh%dimension == 2 .and. mesh%patches == ranks .and. size(mesh%all_level) == ranks, "the mesh")
    mesh%number = [(int(ranks - m, int64), m = 1, ranks)] ! all on each rank, the last one first
    every = -1
    call free_field(fields(1))
    fields(1)%name = "u"
    fields(1)%type = SCDA_TYPE_FLOAT32
    fields(1)%components = 2
    fields(1)%data = [(c_loc(every(1, 1, m)), m = 1, ranks)]
    call scda_patches_read_fields(f, mesh, fields, group="blocks")
    do m = 1, ranks
      call check(all(abs(every(1, :, m) - (ranks - m)) <= 0) .and. abs(every(2, 2, m) - 1) <= 0, "a patch")
    end do
    call scda_particles_read(f, p)
    deallocate(x)
    allocate(x(p%n))
    call describe(fields(1), x)
    call scda_particles_read_fields(f, p, fields)
    at = 0
    do q = 0, ranks - 1
      do i = 1, mod(q, 3_int64)
        if (at >= p%first .and. at < p%first + p%n) call check(nint(x(at - p%first + 1)) == q, "a particle")
        at = at + 1
      end do
    end do
    call check(at == p%particles, "the number of particles")
    ! Those of the cells 0 and ranks - 1 on all ranks.
    call scda_particles_read(f, p, number=[int(ranks - 1, int64), 0_int64], group="numbered")
    call check(all(p%counts == [1, ranks]) .and. p%n == 1 + ranks, "the counts of cells by numbers")
    deallocate(x)
    allocate(x(p%n))
    call describe(fields(1), x)
    call scda_particles_read_fields(f, p, fields, group="numbered")
    call check(nint(x(1)) == 0 .and. all(nint(x(2:)) == ranks - 1), "particles by numbers")
    call scda_fclose(f)
    call scda_patches_free(mesh)
    call scda_particles_free(p)
  end subroutine round_trip

  ! A mesh and particles, and what was passed with them, go when there is a copy; numbers go before fields are read or written.
  subroutine copied()
    type(scda_fcontext_t) :: f
    type(scda_patches_t), allocatable :: mesh
    type(scda_patches_t) :: same
    type(scda_particles_t), allocatable :: p
    type(scda_particles_t) :: same_p
    type(scda_mesh_field_t) :: fields(1), columns(1)
    real(real64), target :: u(2), x(1), all(2, 8)
    integer :: i
    u = rank
    x = rank
    fields(1)%name = "u"
    fields(1)%data = [c_loc(u)]
    columns(1)%name = "x"
    columns(1)%data = [c_loc(x)]
    allocate(mesh, p)
    call make(mesh)
    p%counts = [1_int64]
    p%number = [int(ranks - 1 - rank, int64)]
    call scda_fopen_write(f, MPI_COMM_WORLD, path, "copied")
    call scda_patches_write_mesh(f, mesh)
    same = mesh
    deallocate(mesh)
    call scda_patches_write_fields(f, same, fields)
    call scda_particles_write(f, p)
    same_p = p
    deallocate(p)
    call scda_particles_write_fields(f, same_p, columns)
    call scda_fclose(f)

    call scda_fopen_read(f, MPI_COMM_WORLD, path)
    call scda_patches_free(same)
    call scda_patches_read_mesh(f, same)
    same%number = [(int(i, int64), i = 0, ranks - 1)]
    fields(1)%data = [(c_loc(all(1, i)), i = 1, ranks)]
    all = -1
    call scda_patches_read_fields(f, same, fields)
    do i = 1, ranks
      call check(nint(all(1, i)) == i - 1 .and. nint(all(2, i)) == i - 1, "patches of a copy")
    end do
    deallocate(same%number) ! the share again
    fields(1)%data = [(c_loc(all(1, i)), i = 1, size(same%level))]
    all = -1
    call scda_patches_read_fields(f, same, fields)
    do i = 1, size(same%level)
      call check(nint(all(1, i)) == same%first + i - 1, "patches of the share")
    end do
    call scda_particles_free(same_p)
    allocate(p)
    call scda_particles_read(f, p, number=[int(rank, int64)])
    same_p = p
    deallocate(p)
    x = -1
    call scda_particles_read_fields(f, same_p, columns)
    call check(nint(x(1)) == ranks - 1 - rank, "particles of a copy")
    call scda_fclose(f)
    call scda_patches_free(same)
    call scda_particles_free(same_p)
  end subroutine copied

  ! Several fields of structs in one call.
  subroutine structs()
    type(scda_fcontext_t) :: f
    type(scda_particles_t) :: p
    type(scda_mesh_field_t) :: fields(2)
    type(ion_t), target :: ions(2, 2), again(2, 2)
    integer :: i
    ions%mass = reshape([0.5d0, 1.5d0, 2.5d0, 3.5d0], [2, 2])
    ions%charge = reshape([1_int64, 2_int64, 3_int64, int(rank, int64)], [2, 2])
    do i = 1, 2
      fields(i)%name = "ions" // achar(iachar("0") + i)
      fields(i)%members = [scda_member("mass", SCDA_TYPE_FLOAT64, c_loc(ions(1, i)), c_loc(ions(1, i)%mass)), &
        & scda_member("charge", SCDA_TYPE_INT64, c_loc(ions(1, i)), c_loc(ions(1, i)%charge))]
      fields(i)%item_bytes = c_sizeof(ions(1, i))
      fields(i)%data = [c_loc(ions(1, i))]
    end do
    p%n = 2
    call scda_fopen_write(f, MPI_COMM_WORLD, path, "structs")
    call scda_particles_write(f, p)
    call scda_particles_write_fields(f, p, fields)
    call scda_fclose(f)
    call scda_fopen_read(f, MPI_COMM_WORLD, path)
    call scda_particles_read(f, p)
    again%charge = -1
    do i = 1, 2
      fields(i)%data = [c_loc(again(1, i))]
    end do
    call scda_particles_read_fields(f, p, fields)
    call scda_fclose(f)
    call check(all(again%charge == ions%charge) .and. all(abs(again%mass - ions%mass) <= 0), "structs of particles")
    call scda_particles_free(p)
  end subroutine structs

  ! A field of particles that is a column.
  subroutine describe(field, x)
    type(scda_mesh_field_t), intent(out) :: field
    real(real64), intent(in), target, contiguous :: x(:)
    field%name = "x"
    field%data = [c_loc(x)]
  end subroutine describe

  subroutine free_field(field)
    type(scda_mesh_field_t), intent(out) :: field
    field%components = 1
  end subroutine free_field

  subroutine refusals()
    type(scda_fcontext_t) :: f
    type(scda_patches_t) :: mesh
    type(scda_mesh_field_t) :: fields(1)
    real(real64), target :: x(2) = 0
    integer :: ierr
    integer(int64) :: steps
    fields(1)%name = "x"
    call make(mesh)
    if (rank == ranks - 1) mesh%boxes = reshape([0_int64, 0_int64], [2, 1, 1])
    call scda_fopen_write(f, MPI_COMM_WORLD, path, "refused")
    call scda_patches_write_mesh(f, mesh, ierr=ierr)
    call expect(ierr, SCDA_ERR_ARG, "expected level(n) and boxes(d, 2, n) for n = ")
    call scda_patches_write_mesh(f, mesh, ierr=ierr)
    call check(ierr == SCDA_ERR_ARG .or. ierr == SCDA_ERR_USAGE, "a mesh in a file that is closed")

    call make(mesh)
    if (rank == ranks - 1) mesh%number = [0_int64, 1_int64]
    call scda_fopen_write(f, MPI_COMM_WORLD, path, "refused")
    call scda_patches_write_mesh(f, mesh, ierr=ierr)
    call expect(ierr, SCDA_ERR_ARG, "number: found 2 numbers, expected 1, one for each patch")
    call scda_patches_free(mesh)

    call make(mesh)
    call scda_fopen_write(f, MPI_COMM_WORLD, path, "refused")
    call scda_patches_write_mesh(f, mesh)
    if (rank < ranks - 1) fields(1)%data = [c_loc(x)]
    call scda_patches_write_fields(f, mesh, fields, ierr=ierr)
    call expect(ierr, SCDA_ERR_ARG, "addresses, expected 1, one for each patch")
    call scda_patches_free(mesh)

    call scda_forest_steps(f, "particles", steps, ierr)
    call check(ierr /= SCDA_SUCCESS, "steps of a file that is closed")
  end subroutine refusals
end program fortran_meshes
