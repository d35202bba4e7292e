//! The floating-point environment of the program: its rounding mode, the exceptions it traps, and whether it
//! flushes subnormal numbers to zero. Compilers assume the default environment, and so do the crates that
//! compute with numbers.

use std::hint::black_box;

/// Does work in the default floating-point environment, in which nothing traps, and gives the program's back as it was, with its
/// exception flags: what the work raises does not show.
///
/// All that computes with floating-point numbers, compares them, parses or prints them is done in here. To copy them needs no
/// environment.
pub fn in_default<T>(work: impl FnOnce() -> T) -> T {
    let (mut work, mut result) = (Some(work), None);
    let mut run = || result = work.take().map(|work| work());
    let theirs = Environment::replace();
    // By an address that the compiler does not know: it moves computations, which for it have no effect but their result, over anything
    // else that it sees through.
    black_box(&mut run as &mut dyn FnMut())();
    drop(theirs);
    let Some(result) = result else { unreachable!("the work was done") };
    result
}

/// The environment of the program, which comes back when this is dropped.
struct Environment(platform::Environment);

impl Environment {
    fn replace() -> Self {
        Self(platform::replace())
    }
}

impl Drop for Environment {
    fn drop(&mut self) {
        platform::restore(&self.0);
    }
}

/// MXCSR. The x87 unit, which has a control word of its own, is for `long double`, with which nothing here computes.
#[cfg(all(any(target_arch = "x86_64", all(target_arch = "x86", target_feature = "sse2")), not(miri)))]
#[allow(unsafe_code)]
mod platform {
    use std::arch::asm;

    pub type Environment = u32;

    /// Rounds to nearest, traps nothing, flushes nothing.
    const DEFAULT: u32 = 0x1f80;
    /// The exceptions that were raised.
    const FLAGS: u32 = 0x3f;

    pub fn replace() -> Environment {
        let found = get();
        if found & !FLAGS != DEFAULT {
            set(DEFAULT);
        }
        found
    }

    pub fn restore(environment: &Environment) {
        // To load the register takes longer than to compare it.
        if get() != *environment {
            set(*environment);
        }
    }

    pub fn get() -> u32 {
        let mut found = 0_u32;
        // SAFETY: stores the register in this variable.
        unsafe { asm!("stmxcsr [{}]", in(reg) &raw mut found, options(nostack, preserves_flags)) };
        found
    }

    pub fn set(value: u32) {
        // SAFETY: the value is the default, or one that the register had; so it has no bit that the processor does not know.
        unsafe { asm!("ldmxcsr [{}]", in(reg) &raw const value, options(nostack, readonly)) };
    }
}

/// FPCR, whose default is 0, and FPSR with the flags.
#[cfg(all(target_arch = "aarch64", not(miri)))]
#[allow(unsafe_code)]
mod platform {
    use std::arch::asm;

    pub type Environment = (u64, u64);

    /// Rounds to nearest, traps nothing, flushes nothing.
    const DEFAULT: u64 = 0;

    pub fn replace() -> Environment {
        let found = get();
        if found.0 != DEFAULT {
            set((DEFAULT, found.1));
        }
        found
    }

    pub fn restore(environment: &Environment) {
        if get() != *environment {
            set(*environment);
        }
    }

    pub fn get() -> Environment {
        let (control, status);
        // SAFETY: reads a register.
        unsafe { asm!("mrs {}, fpcr", out(reg) control, options(nostack, preserves_flags)) };
        // SAFETY: reads a register.
        unsafe { asm!("mrs {}, fpsr", out(reg) status, options(nostack, preserves_flags)) };
        (control, status)
    }

    pub fn set((control, status): Environment) {
        // SAFETY: the value is the default, or one that the register had.
        unsafe { asm!("msr fpcr, {}", in(reg) control, options(nostack)) };
        // SAFETY: the register had this value.
        unsafe { asm!("msr fpsr, {}", in(reg) status, options(nostack)) };
    }
}

