//! Finds where control flow diverges and reconverges.

use super::function::Function;

/// A set of blocks.
#[derive(Clone, PartialEq, Eq)]
pub struct Set(Vec<u64>);

impl Set {
    pub fn of(blocks: usize) -> Self {
        Self(vec![0; blocks.div_ceil(64)])
    }

    pub fn contains(&self, block: usize) -> bool {
        self.0[block / 64] >> (block % 64) & 1 == 1
    }

    pub fn put(&mut self, block: usize) {
        self.0[block / 64] |= 1 << (block % 64);
    }

    /// Inserts a block. Returns whether it is new.
    pub fn insert(&mut self, block: usize) -> bool {
        let new = !self.contains(block);
        self.put(block);
        new
    }

    /// Adds all blocks of another set.
    pub fn add(&mut self, others: &Self) {
        for (word, other) in self.0.iter_mut().zip(&others.0) {
            *word |= other;
        }
    }
}

/// A function's control flow, without the blocks from which it cannot return: the analysis ignores
/// warps that trap.
pub struct Flow {
    pub successors: Vec<Vec<usize>>,
    /// For each block, itself and the blocks reachable from it without loop back edges.
    pub behind: Vec<Set>,
    /// For each block, its immediate post-dominator: the next block on all paths to the function's
    /// end.
    joins: Vec<Option<usize>>,
}

impl Flow {
    pub fn of(function: &Function<'_>) -> Self {
        let count = function.blocks.len();
        let ends_in = |word: &str| -> Vec<usize> {
            let last =
                |block: usize| function.blocks[block].instructions.last().map(|last| last.opcode);
            (0..count).filter(|&block| last(block) == Some(word)).collect()
        };
        let returns = ends_in("ret");
        let ends = if returns.is_empty() { ends_in("unreachable") } else { returns };
        let mut predecessors = vec![Vec::new(); count];
        for (block, next) in function
            .blocks
            .iter()
            .enumerate()
            .flat_map(|(at, block)| block.successors.iter().map(move |&next| (at, next)))
        {
            predecessors[next].push(block);
        }
        let mut kept = Set::of(count);
        let mut open: Vec<usize> = ends.clone();
        ends.iter().for_each(|&end| kept.put(end));
        while let Some(block) = open.pop() {
            open.extend(predecessors[block].iter().filter(|&&before| kept.insert(before)));
        }
        let all = ends.is_empty();
        let is_kept = |block: &usize| all || kept.contains(*block);
        let successors: Vec<Vec<usize>> = (0..count)
            .map(|block| {
                function.blocks[block]
                    .successors
                    .iter()
                    .copied()
                    .filter(|next| is_kept(&block) && is_kept(next))
                    .collect()
            })
            .collect();
        let (order, forward) = depth_first(&successors, 0);
        let mut behind = vec![Set::of(count); count];
        for &block in &order {
            let mut set = Set::of(count);
            set.put(block);
            forward[block].iter().for_each(|&next| set.add(&behind[next]));
            behind[block] = set;
        }
        let joins = joins(&successors);
        Self { successors, behind, joins }
    }

    /// Whether neither block is reachable from the other without loop back edges.
    pub fn are_apart(&self, one: usize, other: usize) -> bool {
        let are_reached = self.behind[one].contains(one) && self.behind[other].contains(other);
        are_reached && !self.behind[one].contains(other) && !self.behind[other].contains(one)
    }

    /// The blocks on the paths through this successor, up to the point where all paths from the
    /// block meet.
    pub fn arm(&self, block: usize, successor: usize) -> Set {
        let end = self.joins[block];
        let mut arm = Set::of(self.successors.len());
        let mut open = vec![successor];
        while let Some(next) = open.pop() {
            if Some(next) != end && arm.insert(next) {
                open.extend(&self.successors[next]);
            }
        }
        arm
    }

    /// Whether one path from a block leads to `one`, and another to `other`, before all paths meet.
    pub fn parts(&self, block: usize, one: usize, other: usize) -> bool {
        let leads = |successor: usize, to: usize| {
            self.behind[successor].contains(to) && self.arm(block, successor).contains(to)
        };
        let targets = &self.successors[block];
        let pairs = targets
            .iter()
            .flat_map(|&target| targets.iter().map(move |&further| (target, further)));
        pairs.into_iter().any(|(target, further)| {
            target != further && leads(target, one) && leads(further, other)
        })
    }
}

