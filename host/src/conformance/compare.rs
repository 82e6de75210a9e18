/// The first element that is not as expected, and how many are not.
pub fn difference(expected: &[u8], output: &[u8], element: usize) -> Option<String> {
    let hex = |bytes: &[u8]| bytes.iter().rev().map(|byte| format!("{byte:02x}")).collect::<String>();
    if expected.len() != output.len() {
        return Some(format!("{} bytes of output, expected {}", output.len(), expected.len()));
    }
    let pairs = || expected.chunks(element).zip(output.chunks(element)).enumerate();
    let (first, (right, wrong)) = pairs().find(|(_, (right, wrong))| right != wrong)?;
    let count = pairs().filter(|(_, (right, wrong))| right != wrong).count();
    let of = expected.len() / element;
    Some(format!("{count} of {of} elements differ; element {first} is 0x{}, expected 0x{}", hex(wrong), hex(right)))
}