/// By the C library, which does not know of modes beyond those of C, such as flushing on ARM with 32 bits.
#[cfg(not(any(
    target_arch = "x86_64",
    all(target_arch = "x86", target_feature = "sse2"),
    target_arch = "aarch64",
    miri
)))]
#[allow(unsafe_code)]
mod platform {
    use std::ffi::c_int;

    /// As `fenv_t`, which takes fewer bytes on every system.
    pub type Environment = [u64; 32];

    /// To the nearest: 0 on all systems that Rust has.
    const FE_TONEAREST: c_int = 0;

    unsafe extern "C" {
        fn feholdexcept(environment: *mut Environment) -> c_int;
        fn fesetround(mode: c_int) -> c_int;
        fn fesetenv(environment: *const Environment) -> c_int;
    }

    pub fn replace() -> Environment {
        let mut found = [0; 32];
        // SAFETY: the variable has room for what is stored there.
        unsafe { feholdexcept(&raw mut found) };
        // SAFETY: every mode may be set.
        unsafe { fesetround(FE_TONEAREST) };
        found
    }

    pub fn restore(environment: &Environment) {
        // SAFETY: `feholdexcept` stored it.
        unsafe { fesetenv(environment) };
    }
}

/// Miri has the default environment alone.
#[cfg(miri)]
mod platform {
    pub type Environment = ();

    pub fn replace() {}

    pub fn restore(_: &Environment) {}
}

#[cfg(all(test, target_arch = "x86_64", not(miri)))]
mod tests {
    use super::*;

    /// The modes of a program: rounding up, down, to zero; denormal numbers are zero and become zero; every exception traps.
    const MODES: [u32; 5] = [0x5f80, 0x3f80, 0x7f80, 0x9fc0, 0x0000];

    /// Runs a test in a mode, and the default one after it.
    fn in_mode<T>(mode: u32, work: impl FnOnce() -> T) -> T {
        let _mine = Environment::replace();
        platform::set(mode);
        let result = work();
        platform::set(0x1f80);
        result
    }

    /// What depends on the mode, and raises most exceptions.
    fn compute() -> [u64; 6] {
        let [tenth, tiny, zero, huge] = black_box([0.1_f64, 1e-310, 0.0, 1e308]);
        [tenth * 3.0, tiny * 2.0, tiny / 3.0, zero / black_box(zero), tenth / zero, huge * huge]
            .map(f64::to_bits)
    }

    #[test]
    fn the_work_has_the_default_environment_and_the_program_keeps_its_own() {
        let expected = compute();
        for mode in MODES {
            // An exception that the program raised stays to be seen.
            for flags in [0, 0x04, 0x3f] {
                let (found, after) = in_mode(mode | flags, || (in_default(compute), platform::get()));
                assert_eq!(found, expected, "{mode:x}");
                assert_eq!(after, mode | flags, "{mode:x}");
            }
        }
        // Without the guard, the modes are seen: this test can fail.
        for mode in &MODES[..4] {
            assert_ne!(in_mode(*mode, compute), expected, "{mode:x}");
        }
    }

    #[test]
    fn what_raises_exceptions_does_not_show() {
        let after = in_mode(0x1f80, || {
            in_default(compute);
            platform::get()
        });
        assert_eq!(after, 0x1f80);
    }

    #[test]
    fn a_panic_leaves_the_environment_of_the_program() {
        let after = in_mode(0x5f80, || {
            let caught =
                std::panic::catch_unwind(|| in_default(|| -> u8 { std::panic::resume_unwind(Box::new(7)) }));
            assert!(caught.is_err());
            platform::get()
        });
        assert_eq!(after, 0x5f80);
    }

    #[test]
    fn guards_within_guards_do_nothing() {
        let expected = compute();
        for mode in MODES {
            let found = in_mode(mode, || in_default(|| (in_default(compute), compute())));
            assert_eq!(found, (expected, expected));
        }
    }
}