/// The blocks in postorder (each after its successors, except across back edges), and the edges
/// that are not back edges.
fn depth_first(successors: &[Vec<usize>], start: usize) -> (Vec<usize>, Vec<Vec<usize>>) {
    let count = successors.len();
    let (mut seen, mut done) = (Set::of(count), Set::of(count));
    let (mut order, mut forward) = (Vec::new(), vec![Vec::new(); count]);
    let mut path: Vec<(usize, usize)> = Vec::new();
    if start < count {
        seen.put(start);
        path.push((start, 0));
    }
    while let Some((block, taken)) = path.pop() {
        match successors[block].get(taken) {
            Some(&next) => {
                path.push((block, taken + 1));
                if seen.insert(next) {
                    forward[block].push(next);
                    path.push((next, 0));
                } else if done.contains(next) {
                    forward[block].push(next);
                }
            }
            None => {
                done.put(block);
                order.push(block);
            }
        }
    }
    (order, forward)
}

/// Immediate post-dominators, by iteration (Cooper, Harvey, Kennedy).
fn joins(successors: &[Vec<usize>]) -> Vec<Option<usize>> {
    let exit = successors.len();
    // Depth first against the edges, from the exit.
    let mut back = vec![Vec::new(); exit + 1];
    for (block, targets) in successors.iter().enumerate() {
        targets.iter().for_each(|&next| back[next].push(block));
        if targets.is_empty() {
            back[exit].push(block);
        }
    }
    let (order, _) = depth_first(&back, exit);
    let mut rank = vec![0; exit + 1];
    order.iter().enumerate().for_each(|(at, &block)| rank[block] = at);
    let mut join = vec![None; exit + 1];
    join[exit] = Some(exit);
    let mut changed = true;
    while changed {
        changed = false;
        for &block in order.iter().rev().filter(|&&block| block != exit) {
            let known = |next: &&usize| join[**next].is_some();
            let meet = match &successors[block][..] {
                [] => Some(exit),
                targets => targets
                    .iter()
                    .filter(known)
                    .copied()
                    .reduce(|one, other| common(&join, &rank, one, other)),
            };
            changed |= join[block] != meet;
            join[block] = meet;
        }
    }
    join.truncate(exit);
    join.into_iter().map(|join| join.filter(|&join| join != exit)).collect()
}

fn common(join: &[Option<usize>], rank: &[usize], mut one: usize, mut other: usize) -> usize {
    let exit = join.len() - 1;
    while one != other {
        let further = if rank[one] < rank[other] { &mut one } else { &mut other };
        *further = join[*further].unwrap_or(exit);
    }
    one
}

#[cfg(test)]
mod tests {
    use super::super::function;
    use super::*;

    /// A function of blocks `0:`, `1:` and so on, from their successors.
    fn flow(leads_to: &[&[usize]]) -> Flow {
        let mut text = "define void @f(i32 %x) {\n".to_owned();
        for (at, targets) in leads_to.iter().enumerate() {
            let cases = targets
                .iter()
                .map(|target| format!("    i32 1, label %b{target}\n"))
                .collect::<String>();
            match targets {
                [] => text.push_str(&format!("b{at}:\n  ret void\n")),
                [first, ..] => text
                    .push_str(&format!("b{at}:\n  switch i32 %x, label %b{first} [\n{cases}  ]\n")),
            }
        }
        let function = function::all(&(text + "}\n")).next().map(|function| Flow::of(&function));
        function.unwrap()
    }

    #[test]
    fn arms_end_where_they_meet() {
        // A loop 1 2 3 4: block 1 leads to 2 or 3, and block 4 leaves the loop.
        let flow = flow(&[&[1], &[2, 3], &[4], &[4], &[1, 5], &[]]);
        assert_eq!(flow.joins, [Some(1), Some(4), Some(4), Some(4), Some(5), None]);
        let arm = flow.arm(1, 2);
        assert_eq!((0..6).filter(|&block| arm.contains(block)).collect::<Vec<_>>(), [2]);
        let around = flow.arm(4, 1);
        assert_eq!(
            (0..6).filter(|&block| around.contains(block)).collect::<Vec<_>>(),
            [1, 2, 3, 4]
        );
        assert!(flow.are_apart(2, 3) && !flow.are_apart(1, 4) && !flow.are_apart(4, 2));
    }

    #[test]
    fn loop_that_its_head_leaves_meets_there() {
        let flow = flow(&[&[1], &[2, 3], &[1], &[]]);
        assert_eq!(flow.joins, [Some(1), Some(3), Some(1), None]);
    }
}
