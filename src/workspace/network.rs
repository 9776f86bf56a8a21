//! Whether a folder lies on a file system that others can change without this machine being told.

use std::path::Path;

/// Magic numbers of such file systems with their names (statfs(2) and `linux/magic.h`). Of FUSE nobody can tell what
/// is behind it.
#[cfg(target_os = "linux")]
const KINDS: [(u32, &str); 14] = [
    (0x6969, "nfs"),
    (0x517b, "smb"),
    (0xff53_4d42, "cifs"),
    (0xfe53_4d42, "smb2"),
    (0x0102_1997, "9p"),
    (0x6573_5546, "fuse"),
    (0x0187, "autofs"),
    (0x00c3_6400, "ceph"),
    (0x5346_414f, "afs"),
    (0x7375_7245, "coda"),
    (0x564c, "ncp"),
    (0x0bd0_0bd0, "lustre"),
    (0x786f_4256, "vboxsf"),
    (0x0161_1970, "gfs2"),
];

/// Whether [`kind`] can tell.
pub const IS_ASKED: bool = cfg!(target_os = "linux");

/// The kind of network file system that the folder is on, if it is on one. Elsewhere than on Linux it is not asked.
#[cfg(target_os = "linux")]
pub fn kind(folder: &Path) -> Option<&'static str> {
    let found = rustix::fs::statfs(folder).ok()?;
    // The type's width and sign differ between machines; the number does not exceed 32 bits.
    named(found.f_type as u32)
}

#[cfg(not(target_os = "linux"))]
pub fn kind(_: &Path) -> Option<&'static str> {
    None
}

#[cfg(target_os = "linux")]
fn named(magic: u32) -> Option<&'static str> {
    KINDS.iter().find(|(known, _)| *known == magic).map(|(_, name)| *name)
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn network_file_systems_are_told_by_their_number() {
        assert_eq!((named(0x6969), named(0xff53_4d42)), (Some("nfs"), Some("cifs")));
        assert_eq!(named(0xef53), None, "ext4 is of this machine");
        assert_eq!(kind(Path::new("/proc")), None);
        assert_eq!(kind(Path::new("/no/such/folder")), None);
    }
}
