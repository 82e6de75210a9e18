//! One execution of an instruction whose name is known only at run time.

use super::typed;
use crate::engine::{SimError, raw};
use crate::fragment::Arrangement;
use crate::isa::{self, Form, IMAGE_BYTES, Selectors};
use crate::kernel;
use crate::memory::{Global, GlobalMut, SharedTile};
use crate::scope::Block;
use crate::sim::{Report, Simulator};
use std::vec;
use std::vec::Vec;

/// The result of an executed instruction.
#[derive(Debug, Clone)]
pub struct Execution {
    /// The results, in the memory format of the form's [`kernel`](Form::kernel).
    pub output: Vec<u8>,
    /// Undefined behaviour, if PTX leaves the instruction undefined but there are results.
    pub found: Option<SimError>,
}

impl Simulator {
    /// Executes a form once, by one warp. Input and output have the format of its
    /// [`kernel`](Form::kernel).
    ///
    /// ```
    /// use ptx_matrix::{forms::{self, Selectors}, sim::Simulator};
    /// let form = forms::find("movmatrix.sync.aligned.m8n8.trans.b16").unwrap();
    /// let input: Vec<u8> = (0..32).flat_map(|lane: u32| (lane << 16).to_le_bytes()).collect();
    /// let executed = Simulator::default().execute(form, &Selectors::default(), &input).unwrap();
    /// let output = executed.output;
    /// // Lane 4 has elements of column 1: the upper halves of lanes 0 and 4.
    /// assert_eq!(output[4 * 4..][..4], [0, 0, 4, 0]);
    /// assert_eq!(output[4 * 5..][..4], [8, 0, 12, 0]);
    /// ```
    ///
    /// # Errors
    /// An operation that a GPU would stop at, such as a row outside of shared memory.
    ///
    /// # Panics
    /// If the form does not take the selectors, or the length of `input` is wrong.
    pub fn execute(
        &self,
        form: &Form,
        selectors: &Selectors,
        input: &[u8],
    ) -> Result<Execution, SimError> {
        selectors.check(form).unwrap_or_else(|why| panic!("{why}"));
        assert_eq!(input.len(), form.input_bytes(), "bytes of the input");
        let index = isa::all().position(|of| of == form).expect("the form is in the list");
        let words: Vec<u32> =
            input.as_chunks().0.iter().map(|&word| u32::from_ne_bytes(word)).collect();
        // One word more, which shows whether the kernel reached its end.
        let mut results = vec![0; form.output_bytes() / 4 + 1];
        let Selectors { metadata, scales_a, scales_b } = *selectors;
        let run: Result<Report, SimError> = once::launch(
            self,
            1,
            index as u32,
            metadata,
            scales_a.byte as u32,
            scales_a.thread as u32,
            scales_b.byte as u32,
            scales_b.thread as u32,
            &words,
            &mut results,
        );
        let ended = results.pop() == Some(1);
        let output = bytemuck::cast_slice(&results).to_vec();
        match run {
            Err(error) if !ended => Err(error),
            run => Ok(Execution { output, found: run.err() }),
        }
    }
}

/// Number of words of the image.
const IMAGE_WORDS: usize = IMAGE_BYTES / 4;

#[kernel(threads = 32)]
fn once(
    block: &Block,
    #[shared] image: SharedTile<u32, { IMAGE_WORDS / 4 }, 4>,
    index: u32,
    metadata: u32,
    byte_a: u32,
    thread_a: u32,
    byte_b: u32,
    thread_b: u32,
    input: Global<u32>,
    output: GlobalMut<u32>,
) {
    let form = isa::all().nth(index as usize).expect("the launch's");
    let selected = |byte: u32, thread: u32| crate::fragment::Selected {
        byte: byte as usize,
        thread: thread as usize,
    };
    let selectors = Selectors {
        metadata,
        scales_a: selected(byte_a, thread_a),
        scales_b: selected(byte_b, thread_b),
    };
    let warp = block.warp();
    let in_image = if form.has_image() { IMAGE_WORDS } else { 0 };
    if in_image > 0 {
        image.fill(warp, |row, col| input.get(row * 4 + col));
        warp.sync();
    }
    let of_lane = (input.len() - in_image) / 32;
    let results = form.d * form.register_bits / 32;
    warp.each(|lane| {
        let words: Vec<u32> =
            (0..of_lane).map(|word| input.get(in_image + lane.id() * of_lane + word)).collect();
        let returned = execute(form, selectors, image.address(), &words);
        assert_eq!(returned.len(), results, "registers");
        for (word, value) in returned.into_iter().enumerate() {
            output.set(lane.id() * results + word, value);
        }
    });
    if in_image > 0 {
        warp.sync();
        image.for_each(warp, |row, col, word| output.set(32 * results + row * 4 + col, word));
    }
    warp.each(|lane| {
        if lane.id() == 0 {
            output.set(output.len() - 1, 1);
        }
    });
}

/// Executes a form in a lane, with that lane's operands.
fn execute(form: &'static Form, selectors: Selectors, image: u32, words: &[u32]) -> Vec<u32> {
    if let Some(typed) = typed::find(form.ptx) {
        return raw::in_lane(form.ptx, typed.description, selectors, words.to_vec());
    }
    let arrangement = form.arrangement.expect("what is not `mma` moves matrices");
    match (form.family, form.a.max(form.d)) {
        ("movmatrix", _) => vec![raw::transpose_matrix(form.ptx, words[0])],
        (_, 1) => move_matrices::<1>(form, arrangement, image, words),
        (_, 2) => move_matrices::<2>(form, arrangement, image, words),
        (_, 4) => move_matrices::<4>(form, arrangement, image, words),
        (_, registers) => unreachable!("{registers} registers"),
    }
}

/// `ldmatrix` or `stmatrix` of `N` registers.
fn move_matrices<const N: usize>(
    form: &'static Form,
    arrangement: Arrangement,
    image: u32,
    words: &[u32],
) -> Vec<u32>
where
    [u32; N]: crate::fragment::Registers<Register = u32>,
{
    let row = image.wrapping_add(words[0]);
    if form.family == "ldmatrix" {
        return raw::load_matrices::<[u32; N]>(form.ptx, arrangement, row).to_vec();
    }
    raw::store_matrices::<[u32; N]>(
        form.ptx,
        arrangement,
        row,
        core::array::from_fn(|i| words[1 + i]),
    );
    Vec::new()
}
