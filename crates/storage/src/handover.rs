//! Lets one rank of a node open a file and hand it to the others, so that a job makes one request to a
//! parallel file system for each node rather than each rank.
//!
//! The ranks of a file know a number that no other job has, and try to bind a Unix socket to an abstract name
//! made from it. The system gives the name to one process of a node, which opens the file; the others connect
//! to it. Once all ranks have synchronized, it sends its descriptor to all that wait. If any of this fails, a
//! rank opens the file itself: containers have separate names, the queue of waiting ranks may be full, and a
//! process may die.
//!
//! The ranks of a node then share one open file: a single lock, and the errors of earlier writes, which the
//! system reports to only one of them.

use super::posix::PosixFile;
use rustix::fd::OwnedFd;
#[cfg(target_os = "linux")]
use socket as system;
use std::hash::{BuildHasher as _, RandomState};

/// A number that no other file being opened has.
pub fn number() -> u64 {
    RandomState::new().hash_one(std::process::id())
}

/// How this rank opens the file.
pub enum Handover {
    /// Only for itself.
    Alone,
    /// For itself and for those that connect to this socket.
    Gives(OwnedFd),
    /// By receiving it from this socket.
    Takes(OwnedFd),
}

impl Handover {
    /// Determines who opens the file with this number for the ranks that pass the same `place`, which differs
    /// between nodes. The ranks must synchronize between this call and [`Self::give`] or [`Self::take`].
    pub fn of(number: u64, place: u64) -> Self {
        system::meet(&format!("scda-{number:016x}-{place:016x}")).unwrap_or(Self::Alone)
    }

    /// Whether another rank opens the file for this one.
    pub fn takes(&self) -> bool {
        matches!(self, Self::Takes(_))
    }

    /// Sends the file, which this rank has opened, to all ranks that wait for it.
    pub fn give(self, file: &PosixFile) {
        if let Self::Gives(listener) = self {
            system::give(&listener, file);
        }
    }

    /// The file that another rank has opened; `None` if it does not arrive.
    pub fn take(self) -> Option<PosixFile> {
        match self {
            Self::Takes(socket) => system::take(&socket).ok().flatten().map(PosixFile::taken),
            Self::Alone | Self::Gives(_) => None,
        }
    }
}

/// Without abstract names, each rank opens the file.
#[cfg(not(target_os = "linux"))]
mod system {
    use super::{Handover, OwnedFd, PosixFile};

    pub fn meet(_: &str) -> Option<Handover> {
        None
    }
    pub fn give(_: &OwnedFd, _: &PosixFile) {}
    pub fn take(_: &OwnedFd) -> rustix::io::Result<Option<OwnedFd>> {
        Ok(None)
    }
}

#[cfg(target_os = "linux")]
mod socket {
    use super::{Handover, OwnedFd, PosixFile};
    use crate::calls::retry;
    use crate::descriptors;
    use rustix::fd::AsFd;
    use rustix::io::{Errno, IoSlice, IoSliceMut, Result};
    use rustix::net::sockopt::{Timeout, set_socket_timeout, socket_peercred};
    use rustix::net::{
        AddressFamily, RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer,
        SendAncillaryMessage, SendFlags, SocketAddrUnix, SocketFlags, SocketType, accept_with, bind, connect,
        listen, recvmsg, sendmsg, socket_with,
    };
    use std::mem::MaybeUninit;
    use std::time::{Duration, Instant};

    /// The most ranks of a node that can wait at the same time, if the system allows it.
    const MOST_WAITING: i32 = 4096;
    /// How long to wait for a descriptor, which is sent at once.
    const PATIENCE: Duration = Duration::from_secs(10);

    /// `None` if this rank cannot take part.
    pub fn meet(name: &str) -> Option<Handover> {
        let address = SocketAddrUnix::new_abstract_name(name.as_bytes()).ok()?;
        let listener = new_socket(SocketFlags::NONBLOCK).ok()?;
        match bind(&listener, &address) {
            Ok(()) => listen(&listener, MOST_WAITING).ok().map(|()| Handover::Gives(listener)),
            Err(Errno::ADDRINUSE) => connected(&address).ok().map(Handover::Takes),
            Err(_) => None,
        }
    }

    fn new_socket(flags: SocketFlags) -> Result<OwnedFd> {
        let flags = flags | SocketFlags::CLOEXEC;
        descriptors::above_standard(socket_with(AddressFamily::UNIX, SocketType::STREAM, flags, None)?)
    }

    fn connected(address: &SocketAddrUnix) -> Result<OwnedFd> {
        let socket = new_socket(SocketFlags::empty())?;
        set_socket_timeout(&socket, Timeout::Recv, Some(PATIENCE))?;
        // No rank leaves the queue before all ranks have synchronized.
        set_socket_timeout(&socket, Timeout::Send, Some(Duration::from_millis(1)))?;
        let began = Instant::now();
        loop {
            match retry(|| connect(&socket, address)) {
                // The rank that has the name is not listening yet.
                Err(Errno::CONNREFUSED) if began.elapsed() < PATIENCE => {
                    std::thread::sleep(Duration::from_micros(100));
                }
                connected => {
                    connected?;
                    return if is_trusted(&socket) { Ok(socket) } else { Err(Errno::PERM) };
                }
            }
        }
    }

