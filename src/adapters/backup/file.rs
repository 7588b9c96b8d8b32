//! The file of a backup: written a line at a time, and read back only as far as it is as it was written.

use std::{
    collections::BTreeMap,
    io::{self, BufRead as _, BufReader, Read as _, Write},
};

use flate2::{Compression, read::MultiGzDecoder, write::GzEncoder};
use serde::{Serialize, de::IgnoredAny};
use sha2::{Digest as _, Sha256};

use super::{
    Error,
    head::{FORMAT, Head, Opening, Trailer},
};

/// Longest line: the largest row is a file that a person sends, of at most 16 MiB, two digits a byte.
const LINE_MAX: u64 = 64 * 1024 * 1024;

/// How much was written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Saved {
    /// Rows by table.
    pub rows: BTreeMap<String, u64>,
    /// Bytes before they were packed.
    pub plain_bytes: u64,
    /// Bytes of the file.
    pub bytes: u64,
}

/// A file that is being written.
pub(super) struct Writer<W: Write> {
    gzip: GzEncoder<Counted<W>>,
    hash: Sha256,
    plain: u64,
    rows: BTreeMap<String, u64>,
    table: String,
}

impl<W: Write> Writer<W> {
    /// Begins with that head.
    pub(super) fn begin(to: W, head: &Head) -> Result<Self, Error> {
        let gzip = GzEncoder::new(Counted { to, bytes: 0 }, Compression::default());
        let mut writer =
            Self { gzip, hash: Sha256::new(), plain: 0, rows: BTreeMap::new(), table: String::new() };
        writer.json(head)?;
        Ok(writer)
    }

    /// Rows of another table follow.
    pub(super) fn table(&mut self, name: &str, columns: &[&str]) -> Result<(), Error> {
        name.clone_into(&mut self.table);
        self.rows.insert(name.to_owned(), 0);
        let columns = columns.iter().map(|&column| column.to_owned()).collect();
        self.json(&Opening { table: name.to_owned(), columns })
    }

    /// One of them.
    pub(super) fn row(&mut self, row: &str) -> Result<(), Error> {
        if let Some(rows) = self.rows.get_mut(&self.table) {
            *rows += 1;
        }
        self.line(row.as_bytes())
    }

    /// Ends the file. Whether it is on the disk is its owner's to see.
    pub(super) fn end(mut self) -> Result<Saved, Error> {
        let sha256 = hex::encode(std::mem::take(&mut self.hash).finalize());
        self.json(&Trailer { rows: self.rows.clone(), sha256 })?;
        let mut counted = self.gzip.finish()?;
        counted.to.flush()?;
        Ok(Saved { rows: self.rows, plain_bytes: self.plain, bytes: counted.bytes })
    }

    fn json(&mut self, value: &impl Serialize) -> Result<(), Error> {
        self.line(&serde_json::to_vec(value).map_err(io::Error::from)?)
    }

    fn line(&mut self, line: &[u8]) -> Result<(), Error> {
        for part in [line, b"\n"] {
            self.hash.update(part);
            self.gzip.write_all(part)?;
            self.plain += u64::try_from(part.len()).unwrap_or(u64::MAX);
        }
        Ok(())
    }
}

/// Counts what passes.
struct Counted<W> {
    to: W,
    bytes: u64,
}

impl<W: Write> Write for Counted<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.to.write(bytes)?;
        self.bytes += u64::try_from(written).unwrap_or(u64::MAX);
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.to.flush()
    }
}

/// What a file says next.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Said {
    /// Rows of a table follow, with these columns.
    Table(Opening),
    /// One of them.
    Row(String),
    /// All was read, and it is what was written.
    End(Trailer),
}

/// A file that is being read.
pub(crate) struct Read<R: io::Read> {
    lines: io::Take<BufReader<MultiGzDecoder<R>>>,
    hash: Sha256,
    rows: BTreeMap<String, u64>,
    opening: Option<Opening>,
}

