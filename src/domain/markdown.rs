//! What models write as Markdown, in the signs that WhatsApp shows: bold, struck out, headings, links. Code stays as it is.
//!
//! In: the words of a model. Out: the same words, as a phone shows them.

/// The words as WhatsApp shows them.
pub fn as_shown(text: &str) -> String {
    if !text.contains(['*', '[', '#', '~']) {
        return text.to_owned();
    }
    // One that is never closed is code up to the end.
    let pieces = text.split("```").enumerate().map(|(n, piece)| match n % 2 {
        0 => piece.split_inclusive('\n').map(line_as_shown).collect(),
        _ => piece.to_owned(),
    });
    pieces.collect::<Vec<String>>().join("```")
}

fn line_as_shown(line: &str) -> String {
    let words: String = line
        .split_inclusive('`')
        .scan(false, |in_code, piece| {
            let was_code = *in_code;
            *in_code ^= piece.ends_with('`');
            Some(if was_code { piece.to_owned() } else { signs(&links(piece)) })
        })
        .collect();
    heading(&words).unwrap_or(words)
}

/// `### Hours` is `*Hours*`.
fn heading(line: &str) -> Option<String> {
    let words = line.trim_start_matches('#');
    let marks = line.len() - words.len();
    let title = words.strip_prefix(' ').filter(|_| (1..=6).contains(&marks))?.trim();
    let title = title.trim_end_matches('#').trim_end();
    let end = &line[line.trim_end_matches(['\n', '\r']).len()..];
    let plain = title.replace('*', "");
    (!plain.trim().is_empty()).then(|| format!("*{plain}*{end}"))
}

/// `[the menu](https://…)` is `the menu: https://…`.
fn links(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('[') {
        let Some((words, address, after)) = link(&rest[at + 1..]) else {
            shown.push_str(&rest[..=at]);
            rest = &rest[at + 1..];
            continue;
        };
        // A picture's sign says nothing without the picture.
        shown.push_str(rest[..at].strip_suffix('!').unwrap_or(&rest[..at]));
        if !words.is_empty() && words != address {
            shown.push_str(words);
            shown.push_str(": ");
        }
        shown.push_str(address);
        rest = after;
    }
    shown + rest
}

/// Its words, its address, and what comes after it.
fn link(text: &str) -> Option<(&str, &str, &str)> {
    let (words, rest) = text.split_once(']')?;
    let rest = rest.strip_prefix('(')?;
    let (address, after) = rest.split_at(end_of_address(rest)?);
    let after = &after[1..];
    let is_address = address.starts_with("https://") || address.starts_with("http://");
    (is_address && !address.contains(char::is_whitespace) && !words.contains('['))
        .then_some((words, address, after))
}

/// Where the parenthesis closes that the address stands in: it may hold some of its own.
fn end_of_address(text: &str) -> Option<usize> {
    let mut open = 0;
    text.char_indices().find_map(|(at, c)| match c {
        '(' => {
            open += 1;
            None
        }
        ')' if open == 0 => Some(at),
        ')' => {
            open -= 1;
            None
        }
        _ => None,
    })
}

/// `***x***`, `**x**` and `~~x~~` with the one sign each that WhatsApp knows.
fn signs(text: &str) -> String {
    let text = paired(text, "***", "*_", "_*");
    let text = paired(&text, "**", "*", "*");
    paired(&text, "~~", "~", "~")
}

/// What stands between two such signs, between those instead. Not where a sign stands by itself or within a word or a number,
/// as in `2 ** 3`, `2**3` and `***.456-**`.
fn paired(text: &str, sign: &str, open: &str, close: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, inside)) = rest.split_once(sign) {
        shown.push_str(before);
        let is_within = shown.ends_with(|c: char| c.is_ascii_alphanumeric() || sign.contains(c));
        let stands_close = |words: &str| {
            let is_part = |c: char| c.is_whitespace() || sign.contains(c);
            !words.is_empty() && !words.starts_with(is_part) && !words.ends_with(is_part)
        };
        let words = inside.split_once(sign).filter(|(words, _)| !is_within && stands_close(words));
        if let Some((words, after)) = words {
            shown.extend([open, words, close]);
            rest = after;
        } else {
            shown.push_str(sign);
            rest = inside;
        }
    }
    shown + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_signs_of_markdown_become_those_of_whatsapp_and_everything_else_stays() {
        for (written, shown) in [
            ("**Price:** 9 dollars, ~~12~~ and ***now***", "*Price:* 9 dollars, ~12~ and *_now_*"),
            ("## Hours\n- Mon **9–5**\n### **Sunday** ###\nclosed", "*Hours*\n- Mon *9–5*\n*Sunday*\nclosed"),
            ("### 1. **Deluxe** room", "*1. Deluxe room*"),
            ("See [the menu](https://a.b/m_(1)_2) now", "See the menu: https://a.b/m_(1)_2 now"),
            ("[never](https://a.b/(1 closed", "[never](https://a.b/(1 closed"),
            ("[https://a.b](https://a.b), ![](http://a.b/p.png)", "https://a.b, http://a.b/p.png"),
            ("[Written so] (https://a.b) [1](2) a[0](x)", "[Written so] (https://a.b) [1](2) a[0](x)"),
            ("*bold* _so_ * item\n#5 is free, # 1", "*bold* _so_ * item\n#5 is free, # 1"),
            ("2 ** 3 ** 4, **open", "2 ** 3 ** 4, **open"),
            (
                "2**3 and 4**2, ***.456.789-**, ****1234/****5678",
                "2**3 and 4**2, ***.456.789-**, ****1234/****5678",
            ),
            ("价格**九元**", "价格*九元*"),
            ("`**a**` **b** `[c](http://d)`", "`**a**` *b* `[c](http://d)`"),
            ("**a**\n```\n# b **c**\n```\n**d**", "*a*\n```\n# b **c**\n```\n*d*"),
            ("**a** ```**b**", "*a* ```**b**"),
            ("####### no\n#", "####### no\n#"),
        ] {
            assert_eq!(as_shown(written), shown, "{written}");
            assert_eq!(as_shown(shown), shown, "{shown}");
        }
    }
}
