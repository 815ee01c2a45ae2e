"""Which file system a path lies on, and whether mappings of its files can be trusted.

Two processes that map one file of a local file system see the same memory. On a network file system
each host has a copy of its own, brought into line now and then; a shared mapping there would be
silently wrong. The list of mounts tells which is which (Linux; elsewhere everything counts as
local, and `mode=append` can be asked for).
"""

from __future__ import annotations

import re
from pathlib import Path

NETWORK = (
    "9p afs autofs beegfs ceph cifs coda davfs fhgfs gfs gfs2 glusterfs gpfs lustre ncpfs nfs nfs4 "
    "ocfs2 orangefs panfs pvfs2 smb2 smb3 smbfs vboxsf virtiofs"
)
LOCAL_FUSE = "fuse.fuse-overlayfs fuse.bindfs fuse.ntfs fuse.exfat"


def kind_of(path: Path, mounts: Path = Path("/proc/self/mounts")) -> str:
    """The kind of file system that `path` lies on, such as "ext4" or "nfs4"; "" if unknown."""
    try:
        lines = mounts.read_text(errors="surrogateescape").splitlines()
    except OSError:
        return ""
    path, found, depth = path.resolve(), "", -1
    for line in lines:
        fields = line.split(" ")
        if len(fields) < 3:
            continue
        point = Path(_plain(fields[1]))
        if len(point.parts) >= depth and path.is_relative_to(point):  # a later mount hides others
            found, depth = fields[2], len(point.parts)
    return found


def is_network(kind: str) -> bool:
    """Whether files of this kind of file system are shared between hosts (or may be)."""
    if kind.startswith("fuse."):
        return kind not in LOCAL_FUSE.split()
    return kind in NETWORK.split()


def _plain(field: str) -> str:
    """A path of the list: spaces and the like stand there as three octal digits."""
    return re.sub(r"\\([0-7]{3})", lambda found: chr(int(found[1], 8)), field)
