//! Reads `ar` archives, the format of rustc's static libraries.

use std::collections::HashMap;

use anyhow::{Context, Result, ensure};

const MAGIC: &[u8] = b"!<arch>\n";
const HEADER: usize = 60;

/// One file in an archive.
#[derive(Debug, PartialEq)]
pub struct Member<'a> {
    pub name: String,
    pub bytes: &'a [u8],
}

/// Returns the files of a GNU archive, without its symbol and name tables.
pub fn members(archive: &[u8]) -> Result<Vec<Member<'_>>> {
    let mut rest = archive.strip_prefix(MAGIC).context("not an archive")?;
    let mut long_names: HashMap<usize, String> = HashMap::new();
    let mut members = Vec::new();
    while rest.len() >= HEADER {
        let (header, body) = rest.split_at(HEADER);
        let field = |range: std::ops::Range<usize>| {
            String::from_utf8_lossy(&header[range]).trim_end().to_owned()
        };
        let name = field(0..16);
        let size: usize = field(48..58).parse().context("an archive member has no size")?;
        ensure!(size <= body.len(), "the archive ends inside its member `{name}`");
        let bytes = &body[..size];
        if name == "//" {
            long_names = name_table(bytes);
        } else if name != "/" && name != "/SYM64/" {
            let name = match name.strip_prefix('/') {
                Some(offset) => {
                    offset.parse().ok().and_then(|offset| long_names.get(&offset)).cloned()
                }
                None => Some(name.trim_end_matches('/').to_owned()),
            };
            members.push(Member { name: name.context("an archive member has no name")?, bytes });
        }
        // Members start at even offsets.
        rest = &body[(size + size % 2).min(body.len())..];
    }
    Ok(members)
}

fn name_table(bytes: &[u8]) -> HashMap<usize, String> {
    let mut names = HashMap::new();
    let mut offset = 0;
    for line in bytes.split(|&byte| byte == b'\n') {
        names.insert(offset, String::from_utf8_lossy(line).trim_end_matches('/').to_owned());
        offset += line.len() + 1;
    }
    names
}

#[cfg(test)]
mod tests {
    use super::*;

    fn member(name: &str, bytes: &[u8]) -> Vec<u8> {
        let mut entry =
            format!("{name:<16}{:<12}{:<6}{:<6}{:<8}{:<10}`\n", 0, 0, 0, 644, bytes.len())
                .into_bytes();
        entry.extend_from_slice(bytes);
        if bytes.len() % 2 == 1 {
            entry.push(b'\n');
        }
        entry
    }

    #[test]
    fn finds_members_by_short_and_long_name() {
        let mut archive = MAGIC.to_vec();
        archive.extend(member("/", b"symbols"));
        archive
            .extend(member("//", b"a_name_longer_than_sixteen.o/\nanother_long_member_name.o/\n"));
        archive.extend(member("/30", b"second"));
        archive.extend(member("short.o/", b"odd"));
        archive.extend(member("/0", b"first"));
        let found = members(&archive).unwrap();
        let found: Vec<_> =
            found.iter().map(|member| (member.name.as_str(), member.bytes)).collect();
        assert_eq!(
            found,
            [
                ("another_long_member_name.o", b"second".as_slice()),
                ("short.o", b"odd"),
                ("a_name_longer_than_sixteen.o", b"first"),
            ]
        );
    }

    #[test]
    fn refuses_what_is_cut_off_or_no_archive() {
        assert!(members(b"\x7fELF").is_err());
        let mut archive = MAGIC.to_vec();
        archive.extend(member("short.o/", b"0123456789"));
        archive.truncate(archive.len() - 4);
        assert!(members(&archive).is_err());
    }
}
