//! The null server: reads a frame, writes the next of the answers it was given, does no work. What is left is what a
//! pipe and a framing cost.
//!
//! `null lines|headers FILE`; the file holds framed answers, each behind its length (eight bytes, little endian). They
//! are written in turn, from the first again after the last.

use std::io::{self, BufRead, BufReader, Read, Write};

fn main() -> io::Result<()> {
    let mut arguments = std::env::args().skip(1);
    let headers = arguments.next().as_deref() == Some("headers");
    let file = std::fs::read(arguments.next().unwrap_or_default())?;
    let mut answers = Vec::new();
    let mut rest = file.as_slice();
    while let Some((length, tail)) = rest.split_first_chunk::<8>() {
        let (answer, tail) = tail
            .split_at_checked(u64::from_le_bytes(*length) as usize)
            .ok_or_else(|| io::Error::other("the file of answers ends in one"))?;
        answers.push(answer);
        rest = tail;
    }
    let mut input = BufReader::with_capacity(1 << 16, io::stdin().lock());
    let mut output = io::stdout().lock();
    let (mut line, mut body) = (Vec::new(), Vec::new());
    for answer in answers.iter().cycle() {
        let mut length = 0;
        loop {
            line.clear();
            if input.read_until(b'\n', &mut line)? == 0 {
                return Ok(());
            }
            if !headers || line == b"\r\n" {
                break;
            }
            if let Some(number) = line.strip_prefix(b"Content-Length: ") {
                length = String::from_utf8_lossy(number).trim().parse().map_err(io::Error::other)?;
            }
        }
        body.resize(length, 0);
        input.read_exact(&mut body)?;
        output.write_all(answer)?;
        output.flush()?;
    }
    Ok(())
}
