//! Where a text may be parted, and how good each place is.
//!
//! In: a text. Out: its atoms, which are never cut, and the gaps between them, in order.

use unicode_segmentation::UnicodeSegmentation;

/// How good a place to part at is; the best comes last.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Rank {
    /// Between two words.
    Word,
    /// Between two lines of what belongs together: a list, a block of code, an announcement and what it announces.
    Inside,
    /// After a sentence.
    Sentence,
    /// At the end of a line.
    Line,
    /// At a blank line.
    Paragraph,
}

/// A place to part at: the atoms from `end` up to `next` are white space, which is dropped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Gap {
    pub(super) end: usize,
    pub(super) next: usize,
    pub(super) rank: Rank,
}

/// What is never cut: what a reader takes for one character.
#[derive(Debug, Clone, Copy)]
struct Atom {
    /// Where it begins, in bytes.
    at: usize,
    /// UTF-16 units before it.
    units: usize,
    first: char,
    blank: bool,
}

/// A text as atoms.
pub(super) struct Atoms<'t> {
    text: &'t str,
    atoms: Vec<Atom>,
    units: usize,
}

/// Words that are written with a full stop and continue with a capital or a number in some language.
const SHORT: [&str; 14] =
    ["approx", "aprox", "bzw", "ca", "evtl", "exkl", "ggf", "inkl", "nr", "núm", "prof", "tel", "тел", "ул"];

/// Letters of the longest of them.
const LONGEST_SHORT: usize = 6;

impl<'t> Atoms<'t> {
    /// Takes a text apart. A character of more than `limit` UTF-16 units (letters under heaps of accents) is several
    /// atoms, since it could not be sent as one.
    pub(super) fn of(text: &'t str, limit: usize) -> Self {
        let mut whole = Self { text, atoms: Vec::new(), units: 0 };
        for (at, cluster) in text.grapheme_indices(true) {
            if utf16_len(cluster) <= limit {
                whole.push(at, cluster);
            } else {
                for (n, c) in cluster.char_indices() {
                    whole.push(at + n, &cluster[n..n + c.len_utf8()]);
                }
            }
        }
        whole
    }

    fn push(&mut self, at: usize, piece: &str) {
        let first = piece.chars().next().unwrap_or(' ');
        let blank = piece.chars().all(char::is_whitespace);
        self.atoms.push(Atom { at, units: self.units, first, blank });
        self.units += utf16_len(piece);
    }

    pub(super) fn len(&self) -> usize {
        self.atoms.len()
    }

    pub(super) fn is_blank(&self, n: usize) -> bool {
        self.atoms[n].blank
    }

    /// UTF-16 units before an atom.
    pub(super) fn units_before(&self, n: usize) -> usize {
        self.atoms.get(n).map_or(self.units, |atom| atom.units)
    }

    /// The last place at most this many units from the start of the text.
    pub(super) fn last_within(&self, units: usize) -> usize {
        if self.units <= units {
            self.len()
        } else {
            self.atoms.partition_point(|atom| atom.units <= units) - 1
        }
    }

    /// The first place at least this many units from the start of the text.
    pub(super) fn first_from(&self, units: usize) -> usize {
        self.atoms.partition_point(|atom| atom.units < units)
    }

