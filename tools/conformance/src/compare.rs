/// The index of the first wrong element, and a message with this element and the number of wrong
/// elements.
pub fn difference(expected: &[u8], output: &[u8], element: usize) -> Option<(usize, String)> {
    let hex =
        |bytes: &[u8]| bytes.iter().rev().map(|byte| format!("{byte:02x}")).collect::<String>();
    if expected.len() != output.len() {
        return Some((0, format!("{} bytes of output, expected {}", output.len(), expected.len())));
    }
    let pairs = || expected.chunks(element).zip(output.chunks(element)).enumerate();
    let (first, (right, wrong)) = pairs().find(|(_, (right, wrong))| right != wrong)?;
    let count = pairs().filter(|(_, (right, wrong))| right != wrong).count();
    let of = expected.len() / element;
    let (wrong, right) = (hex(wrong), hex(right));
    Some((
        first,
        format!(
            "{count} of {of} elements differ; element {first} is 0x{wrong}, expected 0x{right}"
        ),
    ))
}
