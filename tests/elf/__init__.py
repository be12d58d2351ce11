"""Reading programs: files, libraries that they load, the guest's address space."""
