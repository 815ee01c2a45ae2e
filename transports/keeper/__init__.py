"""The keeper of files: each write, sweep and delete of the library goes through here.

    opening   open_file, read_file, why_not_ours regular files only: a FIFO, a device, a folder or a link is an error, at once
    locks     Held, holding                      one at a time; the system takes a lock away when its process ends
    drafts    replacing, Draft, sweep,           written whole or not at all; deleted if proved to be ours, and held by nobody
              remove, remove_held
    folders   make_folder, remove_folder,        the same for a folder and all in it
              sweep_folders, temporary_folder

A file that is being made is a *draft*. Its name holds 64 random bits and a check that is computed from them. So no file
of others has such a name by chance, and containers with equal process numbers do not meet. Its writer holds a lock on
it. A draft is dead if its lock can be had, and then the next writer in that folder removes it.

Some file systems have no locks (NFS without a lock service, some of FUSE). There nothing can be proved dead, so drafts of
killed processes stay, and `holding` keeps nobody apart. Each file is still whole.

All of it stands on the standard library alone, and raises nothing but OSError.
"""

from transports.keeper.drafts import (
    Draft as Draft,
    names as names,
    remove as remove,
    remove_held as remove_held,
    replacing as replacing,
    sweep as sweep,
)
from transports.keeper.folders import (
    make_folder as make_folder,
    remove_folder as remove_folder,
    remove_if_dead as remove_if_dead,
    sweep_folders as sweep_folders,
    temporary_folder as temporary_folder,
)
from transports.keeper.locks import Held as Held, NoLocks as NoLocks, holding as holding
from transports.keeper.opening import (
    OddFile as OddFile,
    PathLike as PathLike,
    open_file as open_file,
    read_file as read_file,
    why_not_ours as why_not_ours,
)