    /// The text from one atom up to another.
    pub(super) fn slice(&self, from: usize, to: usize) -> &'t str {
        &self.text[self.byte(from)..self.byte(to)]
    }

    fn byte(&self, n: usize) -> usize {
        self.atoms.get(n).map_or(self.text.len(), |atom| atom.at)
    }

    /// Every gap, in order.
    pub(super) fn gaps(&self) -> Vec<Gap> {
        let fences = fences(self.text);
        let links = Links::of(self.text);
        let mut in_list = is_item(first_line(self.text));
        let mut gaps = Vec::new();
        let mut end = 1;
        while end < self.len() {
            let next = (end..self.len()).find(|n| !self.is_blank(*n)).unwrap_or(self.len());
            if next == self.len() {
                break;
            }
            let (before, after) = (self.byte(end), self.byte(next));
            let space = &self.text[before..after];
            let lines = self.atoms[end..next].iter().filter(|atom| is_line_end(atom.first)).count();
            let was_in_list = in_list;
            if lines > 0 {
                let indented = space.ends_with("  ") || space.ends_with('\t');
                in_list = is_item(first_line(&self.text[after..])) || (in_list && indented);
            }
            let announced = matches!(self.atoms[end - 1].first, ':' | '：');
            let together = in_list && was_in_list || announced || within(&fences, before, after);
            let rank = match lines {
                _ if next == end => self.rank_without_space(end, &links),
                0 if self.ends_sentence(end, next) => Some(Rank::Sentence),
                0 => Some(Rank::Word),
                1 => Some(Rank::Line),
                _ => Some(Rank::Paragraph),
            };
            let rank = rank.map(|rank| match rank {
                Rank::Line | Rank::Paragraph if together => Rank::Inside,
                Rank::Sentence if together => Rank::Word,
                rank => rank,
            });
            gaps.extend(rank.map(|rank| Gap { end, next, rank }));
            end = next + 1;
        }
        gaps
    }

    /// Whether the white space from `end` up to `next` ends a sentence.
    fn ends_sentence(&self, end: usize, next: usize) -> bool {
        let Some(last) = self.before_closers(end) else { return false };
        match self.atoms[last].first {
            '.' => !self.is_abbreviation(last) && !self.atoms[next].first.is_lowercase(),
            '!' | '?' | '…' => !self.atoms[next].first.is_lowercase(),
            '。' | '！' | '？' | '؟' | '۔' | '।' => true,
            _ => false,
        }
    }

    /// Chinese and Japanese have no spaces: a sentence ends with its mark, and a comma is as good as a space. A link
    /// stands by itself wherever it begins and ends.
    fn rank_without_space(&self, at: usize, links: &Links) -> Option<Rank> {
        const MARKS: [char; 3] = ['。', '！', '？'];
        let (last, next) = (self.atoms[at - 1].first, self.atoms[at].first);
        if MARKS.contains(&next) || is_closer(next) {
            return None;
        }
        if self.before_closers(at).is_some_and(|mark| MARKS.contains(&self.atoms[mark].first)) {
            return Some(Rank::Sentence);
        }
        let byte = self.byte(at);
        // After a bracket or a quotation mark, a link is better left where it is.
        let by_link = links.begin_at(byte) && !last.is_ascii() || links.end_at(byte);
        (by_link || matches!(last, '，' | '、' | '；' | '：')).then_some(Rank::Word)
    }

    /// The atom before the quotation marks and brackets that close just before `end`, of which there are few.
    fn before_closers(&self, end: usize) -> Option<usize> {
        (end.saturating_sub(4)..end).rev().find(|n| !is_closer(self.atoms[*n].first))
    }

    /// Whether the full stop rather belongs to a number ("24. Dezember"), to a short word with a capital ("Dr.", "Mrs.", "No."),
    /// to a letter ("z. B.") or to a word that is written so.
    fn is_abbreviation(&self, stop: usize) -> bool {
        if stop > 0 && self.atoms[stop - 1].first.is_numeric() {
            return true;
        }
        let letters = (stop.saturating_sub(LONGEST_SHORT + 1)..stop)
            .rev()
            .take_while(|n| self.atoms[*n].first.is_alphabetic());
        let Some(first) = letters.last() else { return false };
        let is_capital = self.atoms[first].first.is_uppercase();
        match stop - first {
            1 => true,
            2 | 3 if is_capital => true,
            _ => SHORT.contains(&self.slice(first, stop).to_lowercase().as_str()),
        }
    }
}

/// The length of a text as the provider counts it.
pub(super) fn utf16_len(text: &str) -> usize {
    text.chars().map(char::len_utf16).sum()
}

const fn is_line_end(c: char) -> bool {
    matches!(c, '\n' | '\r' | '\u{2028}' | '\u{2029}')
}

const fn is_closer(c: char) -> bool {
    matches!(c, '"' | '\'' | ')' | ']' | '*' | '_' | '”' | '’' | '»' | '）' | '」' | '』' | '】' | '》')
}

fn first_line(text: &str) -> &str {
    text.lines().next().unwrap_or("")
}

/// Whether a line is an item of a list: `- …`, `• …`, `1. …`, `2) …`.
fn is_item(line: &str) -> bool {
    let line = line.trim_start();
    let numbered = line.trim_start_matches(|c: char| c.is_ascii_digit());
    let digits = line.len() - numbered.len();
    ["- ", "* ", "+ ", "• ", "– "].iter().any(|mark| line.starts_with(mark))
        || ((1..=3).contains(&digits) && (numbered.starts_with(". ") || numbered.starts_with(") ")))
}