impl<R: io::Read> Read<R> {
    /// Reads the head. Whether a file may be used at all is decided by it.
    pub(crate) fn begin(from: R) -> Result<(Head, Self), Error> {
        let lines = BufReader::new(MultiGzDecoder::new(from)).take(0);
        let mut read = Self { lines, hash: Sha256::new(), rows: BTreeMap::new(), opening: None };
        let line = match read.line() {
            Err(Error::Damaged(_)) | Ok(None) => return Err(Error::NoBackup),
            line => line?.unwrap_or_default(),
        };
        let (format, version) = Head::begins(&line).ok_or(Error::NoBackup)?;
        if format != FORMAT {
            return Err(Error::Newer { version });
        }
        let head = serde_json::from_slice(&line).map_err(|_| damaged("its first line cannot be read"))?;
        read.hash.update(&line);
        Ok((head, read))
    }

    /// What comes next.
    pub(super) fn next(&mut self) -> Result<Said, Error> {
        let line = self.line()?.ok_or_else(|| damaged("it ends too early"))?;
        if line.first() == Some(&b'[') {
            return self.row(line);
        }
        if let Ok(opening) = serde_json::from_slice::<Opening>(&line) {
            self.hash.update(&line);
            if self.rows.insert(opening.table.clone(), 0).is_some() {
                return Err(damaged("a table comes twice"));
            }
            self.opening = Some(opening.clone());
            return Ok(Said::Table(opening));
        }
        let trailer: Trailer = serde_json::from_slice(&line).map_err(|_| damaged("a line cannot be read"))?;
        self.end(trailer)
    }

    fn row(&mut self, line: Vec<u8>) -> Result<Said, Error> {
        self.hash.update(&line);
        let opening = self.opening.as_ref().ok_or_else(|| damaged("a row belongs to no table"))?;
        let values: Vec<IgnoredAny> =
            serde_json::from_slice(&line).map_err(|_| damaged("a row cannot be read"))?;
        if values.len() != opening.columns.len() {
            return Err(damaged("a row has other columns than its table"));
        }
        *self.rows.entry(opening.table.clone()).or_default() += 1;
        let row = String::from_utf8(line).map_err(|_| damaged("a row cannot be read"))?;
        Ok(Said::Row(row))
    }

    fn end(&mut self, trailer: Trailer) -> Result<Said, Error> {
        let sha256 = hex::encode(std::mem::take(&mut self.hash).finalize());
        if sha256 != trailer.sha256 {
            return Err(damaged("its checksum is another"));
        }
        if self.rows != trailer.rows {
            return Err(damaged("it holds other rows than it says"));
        }
        match self.line()? {
            None => Ok(Said::End(trailer)),
            Some(_) => Err(damaged("something follows its end")),
        }
    }

    /// The next line with its end; None after the last.
    fn line(&mut self) -> Result<Option<Vec<u8>>, Error> {
        self.lines.set_limit(LINE_MAX);
        let mut line = Vec::new();
        self.lines.read_until(b'\n', &mut line).map_err(|error| match error.kind() {
            io::ErrorKind::InvalidData | io::ErrorKind::InvalidInput | io::ErrorKind::UnexpectedEof => {
                damaged("it was cut off or altered")
            }
            _ => Error::Io(error),
        })?;
        match line.last() {
            None => Ok(None),
            Some(b'\n') => Ok(Some(line)),
            Some(_) => Err(damaged("it was cut off or altered")),
        }
    }
}

fn damaged(why: &str) -> Error {
    Error::Damaged(why.to_owned())
}

/// Reads a file to its end, and keeps nothing but what it begins and ends with.
pub(crate) fn verify(from: impl io::Read) -> Result<(Head, Trailer), Error> {
    let (head, mut read) = Read::begin(from)?;
    loop {
        if let Said::End(trailer) = read.next()? {
            return Ok((head, trailer));
        }
    }
}
