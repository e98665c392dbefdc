//! Children that die in the middle of a call. `attack_deaths COUNT PORT`: each child opens, execs,
//! connects or waits at a FIFO in a loop, and is killed after a moment of random length.
#![allow(unsafe_code, missing_docs, clippy::expect_used)]

/// A small generator: the point of death only has to vary.
struct Chance(u64);

impl Chance {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963);
        (self.0 >> 33) % limit
    }
}

/// The child: one kind of call again and again, until it is killed.
fn suffer(kind: u64, port: u16) -> ! {
    let address = libc::sockaddr_in {
        sin_family: libc::AF_INET as u16,
        sin_port: port.to_be(),
        sin_addr: libc::in_addr { s_addr: u32::from_ne_bytes([127, 0, 0, 1]) },
        sin_zero: [0; 8],
    };
    loop {
        // SAFETY: strings end in NUL, the address has its size, descriptors are our own.
        unsafe {
            match kind {
                0 => drop(libc::close(libc::open(c"/etc/hostname".as_ptr(), libc::O_RDONLY))),
                1 => {
                    let argv = [c"sleep".as_ptr(), c"5".as_ptr(), std::ptr::null()];
                    libc::execv(c"/bin/sleep".as_ptr(), argv.as_ptr());
                }
                2 => {
                    let fd = libc::socket(libc::AF_INET, libc::SOCK_STREAM, 0);
                    libc::connect(fd, (&raw const address).cast(), 16);
                    libc::close(fd);
                }
                3 => drop(libc::open(c"fifo".as_ptr(), libc::O_RDONLY)),
                _ => {
                    let name = c"name".as_ptr();
                    libc::mkdir(name, 0o777);
                    libc::rmdir(name);
                }
            }
        }
    }
}

fn main() {
    let arguments: Vec<u64> = std::env::args().skip(1).filter_map(|w| w.parse().ok()).collect();
    let mut chance = Chance(u64::from(std::process::id()));
    let mut alive = std::collections::VecDeque::new();
    // SAFETY: the string ends in NUL.
    unsafe { libc::mkfifo(c"fifo".as_ptr(), 0o666) };
    for index in 0..arguments[0] {
        // SAFETY: this process has one thread, so its copy may do anything.
        let pid = unsafe { libc::fork() };
        if pid == 0 {
            suffer(index % 5, arguments[1] as u16);
        }
        alive.push_back(pid);
        std::thread::sleep(std::time::Duration::from_micros(chance.below(1500)));
        if alive.len() > 8 {
            let pid = alive.remove(chance.below(8) as usize).expect("there are eight");
            end(pid);
        }
    }
    alive.into_iter().for_each(end);
    println!("killed {}", arguments[0]);
}

fn end(pid: i32) {
    // SAFETY: a child of ours, not yet reaped.
    unsafe {
        libc::kill(pid, libc::SIGKILL);
        libc::waitpid(pid, std::ptr::null_mut(), 0);
    }
}
