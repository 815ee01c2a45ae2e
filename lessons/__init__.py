"""The lessons: a folder each, which `mtd.course` reads. No module of it is imported by this name."""
