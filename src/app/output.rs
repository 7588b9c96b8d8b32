//! Our output, for as long as somebody reads it. In: bytes of a backup. Out: the same, or an error once nobody has taken any for
//! long: what is being read from the database meanwhile holds it up for everybody else.

use std::{
    fs::File,
    io::{self, Write},
    os::fd::AsFd as _,
    time::Duration,
};

use rustix::{
    event::{PollFd, PollFlags, Timespec, poll},
    io::Errno,
    pipe::PIPE_BUF,
};

/// Whoever reads a backup may stand still this long: to ask for a passphrase, or while a line is down.
const PATIENCE: Duration = Duration::from_secs(5 * 60);

/// A place to write to, and how long it is waited for.
pub(super) struct Output {
    to: File,
    patience: Duration,
    /// What packs the backup writes its end as it is dropped: that would wait as long once more.
    is_given_up: bool,
}

impl Output {
    /// What this process writes to its reader.
    pub(super) fn of_this_process() -> io::Result<Self> {
        Ok(Self {
            to: io::stdout().as_fd().try_clone_to_owned()?.into(),
            patience: PATIENCE,
            is_given_up: false,
        })
    }

    /// Waits until something can be written. Once that was in vain, nothing is any more.
    fn wait(&mut self) -> io::Result<()> {
        if self.is_given_up {
            return Err(self.given_up());
        }
        let patience = Timespec::try_from(self.patience).map_err(io::Error::other)?;
        loop {
            match poll(&mut [PollFd::new(&self.to, PollFlags::OUT)], Some(&patience)) {
                Ok(0) => {
                    self.is_given_up = true;
                    return Err(self.given_up());
                }
                Ok(_) => return Ok(()),
                Err(Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
        }
    }

    fn given_up(&self) -> io::Error {
        let told = format!(
            "the reader of the backup has taken nothing for {} seconds, and while a backup is written the database keeps \
             all that it replaces: write the backup to a file, and transfer that",
            self.patience.as_secs()
        );
        io::Error::new(io::ErrorKind::TimedOut, told)
    }
}

impl Write for Output {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.wait()?;
        // A pipe that takes anything takes this much; a longer write could wait for ever.
        self.to.write(&bytes[..bytes.len().min(PIPE_BUF)])
    }

    fn flush(&mut self) -> io::Result<()> {
        self.to.flush()
    }
}

#[cfg(test)]
mod tests {
    use std::{io::Read as _, os::fd::OwnedFd};

    use super::*;

    fn pipe(patience: Duration) -> (io::PipeReader, Output) {
        let (reader, writer) = io::pipe().expect("a pipe");
        (reader, Output { to: OwnedFd::from(writer).into(), patience, is_given_up: false })
    }

    #[test]
    fn a_reader_that_takes_nothing_is_given_up() {
        let (mut reader, mut output) = pipe(Duration::from_millis(20));
        let given_up = output.write_all(&[7; 1 << 20]).expect_err("nobody reads");
        assert_eq!(given_up.kind(), io::ErrorKind::TimedOut);
        let told = given_up.to_string();
        assert!(told.ends_with("write the backup to a file, and transfer that"), "{told}");
        reader.read_exact(&mut [0; 1 << 15]).expect("there is room again");
        assert!(output.write_all(&[7]).is_err(), "nothing follows on a gap");
    }

    #[test]
    fn a_reader_that_reads_has_all_of_it_and_one_that_is_gone_is_no_wait() {
        let (mut reader, mut output) = pipe(PATIENCE);
        let writing = std::thread::spawn(move || output.write_all(&[7; 1 << 20]));
        let mut read = Vec::new();
        reader.read_to_end(&mut read).expect("read");
        writing.join().expect("no panic").expect("written");
        assert!(read.len() == 1 << 20 && read.iter().all(|byte| *byte == 7));
        let (reader, mut output) = pipe(PATIENCE);
        drop(reader);
        assert_eq!(output.write_all(&[7]).expect_err("gone").kind(), io::ErrorKind::BrokenPipe);
    }
}