    /// Whether the process at the other end belongs to the same user.
    fn is_trusted(socket: impl AsFd) -> bool {
        socket_peercred(socket).is_ok_and(|peer| peer.uid == rustix::process::geteuid())
    }

    pub fn give(listener: &OwnedFd, file: &PosixFile) {
        while let Ok(socket) = retry(|| accept_with(listener, SocketFlags::CLOEXEC))
            && let Ok(socket) = descriptors::above_standard(socket)
        {
            if is_trusted(&socket) {
                // A rank that does not receive it opens the file itself.
                let _ = send(&socket, file);
            }
        }
    }

    fn send(socket: &OwnedFd, file: &PosixFile) -> Result<()> {
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
        let mut message = SendAncillaryBuffer::new(&mut space);
        let files = [file.as_fd()];
        message.push(SendAncillaryMessage::ScmRights(&files));
        retry(|| sendmsg(socket, &[IoSlice::new(&[1])], &mut message, SendFlags::NOSIGNAL)).map(drop)
    }

    /// `None` if the other process sends no file.
    pub fn take(socket: &OwnedFd) -> Result<Option<OwnedFd>> {
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
        let mut message = RecvAncillaryBuffer::new(&mut space);
        retry(|| recvmsg(socket, &mut [IoSliceMut::new(&mut [0])], &mut message, RecvFlags::CMSG_CLOEXEC))?;
        let mut files = message.drain().filter_map(|part| match part {
            RecvAncillaryMessage::ScmRights(files) => Some(files),
            _ => None,
        });
        files.next().and_then(|mut files| files.next()).map(descriptors::above_standard).transpose()
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;
    use crate::ParallelFile;
    use rustix::fs::OFlags;
    use rustix::io::{FdFlags, fcntl_getfd};
    use std::io::{BufRead as _, BufReader};
    use std::process::{Command, Stdio};
    use std::time::{Duration, Instant};

    #[test]
    fn one_rank_of_a_node_opens_the_file_for_all() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("f");
        let number = number();
        let first = Handover::of(number, 1);
        let others: Vec<_> = (0..9).map(|_| Handover::of(number, 1)).collect();
        assert!(!first.takes() && others.iter().all(Handover::takes));
        // Another node, and another file.
        assert!(matches!(Handover::of(number, 2), Handover::Gives(_)));
        assert!(matches!(Handover::of(number ^ 1, 1), Handover::Gives(_)));
        let mut file = PosixFile::open(&path, OFlags::CREATE | OFlags::RDWR).unwrap();
        file.lock().unwrap();
        first.give(&file);
        for other in others {
            let mut taken = other.take().unwrap();
            assert!(fcntl_getfd(&taken).unwrap().contains(FdFlags::CLOEXEC));
            taken.write_at(0, &[b"abc"]).unwrap();
            // The lock remains until the rank that holds it releases it.
            Box::new(taken).close().unwrap();
            let mut second = PosixFile::open(&path, OFlags::RDWR).unwrap();
            assert!(second.lock().is_err());
        }
        assert_eq!(std::fs::read(&path).unwrap(), b"abc");
        Box::new(file).close().unwrap();
    }

    /// Opens a file for its node until it is killed: a process that the test below starts.
    #[test]
    fn a_process_that_opens_the_file() {
        if let Ok(number) = std::env::var("SCDA_NUMBER") {
            let first = Handover::of(number.parse().unwrap(), 0);
            eprintln!("{}", if first.takes() { "takes" } else { "opens" });
            std::thread::sleep(Duration::from_secs(60));
        }
    }

    #[test]
    fn when_the_process_that_opens_the_file_is_killed_the_others_do_not_wait() {
        let number = number();
        let mut first = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "handover::tests::a_process_that_opens_the_file", "--nocapture"])
            .env("SCDA_NUMBER", number.to_string())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = String::new();
        BufReader::new(first.stderr.take().unwrap()).read_line(&mut line).unwrap();
        assert_eq!(line, "opens\n");
        let others: Vec<_> = (0..3).map(|_| Handover::of(number, 0)).collect();
        assert!(others.iter().all(Handover::takes));
        let waiting: Vec<_> =
            others.into_iter().map(|other| std::thread::spawn(|| other.take().is_none())).collect();
        let began = Instant::now();
        first.kill().unwrap();
        first.wait().unwrap();
        assert!(waiting.into_iter().all(|other| other.join().unwrap()));
        assert!(began.elapsed() < Duration::from_secs(5));
        // Another rank may then open it for the node. A rank that cannot open it sends nothing.
        assert!(!Handover::of(number, 0).takes());
        assert!(Handover::Alone.take().is_none());
    }
}
