//! What Linux tells of processes. Elsewhere there is no `/proc`, and nothing is told.
//!
//! In: a process. Out: those that it has started, the processor time of all of them, and memory.

use std::fs;

use rustix::process::Pid;

/// One process, as its `stat` has it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Stat {
    pid: i32,
    parent: i32,
    /// Processor time of its own, in ticks.
    own: u64,
    /// And of those of its children that have ended.
    ended: u64,
}

impl Stat {
    fn read(text: &str) -> Option<Self> {
        let pid = text.split_whitespace().next()?.parse().ok()?;
        // The name, in brackets, may hold anything.
        let fields: Vec<&str> = text.rsplit(')').next()?.split_whitespace().collect();
        let ticks = |at: usize| fields.get(at)?.parse::<u64>().ok();
        Some(Self {
            pid,
            parent: fields.get(1)?.parse().ok()?,
            own: ticks(11)? + ticks(12)?,
            ended: ticks(13)? + ticks(14)?,
        })
    }

    fn all() -> Vec<Self> {
        let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
        let numbers = entries
            .filter(|entry| entry.file_name().to_str().is_some_and(|name| name.parse::<i32>().is_ok()));
        numbers
            .filter_map(|entry| fs::read_to_string(entry.path().join("stat")).ok())
            .filter_map(|text| Self::read(&text))
            .collect()
    }
}

/// Its children. Where there is no `/proc`, none.
pub(crate) fn children_of(parent: Pid) -> Vec<Pid> {
    let ours = Stat::all().into_iter().filter(|stat| stat.parent == parent.as_raw_nonzero().get());
    ours.filter_map(|stat| Pid::from_raw(stat.pid)).collect()
}

/// The processor time that it and all that it has started have taken, in milliseconds. None where nobody tells.
pub(crate) fn cpu_ms(root: Pid) -> Option<f64> {
    ms_of(ticks_of_tree(root.as_raw_nonzero().get(), &Stat::all())?)
}

/// The processor time that we ourselves have taken, without what we have started.
pub(crate) fn own_cpu_ms() -> Option<f64> {
    ms_of(Stat::read(&fs::read_to_string("/proc/self/stat").ok()?)?.own)
}

fn ms_of(ticks: u64) -> Option<f64> {
    let ticks = u32::try_from(ticks).ok()?;
    let a_second = u32::try_from(rustix::param::clock_ticks_per_second()).ok()?;
    Some(f64::from(ticks) * 1_000.0 / f64::from(a_second))
}

fn ticks_of_tree(root: i32, all: &[Stat]) -> Option<u64> {
    let of_root = all.iter().find(|stat| stat.pid == root)?;
    let children = all.iter().filter(|stat| stat.parent == root);
    let below: u64 = children.filter_map(|child| ticks_of_tree(child.pid, all)).sum();
    Some(of_root.own + of_root.ended + below)
}

/// Most memory that it has had, in KiB.
pub(crate) fn peak_rss_kib(process: Pid) -> Option<u32> {
    field(&fs::read_to_string(path_of(process, "status")).ok()?, "VmHWM:")
}

/// Its memory now in KiB, what it shares with others counted in part.
pub(crate) fn pss_kib(process: Pid) -> Option<u32> {
    field(&fs::read_to_string(path_of(process, "smaps_rollup")).ok()?, "Pss:")
}

fn path_of(process: Pid, file: &str) -> String {
    format!("/proc/{}/{file}", process.as_raw_nonzero())
}

fn field(text: &str, name: &str) -> Option<u32> {
    let line = text.lines().find_map(|line| line.strip_prefix(name))?;
    line.split_whitespace().next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_with_brackets_and_blanks_is_no_harm() {
        let text = "42 (a) b (c)) S 7 42 42 0 -1 4194560 1 2 3 4 10 20 30 40 20 0 1 0 99";
        assert_eq!(Stat::read(text), Some(Stat { pid: 42, parent: 7, own: 30, ended: 70 }));
    }

    #[test]
    fn a_tree_is_its_root_and_all_below_and_nobody_else() {
        let stat = |pid, parent, own, ended| Stat { pid, parent, own, ended };
        let all =
            [stat(1, 0, 1, 0), stat(2, 1, 10, 5), stat(3, 2, 100, 0), stat(4, 3, 1_000, 7), stat(5, 1, 9, 9)];
        assert_eq!(ticks_of_tree(2, &all), Some(1_122));
        assert_eq!(ticks_of_tree(6, &all), None);
    }

    #[test]
    fn a_field_is_found_by_its_name() {
        assert_eq!(field("VmPeak:\t 9 kB\nVmHWM:\t  1234 kB\n", "VmHWM:"), Some(1_234));
        assert_eq!(field("Pss: 7 kB", "Rss:"), None);
    }
}
