! What scda_request takes as data: the lines that say so are refused by the compiler, and no others. It is not run.
program fortran_requests
  use scda
  implicit none
  type :: pair_t
    real :: left = 0, right = 0
  end type pair_t
  type :: fields_t
    real :: rho(3, 4) = 0
    type(pair_t) :: pairs(3)
    real, pointer :: any(:)
    real, pointer, contiguous :: dense(:)
  end type fields_t
  type(scda_request_t) :: r
  real, target :: x(3, 4)
  real :: plain(3)
  real, allocatable, target :: a(:)
  real, pointer :: any(:)
  real, pointer, contiguous :: dense(:)
  complex, target :: c(3)
  type(fields_t), target :: f(2)
  integer :: i(2) = [1, 3]

  r = scda_request("d", x)
  r = scda_request("d", x(:, 2))
  r = scda_request("d", x(:, 2:3))
  r = scda_request("d", x(i(1):i(2), 2))
  r = scda_request("d", a)
  r = scda_request("d", dense)
  r = scda_request("d", f(2)%rho)
  r = scda_request("d", f(1)%dense)
  r = scda_request("d", c, start=[1], count=[3])

  r = scda_request("d", plain)               ! refused: no target
  r = scda_request("d", [1.0, 2.0])          ! refused: expressions
  r = scda_request("d", x + 1)               ! refused
  r = scda_request("d", (x))                 ! refused
  r = scda_request("d", transpose(x))        ! refused
  r = scda_request("d", x(2, :))             ! refused: not contiguous
  r = scda_request("d", x(::2, :))           ! refused
  r = scda_request("d", x(1:2, :))           ! refused
  r = scda_request("d", a(3:1:-1))           ! refused
  r = scda_request("d", x(i, 1))             ! refused: indices in an array
  r = scda_request("d", any)                 ! refused: not known to be contiguous
  r = scda_request("d", f(1)%any)            ! refused
  r = scda_request("d", f(1)%pairs%left)     ! refused: parts of items
  r = scda_request("d", c%re)                ! refused
  r = scda_request("d", "text")              ! refused: no such datasets
contains
  subroutine takes(assumed, dense_one)
    real, target, intent(inout) :: assumed(:)
    real, target, contiguous, intent(inout) :: dense_one(:)
    r = scda_request("d", dense_one)
    r = scda_request("d", assumed)           ! refused
  end subroutine takes
end program fortran_requests