/// Blocks of code, in bytes; one that is never closed does not count.
fn fences(text: &str) -> Vec<(usize, usize)> {
    let marks: Vec<usize> = text.match_indices("```").map(|(at, _)| at).collect();
    marks.chunks_exact(2).map(|pair| (pair[0], pair[1] + 3)).collect()
}

/// Where links begin and end, in bytes, in order. They end at white space, and at a letter that they have only escaped.
struct Links {
    begins: Vec<usize>,
    ends: Vec<usize>,
}

impl Links {
    fn of(text: &str) -> Self {
        let mut links = Self { begins: Vec::new(), ends: Vec::new() };
        for (mark, _) in text.match_indices("://") {
            let scheme = text[..mark].bytes().rev().take_while(u8::is_ascii_alphabetic).count();
            let rest = &text[mark..];
            links.begins.push(mark - scheme);
            links
                .ends
                .push(mark + rest.find(|c: char| c.is_whitespace() || !c.is_ascii()).unwrap_or(rest.len()));
        }
        links
    }

    fn begin_at(&self, byte: usize) -> bool {
        self.begins.binary_search(&byte).is_ok()
    }

    fn end_at(&self, byte: usize) -> bool {
        self.ends.binary_search(&byte).is_ok()
    }
}

/// Whether a gap is within one of the blocks, which are in order.
fn within(blocks: &[(usize, usize)], before: usize, after: usize) -> bool {
    let begun = blocks.partition_point(|(from, _)| *from < before);
    begun > 0 && after < blocks[begun - 1].1
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The text with its gaps marked by the first letter of their rank, or `+` within what belongs together.
    fn marked(text: &str) -> String {
        let atoms = Atoms::of(text, 4_096);
        let mut marked = String::new();
        let mut from = 0;
        for gap in atoms.gaps() {
            let mark = match gap.rank {
                Rank::Word => 'W',
                Rank::Inside => '+',
                Rank::Sentence => 'S',
                Rank::Line => 'L',
                Rank::Paragraph => 'P',
            };
            marked.push_str(atoms.slice(from, gap.end));
            marked.push(mark);
            from = gap.next;
        }
        marked + atoms.slice(from, atoms.len())
    }

    #[test]
    fn every_gap_has_the_rank_that_a_reader_would_give_it() {
        for (text, wanted) in [
            ("a b", "aWb"),
            ("ab. B! 3? d", "ab.SB!S3?Wd"),
            ("am 24. Dezember, z. B. um 9. Ja. Gut", "amW24.WDezember,Wz.WB.WumW9.WJa.WGut"),
            ("ca. 20 inkl. MwSt. Call us. We come", "ca.W20Winkl.WMwSt.SCallWus.SWeWcome"),
            ("a\n b \n\n c\r\nd\r\n\r\ne", "aLbPcLdPe"),
            ("he said \"yes.\" Then (no!) He", "heWsaidW\"yes.\"SThenW(no!)SHe"),
            (
                "Dr. Lee, No. 5, e.g. this. It is so. OK. Then",
                "Dr.WLee,WNo.W5,We.g.Wthis.SItWisWso.SOK.WThen",
            ),
            ("见。「好！」再见，谢", "见。S「好！」S再见，W谢"),
            ("见。 好！ 再见？ نعم؟ لا۔ ہاں। end", "见。S好！S再见？Sنعم؟Sلا۔Sہاں।Send"),
            ("so:\n- a b. C\n- d\n  e\n\n- f\ng", "so:+-WaWb.WC+-Wd+e+-WfLg"),
            ("1. a\n2) b\n\n12.5 c", "1.Wa+2)WbP12.5Wc"),
            ("a\n```x\n\ny. Z```\nb", "aL```x+y.WZ```Lb"),
            ("a ``` b\nc", "aW```WbLc"),
            ("好。```x\ny```", "好。S```x+y```"),
            ("看http://a.b/c?d.e好", "看Whttp://a.b/c?d.eW好"),
            ("(http://a.b) c", "(http://a.b)Wc"),
            ("one", "one"),
            ("", ""),
        ] {
            assert_eq!(marked(text), wanted, "{text:?}");
        }
    }
}
