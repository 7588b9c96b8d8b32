//! Rule: what a file is, as far as a browser may know: pictures, sound and film that can do nothing but be shown.
//!
//! In: its first bytes, and what its sender called it. Out: one of those kinds, or none: then it is only ever saved. A name
//! alone is trusted only where the first bytes are not seen, since none of these kinds can be run.

/// What the first bytes of a file show it to be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Looks {
    /// One of the kinds that may be shown.
    Like(&'static str),
    /// None of them.
    LikeNothing,
    /// The part begins later.
    Unseen,
}

/// How many of the first bytes are enough.
pub const FIRST_BYTES: usize = 16;

/// The kinds that may be shown. No SVG, which is a program; no HTML, no PDF.
const SHOWN: [&str; 19] = [
    "image/jpeg",
    "image/png",
    "image/gif",
    "image/webp",
    "image/avif",
    "audio/mpeg",
    "audio/mp4",
    "audio/ogg",
    "audio/aac",
    "audio/amr",
    "audio/wav",
    "audio/webm",
    "audio/flac",
    "audio/3gpp",
    "video/mp4",
    "video/webm",
    "video/ogg",
    "video/3gpp",
    "video/quicktime",
];

/// Kinds that begin alike: what the first bytes are taken for, and what else they may be.
const ALIKE: [(&str, &str); 5] = [
    ("video/mp4", "audio/mp4"),
    ("video/mp4", "video/quicktime"),
    ("video/webm", "audio/webm"),
    ("audio/ogg", "video/ogg"),
    ("video/3gpp", "audio/3gpp"),
];

impl Looks {
    /// By those first bytes.
    pub fn of(first: &[u8]) -> Self {
        by_bytes(first).map_or(Self::LikeNothing, Self::Like)
    }

    /// As what it is shown, if its sender called it that; None: it is only saved.
    pub fn shown_as(self, called: &str) -> Option<&'static str> {
        let called = called.split(';').next().unwrap_or_default().trim();
        let called = SHOWN.into_iter().find(|kind| kind.eq_ignore_ascii_case(called));
        match self {
            Self::Like(kind) => Some(called.filter(|called| ALIKE.contains(&(kind, called))).unwrap_or(kind)),
            Self::LikeNothing => None,
            Self::Unseen => called,
        }
    }
}

fn by_bytes(first: &[u8]) -> Option<&'static str> {
    let at = |from: usize, bytes: &[u8]| first.get(from..).is_some_and(|rest| rest.starts_with(bytes));
    match first {
        [0xff, 0xd8, 0xff, ..] => Some("image/jpeg"),
        [0x1a, 0x45, 0xdf, 0xa3, ..] => Some("video/webm"),
        // The layer bits tell the two apart: AAC has none.
        [0xff, second, ..] if second & 0xf6 == 0xf0 => Some("audio/aac"),
        [0xff, second, ..] if second & 0xe0 == 0xe0 && second & 0x06 != 0 => Some("audio/mpeg"),
        _ if at(0, b"\x89PNG\r\n\x1a\n") => Some("image/png"),
        _ if at(0, b"GIF87a") || at(0, b"GIF89a") => Some("image/gif"),
        _ if at(0, b"RIFF") && at(8, b"WEBP") => Some("image/webp"),
        _ if at(0, b"RIFF") && at(8, b"WAVE") => Some("audio/wav"),
        _ if at(0, b"OggS") => Some("audio/ogg"),
        _ if at(0, b"ID3") => Some("audio/mpeg"),
        _ if at(0, b"fLaC") => Some("audio/flac"),
        _ if at(0, b"#!AMR") => Some("audio/amr"),
        _ if at(4, b"ftyp") => by_brand(first.get(8..12)?),
        _ => None,
    }
}

fn by_brand(brand: &[u8]) -> Option<&'static str> {
    match brand {
        b"avif" | b"avis" => Some("image/avif"),
        b"M4A " | b"M4B " => Some("audio/mp4"),
        b"qt  " => Some("video/quicktime"),
        [b'3', b'g', ..] => Some("video/3gpp"),
        // Pictures in the same box that browsers do not show.
        b"heic" | b"heix" | b"mif1" | b"msf1" => None,
        _ => Some("video/mp4"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_what_its_first_bytes_say_whatever_it_is_called() {
        #[rustfmt::skip]
        let table: [(&[u8], &str, Option<&str>); 20] = [
            (b"\xff\xd8\xff\xe0\x00\x10JFIF",        "image/jpeg",               Some("image/jpeg")),
            (b"\xff\xd8\xff\xe0\x00\x10JFIF",        "application/octet-stream", Some("image/jpeg")),
            (b"\x89PNG\r\n\x1a\n\x00\x00",           "image/jpeg",               Some("image/png")),
            (b"RIFF\x00\x00\x00\x00WEBPVP8 ",        "image/webp",               Some("image/webp")),
            (b"OggS\x00\x02",                        "audio/ogg; codecs=opus",   Some("audio/ogg")),
            (b"OggS\x00\x02",                        "video/ogg",                Some("video/ogg")),
            (b"\x00\x00\x00\x20ftypisom",            "video/mp4",                Some("video/mp4")),
            (b"\x00\x00\x00\x20ftypisom",            "AUDIO/MP4",                Some("audio/mp4")),
            (b"\x00\x00\x00\x20ftypisom",            "image/png",                Some("video/mp4")),
            (b"\x00\x00\x00\x20ftypheic",            "image/heic",               None),
            (b"\xff\xfb\x90\x00",                    "audio/mpeg",               Some("audio/mpeg")),
            (b"\xff\xf1\x50\x80",                    "audio/aac",                Some("audio/aac")),
            (b"#!AMR\n",                             "audio/amr",                Some("audio/amr")),
            (b"<svg xmlns=",                         "image/svg+xml",            None),
            (b"<svg xmlns=",                         "image/png",                None),
            (b"<!DOCTYPE html><script>",             "image/jpeg",               None),
            (b"%PDF-1.7",                            "application/pdf",          None),
            (b"MZ\x90\x00",                          "video/mp4",                None),
            (b"\xff",                                "image/jpeg",               None),
            (b"",                                    "image/jpeg",               None),
        ];
        for (first, called, shown) in table {
            assert_eq!(Looks::of(first).shown_as(called), shown, "{called} {first:?}");
        }
    }

    #[test]
    fn the_middle_of_a_file_is_what_it_is_called_if_that_can_only_be_shown() {
        let table =
            [("video/mp4", Some("video/mp4")), ("image/svg+xml", None), ("text/html", None), ("", None)];
        for (called, shown) in table {
            assert_eq!(Looks::Unseen.shown_as(called), shown, "{called}");
        }
    }
}
